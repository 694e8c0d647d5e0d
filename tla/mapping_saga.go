package tla

import (
	"encoding/json"
	"fmt"
	"strconv"

	"simrun/sim"
)

// saga maps worlds of the postings system to CommitSaga: the first two actors run the sagas t1 and t2 over one posting.
type saga struct {
	tid    [2]string // envelope id of each saga, "" before it is known
	state  string    // of the posting: "active", "spent", "t1" or "t2"
	wal    [2]string
	output [2]bool
	stored [2]bool
	event  [2]bool
}

func newSaga() Tracker { return saga{state: "active", wal: [2]string{"none", "none"}} }

// record is what the mapping reads of a saga's write-ahead record.
type record struct{ Phase string }

var phases = map[string]string{"reserving": "R", "finalizing": "F"}

func (m saga) Step(s *sim.Step) (Tracker, error) {
	if s.Actor >= 0 && s.Actor < 2 && m.tid[s.Actor] == "" && len(s.Args) == 1 && sim.OneLine(s.SQL, 0) == "SELECT transfer FROM transfers WHERE id = $1" {
		m.tid[s.Actor] = fmt.Sprint(s.Args[0])
	}
	if !s.Changed {
		return m, nil
	}
	if err := m.readRecords(s.Committed); err != nil {
		return nil, err
	}
	if err := m.readPosting(s.Committed); err != nil {
		return nil, err
	}
	for i, tid := range m.tid {
		if tid == "" {
			continue
		}
		for _, q := range []struct {
			is  *bool
			sql string
		}{
			{&m.output[i], `SELECT 1 FROM postings WHERE transfer_id = '` + tid + `'`},
			{&m.stored[i], `SELECT 1 FROM transfers WHERE id = '` + tid + `'`},
			{&m.event[i], `SELECT 1 FROM events WHERE dedup_key = '` + tid + `'`},
		} {
			found, err := rows(s.Committed, q.sql)
			if err != nil {
				return nil, err
			}
			*q.is = len(found) > 0
		}
	}
	return m, nil
}

// sagaOf is the index of the saga that a reservation belongs to.
func sagaOf(rid string) (int, error) {
	n, err := node(rid)
	if err == nil && (n < 1 || n > 2) {
		err = fmt.Errorf("reservation %s was minted by process %d, which runs no saga of the specification", rid, n)
	}
	return n - 1, err
}

func (m *saga) readRecords(v sim.View) error {
	records, err := rows(v, `SELECT id, data FROM sagas ORDER BY id`)
	if err != nil {
		return err
	}
	m.wal = [2]string{"none", "none"}
	for _, r := range records {
		var rec record
		if err := json.Unmarshal([]byte(r[1]), &rec); err != nil {
			return fmt.Errorf("record %s: %w", r[0], err)
		}
		i, err := sagaOf(r[0])
		if err != nil {
			return err
		}
		m.wal[i] = phases[rec.Phase]
	}
	return nil
}

func (m *saga) readPosting(v sim.View) error {
	holders, err := rows(v, `SELECT 'active' FROM active_postings WHERE transfer_id = 'g' AND idx = 0
		UNION ALL SELECT reservation::text FROM reserved_postings WHERE transfer_id = 'g' AND idx = 0`)
	switch {
	case err != nil:
		return err
	case len(holders) == 0:
		m.state = "spent"
	case len(holders) > 1:
		return fmt.Errorf("the posting is in both index tables")
	case holders[0][0] == "active":
		m.state = "active"
	default:
		i, err := sagaOf(holders[0][0])
		if err != nil {
			return err
		}
		m.state = "t" + strconv.Itoa(i+1)
	}
	return nil
}

func (m saga) Visible() State {
	t := func(v [2]Value) Value { return Func(Field("t1", v[0]), Field("t2", v[1])) }
	b := func(v [2]bool) Value { return t([2]Value{Bool(v[0]), Bool(v[1])}) }
	return State{
		"posting": Str(m.state), "wal": t([2]Value{Str(m.wal[0]), Str(m.wal[1])}),
		"output": b(m.output), "stored": b(m.stored), "event": b(m.event),
	}
}

func (m saga) Hash() uint64 { return hashOf(m.tid, m.Visible().Key()) }
