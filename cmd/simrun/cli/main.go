// Package cli is the command line of simrun. A program of your own that imports your scenarios and calls Main has every verb of
// simrun for them; docs/tutorial.md shows one.
package cli

import (
	"os"
	"runtime/debug"
)

// Main runs the command line of the process on the scenarios that sim.Register knows, and ends the process with an exit code: 0
// every invariant held; 1 one was violated; 2 the command line was wrong; 3 model and server disagree, or a run was not repeatable;
// 4 the run could not be made.
func Main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // runs make much short-lived garbage and keep little
	}
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
