package tla

import (
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

// deadTuples maps worlds of tla/dead-tuples to DeadTuples. A row of committed data that a commit takes away or overwrites is a
// dead version; versions of transactions that roll back are left out. VACUUM takes all away unless something is pinned: what
// it can take under a pin the specification does not count as gone.
type deadTuples struct {
	folder    int // index of the actor that folds
	authority string
	pin       int64 // since when the reader holds its snapshot, in microseconds of simulated time; 0 when it does not
	pinned    bool
	probed    bool
	dead      [4]int // in the order of deadTables
	had       [4][]string
}

// deadTables are the tables of the specification, each with the query for its rows.
var deadTables = [4]struct{ name, sql string }{
	{"state", `SELECT current_slot || ' ' || generation FROM queue_ring_state`},
	{"ledger", `SELECT generation::text FROM queue_ring_rotations ORDER BY generation`},
	{"rollups", `SELECT queue || ' ' || pruned_completed_count || ' ' || pruned_failed_count FROM queue_terminal_rollups ORDER BY queue`},
	{"deltas", `SELECT queue || ' ' || completed_delta || ' ' || failed_delta FROM queue_terminal_rollup_deltas
		ORDER BY queue, completed_delta, failed_delta`},
}

const (
	ledgerTable = 1
	deltaTable  = 3
	deadCap     = 2         // Cap of the configuration
	pinAge      = 5_000_000 // microseconds after which a held snapshot pins: the threshold of standDown
)

func newDeadTuples() Tracker {
	return deadTuples{folder: folderOfDeadTuples, authority: "columns", had: [4][]string{{"0 2"}, {"0", "2"}, {"q 0 0"}, nil}}
}

func (m deadTuples) Step(s *sim.Step) (Tracker, error) {
	for _, e := range s.Events {
		if since, ok := e.Value.(int64); ok && e.Kind == sim.EventNote && e.Name == "pin" {
			m.pin = since
		}
	}
	m.pinned = m.pin > 0 && s.Now.UnixMicro()-m.pin > pinAge
	if s.Actor == m.folder {
		switch r := s.Reply.Result; {
		case ended(s):
			m.probed = false
		case strings.Contains(s.SQL, "pg_stat_activity") && r != nil && len(r.Rows) == 1 && r.Rows[0][0].Text() == "f":
			m.probed = true
		}
	}
	if strings.HasPrefix(s.SQL, "VACUUM") && !s.Reply.Blocked && s.Reply.Err == nil && !m.pinned {
		m.dead = [4]int{}
	}
	if !s.Changed {
		return m, nil
	}
	read, err := rows(s.Committed, `SELECT authority FROM ring_cursor_authority`)
	if err != nil {
		return nil, err
	}
	m.authority = read[0][0]
	for i, t := range deadTables {
		has, err := column(s.Committed, t.sql)
		if err != nil {
			return nil, err
		}
		m.dead[i] = min(deadCap, m.dead[i]+gone(m.had[i], has))
		m.had[i] = has
	}
	return m, nil
}

// gone counts the rows that were and are no more.
func gone(was, is []string) int {
	left := slices.Clone(is)
	n := 0
	for _, r := range was {
		if i := slices.Index(left, r); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			n++
		}
	}
	return n
}

func (m deadTuples) Visible() State {
	var dead []Pair
	for i, t := range deadTables {
		dead = append(dead, Field(t.name, Int(m.dead[i])))
	}
	return State{
		"authority": Str(m.authority), "pinned": Bool(m.pinned), "probed": Bool(m.probed), "dead": Func(dead...),
		"ledger": Int(len(m.had[ledgerTable])), "deltas": Int(len(m.had[deltaTable])),
	}
}

func (m deadTuples) Hash() uint64 { return hashOf(fmt.Sprint(m)) }
