package postings

import (
	"context"
	"fmt"

	"simrun/sim"
)

// mutantsRecovery are bugs of recovery, and of identity and idempotency (sections 5.3 and 5.4 of the catalogue).
func mutantsRecovery() []mutant {
	crash := []string{"postings/saga-crash-recover"}
	return []mutant{
		{
			Mutant: sim.Mutant{
				Name: "recovery-forces-completion", ID: "Z39", Breaks: []string{"no-double-spend", "conservation"},
				Doc: "recovery completes every record, whatever its moves count and whatever the rules say (a19dfcd)",
			},
			scenarios: crash, steps: true,
			edit: func(p *program) { p.recoverOne = recoverByForce },
		},
		{
			Mutant: sim.Mutant{
				Name: "recovery-skips-validation", ID: "Z40", Breaks: []string{"linearizable"},
				Doc: "recovery of a reserving record does not validate, and pays into an account that was frozen meanwhile",
			},
			scenarios: []string{"postings/freeze"},
			edit:      func(p *program) { p.trustPlan = true },
		},
		{
			Mutant: sim.Mutant{
				Name: "recovery-skips-reserve", ID: "Z41", Breaks: []string{"recovered", "no-double-spend", "conservation"},
				Doc: "recovery of a reserving record goes straight to finalize, though nothing may be reserved",
			},
			scenarios: []string{"postings/saga-crash-recover", "postings/lone-saga"}, steps: true,
			edit: func(p *program) { p.recoverOne = recoverFrom(func(Record) string { return "relookup" }) },
		},
		{
			Mutant: sim.Mutant{
				Name: "recovery-rolls-back-finalizing", ID: "Z42", Breaks: []string{"spent-has-spender", "conservation"},
				Doc: "recovery of a finalizing record claims again, fails on its own spent inputs, and deletes the record",
			},
			scenarios: crash, steps: true,
			edit: func(p *program) {
				p.recoverOne = recoverFrom(func(Record) string { return "reserve" })
				p.keepRecord = func(context.Context, *saga, error) bool { return false }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "recovery-repairs-no-event", ID: "Z43", Breaks: []string{"one-event-each"},
				Doc: "recovery deletes the record of a stored transfer without looking for its event",
			},
			scenarios: crash, steps: true,
			edit: func(p *program) {
				inner := p.recoverOne
				p.recoverOne = func(ctx context.Context, s *saga, r Record) error {
					if _, found, err := s.p.getTransfer(ctx, s.db, s.tid); err == nil && found {
						return stepForget(ctx, s)
					}
					return inner(ctx, s, r)
				}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "recovery-mints-new-rid", ID: "Z46", Breaks: []string{"no-orphan", "recovered"},
				Doc: "recovery works under a reservation id of its own: the old reservation has no owner any more",
			},
			scenarios: crash, steps: true,
			edit: func(p *program) {
				inner := p.recoverOne
				p.recoverOne = func(ctx context.Context, s *saga, r Record) error {
					if r.Phase == Reserving {
						old := s.rid
						s.rid = s.ids.next()
						s.holds(ctx, s.rid)
						if err := s.p.saveSaga(ctx, s.db, Record{s.rid, Reserving, s.tid, r.Envelope}); err != nil {
							return err
						}
						if err := s.p.deleteSaga(ctx, s.db, old); err != nil {
							return err
						}
					}
					return inner(ctx, s, r)
				}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "ids-from-the-clock-alone", ID: "Z51", Breaks: []string{"no-double-spend", "ownership", "conservation", "no-orphan"},
				Doc: "reservation ids hold no node: two processes mint the same one in the same millisecond, and each takes the other's claim for its own",
			},
			scenarios: []string{"postings/claim"},
			edit:      func(p *program) { p.clockIDs = true },
		},
		{
			Mutant: sim.Mutant{
				Name: "record-overwritten", ID: "Z51b", Breaks: []string{"no-double-spend", "ownership", "no-orphan", "conservation"},
				Doc: "a new saga writes its record over one of the same id instead of minting another id",
			},
			scenarios: []string{"postings/same-rid"},
			edit:      func(p *program) { p.sqlSaveSaga = sqlSaveSaga },
		},
		{
			Mutant: sim.Mutant{
				Name: "random-book-in-content-id", ID: "Z53", Breaks: []string{"intent-once"},
				Doc: "the content id covers a book that each process draws for itself: the same deposit is two transfers",
			},
			scenarios: []string{"postings/retry"},
			edit: func(p *program) {
				p.contentID = func(s *saga) string { return contentID(s.env, fmt.Sprintf("book-%d", s.ids.base/1000), false) }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "payer-in-content-id", ID: "Z54", Breaks: []string{"intent-once"},
				Doc: "the content id covers who pays, which is not part of the economics: the same deposit has two keys",
			},
			scenarios: []string{"postings/retry"},
			edit: func(p *program) {
				p.contentID = func(s *saga) string { return contentID(s.env, "", true) }
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "duplicate-input-accepted", ID: "Z58", Breaks: []string{"conservation"},
				Doc: "an input that is named twice counts twice, and is spent once",
			},
			scenarios: []string{"postings/rules"},
			edit:      func(p *program) { p.dropRule("distinct-inputs") },
		},
	}
}

// recoverFrom is the recovery that goes on from a step chosen by the record.
func recoverFrom(from func(r Record) string) func(ctx context.Context, s *saga, r Record) error {
	return func(ctx context.Context, s *saga, r Record) error {
		_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
		if err != nil {
			return err
		}
		if found {
			return s.forward(ctx, s.p.steps[s.p.stepIndex("event"):])
		}
		_ = s.run(ctx, from(r))
		return nil
	}
}

// recoverByForce applies everything that is left of a saga and looks at no count.
func recoverByForce(ctx context.Context, s *saga, _ Record) error {
	if _, err := s.p.reserve.do(ctx, s.db, s.env.Consumes, s.rid); err != nil {
		return err
	}
	if _, err := s.p.consume.do(ctx, s.db, s.env.Consumes, s.rid); err != nil {
		return err
	}
	if _, err := s.p.insert.do(ctx, s.db, s.env.postings(s.tid)); err != nil {
		return err
	}
	inputs, err := s.p.postings(ctx, s.db, s.env.Consumes)
	if err != nil {
		return err
	}
	s.inputs = inputs
	return s.forward(ctx, s.p.steps[s.p.stepIndex("store"):])
}
