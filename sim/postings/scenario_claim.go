package postings

import (
	"fmt"

	"simrun/sim"
)

func init() {
	sim.Register(&sim.Scenario{
		Name:     "postings/claim",
		Doc:      "sagas that reserve, consume and create over overlapping sets of postings; at most one wins each posting",
		Variants: variants(),
		Mutants:  mutantsOf("postings/claim"),
		Params: []sim.Param{
			{Name: "sagas", Doc: "concurrent sagas", Default: 3, Min: 1, Max: 4},
			{Name: "postings", Doc: "postings of the payer", Default: 2, Min: 1, Max: 3},
			{Name: "repeatable-read", Doc: "1: sessions default to REPEATABLE READ", Default: 0, Min: 0, Max: 1},
		},
		Build: buildClaim,
	})
}

// buildClaim: alice holds a few postings; the first saga pays bob with all of them, the others pay bob with one each, in turn.
func buildClaim(cfg sim.Config) (*sim.Setup, error) {
	w, err := newWorld(cfg)
	if err != nil {
		return nil, err
	}
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	all := Envelope{Memo: "all"}
	var each []Envelope
	for i := range cfg.Params["postings"] {
		value := int64(10 * (i + 1))
		id := w.open.posting(alice, usd, value)
		all.Consumes = append(all.Consumes, id)
		all.Creates = append(all.Creates, Output{Owner: bob, Asset: usd, Value: value, Payer: alice})
		each = append(each, Envelope{
			Memo: fmt.Sprintf("only %s", id), Consumes: []PostingID{id},
			Creates: []Output{{Owner: bob, Asset: usd, Value: value, Payer: alice}},
		})
	}
	for i := range cfg.Params["sagas"] {
		env := all
		if i > 0 {
			env = each[(i-1)%len(each)]
			env.Memo = fmt.Sprintf("%s by %d", env.Memo, i+1)
		}
		w.add(fmt.Sprintf("saga-%d", i+1), claimer(w.process(), env))
	}
	w.witnesses = []string{"committed", "refused: input taken", "compensated"}
	return w.setup(), nil
}
