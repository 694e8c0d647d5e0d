package tla

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"simrun/sim"
)

// rows runs a query on committed data and gives each row as text.
func rows(v sim.View, sql string) ([][]string, error) {
	res, err := v.Query(sql)
	if err != nil {
		return nil, err
	}
	out := make([][]string, len(res.Rows))
	for i, row := range res.Rows {
		for _, val := range row {
			out[i] = append(out[i], val.Text())
		}
	}
	return out, nil
}

// hashOf covers what a tracker remembers.
func hashOf(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

// membership maps worlds of postings/claim to PostingsMembership: alice's two opening postings are "p" and "q", and sagas are
// named by the order in which their reservations are first seen.
type membership struct {
	active   string            // idx of the opening postings in active_postings, e.g. "01"
	reserved map[string]string // idx -> reservation
	names    []string          // reservations seen, in order
}

var postingNames = map[string]Value{"0": Str("p"), "1": Str("q")}

func newMembership() Tracker { return membership{active: "01"} }

func (m membership) Step(s *sim.Step) (Tracker, error) {
	if !s.Changed {
		return m, nil
	}
	active, err := rows(s.Committed, `SELECT idx FROM active_postings WHERE transfer_id = 'g' AND idx < 2 ORDER BY idx`)
	if err != nil {
		return nil, err
	}
	reserved, err := rows(s.Committed, `SELECT idx, reservation FROM reserved_postings WHERE transfer_id = 'g' AND idx < 2 ORDER BY idx`)
	if err != nil {
		return nil, err
	}
	next := membership{reserved: map[string]string{}, names: m.names}
	for _, r := range active {
		next.active += r[0]
	}
	for _, r := range reserved {
		next.reserved[r[0]] = r[1]
		if !slices.Contains(next.names, r[1]) {
			next.names = append(slices.Clip(next.names), r[1])
		}
	}
	return next, nil
}

func (m membership) Visible() State {
	var active []Value
	var holders []Pair
	for _, idx := range []string{"0", "1"} {
		if slices.Contains([]byte(m.active), idx[0]) {
			active = append(active, postingNames[idx])
		}
		holder := Str("none")
		if rid, ok := m.reserved[idx]; ok {
			holder = Str("s" + strconv.Itoa(slices.Index(m.names, rid)+1))
		}
		holders = append(holders, Pair{postingNames[idx], holder})
	}
	return State{"postings": Set(Str("p"), Str("q")), "active": Set(active...), "reserved": Func(holders...)}
}

func (m membership) Hash() uint64 { return hashOf(m.active, m.reserved, m.names) }

// saga maps worlds of postings/two-recoverers to CommitSaga: the processes pay-1 and pay-2 run the sagas t1 and t2.
type saga struct {
	tid    [2]string // envelope id of each saga, "" before it is known
	rid    map[string]int
	state  string // of the posting: "active", "spent", "t1" or "t2"
	wal    [2]string
	output [2]bool
	stored [2]bool
	event  [2]bool
}

func newSaga() Tracker { return saga{state: "active", wal: [2]string{"none", "none"}} }

// record is what the mapping reads of a saga's write-ahead record.
type record struct {
	Phase string
	Env   struct{ Memo string }
}

var phases = map[string]string{"reserving": "R", "finalizing": "F"}

func (m saga) Step(s *sim.Step) (Tracker, error) {
	if len(s.Args) == 1 && s.Actor < 2 && sim.OneLine(s.SQL, 0) == "SELECT transfer FROM transfers WHERE id = $1" {
		m.tid[s.Actor] = fmt.Sprint(s.Args[0])
	}
	if !s.Changed {
		return m, nil
	}
	m.rid = maps.Clone(m.rid)
	if m.rid == nil {
		m.rid = map[string]int{}
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
		i := int(rec.Env.Memo[len(rec.Env.Memo)-1] - '1') // "pay 1" or "pay 2"
		m.rid[r[0]], m.wal[i] = i, phases[rec.Phase]
	}
	return nil
}

func (m *saga) readPosting(v sim.View) error {
	holders, err := rows(v, `SELECT 'active' FROM active_postings WHERE transfer_id = 'g' AND idx = 0
		UNION ALL SELECT reservation::text FROM reserved_postings WHERE transfer_id = 'g' AND idx = 0`)
	if err != nil {
		return err
	}
	switch {
	case len(holders) == 0:
		m.state = "spent"
	case len(holders) > 1:
		return fmt.Errorf("the posting is in both index tables")
	case holders[0][0] == "active":
		m.state = "active"
	default:
		i, known := m.rid[holders[0][0]]
		if !known {
			return fmt.Errorf("the posting is reserved by %s, which has no record", holders[0][0])
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

func (m saga) Hash() uint64 { return hashOf(m.tid, m.rid, m.Visible().Key()) }
