package rings

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"simrun/sim/postgres/pgtest"
)

// TestHorizon runs a minute of the hour: a dead row for each tick and ring in the columns' singletons, none under the ledgers.
func TestHorizon(t *testing.T) {
	url := pgtest.Database(t)
	res, err := Horizon{Ticks: 60, Sample: 20}.Run(context.Background(), func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) })
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res.Rows {
		t.Logf("%-8s %-22s written %5d dead %5d kept %5d freed %d", r.Authority, r.Relation, r.Written, r.Dead, r.Kept, r.Freed)
		isState := len(r.Relation) > 6 && r.Relation[len(r.Relation)-6:] == "_state"
		switch {
		case r.Authority == ledger && (r.Dead != 0 || r.Kept != 0):
			t.Errorf("%s has dead rows under the ledger: %+v", r.Relation, r)
		case r.Authority == columns && isState && (r.Dead != 60 || r.Kept != 60):
			t.Errorf("%s should have 60 dead rows that a VACUUM keeps: %+v", r.Relation, r)
		case r.Freed != 0:
			t.Errorf("%s keeps dead rows after the pin has gone: %+v", r.Relation, r)
		}
	}
	for _, s := range res.Series {
		t.Logf("%s %v %v", s.Authority, s.Second, s.Dead)
	}
}
