package postings

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"simrun/sim"
)

// ownershipMonitor is I6: every move out of R(rid) is a step of an actor that holds rid at that time, and nothing is spent
// that was not reserved before. Its state is what was live after the last change and who holds what; it exempts actors named
// in it, a migrator for one.
type ownershipMonitor struct {
	enc     encoding
	exempt  []int
	live    []livePosting // sorted by id
	holding []int64       // by actor; 0 is none
}

type livePosting struct {
	id    PostingID
	state State
}

func newOwnershipMonitor(enc encoding, exempt ...int) func() sim.Monitor {
	return func() sim.Monitor { return &ownershipMonitor{enc: enc, exempt: exempt} }
}

// Step implements sim.Monitor.
func (m *ownershipMonitor) Step(s *sim.Step) (sim.Monitor, string) {
	if !s.Changed && len(s.Events) == 0 {
		return m, ""
	}
	next := *m
	violation := ""
	if s.Changed && s.Committed != nil {
		l := ledgerOf(s.Committed, m.enc)
		for _, was := range m.live {
			now := l.state(was.id)
			if now == was.state || s.Actor >= 0 && slices.Contains(m.exempt, s.Actor) {
				continue
			}
			switch {
			case was.state.Place == Held && m.holder(s.Actor) != was.state.RID:
				violation = fmt.Sprintf("%s moved posting %s out of the reservation %d, which it does not hold: it is %s now", s.Name, was.id, was.state.RID, now)
			case was.state.Place == Active && now.Place == Spent:
				violation = fmt.Sprintf("%s spent posting %s, which nobody had reserved", s.Name, was.id)
			}
		}
		next.live = l.places
	}
	for _, e := range s.Events {
		if e.Kind == sim.EventNote && e.Name == factHolds && s.Actor >= 0 {
			next.holding = withHolder(next.holding, s.Actor, e.Value.(int64))
		}
	}
	return &next, violation
}

func (m *ownershipMonitor) holder(actor int) int64 {
	if actor >= 0 && actor < len(m.holding) {
		return m.holding[actor]
	}
	return 0
}

// withHolder returns a copy, because monitors are values.
func withHolder(holding []int64, actor int, rid int64) []int64 {
	out := make([]int64, max(len(holding), actor+1))
	copy(out, holding)
	out[actor] = rid
	return out
}

// Hash implements sim.Monitor.
func (m *ownershipMonitor) Hash() uint64 {
	h := fnv.New64a()
	for _, p := range m.live {
		fmt.Fprintf(h, "%s=%s;", p.id, p.state)
	}
	for _, rid := range m.holding {
		_ = binary.Write(h, binary.LittleEndian, rid)
	}
	return h.Sum64()
}

// lifecycleMonitor is I8 and the growing half of I4: a posting's state goes from missing to active and reserved to spent and
// never back, and an immutable row is never changed or removed. Its state is the immutable rows and which of them are spent.
type lifecycleMonitor struct {
	enc   encoding
	known []knownPosting // sorted by id
}

type knownPosting struct {
	posting Posting
	spent   bool
}

func newLifecycleMonitor(enc encoding) func() sim.Monitor {
	return func() sim.Monitor { return &lifecycleMonitor{enc: enc} }
}

// Step implements sim.Monitor.
func (m *lifecycleMonitor) Step(s *sim.Step) (sim.Monitor, string) {
	if !s.Changed || s.Committed == nil {
		return m, ""
	}
	l := ledgerOf(s.Committed, m.enc)
	for _, k := range m.known {
		id := k.posting.ID
		switch now, ok := l.P[id]; {
		case !ok:
			return m, fmt.Sprintf("%s removed the immutable posting %s", s.Name, id)
		case now != k.posting:
			return m, fmt.Sprintf("%s changed the immutable posting %s from %+v to %+v", s.Name, id, k.posting, now)
		}
		if state := l.state(id); k.spent && state.Place != Spent {
			return m, fmt.Sprintf("%s brought the spent posting %s back: it is %s", s.Name, id, state)
		}
	}
	return &lifecycleMonitor{enc: m.enc, known: l.rows}, ""
}

// Hash implements sim.Monitor.
func (m *lifecycleMonitor) Hash() uint64 {
	h := fnv.New64a()
	for _, k := range m.known {
		fmt.Fprintf(h, "%s=%d,%t;", k.posting.ID, k.posting.Value, k.spent)
	}
	return h.Sum64()
}

// balanceMonitor is I11: what a balance operation returns is the sum of the live postings at the step that read it. Its state
// is those sums and the balance operations that are open. Before the first change of a run it does not know the sums.
type balanceMonitor struct {
	enc   encoding
	known bool
	sums  []holdingAmount // sorted
	open  []openBalance   // sorted by actor and operation
}

type holdingAmount struct {
	account string
	asset   Asset
	amount  int64
}

type openBalance struct {
	actor, op int
	input     BalanceInput
}

func newBalanceMonitor(enc encoding) func() sim.Monitor {
	return func() sim.Monitor { return &balanceMonitor{enc: enc} }
}

// Step implements sim.Monitor.
func (m *balanceMonitor) Step(s *sim.Step) (sim.Monitor, string) {
	if !s.Changed && len(s.Events) == 0 {
		return m, ""
	}
	next := *m
	if s.Changed && s.Committed != nil {
		next.sums, next.known = ledgerOf(s.Committed, m.enc).sums, true
	}
	for _, e := range s.Events {
		switch {
		case e.Kind == sim.EventCall && e.Name == "balance":
			next.open = append(slices.Clone(next.open), openBalance{s.Actor, e.Op, e.Value.(BalanceInput)})
		case e.Kind == sim.EventReturn:
			i := slices.IndexFunc(next.open, func(o openBalance) bool { return o.actor == s.Actor && o.op == e.Op })
			if i < 0 {
				continue
			}
			in := next.open[i].input
			next.open = slices.Delete(slices.Clone(next.open), i, i+1)
			if got, want := e.Value.(int64), next.sum(in); next.known && got != want {
				return m, fmt.Sprintf("%s read balance %d of account %s, whose live postings sum to %d", s.Name, got, in.Account, want)
			}
		}
	}
	return &next, ""
}

func (m *balanceMonitor) sum(in BalanceInput) int64 {
	for _, s := range m.sums {
		if s.account == in.Account && s.asset == in.Asset {
			return s.amount
		}
	}
	return 0
}

// Hash implements sim.Monitor.
func (m *balanceMonitor) Hash() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.sums, m.open)
	return h.Sum64()
}
