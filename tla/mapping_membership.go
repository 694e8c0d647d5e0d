package tla

import (
	"slices"
	"strconv"

	"simrun/sim"
)

// membership maps worlds of the postings system to PostingsMembership. It follows two postings, "p" and "q": those that the
// payer has at the start, or the first one that a transfer creates. A saga is named after its process: the first is "s1".
type membership struct {
	which    string // condition on the rows that are followed
	opening  bool   // they are there from the start
	postings []string
	active   []string
	reserved [2]int      // process that holds the posting, 0 for none
	consumed [2][]string // sagas that spent it
}

// openingPostings follows the payer's two opening postings.
func openingPostings() Tracker {
	ids := []string{"g/0", "g/1"}
	return membership{which: `transfer_id = 'g' AND idx < 2`, opening: true, postings: ids, active: ids}
}

// createdPosting follows the first posting that a transfer creates.
func createdPosting() Tracker { return membership{which: `transfer_id <> 'g'`} }

func (m membership) Step(s *sim.Step) (Tracker, error) {
	if !s.Changed {
		return m, nil
	}
	next := m
	found, err := rows(s.Committed, `SELECT transfer_id || '/' || idx FROM postings WHERE `+m.which+` ORDER BY transfer_id, idx`)
	if err != nil {
		return nil, err
	}
	if !m.opening && len(m.postings) == 0 && len(found) > 0 {
		next.postings = found[0][:1]
	}
	if found, err = rows(s.Committed, `SELECT transfer_id || '/' || idx FROM active_postings WHERE `+m.which+` ORDER BY transfer_id, idx`); err != nil {
		return nil, err
	}
	next.active = nil
	for _, r := range found {
		if slices.Contains(next.postings, r[0]) {
			next.active = append(next.active, r[0])
		}
	}
	if found, err = rows(s.Committed, `SELECT transfer_id || '/' || idx, reservation FROM reserved_postings WHERE `+m.which+` ORDER BY transfer_id, idx`); err != nil {
		return nil, err
	}
	next.reserved = [2]int{}
	for _, r := range found {
		if i := slices.Index(next.postings, r[0]); i >= 0 {
			if next.reserved[i], err = node(r[1]); err != nil {
				return nil, err
			}
		}
	}
	// Whoever made a posting vanish from both tables spent it.
	for i, id := range m.postings {
		was := slices.Contains(m.active, id) || m.reserved[i] != 0
		if was && !slices.Contains(next.active, id) && next.reserved[i] == 0 {
			next.consumed[i] = append(slices.Clip(m.consumed[i]), sagaName(s.Actor+1))
		}
	}
	return next, nil
}

func sagaName(process int) string { return "s" + strconv.Itoa(process) }

func (m membership) Visible() State {
	var there, active []Value
	var holders, spenders []Pair
	for i, name := range []string{"p", "q"} {
		if i < len(m.postings) {
			there = append(there, Str(name))
			if slices.Contains(m.active, m.postings[i]) {
				active = append(active, Str(name))
			}
		}
		holder := Str("none")
		if m.reserved[i] != 0 {
			holder = Str(sagaName(m.reserved[i]))
		}
		var by []Value
		for _, s := range m.consumed[i] {
			by = append(by, Str(s))
		}
		holders, spenders = append(holders, Pair{Str(name), holder}), append(spenders, Pair{Str(name), Set(by...)})
	}
	return State{"postings": Set(there...), "active": Set(active...), "reserved": Func(holders...), "consumed": Func(spenders...)}
}

func (m membership) Hash() uint64 { return hashOf(m.postings, m.active, m.reserved, m.consumed) }
