package postgres

import (
	"context"
	"fmt"
	"testing"

	"simrun/sim"
)

// A backend that is shut down leaves its database to the next with the same schema, and nothing else.
func TestShutdownParks(t *testing.T) {
	s, err := testServer()
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(schema, seed string, sessions int) *Backend {
		t.Helper()
		b, err := s.NewBackend(&sim.Setup{Schema: schema, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		openAll(t, b, sessions)
		return b
	}
	shut := func(b *Backend) string {
		t.Helper()
		name := b.database
		if err := b.Shutdown(); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const schema = "CREATE TABLE parked (k serial PRIMARY KEY, v int);"
	b := fresh(schema, "INSERT INTO parked (v) VALUES (1)", 3)
	expect(t, do(t, b, 0, "BEGIN; UPDATE parked SET v = 2"), "BEGIN; UPDATE 1 T")
	expect(t, do(t, b, 1, "UPDATE parked SET v = 3"), "blocked by [0]")
	expect(t, do(t, b, 2, "INSERT INTO parked (v) VALUES (7) RETURNING k"), "INSERT 0 1 (2) I")
	first := shut(b)

	b = fresh(schema, "INSERT INTO parked (v) VALUES (4), (5)", 2)
	if b.database != first {
		t.Errorf("the second backend has database %s, and %s was free", b.database, first)
	}
	expect(t, do(t, b, 0, "SELECT k, v FROM parked ORDER BY k"), "SELECT 2 (1,4) (2,5) I")
	expect(t, do(t, b, 1, "SELECT count(*) FROM pg_stat_activity WHERE pid > 0"), "SELECT 1 (2) I")
	expect(t, do(t, b, 1, "SELECT current_setting('application_name')"), "SELECT 1 (simrun/2) I")
	other := fresh(schema, "", 1)
	if other.database == first {
		t.Error("two backends share a database")
	}
	shut(other)
	expect(t, do(t, b, 0, "ALTER TABLE parked ADD w int"), "ALTER TABLE I")
	shut(b) // changed: not to be used again

	b = fresh(schema, "", 1)
	expect(t, do(t, b, 0, "SELECT * FROM parked"), "SELECT 0 I")
	if b.database == first {
		t.Error("a database whose schema a run has changed serves again")
	}
	shut(b)
	b = fresh("CREATE TABLE elsewhere (k int);", "", 1)
	expect(t, do(t, b, 0, "SELECT * FROM parked"), `42P01 relation "parked" does not exist I`)
	shut(b)
}

// Parked databases are dropped with the server, and not more of them are kept than is said.
func TestParkedAreDropped(t *testing.T) {
	main, err := testServer()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Connect(context.Background(), main.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	left := func() string {
		t.Helper()
		rows, err := main.admin(fmt.Sprintf("SELECT count(*) FROM pg_catalog.pg_database WHERE datname LIKE 'simrun_%s_%%'", s.tag))
		if err != nil {
			t.Fatal(err)
		}
		return rows[0][0]
	}
	for i := range maxParked + 2 {
		b, err := s.NewBackend(&sim.Setup{Schema: fmt.Sprintf("CREATE TABLE t%d (k int);", i)})
		if err != nil {
			t.Fatal(err)
		}
		openAll(t, b, 1)
		if err := b.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(); got != fmt.Sprint(maxParked) {
		t.Errorf("%s databases are kept, not %d", got, maxParked)
	}
	for i := range maxParked { // the ones that came last are kept, and serve
		b, err := s.NewBackend(&sim.Setup{Schema: fmt.Sprintf("CREATE TABLE t%d (k int);", i+2)})
		if err != nil {
			t.Fatal(err)
		}
		openAll(t, b, 1)
		expect(t, do(t, b, 0, fmt.Sprintf("SELECT * FROM t%d", i+2)), "SELECT 0 I")
		if err := b.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(); got != fmt.Sprint(maxParked) {
		t.Errorf("%s databases are kept in the end, not %d", got, maxParked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != "0" {
		t.Errorf("%s databases are left", got)
	}
}
