package rings

// probeNext looks for rows in the next slot's children, one statement a family; any row means the slot is busy.
func probeNext(t *turn) error {
	next := t.cur.next(t.n)
	for _, table := range t.children(next.Slot) {
		busy, err := t.exists(`SELECT EXISTS (SELECT 1 FROM ` + table + ` LIMIT 1)`)
		switch {
		case err != nil:
			return err
		case busy:
			return t.end(Outcome{Kind: SkippedBusy, Slot: next.Slot, Gen: next.Gen, Reason: "next slot"})
		}
	}
	return nil
}

// probeRing looks for rows in all parents of the ring, and stops at the first; none at all means the ring is idle. It is
// the whole ring, because prune never advances a slot's generation: were rotation frozen while sealed slots hold rows,
// prune would pick the same slot for ever.
func probeRing(t *turn) error {
	for _, table := range t.families {
		found, err := t.exists(`SELECT EXISTS (SELECT 1 FROM ` + table + ` LIMIT 1)`)
		if found || err != nil {
			return err
		}
	}
	return t.end(Outcome{Kind: SkippedIdle, Slot: t.cur.Slot, Gen: t.cur.Gen})
}

// unlessLost ends the turn as a lost race when a compare-and-swap changed no row.
func (t *turn) unlessLost(rows int64, err error) error {
	if err == nil && rows == 0 {
		return t.end(Outcome{Kind: SkippedBusy, Reason: "lost race"})
	}
	return err
}
