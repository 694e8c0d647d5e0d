package postings

import (
	"context"
	"slices"

	"simrun/sim"
)

// mutantsAccounts are bugs of accounts, validation, balances and reads (sections 5.5 to 5.7 of the catalogue).
func mutantsAccounts() []mutant {
	return []mutant{
		{
			Mutant: sim.Mutant{
				Name: "close-checks-active-only", ID: "Z60", Breaks: []string{"closed-is-empty"},
				Doc: "an account whose only posting is reserved counts as empty, and is closed",
			},
			scenarios: []string{"postings/close-deposit"},
			edit: func(p *program) {
				p.closeChecks = func(ctx context.Context, db session, p *program, a AccountID) (bool, error) {
					active, err := p.ofAccount(ctx, db, a, usd, FilterActive)
					return len(active) > 0, err
				}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "append-without-lock", ID: "Z65", Breaks: []string{"one-winner", "versions"},
				Doc: "an account version is appended after a look at the head that locks nothing and counts nothing (before cd1982b)",
			},
			scenarios: []string{"postings/accounts"},
			edit: func(p *program) {
				p.sqlLockHead = `SELECT version FROM account_head WHERE id = @id AND subaccount = @sub`
				p.appendVersionIn = func(ctx context.Context, tx session, next Account) error {
					head, err := p.headVersion(ctx, tx, next.AccountID)
					if err != nil {
						return err
					}
					if head == 0 || next.Version != head+1 {
						return errNothing
					}
					if _, err := exec(ctx, tx, sqlInsertVersion, next.columns()); err != nil {
						return err
					}
					_, err = exec(ctx, tx, `UPDATE account_head SET version = @version WHERE id = @id AND subaccount = @sub`, next.columns())
					return err
				}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "accounts-not-locked", ID: "Z68", Breaks: []string{"linearizable", "closed-is-empty"},
				Doc: "the accounts are validated without a lock on their heads, so a close may slip in before the commit",
			},
			scenarios: []string{"postings/close-deposit", "postings/freeze"},
			edit:      func(p *program) { p.lockHeads = func(context.Context, *saga, session) error { return nil } },
		},
		{
			Mutant: sim.Mutant{
				Name: "flags-truncated", ID: "Z69", Breaks: []string{"flags-kept"},
				Doc: "flags that the program does not know are lost when an account is loaded, and gone with its next version (before 50d603c)",
			},
			scenarios: []string{"postings/accounts"},
			edit: func(p *program) {
				p.loadFlags = func(f int32) int32 { return f & (FlagFrozen | FlagClosed | FlagInflight) }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "missing-balance-is-zero", ID: "Z70", Breaks: []string{"capped-floor"},
				Doc: "a balance that was not loaded is taken for zero (before defd5f2)",
			},
			scenarios: []string{"postings/overdraft"},
			edit: func(p *program) {
				p.loadBalances = false
				p.balanceOrErr = func(v *plan, h holding) (int64, error) { return v.balances[h], nil }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "resolve-overdraws-anyone", ID: "Z71", Breaks: []string{"floor"}, Masked: true, Pair: "negative-unchecked",
				Doc: "resolve has an overdraft rule of its own and lets anyone go into debt; validation still refuses",
			},
			scenarios: []string{"postings/pay"},
			edit:      func(p *program) { p.mayOverdraw = func(Policy) bool { return true } },
		},
		{
			Mutant: sim.Mutant{
				Name: "negative-unchecked", ID: "Z71b", Breaks: []string{"floor"},
				Doc: "validation does not look who may hold a negative posting",
			},
			scenarios: []string{"postings/rules", "postings/pay"},
			edit:      func(p *program) { p.dropRule("negative-postings") },
		},
		{
			Mutant: sim.Mutant{
				Name: "balance-over-active", ID: "Z72", Breaks: []string{"balance-read", "linearizable"},
				Doc: "a balance sums active postings only, and dips while a saga has some reserved",
			},
			scenarios: []string{"postings/overdraft", "postings/bank"},
			edit:      func(p *program) { p.balanceOver = FilterActive },
		},
		{
			Mutant: sim.Mutant{
				Name: "select-over-live", ID: "Z73", Breaks: []string{"ownership"}, Masked: true, Pair: "reserve-steals",
				Doc: "resolve chooses reserved postings too; the claim refuses them",
			},
			scenarios: []string{"postings/late-payer"},
			edit:      func(p *program) { p.selectOver = FilterLive },
		},
		{
			Mutant: sim.Mutant{
				Name: "floor-under-shared-lock", ID: "Z74", Breaks: []string{"capped-floor"},
				Doc: "two payments judge the floor of one account under locks that do not exclude each other: write skew",
			},
			scenarios: []string{"postings/overdraft"},
			edit: func(p *program) {
				p.lockHeads = func(ctx context.Context, s *saga, tx session) error {
					return lockHeadsWith(ctx, s, tx, func(AccountID) string { return `FOR SHARE` })
				}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "assets-summed-together", ID: "Z75", Breaks: []string{"conservation"},
				Doc: "conservation is judged over all assets together: dollars become euros",
			},
			scenarios: []string{"postings/rules"},
			edit: func(p *program) {
				p.replaceRule("conservation", func(v *plan) error {
					deltas, err := v.deltas(func(holding) holding { return holding{} })
					if err == nil && slices.ContainsFunc(deltas, func(d delta) bool { return d.amount != 0 }) {
						err = RefusedUnequal
					}
					return err
				})
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "unchecked-arithmetic", ID: "Z76", Breaks: []string{"conservation"},
				Doc: "sums wrap around: three huge outputs add up to nothing",
			},
			scenarios: []string{"postings/rules"},
			edit:      func(p *program) { p.add = func(a, b int64) (int64, error) { return a + b, nil } },
		},
		{
			Mutant: sim.Mutant{
				Name: "conservation-unchecked", ID: "Z77b", Breaks: []string{"conservation"},
				Doc: "validation does not compare inputs and outputs",
			},
			scenarios: []string{"postings/rules", "postings/overdraft"},
			edit:      func(p *program) { p.dropRule("conservation") },
		},
		{
			Mutant: sim.Mutant{
				Name: "change-to-wrong-owner", ID: "Z77", Breaks: []string{"intent-kept"},
				Doc: "the excess of the inputs goes to the payee; the sums are right, so validation has nothing to say",
			},
			scenarios: []string{"postings/rules"},
			edit: func(p *program) {
				p.changeOwner = func(_ AccountID, moves []Movement) AccountID { return moves[0].To }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "shortfall-sign-flipped", ID: "Z77c", Breaks: []string{"conservation"}, Masked: true, Pair: "conservation-unchecked",
				Doc: "an overdraft creates a credit instead of a debt; validation refuses the sum",
			},
			scenarios: []string{"postings/overdraft"},
			edit:      func(p *program) { p.shortfall = func(missing int64) int64 { return missing } },
		},
		{
			Mutant: sim.Mutant{
				Name: "migration-in-pieces", ID: "Z80", Breaks: []string{"conservation", "one-state", "rebuildable", "spent-has-spender", "log-has-effects", "lifecycle"},
				Doc: "the statements of a migration commit one by one: for a while the database is of neither encoding (before 41ce95c)",
			},
			scenarios: []string{"postings/migration"},
			edit:      func(p *program) { p.migrateApart = true },
		},
		{
			Mutant: sim.Mutant{
				Name: "pages-without-order", ID: "Z85", Breaks: []string{"pages-in-order"},
				Doc: "pages of postings are in whatever order the table gives (before 41ce95c)",
			},
			scenarios: []string{"postings/reads"},
			edit:      func(p *program) { p.pageOrder = "" },
		},
		{
			Mutant: sim.Mutant{
				Name: "feed-by-account-only", ID: "Z87", Breaks: []string{"feed-complete"},
				Doc: "a query of transfers that names no account asks the index for account 0 instead of reading all (before 5a8bfe0 it was an error)",
			},
			scenarios: []string{"postings/reads"},
			edit:      func(p *program) { p.needsAccount = true },
		},
		{
			Mutant: sim.Mutant{
				Name: "involved-derived-from-outputs", ID: "Z83", Breaks: []string{"indexed"},
				Doc: "a transfer is indexed under the owners of its outputs only: a payer without change does not find it",
			},
			scenarios: []string{"postings/claim", "postings/bank"},
			edit:      func(p *program) { p.involved = func(e Envelope, _ []Posting) []AccountID { return e.createdOwners() } },
		},
	}
}

// dropRule takes a validation rule out.
func (p *program) dropRule(name string) {
	p.rules = slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return r.name == name })
}

// replaceRule puts another check in the place of a rule.
func (p *program) replaceRule(name string, check func(v *plan) error) {
	p.rules = slices.Clone(p.rules)
	for i := range p.rules {
		if p.rules[i].name == name {
			p.rules[i].check = check
		}
	}
}
