package machines

import "math/bits"

// membership is PostingsMembership. Sets of postings and of sagas are bits.
type membership struct {
	postings, sagas int

	checkThenAct, steals, notAtomic, releaseIgnoresRid, consumeIgnoresRid, releaseRevives, ungated bool
}

const (
	maxPostings = 6
	maxSagas    = 3
)

// memberState is its state. Sagas and postings count from 1 where 0 is none.
type memberState struct {
	postings, active uint8
	reserved         [maxPostings]uint8
	looked, lifted   [maxSagas]uint8
	won, consumed    [maxPostings]uint8
}

func newMembership(k *constants) (membership, error) {
	return membership{
		postings: len(k.set("Postings", maxPostings)), sagas: len(k.set("Sagas", maxSagas)),
		checkThenAct: k.bool("CheckThenAct"), steals: k.bool("Steals"), notAtomic: k.bool("NotAtomic"),
		releaseIgnoresRid: k.bool("ReleaseIgnoresRid"), consumeIgnoresRid: k.bool("ConsumeIgnoresRid"),
		releaseRevives: k.bool("ReleaseRevives"), ungated: k.bool("Ungated"),
	}, k.err
}

func (m membership) initial() []memberState { return []memberState{{}} }

// each calls f for the postings of a batch.
func each(batch uint8, f func(p int)) {
	for ; batch != 0; batch &= batch - 1 {
		f(bits.TrailingZeros8(batch))
	}
}

// where is the set of postings for which f holds.
func (m membership) where(f func(p int) bool) uint8 {
	var set uint8
	for p := range m.postings {
		if f(p) {
			set |= 1 << p
		}
	}
	return set
}

// batches calls f for each batch of postings that all are in allowed.
func batches(allowed uint8, f func(batch uint8)) {
	for b := allowed; b != 0; b = (b - 1) & allowed {
		f(b)
	}
}

func (m membership) next(s memberState, emit func(string, memberState)) {
	fresh := m.where(func(p int) bool { return s.postings>>p&1 == 0 || m.ungated && s.active>>p&1 == 0 })
	batches(fresh, func(b uint8) {
		t := s
		t.postings |= b
		t.active |= b
		emit("Create", t)
	})
	for saga := uint8(1); int(saga) <= m.sagas; saga++ {
		me := uint8(1) << (saga - 1)
		if !m.checkThenAct && !m.notAtomic {
			free := m.where(func(p int) bool { return s.active>>p&1 == 1 || m.steals && s.reserved[p] != 0 && s.reserved[p] != saga })
			batches(free, func(b uint8) {
				t := s
				t.active &^= b
				each(b, func(p int) { t.reserved[p], t.won[p] = saga, t.won[p]|me })
				emit("Reserve", t)
			})
		}
		m.halves(s, saga, me, emit)
		held := m.where(func(p int) bool {
			if m.releaseRevives {
				return s.postings>>p&1 == 1 && s.active>>p&1 == 0
			}
			return s.reserved[p] == saga || m.releaseIgnoresRid && s.reserved[p] != 0
		})
		batches(held, func(b uint8) {
			t := s
			t.active |= b
			each(b, func(p int) { t.reserved[p], t.won[p] = 0, t.won[p]&^me })
			emit("Release", t)
		})
		held = m.where(func(p int) bool { return s.reserved[p] == saga || m.consumeIgnoresRid && s.reserved[p] != 0 })
		batches(held, func(b uint8) {
			t := s
			each(b, func(p int) { t.reserved[p], t.won[p], t.consumed[p] = 0, t.won[p]&^me, t.consumed[p]|me })
			emit("Consume", t)
		})
	}
}

// halves are the two halves of a reserve that checks and then acts, and of one that is not atomic.
func (m membership) halves(s memberState, saga, me uint8, emit func(string, memberState)) {
	for p := range m.postings {
		if s.active>>p&1 == 0 {
			continue
		}
		if m.checkThenAct && s.looked[saga-1] == 0 {
			t := s
			t.looked[saga-1] = uint8(p) + 1
			emit("Look", t)
		}
		if m.notAtomic && s.lifted[saga-1] == 0 {
			t := s
			t.active &^= 1 << p
			t.lifted[saga-1] = uint8(p) + 1
			emit("Lift", t)
		}
	}
	land := func(action string, p uint8, t memberState) {
		t.active &^= bitOf(action == "Take", p-1)
		t.reserved[p-1], t.won[p-1] = saga, t.won[p-1]|me
		emit(action, t)
	}
	if p := s.looked[saga-1]; p != 0 {
		t := s
		t.looked[saga-1] = 0
		land("Take", p, t)
	}
	if p := s.lifted[saga-1]; p != 0 {
		t := s
		t.lifted[saga-1] = 0
		land("Land", p, t)
	}
}

func bitOf(set bool, i uint8) uint8 {
	if set {
		return 1 << i
	}
	return 0
}

func (m membership) invariant(s memberState) string {
	for p := range m.postings {
		there, active := s.postings>>p&1 == 1, s.active>>p&1 == 1
		switch {
		case active && s.reserved[p] != 0, (active || s.reserved[p] != 0) && !there:
			return "OneState"
		case s.won[p] != 0 && (s.reserved[p] == 0 || s.won[p] != 1<<(s.reserved[p]-1)):
			return "Owner"
		case bits.OnesCount8(s.consumed[p]) > 1:
			return "NoDoubleSpend"
		case there && !active && s.reserved[p] == 0 && s.consumed[p] == 0:
			return "SpentMeansConsumed"
		case s.consumed[p] != 0 && (active || s.reserved[p] != 0):
			return "SpentIsFinal"
		}
	}
	return ""
}

func (m membership) properties() []string { return nil }

func (m membership) property(_, _ memberState) string { return "" }

func (m membership) words(s memberState) [3]uint64 {
	w := [3]uint64{uint64(s.postings) | uint64(s.active)<<8}
	for p := range maxPostings {
		w[0] |= uint64(s.reserved[p]) << (16 + 4*p)
		w[1] |= (uint64(s.won[p]) | uint64(s.consumed[p])<<4) << (8 * p)
	}
	for i := range maxSagas {
		w[2] |= (uint64(s.looked[i]) | uint64(s.lifted[i])<<4) << (8 * i)
	}
	return w
}
