package spec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"simrun/scheduler"
	"simrun/sim"
)

// Confirmation says what was run on a server.
type Confirmation struct {
	Classes  int  `json:"classes"`           // of equivalent interleavings, one run of each
	Outcomes int  `json:"outcomes"`          // distinct ones, all of them as on the model
	Bounded  bool `json:"bounded,omitempty"` // there are more classes than were asked for
}

// Confirm runs one interleaving of each class of equivalent ones, which partial-order reduction finds on the model, on a backend of
// open's too, and compares the results of all steps and the tables at the end. most bounds the number of classes; 0 means no
// bound. The error is a *sim.Divergence when model and server do not agree.
func Confirm(ctx context.Context, sel *Selection, most int, open func(*sim.Setup) (sim.Backend, error)) (c *Confirmation, err error) {
	x, err := newExplorer(sel)
	if err != nil {
		return nil, err
	}
	db, err := open(x.setup)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Shutdown()) }()
	server, err := frameOn(db, x.setup, sim.Options{Record: true})
	if err != nil {
		return nil, err
	}
	outcomes := map[string]bool{}
	var failed error
	res, err := scheduler.Explore(ctx, scheduler.System[*sim.World](x.search), scheduler.ExploreOptions[*sim.World]{
		Reduction: scheduler.ReduceDPOR, Schedules: most, AllowStuck: true,
		OnEnd: func(_ int, choices []scheduler.Choice, _ *sim.World) scheduler.Violation {
			var o *outcome
			if o, failed = x.compare(server, slices.Concat(x.search.before, choices)); failed != nil {
				return scheduler.Violation{Invariant: sim.CouldNotRun, Detail: failed.Error()}
			}
			outcomes[o.key(nil)] = true
			return scheduler.Violation{}
		},
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, failed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case res.Verdict == scheduler.Violated:
		return nil, errors.New(res.Violation.Detail)
	}
	return &Confirmation{Classes: res.Schedules, Outcomes: len(outcomes), Bounded: slices.Contains(res.BoundsHit, scheduler.BoundSchedules)}, nil
}

// compare makes one run on the model and on the server.
func (x *explorer) compare(server *frame, choices []scheduler.Choice) (*outcome, error) {
	want, err := x.outcome(choices)
	if err != nil {
		return nil, err
	}
	got, err := x.outcomeOn(server, choices)
	order := "interleaving " + strings.Join(want.order, " ")
	var gone *scheduler.NotEnabled
	if errors.As(err, &gone) {
		return nil, &sim.Divergence{Step: order, What: "choices", Model: gone.Name, Server: "one of " + strings.Join(gone.Enabled, ", ")}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", order, err)
	}
	if want.key(nil) == got.key(nil) && want.broken == got.broken {
		return want, nil
	}
	d := &sim.Divergence{Step: order, What: "final state", Model: want.state(), Server: got.state()}
	w, g := want.results(), got.results()
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			d.What, d.Model, d.Server = "results", w[i], g[i]
			break
		}
	}
	return nil, d
}
