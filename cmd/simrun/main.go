// Command simrun runs the actors of Postgres protocols one SQL statement at a time, in an order that a seed chooses, and judges
// what happened.
package main

import (
	"os"
	"runtime/debug"

	_ "simrun/examples/sqlcqueue"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // runs make much short-lived garbage and keep little
	}
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
