package postings

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

//go:embed schema/common.sql
var schemaCommon string

//go:embed schema/index.sql
var schemaIndex string

//go:embed schema/status.sql
var schemaStatus string

//go:embed schema/live.sql
var schemaLive string

//go:embed schema/grants_index.sql
var grantsIndex string

//go:embed schema/grants_status.sql
var grantsStatus string

//go:embed schema/grants_live.sql
var grantsLive string

// commitRole is the role under which every process of the ledger runs.
const commitRole = "ledger_commit"

// schemaOf is the schema of an encoding with its roles.
func schemaOf(enc encoding) string {
	switch enc {
	case mutableStatus:
		return schemaStatus + schemaCommon + grantsStatus
	case migrated:
		return schemaStatus + schemaCommon + grantsStatus + schemaMigrations
	case liveTable:
		return schemaLive + schemaCommon + grantsLive
	}
	return schemaIndex + schemaCommon + grantsIndex
}

// The accounts and assets of the small scenarios.
var (
	external = AccountID{ID: 9} // owes what others hold
	alice    = AccountID{ID: 1}
	bob      = AccountID{ID: 2}
	carol    = AccountID{ID: 3}
	dave     = AccountID{ID: 4}
	erin     = AccountID{ID: 5}
)

const (
	usd Asset = 840
	eur Asset = 978
)

var (
	noOverdraft = Policy{Kind: "no-overdraft"}
	uncapped    = Policy{Kind: "uncapped"}
	external0   = Policy{Kind: "external"}
)

// opening is the state that a run starts from: accounts, and postings that a genesis transfer created out of the external
// account's debt.
type opening struct {
	accounts []Account
	postings []Posting
}

// genesis is the id of the transfer that created the opening postings.
const genesis = "g"

func (o *opening) account(id AccountID, policy Policy, flags int32) {
	o.accounts = append(o.accounts, Account{AccountID: id, Version: 1, Flags: flags, Policy: policy})
}

// posting adds an opening posting and gives its id.
func (o *opening) posting(owner AccountID, asset Asset, value int64) PostingID {
	id := PostingID{genesis, int16(len(o.postings))}
	o.postings = append(o.postings, Posting{id, owner, asset, value})
	return id
}

// all are the opening postings and, after them, the debts that balance them.
func (o *opening) all() []Posting {
	all := slices.Clone(o.postings)
	debts := &amounts{}
	for _, p := range o.postings {
		debts.add(holding{external, p.Asset}, -p.Value)
	}
	for _, h := range debts.order {
		all = append(all, Posting{PostingID{genesis, int16(len(all))}, h.Account, h.Asset, debts.sum[h]})
	}
	return all
}

// sql inserts the opening in an encoding.
func (o *opening) sql(enc encoding) string {
	var b strings.Builder
	for _, a := range o.accounts {
		fmt.Fprintf(&b, "INSERT INTO accounts VALUES (%d, %d, %d, '%s', %d);\n", a.ID, a.Sub, a.Version, a.Policy, a.Flags)
		fmt.Fprintf(&b, "INSERT INTO account_head VALUES (%d, %d, %d);\n", a.ID, a.Sub, a.Version)
	}
	if len(o.postings) == 0 {
		return b.String()
	}
	all := o.all()
	env := Envelope{Memo: "genesis"}
	for _, p := range all {
		env.Creates = append(env.Creates, Output{Owner: p.Owner, Asset: p.Asset, Value: p.Value})
		row := fmt.Sprintf("'%s', %d, %d, %d, %d, '%d'", p.ID.Transfer, p.ID.Idx, p.Owner.ID, p.Owner.Sub, p.Asset, p.Value)
		if enc == mutableStatus || enc == migrated {
			fmt.Fprintf(&b, "INSERT INTO postings VALUES (%s, 0, NULL);\n", row)
			continue
		}
		fmt.Fprintf(&b, "INSERT INTO postings VALUES (%s);\n", row)
		switch enc {
		case indexTables:
			fmt.Fprintf(&b, "INSERT INTO active_postings VALUES (%s);\n", row)
		case liveTable:
			fmt.Fprintf(&b, "INSERT INTO live_postings VALUES (%s);\n", row)
		}
	}
	fmt.Fprintf(&b, "INSERT INTO transfers VALUES ('%s', '%s', 0);\n", genesis, encodeEnvelope(env))
	fmt.Fprintf(&b, "INSERT INTO events VALUES (1, 0, '%s', '%s', '%s');\n", transferEvent, genesis, genesis)
	return b.String()
}

