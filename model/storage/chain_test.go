package storage

import (
	"fmt"
	"testing"
)

// TestChainOfUpdates has a SELECT FOR UPDATE that waits at the versions of a row one after the other.
func TestChainOfUpdates(t *testing.T) {
	b := newBench(t, 4, row(1, 0))
	lock := b.lock(where(1), Update, Wait)
	for s := SessionID(0); s < 4; s++ {
		b.begin(s, ReadCommitted)
	}
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.want(b.run(1, lock), "blocked")
	b.want(b.run(2, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.commit(0)
	b.want(b.again(1, lock), "1=1")
	b.want(b.again(2, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.want(b.run(3, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(3, nil)), "[1]")
	b.want(b.run(1, b.add(1, 1)), "updated 1")
	b.commit(1)
	b.want(fmt.Sprint(b.st.Woken(nil)), "[2 3]")
	b.want(b.again(2, lock), "1=2")
	b.want(b.again(3, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(3, nil)), "[2]")
	b.commit(2)
	b.want(b.again(3, lock), "1=2")
}

// TestChainOfUpdatesNewcomers has others queue at a newer version meanwhile.
func TestChainOfUpdatesNewcomers(t *testing.T) {
	b := newBench(t, 4, row(1, 0))
	lock := b.lock(where(1), Update, Wait)
	for s := SessionID(0); s < 4; s++ {
		b.begin(s, ReadCommitted)
	}
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.want(b.run(1, lock), "blocked")
	b.want(b.run(2, lock), "blocked")
	b.commit(0)
	b.want(b.again(1, lock), "1=1")
	b.want(b.again(2, lock), "blocked")
	b.begin(0, ReadCommitted)
	b.want(b.run(0, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(0, nil)), "[1]")
	b.want(b.run(3, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(3, nil)), "[0]")
	b.want(b.run(1, b.add(1, 1)), "updated 1")
	b.commit(1)
	b.want(b.again(0, lock), "1=2")
	b.want(b.again(2, lock), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[0]")
	b.want(b.again(3, lock), "blocked")
}
