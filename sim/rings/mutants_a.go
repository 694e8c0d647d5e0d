package rings

import "simrun/sim"

// Group A: authority, flip, fence, expand, contract.
var mutantsA = []mutant{
	{sim.Mutant{Name: "authority-before-lock", ID: "A1", Breaks: []string{"MixedFleet", "AwareNeverBreaks"},
		Doc: "The gate samples the authority and takes the serializer afterwards."},
		[]string{"flip"}, func(p *program) { p.gate = p.gate.before("read authority", "lock singleton") }},
	{sim.Mutant{Name: "flip-without-reconcile", ID: "A2", Breaks: []string{"Shadow", "NoSkip"},
		Doc: "The flip promotes the ledgers as they are."},
		[]string{"flip"}, func(p *program) { p.flipRings = nil }},
	{sim.Mutant{Name: "no-fence-trigger", ID: "A4", Breaks: []string{"Fence"},
		Doc: "The columns are poisoned, but no trigger rejects an old rotator's advance from them."},
		[]string{"flip"}, func(p *program) { p.schema.fence = "" }},
}
