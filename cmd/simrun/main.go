// Command simrun runs the actors of Postgres protocols one SQL statement at a time, in an order that a seed chooses, and judges
// what happened.
package main

import (
	"simrun/cmd/simrun/cli"

	_ "simrun/examples/sqlcqueue"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

func main() { cli.Main() }
