package tla

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"simrun/replay"
	"simrun/sim"
)

// Mapping ties a scenario to a specification: what of a world the specification's variables are.
type Mapping struct {
	Name   string // e.g. "RingCursor/flip"
	Config string // of the specification
	// Instance is the scenario whose runs must be runs of the specification. It takes every mutant of its system.
	sim.Instance
	// Atomic is how many steps of the specification one step of a run may make at once.
	Atomic int
	Start  func() Tracker
	// Strategy makes the choices of seeded runs; "" is random.
	Strategy string
	// Rejects are changes of the scenario that the specification must reject.
	Rejects []Reject
	// Why explains the actions that no run can take in this scenario.
	Why map[string]string
}

// Reject is a change of a mapping's scenario whose runs are not all runs of the specification.
type Reject struct {
	Config  string // the configuration of the specification that has the same fault, "" when none has
	Variant string // "" leaves the mapping's
	Mutants []string
	Params  map[string]int // in addition to the mapping's
}

// String names the change as flags of the command line do.
func (r Reject) String() string {
	var parts []string
	if r.Variant != "" {
		parts = append(parts, r.Variant)
	}
	parts = append(parts, r.Mutants...)
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, r.Params[name]))
	}
	return strings.Join(parts, " ")
}

func mutants(config string, ids ...string) Reject { return Reject{Config: config, Mutants: ids} }

// instance is a variant of a scenario, with every mutant of its system.
func instance(scenario, variant string, params map[string]int) sim.Instance {
	return sim.Instance{Variant: variant, Params: params}.Of(withMutants(scenario))
}

// Mappings are all ties between scenarios and specifications.
func Mappings() []Mapping {
	return slices.Concat(postingsMappings(), lockOrderMappings(), cursorMappings(), []Mapping{deadTuplesMapping()})
}

func postingsMappings() []Mapping {
	two := map[string]int{"sagas": 2, "postings": 1, "crashes": 1}
	const there = "the postings that are followed exist from the start"
	return []Mapping{
		{
			Name: "PostingsMembership/claim", Config: "PostingsMembership", Instance: instance("postings/claim", "seed", nil), Atomic: 1, Start: openingPostings,
			Rejects: []Reject{
				mutants("PostingsMembership_Z03_check_then_act", "Z03"), mutants("PostingsMembership_Z04_reserve_steals", "Z04"),
				mutants("PostingsMembership_Z05_reserve_not_atomic", "Z05"), mutants("PostingsMembership_Z09_release_ignores_rid", "Z09"),
				mutants("PostingsMembership_Z10_consume_ignores_rid", "Z10", "Z16"), mutants("PostingsMembership_Z13_release_revives_spent", "Z13"),
			},
			Why: map[string]string{"Create": there},
		},
		{
			Name: "PostingsMembership/claim-repaired", Config: "PostingsMembership", Instance: instance("postings/claim", "repaired", nil), Atomic: 1, Start: openingPostings,
			Why: map[string]string{
				"Create":  there,
				"Release": "a repaired saga that loses a posting rolls back what it reserved: nothing was committed",
			},
		},
		{
			Name: "PostingsMembership/crash", Config: "PostingsMembership", Instance: instance("postings/saga-crash-recover", "seed", nil), Atomic: 1, Start: createdPosting,
			Strategy: "pct(3)", // whoever spends the posting begins when it is there
			Rejects:  []Reject{mutants("PostingsMembership_Z08_ungated_activation", "Z08")},
			Why:      map[string]string{"Release": "one saga wants the posting that is followed, so nothing makes it give it back"},
		},
		{
			Name: "CommitSaga/two-recoverers", Config: "CommitSaga", Atomic: 8, Start: newSaga,
			Instance: instance("postings/two-recoverers", "repaired", map[string]int{"recoverers": 1}),
			Rejects:  []Reject{{Config: "CommitSaga_shipped_concurrent_recovery", Variant: "mended"}},
			Why: map[string]string{
				"Release": "a repaired saga that loses the posting rolls back the transaction that wrote its record",
				"GiveUp":  "the record of a repaired saga that loses the posting was never committed",
			},
		},
		{
			Name: "CommitSaga/claim", Config: "CommitSaga", Instance: instance("postings/claim", "mended", two), Atomic: 1, Start: newSaga,
			Rejects: []Reject{
				mutants("CommitSaga_Z16_count_ignored", "Z16"), mutants("CommitSaga_Z25_phase_after_consume", "Z25"),
				mutants("CommitSaga_Z28_outputs_first", "Z28"), mutants("CommitSaga_Z29_store_first", "Z29"),
				mutants("CommitSaga_Z32_record_after_reserve", "Z32"), mutants("CommitSaga_Z41_recovery_jumps", "Z41"),
				mutants("CommitSaga_Z42_recovery_rolls_back", "Z42"),
			},
			Why: map[string]string{"Release": "a saga that loses the posting holds nothing, and nothing else makes one fail"},
		},
		{
			Name: "CommitSaga/errors", Config: "CommitSaga", Atomic: 1, Start: newSaga,
			Instance: instance("postings/claim", "mended", map[string]int{"sagas": 2, "postings": 1, "commits-unknown": 1}),
			Rejects: []Reject{
				mutants("CommitSaga_Z26_delete_on_any_failure", "Z26"),
				{Config: "CommitSaga_shipped_release_after_finalizing", Variant: "seed"},
			},
			Why: map[string]string{},
		},
	}
}

