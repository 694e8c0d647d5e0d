package rings

// oldPickLease is how 0.6.2 finds the target of a lease or claim prune: by arithmetic on the columns.
func oldPickLease() procedure {
	return of(procedure{{"lock cursor", func(t *turn) error {
		err := t.row(`SELECT current_slot, generation, slot_count FROM {ring}_ring_state WHERE singleton FOR UPDATE`).
			Scan(&t.cur.Slot, &t.cur.Gen, &t.n)
		if err == nil {
			t.mode = columns
			t.noteOldHold()
		}
		return err
	}}}, pickOldest())
}

// emptyLeaseSlot truncates the target's child, under its lock, when it is sealed and empty of leases.
func emptyLeaseSlot() procedure {
	return procedure{
		{"target is sealed", func(t *turn) error { return t.unlessCurrent("lease.current") }},
		{"no lease", func(t *turn) error {
			active, err := t.exists(`SELECT EXISTS (SELECT 1 FROM ` + child("leases", t.target.Slot) + ` LIMIT 1)`)
			if err == nil && active {
				return t.skip("lease.active")
			}
			return err
		}},
		{"truncate", truncateChildren},
	}
}

func truncateChildren(t *turn) error {
	t.now.Slot, t.now.Gen = t.target.Slot, t.target.Gen
	return t.do(`TRUNCATE {children}`)
}

// unlessCurrent reads the cursor again and ends the turn when the target is the open slot.
func (t *turn) unlessCurrent(reason string) error {
	var now cursor
	sql := `SELECT current_slot, generation FROM {ring}_ring_state WHERE singleton`
	if t.mode == ledger {
		sql = `SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1`
	}
	err := t.cursorRow(&now, sql)
	if err == nil && now.Slot == t.target.Slot {
		return t.skip(reason)
	}
	return err
}

// claimProof ends the turn when fewer closures than claims are in the target's children. It is a count over whole children,
// before they are locked and again under the lock.
func claimProof() procedure {
	return procedure{{"all claims closed", func(t *turn) error { return t.unlessClosed(claimProofSQL) }}}
}

const claimProofSQL = `SELECT
	(SELECT count(*) FROM lease_claims_{slot}) + (SELECT coalesce(sum(claimed_count), 0) FROM lease_claim_batches_{slot})
	<> (SELECT count(*) FROM lease_claim_closures_{slot}) + (SELECT coalesce(sum(closed_count), 0) FROM lease_claim_closure_batches_{slot})`

func (t *turn) unlessClosed(sql string) error {
	open, err := t.exists(sql)
	if err == nil && open {
		return t.skip("claim.open")
	}
	return err
}

func claimTargetSealed() procedure {
	return procedure{{"target is sealed", func(t *turn) error { return t.unlessCurrent("claim.current") }}}
}

// emptyClaimSlot truncates the four children together and takes the rescue cursors of the slot back to the start.
func emptyClaimSlot() procedure {
	return procedure{
		{"truncate", truncateChildren},
		{"reset rescue cursors", func(t *turn) error {
			return t.do(`UPDATE claim_ring_slots SET stale_cursor_job = NULL, batch_cursor_seq = NULL WHERE slot = $1`, t.target.Slot)
		}},
	}
}

// oldEmptyClaimSlot resets the cursors that 0.6.2 knows.
func oldEmptyClaimSlot() procedure {
	return emptyClaimSlot().with("reset rescue cursors", func(t *turn) error {
		return t.do(`UPDATE claim_ring_slots SET stale_cursor_job = NULL WHERE slot = $1`, t.target.Slot)
	})
}
