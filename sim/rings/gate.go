package rings

import "simrun/sim"

// gate is the common prefix of every 0.7 ring transaction: the serializer, then the authority, which is fixed for the rest
// of the transaction.
func gate() procedure {
	return procedure{
		{"lock singleton", func(t *turn) error {
			return t.do(`SELECT 1 FROM {ring}_ring_state WHERE singleton FOR UPDATE`)
		}},
		{"read authority", func(t *turn) error {
			return t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
		}},
		{"try advisory lock", func(t *turn) error {
			if t.mode == ledger {
				got, err := t.exists(`SELECT pg_try_advisory_xact_lock(hashtextextended('ring_rotation:{ring}', 0))`)
				switch {
				case err != nil:
					return err
				case !got:
					return t.end(Outcome{Kind: SkippedBusy, Reason: reasonSerializer})
				}
			}
			sim.Note(t.ctx, noteHold, hold{t.name, t.mode})
			return nil
		}},
	}
}

// The two authorities.
const (
	columns = "columns"
	ledger  = "ledger"
)

// readCursor reads the cursor from where the authority says it is, and the slot count.
func readCursor() procedure {
	return procedure{
		{"read cursor", func(t *turn) error {
			if t.mode == ledger {
				return t.cursorRow(&t.cur, `SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1`)
			}
			return t.cursorRow(&t.cur, `SELECT current_slot, generation FROM {ring}_ring_state WHERE singleton`)
		}},
		{"read slot count", func(t *turn) error {
			return t.row(`SELECT slot_count FROM {ring}_ring_state WHERE singleton`).Scan(&t.n)
		}},
	}
}
