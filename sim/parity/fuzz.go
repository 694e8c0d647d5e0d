package parity

import (
	"context"
	"errors"
	"fmt"

	"simrun/sim"
	"simrun/sim/postgres"
)

// Options say how to look for divergences.
type Options struct {
	Seed         uint64
	Steps        int  // statements to run on both
	CompareLocks bool // compare pg_locks after each step too
	ShrinkBudget int  // runs that shrinking may take; 0 is 400
	// Keep is how many divergences to find before it ends; 0 is one. The rest of a schema that gave one is left out.
	Keep int
	// Progress is told now and then how far it is; it may be nil.
	Progress func(Report)
}

// Report is what was done.
type Report struct {
	Steps   int            `json:"steps"`
	Runs    int            `json:"runs"`
	Schemas int            `json:"schemas"`
	Seed    uint64         `json:"seed"`    // of the last schema
	Refused map[string]int `json:"refused"` // what the model refused, how often
}

// Found is a divergence, with the case as it was found and as it was shrunk.
type Found struct {
	Seed       uint64
	Case       *Case
	Shrunk     *Case
	Divergence *sim.Divergence
}

const (
	runsPerSchema = 60 // a schema costs as much as some runs
	stepsPerRun   = 40
)

// Fuzz runs random cases until the steps are done or enough divergences are found. The schema number n has the seed
// Options.Seed + n.
func Fuzz(ctx context.Context, server *postgres.Server, o Options) (Report, []*Found, error) {
	rep := Report{Refused: map[string]int{}}
	var all []*Found
	for seed := o.Seed; rep.Steps < o.Steps; seed++ {
		if err := ctx.Err(); err != nil {
			return rep, all, err
		}
		rep.Seed = seed
		found, err := fuzzSchema(ctx, server, seed, o, &rep)
		if found != nil {
			all = append(all, found)
		}
		if err != nil || len(all) >= max(o.Keep, 1) {
			return rep, all, err
		}
		if o.Progress != nil {
			o.Progress(rep)
		}
	}
	return rep, all, nil
}

// fuzzSchema draws a schema and runs cases on it.
func fuzzSchema(ctx context.Context, server *postgres.Server, seed uint64, o Options, rep *Report) (*Found, error) {
	g := newGen(seed)
	rep.Schemas++
	schema, rows := g.schema()
	sessions := 2 + g.r.IntN(3)
	db, err := server.NewPair(&sim.Setup{Schema: join(schema), Seed: join(rows)}, o.CompareLocks)
	if err != nil {
		var u *sim.Unsupported
		if !errors.As(err, &u) {
			return nil, fmt.Errorf("seed %d: the schema: %w\n%s", seed, err, join(schema)+join(rows))
		}
		rep.Refused[u.Err.Message]++
		return nil, nil
	}
	defer db.Shutdown()
	for range runsPerSchema {
		if rep.Steps >= o.Steps {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &Case{Schema: schema, Seed: rows, Sessions: sessions}
		d, err := fuzzRun(db, g, c, rep)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, c)
		}
		if d != nil {
			budget := o.ShrinkBudget
			if budget == 0 {
				budget = 400
			}
			f := &Found{Seed: seed, Case: c}
			f.Shrunk, f.Divergence = Shrink(server, c, d, o.CompareLocks, budget)
			return f, nil
		}
	}
	return nil, nil
}

// fuzzRun draws the steps of one run while it runs, and keeps them in c.
func fuzzRun(db sim.Backend, g *gen, c *Case, rep *Report) (*sim.Divergence, error) {
	rep.Runs++
	drv, err := open(db, c.Sessions)
	if err != nil {
		return nil, err
	}
	for len(c.Steps) < stepsPerRun && err == nil {
		var ready []int
		for i, waits := range drv.blocked {
			if !waits {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		s := Step{Session: ready[g.r.IntN(len(ready))], Pick: g.r.IntN(6)}
		s.SQL = g.next(drv.tx[s.Session])
		c.Steps = append(c.Steps, s)
		err = drv.step(s)
	}
	if err == nil {
		err = drv.finish(tablesOf(c.Schema))
	}
	rep.Steps += drv.steps
	var d *sim.Divergence
	var u *sim.Unsupported
	switch {
	case errors.As(err, &d):
		return d, nil
	case errors.As(err, &u):
		rep.Refused[u.Err.Message]++
		return nil, nil
	}
	return nil, err
}
