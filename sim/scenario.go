package sim

import (
	"context"
	"io"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// Scenario is schema, actors, invariants and bounds, by name, e.g. "rings/flip".
type Scenario struct {
	Name     string
	Doc      string   // one sentence for `simrun scenarios`
	Variants []string // which texts of the protocol it has; the first is the default
	Mutants  []Mutant
	// Params are integer bounds a user may set with --set name=value, with their defaults and limits.
	Params []Param
	// Build makes one instance. It must be a deterministic function of cfg; swarm scenarios draw their subset from cfg.Rand.
	Build func(cfg Config) (*Setup, error)
	// Experiment, instead of Build, measures something on a real server in an empty database, which connect opens sessions to.
	// It is no schedule: `simrun run --backend postgres` makes it, and prints and plots what it found.
	Experiment func(ctx context.Context, connect func(context.Context) (*pgx.Conn, error)) (*Experiment, error)
	// FromText is true for a scenario whose instances are made from a text, Config.Text: it is not listed, since its name alone
	// says nothing.
	FromText bool
}

// Experiment is what an experiment found.
type Experiment struct {
	Title, Text string // Text says what the numbers mean
	Columns     []string
	Rows        [][]string
	X, Y        string // the axes of the plot, with units
	Series      []ExperimentSeries
}

// ExperimentSeries is a line of the plot.
type ExperimentSeries struct {
	Name string
	X, Y []float64
}

// Param is an integer bound of a scenario.
type Param struct {
	Name, Doc         string
	Default, Min, Max int
}

// Config says which instance of a scenario to build.
type Config struct {
	Variant string
	Mutants []string       // names, canonical, in the order given
	Params  map[string]int // every Param of the scenario has an entry
	Rand    *rand.Rand     // for swarm choices; derived from the run's seed
	Text    string         // what the instance is made from, when Scenario.FromText
}

// Mutant is a named, seeded bug.
type Mutant struct {
	Name   string   // in words, e.g. "authority-before-lock"
	ID     string   // the catalogue's id, e.g. "A1"; accepted wherever the name is
	Doc    string   // what is wrong, one sentence
	Breaks []string // the invariants it must break
	Masked bool     // redundant guard: survives alone
	Pair   string   // for a masked mutant, the other mutant that reveals it
}

// Setup is one instance of a scenario.
type Setup struct {
	// Schema makes the tables, functions, roles and triggers, as the superuser, once for all runs of the same text.
	Schema string
	// Seed inserts the initial rows of each run, as the superuser.
	Seed   string
	Actors []ActorSpec
	// Invariants are checked as their kind says.
	Invariants []Invariant
	// Witnesses are names that must be seen at least once over a search.
	Witnesses []string
	Faults    Faults
	// Observe, when set, is told each step of a recorded run, after the monitors have seen it; it may read Committed and Versions.
	Observe  func(s *Step)
	MaxSteps int // a run longer than this is cut and reported as cut; 0 means 10,000
}

// ActorSpec is one actor of a setup.
type ActorSpec struct {
	Name string // unique, e.g. "rotator-0.7/1"
	// Kind promises that the actors of one kind do the same when they observe the same, whatever their names and their sessions'
	// numbers, and that no invariant tells them apart; see Options.Symmetry. "" is a kind of its own.
	Kind string
	Role string // SET ROLE for its session; "" is the superuser
	// Settings are session settings, e.g. {"default_transaction_isolation", "repeatable read"}.
	Settings [][2]string
	// Daemon is true for an actor that need not finish for a run to be complete (a reader in a loop).
	Daemon bool
	// Restarts is how often the actor starts again after a crash fault.
	Restarts int
	Run      Actor
}

// Faults are budgets per run: how often each fault may be chosen. Zero means never.
type Faults struct {
	Crash         int // the actor's process dies between two statements: its connection is lost, its transaction rolled back
	CommitUnknown int // the connection is lost in COMMIT, applied or not: the answer never comes
	ConnLost      int // the connection is lost before the server acts on a statement
	Cancel        int // a statement is cancelled, 57014
	LockTimeout   int // a wait with lock_timeout set gives up, 55P03; without this budget such waits give up only when nothing else can move
	// a wait with statement_timeout set gives up, 57014; without this budget likewise
	StatementTimeout int
	IdleTimeout      int // a connection with idle_in_transaction_session_timeout set ends in a transaction, between two statements: 25P03
	Serialization    int // a statement in a REPEATABLE READ or SERIALIZABLE transaction fails with 40001
}

// InvariantKind says when an invariant is checked.
type InvariantKind uint8

const (
	// Always is checked on the committed state after each step that changed it.
	Always InvariantKind = iota
	// Quiescent is checked at the end of a run in which every actor that is no daemon has finished.
	Quiescent
	// Monitored is a small automaton over the trace whose state belongs to the world.
	Monitored
	// WholeRun is checked on the history and trace at the end of each run.
	WholeRun
)

// Invariant holds always, or is violated; see InvariantKind. Exactly one of SQL, Check, Monitor and Run is set.
type Invariant struct {
	Name string
	ID   string // the catalogue's id, e.g. "I-3"
	Doc  string
	Kind InvariantKind
	// SQL returns the violating rows (Always, Quiescent); it runs as the superuser on committed data, on both backends.
	SQL string
	// Check reads the world (Always, Quiescent); it returns "" when the invariant holds, otherwise what breaks it.
	Check func(v View) string
	// Monitor makes the initial state of an automaton (Monitored).
	Monitor func() Monitor
	// Run judges a whole run (WholeRun).
	Run func(t *Trace) string
	// Page, when set, writes what Run judged as an HTML page of its own, for reports; false when there is nothing to show.
	Page func(t *Trace, w io.Writer) (bool, error)
	// NeedsLocks is true when Run or Monitor reads Step.Acquired.
	NeedsLocks bool
}

// Monitor is an automaton over the steps of a run. It is a value: Step returns the next state and does not change the
// receiver. Hash is part of the world's fingerprint, so that states are merged only when the monitor agrees.
type Monitor interface {
	Step(s *Step) (next Monitor, violation string)
	Hash() uint64
}
