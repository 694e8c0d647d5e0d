package storage

import (
	"fmt"

	"simrun/model/types"
)

// SequenceSpec describes a sequence.
type SequenceSpec struct {
	Name                 string
	Start, Inc, Min, Max int64
	Cache                int64 // values a session takes at a time; 1 is meant whatever it is
	Cycle                bool
}

// sequence is the state of a sequence. Advancing it is not transactional.
type sequence struct {
	spec   SequenceSpec
	last   int64
	called bool
	logged int // values that may be handed out before the next WAL record, and with it an id for the transaction
}

// logAhead is how many values of a sequence one WAL record covers.
const logAhead = 32

func (st *State) wsequence(t TableID) *sequence {
	r := st.wrelation(t)
	q := *r.seq
	r.seq = &q
	return r.seq
}

// LockSequence takes the lock that the functions of sequences take, until the transaction ends.
func (x *Exec) LockSequence(t TableID) error {
	_, err := x.lockRelation(t, RowExclusive, 0, Wait)
	return err
}

// Nextval advances a sequence; 2200H when it is exhausted.
func (x *Exec) Nextval(seq TableID) (int64, error) {
	if err := x.LockSequence(seq); err != nil {
		return 0, err
	}
	s := x.session()
	if e := x.replay(s, opSequence); e != nil {
		return int64(e.a), asError(e.p)
	}
	st := x.st
	st.touchSequence(seq)
	q := st.wsequence(seq)
	v := q.last
	if q.called {
		var err error
		switch sp := &q.spec; {
		case sp.Inc > 0 && (v > 0 && sp.Inc > sp.Max-v || v <= 0 && v+sp.Inc > sp.Max):
			v, err = sp.Min, exhausted(sp, "maximum", sp.Max)
		case sp.Inc < 0 && (v < 0 && sp.Inc < sp.Min-v || v >= 0 && v+sp.Inc < sp.Min):
			v, err = sp.Max, exhausted(sp, "minimum", sp.Min)
		default:
			v += sp.Inc
		}
		if err != nil {
			x.record(s, jent{kind: opSequence, p: err})
			return 0, err
		}
	}
	if q.logged == 0 || !q.called {
		st.assignTop(s)
		q.logged = logAhead
		if q.called {
			q.logged++
		}
	}
	q.logged--
	if !q.called {
		q.logged = logAhead
	}
	q.last, q.called = v, true
	st.setCurrval(s, seq, v)
	s.lastSeq = seq
	x.record(s, jent{kind: opSequence, a: uint64(v)})
	return v, nil
}

func exhausted(sp *SequenceSpec, what string, limit int64) error {
	if sp.Cycle {
		return nil
	}
	return types.NewError("2200H", fmt.Sprintf("nextval: reached %s value of sequence %q (%d)", what, sp.Name, limit))
}

// assignTop gives the transaction itself an id, leaving its subtransactions without.
func (st *State) assignTop(s *session) {
	if s.subs[0].xid != 0 {
		return
	}
	st.touchXID()
	own(&s.shared, ownSubs, &s.subs)
	own(&st.shared, shareActive, &st.active)
	s.subs[0].xid = st.nextXID
	st.active = append(st.active, activeXID{st.nextXID, s.id, 0, true})
	st.nextXID++
}

func (st *State) setCurrval(s *session, seq TableID, v int64) {
	own(&s.shared, ownCurrvals, &s.currvals)
	for i := range s.currvals {
		if s.currvals[i].seq == seq {
			s.currvals[i].val = v
			return
		}
	}
	s.currvals = append(s.currvals, currval{seq, v})
}

// Currval returns what Nextval last returned in this session; 55000 when it has not been called.
func (x *Exec) Currval(seq TableID) (int64, error) {
	if err := x.LockSequence(seq); err != nil {
		return 0, err
	}
	return x.currval(seq, func() error {
		return types.NewError("55000", fmt.Sprintf("currval of sequence %q is not yet defined in this session", x.st.rel(seq).name))
	})
}

// Lastval returns what the session's last Nextval returned; 55000 when there was none.
func (x *Exec) Lastval() (int64, error) {
	s := x.st.session(x.id)
	seq := s.lastSeq
	if x.pos == len(s.journal) && seq != 0 && x.st.rel(seq) != nil {
		if err := x.LockSequence(seq); err != nil {
			return 0, err
		}
	}
	return x.currval(seq, func() error { return types.NewError("55000", "lastval is not yet defined in this session") })
}

func (x *Exec) currval(seq TableID, undefined func() error) (int64, error) {
	s := x.session()
	if e := x.replay(s, opSequence); e != nil {
		return int64(e.a), asError(e.p)
	}
	for _, c := range s.currvals {
		if c.seq == seq && x.st.rel(seq) != nil {
			x.record(s, jent{kind: opSequence, a: uint64(c.val)})
			return c.val, nil
		}
	}
	err := undefined()
	x.record(s, jent{kind: opSequence, p: err})
	return 0, err
}

// Setval sets a sequence; 22003 when out of bounds.
func (x *Exec) Setval(seq TableID, v int64, called bool) error {
	if err := x.LockSequence(seq); err != nil {
		return err
	}
	s := x.session()
	if e := x.replay(s, opSequence); e != nil {
		return asError(e.p)
	}
	st := x.st
	st.touchSequence(seq)
	if sp := &st.rel(seq).seq.spec; v < sp.Min || v > sp.Max {
		err := types.NewError("22003", fmt.Sprintf("setval: value %d is out of bounds for sequence %q (%d..%d)", v, sp.Name, sp.Min, sp.Max))
		x.record(s, jent{kind: opSequence, p: err})
		return err
	}
	q := st.wsequence(seq)
	q.last, q.called, q.logged = v, called, 0
	st.assignTop(s)
	if called {
		st.setCurrval(s, seq, v)
	}
	x.record(s, jent{kind: opSequence})
	return nil
}

// SequenceValue returns last_value and is_called, as a SELECT from the sequence does; journaled.
func (x *Exec) SequenceValue(seq TableID) (last int64, called bool) {
	s := x.session()
	if e := x.replay(s, opSequence); e != nil {
		return int64(e.a), e.ok
	}
	x.st.touchSequence(seq)
	q := x.st.rel(seq).seq
	x.record(s, jent{kind: opSequence, a: uint64(q.last), ok: q.called})
	return q.last, q.called
}
