package postings

import (
	"context"
	"fmt"
	"slices"

	"simrun/sim"
)

// encoding is how the lifecycle of a posting is stored.
type encoding string

const (
	indexTables   encoding = "index-tables"   // E2, E3
	mutableStatus encoding = "mutable-status" // E1, before migration 004
	liveTable     encoding = "live-table"     // E4, after migration 008
)

// program is one text of the protocol. Actors call it; variants build it; mutants edit a copy of it.
type program struct {
	encoding encoding
	grants   string // what its role needs beyond the schema's grants: nothing, except for some mutants

	// The primitives.
	reserve, release, consume, deactivate move
	insert                                insertion
	probes                                []string
	byOwner                               byOwner
	sources                               sources
	pageOrder                             string // of the postings on a page
	needsAccount                          bool   // a query of transfers asks the index also when no account is named
	liveAny                               string
	sqlStoreTransfer                      string
	sqlAppendEvent                        string
	sqlSaveSaga                           string
	sqlLockHead                           string
	sqlClaimRecord                        string
	appendVersionIn                       func(ctx context.Context, tx session, next Account) error

	// Reading and arithmetic of the ledger.
	loadFlags    func(int32) int32
	add          func(a, b int64) (int64, error)
	balanceOver  Filter // what a balance sums
	selectOver   Filter // what resolve chooses inputs from
	transit      func(ctx context.Context, p *program, db sim.DB, ids *idSource, t transition, id AccountID) error
	closeChecks  func(ctx context.Context, db session, p *program, a AccountID) (live bool, err error)
	contentID    func(s *saga) string
	clockIDs     bool                                           // ids are minted from the clock and a counter alone
	involved     func(e Envelope, inputs []Posting) []AccountID // the accounts a transfer is indexed under
	shortfall    func(missing int64) int64                      // value of the posting that an overdraft creates
	changeOwner  func(payer AccountID, m []Movement) AccountID  // who gets the excess of the inputs back
	rules        []rule
	mayOverdraw  func(Policy) bool
	loadBalances bool // validation reads the balances it judges: every variant does
	balanceOrErr func(v *plan, h holding) (int64, error)

	// The saga: its steps in order, and what happens when one fails.
	steps      []step
	attempts   int  // of each part of the saga
	noteFirst  bool // compensation releases only what a successful reserve step noted (E2, E3)
	reread     bool // s8..s10 look at the states even when the count was full (E2, E3)
	compensate func(ctx context.Context, s *saga, cause error) error
	keepRecord func(ctx context.Context, s *saga, compensated error) bool // after a failure
	reportStay bool                                                       // a record that could not be deleted makes the outcome unknown
	commit     func(ctx context.Context, s *saga) error

	// Recovery of one record.
	recoverOne   func(ctx context.Context, s *saga, r Record) error
	migrateApart bool                                                 // the statements of a migration commit one by one
	trustPlan    bool                                                 // a recovery does not validate: no variant does that
	stopAtFail   bool                                                 // one bad record stops a recovery
	rollOnly     bool                                                 // a recovery of a finalizing record does not validate again
	lockHeads    func(ctx context.Context, s *saga, tx session) error // repaired only
}

// The variants, by name.
const (
	variantSeed     = "seed"           // delete-first claim on two index tables, as the decision record says
	variantShipped  = "shipped"        // E2 as released: insert-first moves, two retried steps
	variantLive     = "live-index"     // E4/E5: one live table, linear saga
	variantStatus   = "mutable-status" // E1 with phases: the status column
	variantMended   = "mended"         // seed, with the smallest repairs that hold while each record has one owner
	variantRepaired = "repaired"       // two index tables, transactions with the record as their lock
)

func variants() []string {
	return []string{variantSeed, variantShipped, variantLive, variantStatus, variantMended, variantRepaired}
}

// newProgram builds the program of a variant.
func newProgram(variant string) (*program, error) {
	p := &program{
		encoding:   indexTables,
		reserve:    reserveDeleteFirst,
		release:    releaseDeleteFirst,
		consume:    consumeReserved,
		deactivate: deactivateActive,
		insert:     insertIndex,
		probes:     probesIndex,
		byOwner:    byOwnerIndex,
		sources:    sourcesIndex,
		pageOrder:  postingOrder,
		liveAny:    liveAnyIndex,

		sqlStoreTransfer: sqlStoreTransfer,
		sqlAppendEvent:   sqlAppendEvent,
		sqlSaveSaga:      sqlSaveSaga,
		sqlLockHead:      sqlLockHead,

		loadFlags:    func(f int32) int32 { return f },
		add:          addChecked,
		balanceOver:  FilterLive,
		selectOver:   FilterActive,
		transit:      transitSeparately,
		closeChecks:  closeChecksLive,
		contentID:    func(s *saga) string { return s.env.ID() },
		involved:     involvedAccounts,
		shortfall:    func(missing int64) int64 { return -missing },
		changeOwner:  func(payer AccountID, _ []Movement) AccountID { return payer },
		rules:        validationRules(),
		mayOverdraw:  Policy.mayOverdraw,
		loadBalances: true,
		balanceOrErr: (*plan).balanceOf,

		steps:      sagaSteps(),
		attempts:   1,
		compensate: releaseAll,
		keepRecord: storedFinalizing,
		commit:     commitSaga,
		recoverOne: recoverRecord,
		stopAtFail: true,
	}
	p.appendVersionIn = appendVersionDeleteInsert(p)
	switch variant {
	case variantSeed:
	case variantShipped:
		p.reserve, p.release = reserveInsertFirst, releaseInsertFirst
		p.insert = insertIndexRowwise
		p.attempts, p.noteFirst, p.reread = 3, true, true
	case variantLive:
		p.encoding = liveTable
		p.reserve, p.release, p.consume, p.deactivate = reserveLive, releaseLive, consumeLive, deactivateLive
		p.insert, p.probes, p.byOwner, p.sources, p.liveAny = insertLive, probesLive, byOwnerLive, sourcesLive, liveAnyLive
	case variantStatus:
		p.encoding = mutableStatus
		p.reserve, p.release, p.consume, p.deactivate = reserveStatus, releaseStatus, consumeStatus, deactivateStatus
		p.insert, p.probes, p.byOwner, p.sources, p.liveAny = insertStatus, probesStatus, byOwnerStatus, sourcesStatus, liveAnyStatus
	case variantMended:
		mend(p)
	case variantRepaired:
		repair(p)
	default:
		return nil, fmt.Errorf("postings has no variant %q; it has %q", variant, variants())
	}
	return p, nil
}

// replaceStep puts do in the place of the named step.
func (p *program) replaceStep(name string, do func(ctx context.Context, s *saga) error) {
	i := p.stepIndex(name)
	p.steps = slices.Clone(p.steps)
	p.steps[i].do = do
}

// moveStep takes the named step out and puts it back before another.
func (p *program) moveStep(name, before string) {
	i := p.stepIndex(name)
	moved := p.steps[i]
	p.steps = slices.Delete(slices.Clone(p.steps), i, i+1)
	p.steps = slices.Insert(p.steps, p.stepIndex(before), moved)
}

// stepIndex is the position of the named step, which the program has.
func (p *program) stepIndex(name string) int {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.name == name })
	if i < 0 {
		panic(fmt.Sprintf("the saga has no step %q", name))
	}
	return i
}
