package postings

import (
	"fmt"
	"slices"
	"strings"

	"simrun/invariants"
	"simrun/invariants/lin"
	"simrun/sim"
)

// The ledger as a sequential object: commits, transitions and balance reads take effect one after another, each at a moment
// between its call and its return. It is partitioned: accounts that no operation brings together are objects of their own.
//
// A state is a text: the transfers applied so far, sorted, and the flags of the accounts that have any.
type sequentialLedger struct {
	opening  []Posting
	policies map[AccountID]Policy
	envs     map[string]Envelope // of every transfer that the history submits
}

// ledgerState is the decoded form of a state.
type ledgerState struct {
	applied []string
	flags   map[AccountID]int32
}

func (s ledgerState) String() string {
	var b strings.Builder
	b.WriteString(strings.Join(s.applied, ","))
	for _, a := range sortedKeys(s.flags) {
		fmt.Fprintf(&b, "|%s=%d", a, s.flags[a])
	}
	return b.String()
}

func sortedKeys(m map[AccountID]int32) []AccountID {
	keys := make([]AccountID, 0, len(m))
	for a := range m {
		keys = append(keys, a)
	}
	return sortedAccounts(keys)
}

func parseLedgerState(text string) ledgerState {
	parts := strings.Split(text, "|")
	s := ledgerState{flags: map[AccountID]int32{}}
	if parts[0] != "" {
		s.applied = strings.Split(parts[0], ",")
	}
	for _, p := range parts[1:] {
		acct, flags, _ := strings.Cut(p, "=")
		a, err := parseAccount(acct)
		if err != nil {
			panic(err) // a text of this file's own
		}
		var f int32
		fmt.Sscan(flags, &f)
		s.flags[a] = f
	}
	return s
}

// linearizable makes the whole-run check of a world: its history must be one that the sequential ledger allows.
func linearizable(open opening) sim.Invariant {
	return invariants.Linearizable(sim.Invariant{
		Name: "linearizable", ID: "LIN",
		Doc: "commits, transitions and balance reads take effect one after another, each between its call and its return",
	}, func(history []sim.HistoryOp) (invariants.Object, error) { return ledgerHistory(open, history) })
}

// maxLinearOps bounds the histories that are judged: each key is a search.
const maxLinearOps = 40

// ledgerHistory is the operations of a history, the key of each the group of accounts that it belongs to.
func ledgerHistory(open opening, history []sim.HistoryOp) (invariants.Object, error) {
	l := &sequentialLedger{opening: open.all(), policies: map[AccountID]Policy{}, envs: map[string]Envelope{}}
	for _, a := range open.accounts {
		l.policies[a.AccountID] = a.Policy
	}
	var ops []lin.Operation
	parts := partition{}
	touched := make([]AccountID, 0, len(history))
	for _, h := range history {
		accounts, err := l.accountsOf(h)
		if err != nil {
			return invariants.Object{}, err
		}
		if len(accounts) == 0 {
			continue
		}
		parts.join(accounts)
		ops = append(ops, invariants.Operation(h, ""))
		touched = append(touched, accounts[0])
	}
	if len(ops) > maxLinearOps {
		return invariants.Object{}, nil
	}
	for i := range ops {
		ops[i].Key = parts.root(touched[i]).String()
	}
	return invariants.Object{Model: l.model(open.accounts), Operations: ops}, nil
}

// accountsOf are the accounts that an operation reads or writes.
func (l *sequentialLedger) accountsOf(h sim.HistoryOp) ([]AccountID, error) {
	switch in := h.Input.(type) {
	case CommitInput:
		e, err := decodeEnvelopeOnce(in.Envelope)
		if err != nil {
			return nil, err
		}
		l.envs[in.TID] = e
		owners := e.createdOwners()
		for _, id := range e.Consumes {
			if p, ok := l.postingOf(id); ok {
				owners = append(owners, p.Owner)
			}
		}
		return sortedAccounts(owners), nil
	case BalanceInput:
		a, err := parseAccount(in.Account)
		return []AccountID{a}, err
	case string:
		a, err := parseAccount(in)
		return []AccountID{a}, err
	}
	return nil, fmt.Errorf("the history calls %s with %T", h.Name, h.Input)
}

// postingOf is the posting of an id that is open or created by a transfer of the history.
func (l *sequentialLedger) postingOf(id PostingID) (Posting, bool) {
	if id.Transfer == genesis {
		for _, p := range l.opening {
			if p.ID == id {
				return p, true
			}
		}
		return Posting{}, false
	}
	made := l.envs[id.Transfer].postings(id.Transfer)
	if int(id.Idx) >= len(made) {
		return Posting{}, false
	}
	return made[id.Idx], true
}

