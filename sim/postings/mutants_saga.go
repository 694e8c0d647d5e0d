package postings

import (
	"context"

	"simrun/sim"
)

// mutantsSaga are bugs of counting and ordering in the saga (section 5.2 of the catalogue).
func mutantsSaga() []mutant {
	claim := []string{"postings/claim"}
	crash := []string{"postings/saga-crash-recover"}
	return []mutant{
		{
			Mutant: sim.Mutant{
				Name: "reserve-count-ignored", ID: "Z16", Breaks: []string{"no-double-spend", "conservation"},
				Doc: "the saga goes on whatever its reserve counted, as the recovery of a19dfcd did",
			},
			scenarios: claim, steps: true,
			edit: func(p *program) { p.replaceStep("reserve", reserveIf(func(int, []State, int64) bool { return true })) },
		},
		{
			Mutant: sim.Mutant{
				Name: "partial-reserve-accepted", ID: "Z17", Breaks: []string{"no-double-spend", "conservation"},
				Doc: "the saga goes on when it reserved at least one of its inputs",
			},
			scenarios: claim, steps: true,
			edit: func(p *program) {
				p.replaceStep("reserve", reserveIf(func(n int, states []State, rid int64) bool { return n > 0 || allHeldBy(states, rid) }))
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "any-reservation-is-mine", ID: "Z18", Breaks: []string{"no-double-spend", "conservation"},
				Doc: "the check after a short count asks whether the inputs are reserved, not by whom",
			},
			scenarios: []string{"postings/claim", "postings/pay"}, steps: true,
			edit: func(p *program) {
				p.replaceStep("reserve", reserveIf(func(_ int, states []State, _ int64) bool { return allAt(states, Held) }))
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "consume-shortfall-ignored", ID: "Z19", Breaks: []string{"conservation"}, Masked: true, Pair: "recovery-skips-reserve",
				Doc: "finalize goes on whatever consume counted; while reservations cannot be lost, the count is full",
			},
			scenarios: []string{"postings/lone-saga"}, steps: true,
			edit: func(p *program) {
				p.replaceStep("consume", func(ctx context.Context, s *saga) error {
					_, err := s.p.consume.do(ctx, s.db, s.env.Consumes, s.rid)
					return err
				})
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "phase-after-consume", ID: "Z25", Breaks: []string{"spent-has-spender", "conservation"},
				Doc: "the inputs are consumed before the record says finalizing: after a crash between, recovery takes them for somebody else's",
			},
			scenarios: append([]string{"postings/claim"}, crash...), steps: true,
			edit: func(p *program) { p.moveStep("finalizing", "create") },
		},
		{
			Mutant: sim.Mutant{
				Name: "record-deleted-on-any-failure", ID: "Z26", Breaks: []string{"conservation", "spent-has-spender", "one-event-each"},
				Doc: "a failed saga deletes its record also past the point of no return (a19dfcd)",
			},
			scenarios: []string{"postings/saga-errors"}, steps: true,
			edit: func(p *program) { p.keepRecord = func(context.Context, *saga, error) bool { return false } },
		},
		{
			Mutant: sim.Mutant{
				Name: "outputs-before-inputs", ID: "Z28", Breaks: []string{"conservation"},
				Doc: "outputs are created before the inputs are consumed: for a moment the value is there twice",
			},
			scenarios: claim, steps: true,
			edit: func(p *program) { p.moveStep("create", "consume") },
		},
		{
			Mutant: sim.Mutant{
				Name: "store-before-outputs", ID: "Z29", Breaks: []string{"log-has-effects", "conservation"},
				Doc: "the transfer is stored before its outputs: after a crash between, recovery takes it for done",
			},
			scenarios: append([]string{"postings/claim"}, crash...), steps: true,
			edit: func(p *program) { p.moveStep("store", "create") },
		},
		{
			Mutant: sim.Mutant{
				Name: "forgotten-before-event", ID: "Z30", Breaks: []string{"one-event-each"},
				Doc: "the record is deleted before the event is appended",
			},
			scenarios: crash, steps: true,
			edit: func(p *program) { p.moveStep("forget", "event") },
		},
		{
			Mutant: sim.Mutant{
				Name: "event-before-store", ID: "Z31", Breaks: []string{"event-has-transfer"},
				Doc: "the event is appended before its transfer is stored; only the form of I10 that holds always sees it",
			},
			scenarios: claim, steps: true,
			edit: func(p *program) { p.moveStep("event", "store") },
		},
		{
			Mutant: sim.Mutant{
				Name: "write-ahead-after-reserve", ID: "Z32", Breaks: []string{"no-orphan", "rebuildable"},
				Doc: "the record is written after the claim that it should make recoverable",
			},
			scenarios: append([]string{"postings/claim"}, crash...), steps: true,
			edit: func(p *program) {
				mint := func(ctx context.Context, s *saga) {
					if s.rid == 0 {
						s.rid, s.begun = s.ids.next(), true
						s.holds(ctx, s.rid)
					}
				}
				p.replaceStep("reserve", func(ctx context.Context, s *saga) error {
					mint(ctx, s)
					return stepReserve(ctx, s)
				})
				p.replaceStep("write-ahead", func(ctx context.Context, s *saga) error {
					return s.p.saveSaga(ctx, s.db, Record{s.rid, Reserving, s.tid, s.env})
				})
				p.moveStep("write-ahead", "relookup")
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "event-errors-swallowed", ID: "Z33", Breaks: []string{"one-event-each"},
				Doc: "a failed append of the event is ignored: events are best effort, as before 2ff5b1c",
			},
			scenarios: []string{"postings/saga-errors"}, steps: true,
			edit: func(p *program) {
				p.replaceStep("event", func(ctx context.Context, s *saga) error {
					_ = stepEvent(ctx, s)
					return nil
				})
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "no-write-ahead", ID: "Z34", Breaks: []string{"no-orphan", "effects-have-log", "recovered", "spent-has-spender"},
				Doc: "there is no record: after a crash nobody knows what was begun (E0)",
			},
			scenarios: append([]string{"postings/claim"}, crash...), steps: true,
			edit: func(p *program) {
				p.replaceStep("write-ahead", func(ctx context.Context, s *saga) error {
					s.rid, s.begun = s.ids.next(), true
					s.holds(ctx, s.rid)
					return nil
				})
				p.replaceStep("finalizing", func(context.Context, *saga) error { return nil })
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "unowned-reservations", ID: "Z35", Breaks: []string{"ownership", "no-double-spend"},
				Doc: "reservations have no owner: whoever finds the inputs reserved may go on, spend and release them (E0)",
			},
			scenarios: claim, steps: true,
			edit: func(p *program) {
				p.replaceStep("reserve", reserveIf(func(_ int, states []State, _ int64) bool { return allAt(states, Held) }))
				p.release = releaseAnyOwner
				p.consume = move{stmts: []string{`DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids`}}
			},
		},
	}
}

// reserveIf is the reserve step with another opinion on a short count.
func reserveIf(fine func(n int, states []State, rid int64) bool) func(ctx context.Context, s *saga) error {
	return func(ctx context.Context, s *saga) error {
		n, err := s.p.reserve.do(ctx, s.db, s.env.Consumes, s.rid)
		if err != nil {
			return err
		}
		if n < len(s.env.Consumes) {
			states, err := s.p.states(ctx, s.db, s.env.Consumes)
			if err != nil {
				return err
			}
			if !fine(n, states, s.rid) {
				return RefusedTaken
			}
		}
		s.reserved = true
		return nil
	}
}
