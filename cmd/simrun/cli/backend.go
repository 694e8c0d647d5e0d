package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"simrun/replay"
	"simrun/sim"
	"simrun/sim/postgres"
)

// server is the real Postgres of this process, started when first needed.
type server struct {
	backend string // flag
	url     string // flag
	locks   bool   // flag
	running *postgres.Server
}

var backends = []string{"model", "postgres", "both"}

func (s *server) flags(f *pflag.FlagSet) {
	f.StringVar(&s.backend, "backend", "model", "what executes the SQL: model, postgres, or both in lock-step")
	f.StringVar(&s.url, "postgres", "auto", "the server: auto starts a throw-away one, otherwise a URL")
	f.BoolVar(&s.locks, "compare-locks", false, "with --backend both, compare pg_locks after each step too")
}

// opener returns what makes backends.
func (a *app) opener(ctx context.Context) (replay.Opener, error) {
	s := &a.server
	if !slices.Contains(backends, s.backend) {
		return nil, usage("--backend %s: expected one of %s", s.backend, strings.Join(backends, ", "))
	}
	if s.backend == "model" {
		return sim.NewModel, nil
	}
	if s.running == nil {
		if err := a.startServer(ctx); err != nil {
			return nil, err
		}
		if !s.running.Gated() {
			fmt.Fprintln(a.errs, "simrun: this server was not started by simrun: sessions that one step frees race each other, so runs may not be repeatable")
		}
	}
	if s.backend == "postgres" {
		return func(setup *sim.Setup) (sim.Backend, error) { return s.running.NewBackend(setup) }, nil
	}
	return func(setup *sim.Setup) (sim.Backend, error) { return s.running.NewPair(setup, s.locks) }, nil
}

// startServer starts the server, or connects to it, unless that was done before.
func (a *app) startServer(ctx context.Context) (err error) {
	if a.server.running != nil {
		return nil
	}
	if a.server.running, err = postgres.Open(ctx, a.server.url); err != nil {
		return &exit{exitCouldNot, fmt.Errorf("no server: %w", err)}
	}
	return nil
}

func (a *app) close() {
	if a.server.running != nil {
		if err := a.server.running.Close(); err != nil {
			fmt.Fprintln(a.errs, "simrun:", err)
		}
		a.server.running = nil
	}
}