func lockOrderMappings() []Mapping {
	why := map[string]string{
		"FlipLock": "there is no flip in this scenario", "FlipSlot": "there is no flip in this scenario",
		"FlipCommit": "there is no flip in this scenario", "FlipLeave": "there is no flip in this scenario",
	}
	columns := maps.Clone(why)
	columns["TryAdvisory"] = "the authority is with the columns, where the singleton alone serializes"
	return []Mapping{
		{
			Name: "RingLockOrder/flip", Config: "RingLockOrder_flip", Instance: instance("rings/flip", "repaired", nil), Atomic: 1, Start: flipLockOrder,
			Rejects: []Reject{
				mutants("RingLockOrder_A1_authority_before_lock", "A1"), mutants("RingLockOrder_A6_flip_misses_a_lock", "A6"),
				mutants("RingLockOrder_B9_compat_advisory_only", "B9"), mutants("", "F1"),
			},
			Why: map[string]string{"LockChild": "there is no pruner in this scenario"},
		},
		{
			Name: "RingLockOrder/rotation", Config: "RingLockOrder_prune", Instance: instance("rings/rotation", "repaired", nil), Atomic: 1, Start: rotationLockOrder("ledger"),
			Rejects: []Reject{mutants("RingLockOrder_C13_lock_order_inverted", "C13"), mutants("", "C1"), mutants("", "F1")},
			Why:     why,
		},
		{
			Name: "RingLockOrder/rotation-columns", Config: "RingLockOrder_prune", Atomic: 1, Start: rotationLockOrder("columns"),
			Instance: instance("rings/rotation", "repaired", map[string]int{"ledger": 0}),
			Rejects:  []Reject{mutants("RingLockOrder_C13_lock_order_inverted", "C13")},
			Why:      columns,
		},
	}
}

func cursorMappings() []Mapping {
	const noFolder, noPruner, noFlip, noColumns = "there is no folder in this scenario", "there is no pruner in this scenario",
		"there is no flip in this scenario", "the ledger is authoritative from the start"
	const noOld, noWriter, noFinish, noData = "there is no 0.6.2 actor in this scenario", "there is no producer in this scenario",
		"nothing finishes a job in this scenario", "the ring has no rows in this scenario"
	const noLedger = "the columns stay authoritative in this scenario"
	full := []jobRow{{"1", "1", "1", true}, {"2", "0", "2", false}}
	return []Mapping{
		{
			Name: "RingCursor/flip", Config: "RingCursor_flip", Instance: instance("rings/flip", "repaired", nil), Atomic: 1,
			Start: cursorOf("queue", "columns", "1 1", "0 1", "0 1 -1 -1", fixedRows, jobRow{"1", "1", "1", false}),
			Rejects: []Reject{
				mutants("RingCursor_A2_flip_without_reconcile", "A2"), mutants("RingCursor_A4_no_trigger", "A4"),
				mutants("RingCursor_A5_slots_not_poisoned", "A5"), mutants("RingCursor_B3_no_busy_check", "B3"),
				mutants("RingCursor_B8_no_slot_stamp", "B8"), mutants("", "B1"), mutants("", "A3"), mutants("", "A8"),
			},
			Why: map[string]string{"Fold": noFolder, "Prune6": noPruner, "Prune7": noPruner, "Finish": noFinish, "Insert": noWriter},
		},
		{
			Name: "RingCursor/mixed", Config: "RingCursor_mixed", Atomic: 1,
			Instance: instance("rings/mixed", "repaired", map[string]int{"slots": 2, "ticks": 1}),
			Start:    cursorOf("queue", "columns", "0 2", "0 2", "2 1", allRows, full...),
			Rejects:  []Reject{mutants("RingCursor_B8_no_slot_stamp", "B8"), mutants("RingCursor_B3_no_busy_check", "B3")},
			Why:      map[string]string{"Fold": noFolder, "Flip": noFlip, "Rotate7l": noLedger},
		},
		{
			Name: "RingCursor/prune", Config: "RingCursor_prune", Instance: instance("tla/prune", "repaired", nil), Atomic: 1,
			Start:   cursorOf("queue", "ledger", "-1 -1", "1 2", "-1 -1", allRows, full...),
			Rejects: []Reject{mutants("RingCursor_B3_no_busy_check", "B3"), mutants("", "C20")},
			Why:     map[string]string{"Fold": noFolder, "Flip": noColumns, "Rotate6": noOld, "Rotate7c": noColumns, "Prune6": noOld},
		},
		{
			Name: "RingCursor/lap", Config: "RingCursor_lap", Instance: instance("rings/lap", "repaired", nil), Atomic: 1, Strategy: "pct(3)",
			Start:   cursorOf("queue", "columns", "0 2", "0 2", "2 1", readyRows),
			Rejects: []Reject{{Config: "RingCursor_E1_guard_by_generation", Variant: "shipped"}},
			Why: map[string]string{"Fold": noFolder, "Flip": noFlip, "Rotate7c": "there is no 0.7 rotator in this scenario", "Rotate7l": noLedger,
				"Prune6": "there is no 0.6.2 pruner in this scenario", "Prune7": "the job is never finished, so its slot is never truncated", "Finish": noFinish},
		},
		{
			Name: "RingCursor/trim", Config: "RingCursor_trim", Instance: instance("rings/trim", "repaired", nil), Atomic: 1,
			Start:   cursorOf("lease", "ledger", "-1 -1", "1 2", "-1 -1", noRows),
			Rejects: []Reject{mutants("RingCursor_D5_fold_trims_too_much", "D5"), mutants("", "D6")},
			Why:     map[string]string{"Flip": noColumns, "Rotate6": noOld, "Rotate7c": noColumns, "Prune6": noData, "Prune7": noData, "Insert": noData, "Finish": noData},
		},
	}
}

