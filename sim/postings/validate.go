package postings

import (
	"context"
	"fmt"
	"slices"
)

// holding is an account's position in one asset.
type holding struct {
	Account AccountID
	Asset   Asset
}

// plan is what the rules judge: an envelope with what was read for it.
type plan struct {
	p        *program
	env      Envelope
	inputs   []Posting
	accounts []Account
	balances map[holding]int64 // live balances of the holdings that have a floor, the saga's own inputs included
}

// rule is one check of an envelope; nil means that it passes.
type rule struct {
	name  string
	check func(v *plan) error
}

// validationRules are the rules in order. They are pure: they read nothing but the plan.
func validationRules() []rule {
	return []rule{
		{"non-empty", ruleNonEmpty},
		{"distinct-inputs", ruleDistinct},
		{"accounts", ruleAccounts},
		{"snapshots", ruleSnapshots},
		{"conservation", ruleConservation},
		{"negative-postings", ruleNegative},
		{"floor", ruleFloor},
	}
}

func ruleNonEmpty(v *plan) error {
	if len(v.env.Consumes)+len(v.env.Creates) == 0 {
		return RefusedEmpty
	}
	return nil
}

func ruleDistinct(v *plan) error {
	if len(distinct(v.env.Consumes)) != len(v.env.Consumes) {
		return RefusedDuplicate
	}
	return nil
}

// ruleAccounts: every owner of an input or output exists, and is neither frozen nor closed.
func ruleAccounts(v *plan) error {
	for _, id := range v.owners() {
		a, ok := v.account(id)
		switch {
		case !ok:
			return RefusedUnknown
		case a.closed():
			return RefusedClosed
		case a.frozen():
			return RefusedFrozen
		}
	}
	return nil
}

func ruleSnapshots(v *plan) error {
	for _, s := range v.env.Snapshots {
		if a, ok := v.account(s.Account); !ok || a.Version != s.Version {
			return RefusedStale
		}
	}
	return nil
}

// ruleConservation: in each asset, inputs and outputs have the same sum.
func ruleConservation(v *plan) error {
	deltas, err := v.deltas(func(h holding) holding { return holding{Asset: h.Asset} })
	if err != nil {
		return err
	}
	for _, d := range deltas {
		if d.amount != 0 {
			return RefusedUnequal
		}
	}
	return nil
}

func ruleNegative(v *plan) error {
	for _, o := range v.env.Creates {
		if a, ok := v.account(o.Owner); o.Value < 0 && (!ok || !a.Policy.mayHoldNegative()) {
			return RefusedNegative
		}
	}
	return nil
}

// ruleFloor: no holding ends below its account's floor.
func ruleFloor(v *plan) error {
	deltas, err := v.deltas(func(h holding) holding { return h })
	if err != nil {
		return err
	}
	for _, d := range deltas {
		a, _ := v.account(d.holding.Account)
		floor, has := a.Policy.floor()
		if !has {
			continue
		}
		balance, err := v.p.balanceOrErr(v, d.holding)
		if err != nil {
			return err
		}
		after, err := v.p.add(balance, d.amount)
		if err != nil {
			return err
		}
		if after < floor {
			return RefusedFloor
		}
	}
	return nil
}

// balanceOf is the loaded balance. A holding that was not loaded is an error, never zero.
func (v *plan) balanceOf(h holding) (int64, error) {
	b, ok := v.balances[h]
	if !ok {
		return 0, fmt.Errorf("balance of account %s in asset %d was not loaded", h.Account, h.Asset)
	}
	return b, nil
}

func (v *plan) account(id AccountID) (Account, bool) {
	i := slices.IndexFunc(v.accounts, func(a Account) bool { return a.AccountID == id })
	if i < 0 {
		return Account{}, false
	}
	return v.accounts[i], true
}

// owners are the owners of inputs and outputs, sorted.
func (v *plan) owners() []AccountID {
	owners := v.env.createdOwners()
	for _, in := range v.inputs {
		owners = append(owners, in.Owner)
	}
	return sortedAccounts(owners)
}

type delta struct {
	holding holding
	amount  int64
}

// deltas gives outputs minus inputs for each group of holdings, in the order of first use.
func (v *plan) deltas(group func(holding) holding) ([]delta, error) {
	var out []delta
	add := func(h holding, amount int64) (err error) {
		h = group(h)
		i := slices.IndexFunc(out, func(d delta) bool { return d.holding == h })
		if i < 0 {
			out = append(out, delta{h, amount})
			return nil
		}
		out[i].amount, err = v.p.add(out[i].amount, amount)
		return err
	}
	for _, in := range v.inputs {
		if err := add(holding{in.Owner, in.Asset}, -in.Value); err != nil {
			return nil, err
		}
	}
	for _, o := range v.env.Creates {
		if err := add(holding{o.Owner, o.Asset}, o.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// validate reads what the rules need and applies them in order.
func (s *saga) validate(ctx context.Context, db session) error {
	v := &plan{p: s.p, env: s.env, inputs: s.inputs, balances: map[holding]int64{}}
	var err error
	if v.accounts, err = s.p.accounts(ctx, db, v.owners()); err != nil {
		return err
	}
	deltas, err := v.deltas(func(h holding) holding { return h })
	if err != nil {
		return err
	}
	for _, d := range deltas {
		a, _ := v.account(d.holding.Account)
		if _, has := a.Policy.floor(); !has || !s.p.loadBalances {
			continue
		}
		if v.balances[d.holding], err = s.p.balance(ctx, db, d.holding.Account, d.holding.Asset); err != nil {
			return err
		}
	}
	return s.p.judge(v)
}

// judge applies the rules in order.
func (p *program) judge(v *plan) error {
	for _, r := range p.rules {
		if err := r.check(v); err != nil {
			return err
		}
	}
	return nil
}
