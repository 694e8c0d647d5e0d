package rings

// asWritten turns the release into what the document says, where the two differ: the singleton serialises the columns'
// discipline only; under the ledger's a rotator takes nothing but the advisory lock, so that it skips where the release queues.
// Binaries read a cursor through the resolver.
func asWritten(p *program) {
	p.gate = procedure{
		{"read authority", func(t *turn) error {
			return t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
		}},
		{"lock singleton", func(t *turn) error {
			if t.mode == ledger {
				return nil // there is no way back to the columns
			}
			return t.do(`SELECT 1 FROM {ring}_ring_state WHERE singleton FOR UPDATE`)
		}},
		{"read authority again", func(t *turn) error {
			if t.mode == ledger {
				return nil
			}
			return t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
		}},
		p.gate[p.gate.index("try advisory lock")],
	}
	p.pruneTarget = of(p.gate, p.readCursor, pickOldest())
	p.binaryRoute = databaseRoute()
}

// repair turns the release into what holds everything. Each repair answers a finding.
func repair(p *program) {
	// A protocol transaction relies on a snapshot per statement, so it says so.
	p.begin = readCommitted

	// Authority and cursor are read under one snapshot, and a row's route is confirmed once its child is locked.
	p.binaryRoute = databaseRoute()
	p.confirmRoute = confirmRoute()
	p.materialise = materialiseLease(leaseSlotOfResolver)

	// A rotation waits for no writer, but opens no slot that one is writing to.
	p.compatRotate = p.compatRotate.with("probe next slot", probeNextLocked)
	p.ledgerRotate = p.ledgerRotate.with("probe next slot", probeNextLocked)
	p.oldRotate = p.oldRotate.with("probe next slot", probeNextLocked) // in the stepping stone too

	// A prune looks at pending rows of any generation.
	anyGeneration := func(t *turn) error { return pendingReady(t, pendingOfAnySQL) }
	p.queueGates = p.queueGates.with("pending ready", anyGeneration)
	p.queueGatesLocked = p.queueGatesLocked.with("pending ready", anyGeneration)

	// Until the flip 0.6.2 binaries read the counts, and know the rollups only.
	p.emptyQueueSlot = p.emptyQueueSlot.with("record counts", func(t *turn) error {
		if t.mode == columns {
			return recordRollups(t)
		}
		return recordDeltas(t)
	})

	// Whoever may not see what others do counts what cannot be judged as a pin.
	p.standDown = standDown(horizonSafeSQL)
	p.rollupSlot = p.rollupSlot.with("probe horizon", p.standDown[0].run)

	// A flip waits for a migration before it takes anything that the migration needs.
	p.flipLocks = of(contractCheck(statusSQL)[:1], p.flipLocks)

	// An installer that finds the columns gone gives them the poison back when the ledger is authoritative, not live values.
	p.authorityFirst = true
	p.expandRing = p.expandRing.with("inverse seed", func(t *turn) error {
		return t.do(`UPDATE {ring}_ring_state s SET
				current_slot = CASE WHEN a.authority = 'ledger' THEN -1 ELSE r.slot END,
				generation = CASE WHEN a.authority = 'ledger' THEN -1 ELSE r.generation END
			FROM (SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1) r, ring_cursor_authority a
			WHERE s.generation IS NULL OR s.current_slot IS NULL`)
	})

	// Nobody holds the rows of several claim slots but the flip, and a rebuild takes the serializer first.
	p.sweepBySlot = true
	p.rebuild = of(procedure{{"lock singleton", func(t *turn) error {
		return t.do(`SELECT 1 FROM queue_ring_state WHERE singleton FOR UPDATE`)
	}}}, p.rebuild)
}

// probeNextLocked is probeNext with the children locked against writers first: a row that is not committed yet is a row.
func probeNextLocked(t *turn) error {
	next := t.cur.next(t.n)
	tables := t.childList(next.Slot)
	if err := t.do(`SELECT set_config('lock_timeout', '10ms', true)`); err != nil {
		return err
	}
	if err := t.lockOrBusy(`LOCK TABLE `+tables+` IN SHARE MODE`, next); err != nil {
		return err
	}
	return probeNext(t)
}

// lockOrBusy runs a bounded wait; when it gives up the turn rolls back as SkippedBusy.
func (t *turn) lockOrBusy(sql string, next cursor) error {
	err := t.lockOrBlocked(sql)
	if err == errRefuse {
		t.now = Outcome{Kind: SkippedBusy, Slot: next.Slot, Gen: next.Gen, Reason: "writer"}
	}
	return err
}
