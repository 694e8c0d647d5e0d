package tla

import (
	"slices"
	"strconv"
	"strings"

	"simrun/sim"
)

// cursor maps worlds of the rings system to RingCursor, for one ring.
type cursor struct {
	ring        string
	jobs        jobRows
	authority   string
	cols        [2]string // slot and generation of the singleton
	generations []string
	slots       []string // generation of each slot's row
	numbers     []string // jobs in the order in which they were seen: the specification numbers them
	rows        []jobRow
}

// jobRows says which rows are followed.
type jobRows uint8

const (
	noRows    jobRows = iota // the ring has none
	fixedRows                // those of the start; nothing touches them
	readyRows                // the table ready_entries; nothing finishes a job
	allRows                  // the same, and what shows that a job has finished
)

// jobRow is a row of the queue ring.
type jobRow struct {
	job, slot, gen string
	done           bool
}

// cursorOf follows a ring that starts with the columns' cursor, the ledger's generations and those of the slot rows, and with
// these rows.
func cursorOf(ring, authority, cols, generations, slots string, jobs jobRows, rows ...jobRow) func() Tracker {
	c := cursor{ring: ring, jobs: jobs, authority: authority, generations: strings.Fields(generations), slots: strings.Fields(slots), rows: rows}
	copy(c.cols[:], strings.Fields(cols))
	for _, r := range rows {
		c.numbers = append(c.numbers, r.job)
	}
	return func() Tracker { return c }
}

const finishedRows = `SELECT e.job, e.ready_slot, e.ready_generation, EXISTS (SELECT 1 FROM done_entries d WHERE d.job = e.job)
	OR EXISTS (SELECT 1 FROM receipt_completion_batches b WHERE b.ready_slot = e.ready_slot AND b.queue = e.queue AND b.shard = e.shard
		AND e.lane_seq >= b.first_seq AND e.lane_seq < b.first_seq + b.completed_count)
	FROM ready_entries e ORDER BY e.job`

func (m cursor) Step(s *sim.Step) (Tracker, error) {
	if !s.Changed {
		return m, nil
	}
	next := m
	read, err := rows(s.Committed, `SELECT authority, current_slot, generation FROM ring_cursor_authority, `+m.ring+`_ring_state`)
	if err != nil {
		return nil, err
	}
	next.authority, next.cols = read[0][0], [2]string{read[0][1], read[0][2]}
	if next.generations, err = column(s.Committed, `SELECT generation FROM `+m.ring+`_ring_rotations ORDER BY generation`); err != nil {
		return nil, err
	}
	if next.slots, err = column(s.Committed, `SELECT generation FROM `+m.ring+`_ring_slots ORDER BY slot`); err != nil {
		return nil, err
	}
	switch m.jobs {
	case noRows, fixedRows:
		return next, nil
	case readyRows:
		read, err = rows(s.Committed, `SELECT job, ready_slot, ready_generation, 'f' FROM ready_entries ORDER BY job`)
	case allRows:
		read, err = rows(s.Committed, finishedRows)
	}
	if err != nil {
		return nil, err
	}
	next.rows = nil
	for _, r := range read {
		next.rows = append(next.rows, jobRow{r[0], r[1], r[2], r[3] == "t"})
		if !slices.Contains(next.numbers, r[0]) {
			next.numbers = append(slices.Clip(next.numbers), r[0])
		}
	}
	return next, nil
}

// column is the answer of a query for one column.
func column(v sim.View, sql string) ([]string, error) {
	read, err := rows(v, sql)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range read {
		out = append(out, r[0])
	}
	return out, nil
}

func (m cursor) Visible() State {
	var generations, jobs []Value
	for _, g := range m.generations {
		generations = append(generations, Value(g))
	}
	var slots []Pair
	for i, g := range m.slots {
		slots = append(slots, Pair{Value(strconv.Itoa(i)), Value(g)})
	}
	for _, r := range m.rows {
		number := Int(slices.Index(m.numbers, r.job) + 1)
		jobs = append(jobs, Func(Field("job", number), Field("slot", Value(r.slot)), Field("gen", Value(r.gen)), Field("done", Bool(r.done))))
	}
	return State{
		"authority": Str(m.authority), "cols": Tuple(Value(m.cols[0]), Value(m.cols[1])),
		"ledger": Set(generations...), "slotGen": Func(slots...), "rows": Set(jobs...),
	}
}

func (m cursor) Hash() uint64 {
	return hashOf(m.authority, m.cols, m.generations, m.slots, m.numbers, m.rows)
}
