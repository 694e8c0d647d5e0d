package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"simrun/sim"
)

// Whatever waits for the server ends when the context is done, and the server can be closed then.
func TestWaitsEndWithTheContext(t *testing.T) {
	for _, c := range []struct {
		name string
		wait func(*Backend) error
	}{
		{"a statement", func(b *Backend) error { _, err := b.Submit(0, sim.Request{SQL: "SELECT pg_sleep(1000)"}); return err }},
		{"a prepared statement", func(b *Backend) error {
			_, err := b.Submit(0, sim.Request{SQL: "SELECT pg_sleep($1)", Args: []any{1000}})
			return err
		}},
		{"a query of an invariant", func(b *Backend) error { _, err := b.Query("SELECT pg_sleep(1000)"); return err }},
		{"settings of a session", func(b *Backend) error { return b.sessions[0].w.Run("SELECT pg_sleep(1000)") }},
		{"a cancelled statement", func(b *Backend) error {
			s := b.sessions[0]
			if err := s.start(sim.Request{SQL: "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN END; END LOOP; END $$"}, ""); err != nil {
				return err
			}
			for { // cancelled before its block begins, it just ends
				r, err := b.Query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
				if err != nil {
					return err
				}
				if len(r.Rows) > 0 {
					return b.Close(0)
				}
			}
		}},
		{"a new session", func(b *Backend) error {
			for i := 1; ; i++ { // until the context is done
				if err := b.Open(i%5+1, sim.ActorSpec{Name: "x"}); err != nil {
					return err
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			shared, err := testServer()
			if err != nil {
				t.Fatal(err)
			}
			s, err := Connect(ctx, shared.URL("postgres"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.NewBackend(&sim.Setup{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Open(0, sim.ActorSpec{Name: "a"}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- c.wait(b) }()
			time.Sleep(20 * time.Millisecond) // that it has begun to wait makes the test stronger, not different
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("it waits on")
			}
			if err := b.Shutdown(); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}
