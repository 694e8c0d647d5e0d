package tla

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"simrun/sim"
)

// answer is what a query on committed data gave: each row as text.
type answer struct {
	rows [][]string
	err  error
}

// asked is the key under which a world keeps an answer while the committed data stay the same.
type asked string

// rows runs a query on committed data and gives each row as text.
func rows(v sim.View, sql string) ([][]string, error) {
	a := v.Memo(asked(sql), func() any {
		res, err := v.Query(sql)
		if err != nil {
			return answer{err: err}
		}
		out := make([][]string, len(res.Rows))
		for i, row := range res.Rows {
			for _, val := range row {
				out[i] = append(out[i], val.Text())
			}
		}
		return answer{rows: out}
	}).(answer)
	return a.rows, a.err
}

// hashOf covers what a tracker remembers.
func hashOf(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

// node is the process that minted a reservation: the postings system puts it into the thousands.
func node(rid string) (int, error) {
	n, err := strconv.Atoi(rid)
	if err != nil {
		return 0, fmt.Errorf("reservation %q is no number: %w", rid, err)
	}
	return n / 1000, nil
}

// ended says whether the actor has no live transaction after the step: an error ends it too, and frees its locks.
func ended(s *sim.Step) bool { return !s.Reply.Blocked && s.Reply.Tx != 'T' || s.Done }
