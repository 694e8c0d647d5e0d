package rings

import (
	"fmt"

	"simrun/sim"
)

// ringCursor is what the committed data says of one ring.
type ringCursor struct {
	ring    string
	n       int
	columns cursor
	ledger  cursor // the ledger's greatest row; Gen is -1 when there is none
}

// cursors is the authoritative cursor of each ring, and what it is read from.
type cursors struct {
	authority string
	rings     [3]ringCursor
}

// of is the authoritative cursor of ring i.
func (c *cursors) of(i int) cursor {
	if c.authority == ledger {
		return c.rings[i].ledger
	}
	return c.rings[i].columns
}

const cursorsSQL = `
SELECT a.authority, s.slot_count, coalesce(s.current_slot, -1), coalesce(s.generation, -1),
       coalesce((SELECT r.slot FROM %[1]s_ring_rotations r ORDER BY r.generation DESC LIMIT 1), -1),
       coalesce((SELECT max(r.generation) FROM %[1]s_ring_rotations r), -1)
FROM ring_cursor_authority a, %[1]s_ring_state s`

// contractedSQL is the same where the columns are gone: nothing is as good as poison.
const contractedSQL = `
SELECT a.authority, s.slot_count, -1, -1::bigint,
       coalesce((SELECT r.slot FROM %[1]s_ring_rotations r ORDER BY r.generation DESC LIMIT 1), -1),
       coalesce((SELECT max(r.generation) FROM %[1]s_ring_rotations r), -1)
FROM ring_cursor_authority a, %[1]s_ring_state s`

type cursorsKey struct{}

// readCursors reads the cursors from committed data, once for each state however many invariants ask. It returns nil
// where the tables are not there yet.
func readCursors(v sim.View) *cursors {
	c, _ := v.Memo(cursorsKey{}, func() any {
		c := &cursors{}
		for i, r := range allRings {
			res, err := v.Query(fmt.Sprintf(cursorsSQL, r.name))
			if err != nil {
				res, err = v.Query(fmt.Sprintf(contractedSQL, r.name))
			}
			if err != nil || len(res.Rows) != 1 {
				return (*cursors)(nil)
			}
			row := res.Rows[0]
			c.authority = row[0].S
			c.rings[i] = ringCursor{
				ring:    r.name,
				n:       int(row[1].N),
				columns: cursor{int(row[2].N), row[3].N},
				ledger:  cursor{int(row[4].N), row[5].N},
			}
		}
		return c
	}).(*cursors)
	return c
}
