package rings

import (
	"context"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// program is the text of the protocol: its transactions as procedures, and the parts of the schema that a mutant may change.
// A variant builds one; a mutant edits a copy. The sections named are those of the system's description.
type program struct {
	schema schema
	slots  int           // slots of each ring, set by the scenario
	retain string        // how long failed rows are carried forward, an interval; set by the scenario
	begin  pgx.TxOptions // how protocol transactions begin
	counts countsOf      // 2.19

	oldRotate    procedure // 2.1
	gate         procedure // 2.2
	readCursor   procedure
	compatRotate procedure // 2.3
	ledgerRotate procedure // 2.4

	oldPickQueue      procedure // 2.6
	pruneTarget       procedure // the gate, the cursor, and the oldest slot, of any ring
	queueGates        procedure
	lockChildren      procedure
	queueGatesLocked  procedure
	emptyQueueSlot    procedure
	oldPickLease      procedure // 2.7
	emptyLeaseSlot    procedure
	claimProof        procedure // 2.8
	claimTargetSealed procedure
	claimProofLocked  procedure
	emptyClaimSlot    procedure
	oldEmptyClaimSlot procedure
	rollupSlot        procedure // 2.9

	enqueue      procedure // 2.10
	binaryRoute  procedure
	confirmRoute procedure
	claim        procedure // 2.11
	advanceLane  func(ctx context.Context, db sim.DB, l lane, seq int64) error

	completeCompact procedure // 2.12
	completeRow     procedure
	completeLease   procedure
	closeClaim      procedure
	materialise     procedure
	cancelReady     procedure
	sweepSlot       procedure
	rescueClaim     procedure
	reenqueue       procedure
	sweepBySlot     bool // each claim slot in a transaction of its own

	standDown   procedure // 2.13, 2.14
	foldDeltas  procedure
	foldLedgers procedure

	flipLocks  procedure // 2.15
	flipGate   procedure
	flipRings  procedure
	flipSwitch procedure
	// forceSkips: a forced flip skips everything that checks, not the gate only.
	forceSkips bool
	flipAgain  bool // a flip does not look whether it was done already

	watchAuthority procedure // auto-flip
	fleetReady     func(authorityStatus) bool

	expandFloor     procedure // 2.16
	expandRing      procedure
	expandAuthority procedure
	expandPoison    procedure
	expandSlots     procedure
	authorityFirst  bool      // the installer makes the authority before the rings
	contractCheck   procedure // 2.17
	contractDrop    procedure

	suppressed func(m memory, c cursor, n int) bool // 2.5
	after      func(m memory, o Outcome) memory

	rebuild procedure // 2.20
}

// The variants.
const (
	repaired = "repaired" // what holds everything
	shipped  = "shipped"  // what the public release does, step for step
	seed     = "seed"     // what the document says
)

// shippedProgram is the release, step for step.
func shippedProgram() *program {
	return &program{
		schema: newSchema(),
		counts: newCounts(),

		oldRotate:    oldRotate(),
		gate:         gate(),
		readCursor:   readCursor(),
		compatRotate: compatRotate(),
		ledgerRotate: ledgerRotate(),

		oldPickQueue:      oldPickQueue(),
		pruneTarget:       of(gate(), readCursor(), pickOldest()),
		queueGates:        queueGates(),
		lockChildren:      lockChildren(),
		queueGatesLocked:  queueGates(),
		emptyQueueSlot:    emptyQueueSlot(),
		oldPickLease:      oldPickLease(),
		emptyLeaseSlot:    emptyLeaseSlot(),
		claimProof:        claimProof(),
		claimTargetSealed: claimTargetSealed(),
		claimProofLocked:  claimProof(),
		emptyClaimSlot:    emptyClaimSlot(),
		oldEmptyClaimSlot: oldEmptyClaimSlot(),
		rollupSlot:        rollupSlot().with("probe horizon", standDown(horizonSQL)[0].run),

		enqueue:     enqueue(),
		binaryRoute: binaryRoute(),
		claim:       claim(),
		advanceLane: advanceLane,

		completeCompact: completeCompact(),
		completeRow:     completeRow(),
		completeLease:   completeLease(),
		closeClaim:      closeClaim(),
		materialise:     materialiseLease(leaseSlotOfLedger),
		cancelReady:     cancelReady(),
		sweepSlot:       sweepSlot(),
		rescueClaim:     rescueClaim(),
		reenqueue:       reenqueue(databaseRoute()),

		standDown:   standDown(horizonSQL),
		foldDeltas:  foldDeltas(),
		foldLedgers: foldLedgers(),

		flipLocks:  flipLocks(),
		flipGate:   flipGate(statusSQL),
		flipRings:  flipRings(),
		flipSwitch: flipSwitch(),

		watchAuthority: watchAuthority(statusSQL),
		fleetReady:     authorityStatus.ready,

		expandFloor:     expandFloor(),
		expandRing:      expandRing(),
		expandAuthority: expandAuthority(),
		expandPoison:    expandPoison(),
		expandSlots:     expandSlots(),
		contractCheck:   contractCheck(statusSQL),
		contractDrop:    contractDrop(),

		suppressed: memory.suppressed,
		after:      memory.after,

		rebuild: rebuildCounters(),
	}
}

// newProgram builds the program of a variant.
func newProgram(variant string) *program {
	p := shippedProgram()
	switch variant {
	case seed:
		asWritten(p)
	case repaired:
		repair(p)
	}
	return p
}