func deadTuplesMapping() Mapping {
	return Mapping{
		Name: "DeadTuples/fold", Config: "DeadTuples", Instance: instance("tla/dead-tuples", "repaired", nil), Atomic: 1, Start: newDeadTuples,
		Strategy: "pct(3)", // a fold stands down while anybody's transaction idles, as most do at random
		Rejects: []Reject{
			mutants("DeadTuples_D3_no_gate", "D3"),
			// What the two configurations change cannot be asked of a mutant alone; these write in place under the ledger too.
			mutants("DeadTuples_rotate_updates", "A4"), mutants("DeadTuples_prune_upserts", "A5"),
		},
		Why: map[string]string{},
	}
}

// MappingsOf returns the mappings with one of the names, or of the specifications named; all when there are none.
func MappingsOf(names ...string) ([]Mapping, error) {
	all := Mappings()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, m := range all {
		known = append(known, m.Name)
	}
	var out []Mapping
	for _, name := range names {
		before := len(out)
		for _, m := range all {
			if m.Name == name || strings.HasPrefix(m.Name, name+"/") {
				out = append(out, m)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("no scenario is tied to a specification as %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return out, nil
}

// MappingsFor returns the mappings of the instance's scenario, variant and parameters, whatever its mutants. It fails when
// there are none, and says which there are.
func MappingsFor(in sim.Instance) ([]Mapping, error) {
	var out []Mapping
	var known []string
	for _, m := range Mappings() {
		mapped, _, err := m.Resolve()
		if err != nil {
			return nil, err
		}
		known = append(known, "  "+mapped.Flags())
		if mapped.Scenario == in.Scenario && mapped.Variant == in.Variant && maps.Equal(mapped.Params, in.Params) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no specification is tied to %s; there are ties to\n%s", in.Flags(), strings.Join(slices.Compact(known), "\n"))
	}
	return out, nil
}

// Refinement prepares the mapping's check.
func (m Mapping) Refinement() (*Refinement, error) {
	configs, err := Configs()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(configs, func(c Config) bool { return c.Name == m.Config })
	if i < 0 {
		return nil, fmt.Errorf("%s: there is no configuration %s", m.Name, m.Config)
	}
	return NewRefinement(configs[i], m.Start(), m.Atomic)
}

// Watched is an opener whose backends run setups with these refinements as invariants besides their own.
func Watched(open replay.Opener, rs ...*Refinement) replay.Opener {
	return func(setup *sim.Setup) (sim.Backend, error) {
		for _, r := range rs {
			setup.Invariants = append(setup.Invariants, r.Invariant())
		}
		return open(setup)
	}
}
