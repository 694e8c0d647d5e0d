// Package pgtest gives tests a PostgreSQL server: one throw-away cluster for each test process.
package pgtest

import (
	"context"
	"os"
	"sync"
	"testing"

	"simrun/sim/postgres"
)

var shared = sync.OnceValues(func() (*postgres.Server, error) {
	return postgres.Open(context.Background(), os.Getenv("SIMRUN_TEST_POSTGRES"))
})

// Start returns the test process's server: a cluster that simrun starts, or the one that $SIMRUN_TEST_POSTGRES names. It
// stays up until the process ends and is then removed by its watchdog. Where no server can be had the test is skipped, but
// fails when $CI is "true".
func Start(t testing.TB) *postgres.Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return s
}

// Database makes an empty database for the test and returns its connection string; it is dropped after the test.
func Database(t testing.TB) string {
	t.Helper()
	s := Start(t)
	name, err := s.CreateDatabase()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.DropDatabase(name); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}