func (l *sequentialLedger) model(accounts []Account) lin.Model {
	initial := ledgerState{flags: map[AccountID]int32{}}
	for _, a := range accounts {
		if f := a.Flags & (FlagFrozen | FlagClosed); f != 0 {
			initial.flags[a.AccountID] = f
		}
	}
	return lin.Model{
		Name: "ledger", Init: initial.String(),
		Functions: []string{"commit", "balance", "freeze", "unfreeze", "close"}, Reads: []string{"balance"},
		Step: func(state any, op lin.Operation) (bool, any) {
			s := parseLedgerState(state.(string))
			ok, next := l.step(s, op)
			if !ok {
				return false, state
			}
			return true, next.String()
		},
	}
}

func (l *sequentialLedger) step(s ledgerState, op lin.Operation) (bool, ledgerState) {
	switch op.F {
	case "commit":
		return l.commit(s, op)
	case "balance":
		in := op.Input.(BalanceInput)
		a, _ := parseAccount(in.Account)
		return op.Outcome != lin.OK || op.Output.(int64) == l.balance(s, a, in.Asset), s
	}
	a, _ := parseAccount(op.Input.(string))
	if op.Outcome == lin.OK && op.Output.(Outcome) != Committed {
		return true, s // a refusal changes nothing; a version conflict may be about another transition of the moment
	}
	flags := s.flags[a]
	if flags&FlagClosed != 0 || op.F == "close" && l.hasLive(s, a) {
		return false, s
	}
	next := ledgerState{applied: s.applied, flags: map[AccountID]int32{}}
	for k, v := range s.flags {
		next.flags[k] = v
	}
	next.flags[a] = map[string]transition{"freeze": freeze, "unfreeze": unfreeze, "close": closeDown}[op.F].next(Account{Flags: flags}).Flags
	return true, next
}

// commit: a committed transfer finds all its inputs live and its owners open; a refusal for a flag finds that flag. Other
// refusals are always allowed: a claim may lose to a saga that itself is refused later.
func (l *sequentialLedger) commit(s ledgerState, op lin.Operation) (bool, ledgerState) {
	in := op.Input.(CommitInput)
	e := l.envs[in.TID]
	flags := int32(0)
	for _, a := range e.createdOwners() {
		flags |= s.flags[a]
	}
	for _, id := range e.Consumes {
		if p, ok := l.postingOf(id); ok {
			flags |= s.flags[p.Owner]
		}
	}
	if op.Outcome == lin.OK && op.Output.(Outcome) != Committed {
		switch op.Output.(Outcome) {
		case Outcome(RefusedFrozen.Error()):
			return flags&FlagFrozen != 0, s
		case Outcome(RefusedClosed.Error()):
			return flags&FlagClosed != 0, s
		}
		return true, s
	}
	if slices.Contains(s.applied, in.TID) {
		return true, s
	}
	if flags&(FlagFrozen|FlagClosed) != 0 {
		return false, s
	}
	for _, id := range e.Consumes {
		if !l.isLive(s, id) {
			return false, s
		}
	}
	next := ledgerState{applied: append(slices.Clone(s.applied), in.TID), flags: s.flags}
	slices.Sort(next.applied)
	for _, o := range e.Creates {
		if floor, has := l.policies[o.Owner].floor(); has && l.balance(next, o.Owner, o.Asset) < floor {
			return false, s
		}
	}
	return true, next
}

func (l *sequentialLedger) isLive(s ledgerState, id PostingID) bool {
	if id.Transfer != genesis && !slices.Contains(s.applied, id.Transfer) {
		return false
	}
	return !slices.ContainsFunc(s.applied, func(tid string) bool { return slices.Contains(l.envs[tid].Consumes, id) })
}

// livePostings calls f with each live posting of an account.
func (l *sequentialLedger) livePostings(s ledgerState, a AccountID, f func(p Posting)) {
	each := func(ps []Posting) {
		for _, p := range ps {
			if p.Owner == a && l.isLive(s, p.ID) {
				f(p)
			}
		}
	}
	each(l.opening)
	for _, tid := range s.applied {
		each(l.envs[tid].postings(tid))
	}
}

func (l *sequentialLedger) balance(s ledgerState, a AccountID, asset Asset) int64 {
	sum := int64(0)
	l.livePostings(s, a, func(p Posting) {
		if p.Asset == asset {
			sum += p.Value
		}
	})
	return sum
}

func (l *sequentialLedger) hasLive(s ledgerState, a AccountID) bool {
	any := false
	l.livePostings(s, a, func(Posting) { any = true })
	return any
}

// partition groups accounts that operations bring together.
type partition map[AccountID]AccountID

func (p partition) root(a AccountID) AccountID {
	for {
		up, ok := p[a]
		if !ok || up == a {
			return a
		}
		a = up
	}
}

func (p partition) join(accounts []AccountID) {
	first := p.root(accounts[0])
	for _, a := range accounts[1:] {
		if r := p.root(a); r != first {
			p[max2(first, r)] = min2(first, r)
			first = min2(first, r)
		}
	}
}

func min2(a, b AccountID) AccountID {
	if a.compare(b) < 0 {
		return a
	}
	return b
}

func max2(a, b AccountID) AccountID {
	if a.compare(b) < 0 {
		return b
	}
	return a
}