// world is a setup under construction.
type world struct {
	cfg    sim.Config
	p      *program
	open   opening
	actors []sim.ActorSpec
	faults sim.Faults
	// restarts is how often a worker starts again after a crash.
	restarts int
	exempt   []int // actors that I6 does not judge

	witnesses []string
	enc       encoding // how the invariants read the ledger
	linear    bool     // the history is checked for linearizability
	reads     bool     // pages and feeds are read
}

// newWorld builds the program of the configuration: its variant with its mutants applied.
func newWorld(cfg sim.Config) (*world, error) {
	p, err := newProgram(cfg.Variant)
	if err != nil {
		return nil, err
	}
	for _, name := range cfg.Mutants {
		m, err := mutantNamed(name)
		if err != nil {
			return nil, err
		}
		if m.steps && len(p.steps) != len(sagaSteps()) {
			return nil, fmt.Errorf("mutant %q edits a step of the saga that variant %q does not have", m.Name, cfg.Variant)
		}
		m.edit(p)
	}
	w := &world{cfg: cfg, p: p}
	w.faults = sim.Faults{
		Crash:         cfg.Params["crashes"],
		CommitUnknown: cfg.Params["commits-unknown"],
		ConnLost:      cfg.Params["connections-lost"],
		Cancel:        cfg.Params["cancels"],
	}
	w.restarts = w.faults.Crash
	w.enc = p.encoding
	w.open.account(external, external0, 0)
	return w, nil
}

// process gives the next process number to an actor that is about to be added.
func (w *world) process() process {
	f := w.faults
	return process{p: w.p, node: len(w.actors) + 1, repeat: 1 + f.Crash + f.CommitUnknown + f.ConnLost + f.Cancel}
}

// add adds an actor. kind names its code and parameters: actors of one kind behave alike.
func (w *world) add(name string, a sim.Actor) {
	w.actors = append(w.actors, sim.ActorSpec{
		Name: name, Role: commitRole, Restarts: w.restarts, Run: a,
		Settings: isolationSettings(w.cfg.Params["repeatable-read"]),
	})
}

func isolationSettings(repeatableRead int) [][2]string {
	if repeatableRead == 0 {
		return nil
	}
	return [][2]string{{"default_transaction_isolation", "repeatable read"}}
}

// setup completes the world.
func (w *world) setup() *sim.Setup {
	return &sim.Setup{
		Schema:     schemaOf(w.enc) + w.p.grants,
		Seed:       w.open.sql(w.enc),
		Actors:     w.actors,
		Invariants: w.invariants(),
		Witnesses:  w.witnesses,
		Faults:     w.faults,
		MaxSteps:   2000,
	}
}

// faultParams are the parameters of scenarios with faults, with the number of crashes that is the default.
func faultParams(crashes, lost, unknown int) []sim.Param {
	return []sim.Param{
		{Name: "crashes", Doc: "processes that die between two statements", Default: crashes, Min: 0, Max: 4},
		{Name: "connections-lost", Doc: "connections lost before the server acts", Default: lost, Min: 0, Max: 4},
		{Name: "commits-unknown", Doc: "commits, applied or not, whose answer is lost", Default: unknown, Min: 0, Max: 4},
		{Name: "cancels", Doc: "statements cancelled", Default: 0, Min: 0, Max: 4},
		{Name: "repeatable-read", Doc: "1: sessions default to REPEATABLE READ", Default: 0, Min: 0, Max: 1},
	}
}
