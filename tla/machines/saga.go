package machines

import "math/bits"

// saga is CommitSaga.
type saga struct {
	sagas, recoverers int
	crashes, errors   uint8

	exclusive, releaseFinal, phaseAfterConsume, deleteAlways, outputsFirst, storeFirst, walLate, countIgnored, recoverJumps, rollBackFinal bool
}

// maxExecutors bounds the sagas, whose workers are executors, and the recoverers together.
const maxExecutors = 6

// primitive is the next one of an executor, or why there is none.
type primitive uint8

const (
	s1 primitive = iota
	s2
	s3
	s4
	s6
	s7
	s8
	s9
	s10
	s11
	s12
	c1
	c2
	atDone
	atFailed
	atCrashed
	atIdle
)

// Phases of a record.
const (
	noRecord uint8 = iota
	reserving
	finalizing
)

// sagaState is its state; the posting is active (0), spent (7), or that of the saga that reserved it, from 1.
type sagaState struct {
	posting               uint8
	frozen                bool
	wal                   [maxExecutors]uint8
	output, stored, event uint8 // sagas, as bits
	pc                    [maxExecutors]primitive
	job                   [maxExecutors]uint8
	crashes, errors       uint8
}

const spent = 7

func newSaga(k *constants) (saga, error) {
	m := saga{
		sagas: len(k.set("Sagas", maxExecutors-1)), recoverers: len(k.set("Recoverers", maxExecutors)),
		crashes: uint8(k.int("Crashes", 15)), errors: uint8(k.int("Errors", 15)),
		exclusive: k.bool("Exclusive"), releaseFinal: k.bool("ReleaseFinal"), phaseAfterConsume: k.bool("PhaseAfterConsume"),
		deleteAlways: k.bool("DeleteAlways"), outputsFirst: k.bool("OutputsFirst"), storeFirst: k.bool("StoreFirst"), walLate: k.bool("WalLate"),
		countIgnored: k.bool("CountIgnored"), recoverJumps: k.bool("RecoverJumps"), rollBackFinal: k.bool("RollBackFinal"),
	}
	if m.sagas+m.recoverers > maxExecutors {
		k.set("Recoverers", maxExecutors-m.sagas)
	}
	return m, k.err
}

func (m saga) initial() []sagaState {
	var s sagaState
	for e := range m.sagas + m.recoverers {
		if e < m.sagas {
			s.job[e] = uint8(e)
		} else {
			s.pc[e] = atIdle
		}
	}
	return []sagaState{s}
}

func live(p primitive) bool { return p < atDone }

// after is the primitive that follows.
func (m saga) after(p primitive) primitive {
	switch {
	case p == s1 && m.walLate:
		return s3
	case p == s2 && m.walLate:
		return s4
	case p == s3 && m.walLate:
		return s2
	case p == s6 && m.phaseAfterConsume:
		return s8
	case p == s7 && (m.phaseAfterConsume || m.outputsFirst):
		return s9
	case p == s8 && m.phaseAfterConsume:
		return s7
	case p == s8 && (m.outputsFirst || m.storeFirst):
		return s10
	case p == s9 && m.outputsFirst:
		return s8
	case p == s9 && m.storeFirst:
		return s11
	case p == s10 && m.storeFirst:
		return s9
	case p == s12:
		return atDone
	}
	return p + 1
}

func (m saga) next(s sagaState, emit func(string, sagaState)) {
	for e := range m.sagas + m.recoverers {
		if live(s.pc[e]) {
			m.primitive(s, e, emit)
			m.faults(s, e, emit)
		} else {
			m.recovery(s, e, emit)
		}
	}
	if !s.frozen {
		t := s
		t.frozen = true
		emit("Freeze", t)
	}
}

// primitive is the executor's next one.
func (m saga) primitive(s sagaState, e int, emit func(string, sagaState)) {
	t := s
	j := s.job[e]
	mine := j + 1
	me := uint8(1) << j
	to := m.after(s.pc[e])
	action := ""
	switch s.pc[e] {
	case s1, s4:
		action = "Lookup"
		if s.stored&me != 0 {
			if to = s11; s.pc[e] == s1 {
				to = atDone
			}
		}
	case s2:
		action, t.wal[j] = "SaveReserving", reserving
	case s3:
		action = "Reserve"
		if s.posting == 0 {
			t.posting = mine
		}
		if s.posting != 0 && s.posting != mine && !m.countIgnored {
			to = c1
		}
	case s6:
		action = "Validate"
		if s.posting != spent && s.frozen {
			to = c1
		}
	case s7:
		action, t.wal[j] = "SaveFinalizing", finalizing
	case s8:
		action = "Consume"
		switch s.posting {
		case mine:
			t.posting = spent
		case spent:
		default:
			to = c1
		}
	case s9:
		action, t.output = "InsertOutputs", s.output|me
	case s10:
		action, t.stored = "Store", s.stored|me
	case s11:
		action, t.event = "AppendEvent", s.event|me
	case s12:
		action, t.wal[j] = "DeleteRecord", noRecord
	case c1:
		action, to = "Release", c2
		if s.posting == mine && (m.releaseFinal || s.wal[j] != finalizing) {
			t.posting = 0
		}
	case c2:
		action, to = "GiveUp", atFailed
		if s.wal[j] != finalizing || m.deleteAlways || m.rollBackFinal {
			t.wal[j] = noRecord
		}
	}
	t.pc[e] = to
	emit(action, t)
}

// faults are an error of the executor's next primitive, and a crash before it.
func (m saga) faults(s sagaState, e int, emit func(string, sagaState)) {
	if s.errors < m.errors && s.pc[e] != s1 && s.pc[e] != s2 {
		t := s
		t.errors++
		if s.pc[e] != c1 && s.pc[e] != c2 {
			t.pc[e] = c1
			emit("IoError", t)
		}
		t.pc[e] = atFailed
		emit("IoError", t)
	}
	if s.crashes < m.crashes {
		t := s
		t.crashes++
		t.pc[e] = atIdle
		if e < m.sagas {
			t.pc[e] = atCrashed
		}
		emit("Crash", t)
	}
}

// recovery is what an executor at rest may take up: a worker its own record, a recoverer any.
func (m saga) recovery(s sagaState, e int, emit func(string, sagaState)) {
	var busy uint8
	for x := range m.sagas + m.recoverers {
		if live(s.pc[x]) {
			busy |= 1 << s.job[x]
		}
	}
	for j := range m.sagas {
		if s.wal[j] == noRecord || e < m.sagas && e != j || m.exclusive && busy>>j&1 == 1 {
			continue
		}
		t := s
		t.job[e] = uint8(j)
		switch {
		case s.stored>>j&1 == 1:
			t.pc[e] = s11
		case s.wal[j] == finalizing && m.rollBackFinal:
			t.pc[e] = c1
		case s.wal[j] == finalizing:
			t.pc[e] = s4
		case m.recoverJumps:
			t.pc[e] = s7
		default:
			t.pc[e] = s3
		}
		emit("Recover", t)
	}
}

func (m saga) invariant(s sagaState) string {
	there, anyFinal, anyRecord := bits.OnesCount8(s.output), false, false
	if s.posting != spent {
		there++
	}
	for j := range m.sagas {
		anyFinal = anyFinal || s.wal[j] == finalizing
		anyRecord = anyRecord || s.wal[j] != noRecord
	}
	switch {
	case bits.OnesCount8(s.stored) > 1:
		return "NoDoubleSpend"
	case there > 1, there == 0 && !anyFinal:
		return "Conservation"
	case s.stored&^s.output != 0, s.stored != 0 && s.posting != spent:
		return "LogMeansEffects"
	case s.posting != 0 && s.posting != spent && s.wal[s.posting-1] == noRecord:
		return "NoOrphan"
	case s.event&^s.stored != 0:
		return "EventMeansTransfer"
	case anyRecord:
		return ""
	}
	for e := range m.sagas + m.recoverers {
		if live(s.pc[e]) {
			return ""
		}
	}
	if s.posting != 0 && s.posting != spent || (s.posting == spent) != (s.stored != 0) || s.output != s.stored || s.stored != s.event {
		return "Settled"
	}
	return ""
}

func (m saga) properties() []string { return nil }

func (m saga) property(_, _ sagaState) string { return "" }

func (m saga) words(s sagaState) [3]uint64 {
	w := [3]uint64{uint64(s.posting) | bit(s.frozen)<<3 | uint64(s.output)<<4 | uint64(s.stored)<<12 | uint64(s.event)<<20 |
		uint64(s.crashes)<<28 | uint64(s.errors)<<32}
	for i := range maxExecutors {
		w[1] |= (uint64(s.pc[i]) | uint64(s.wal[i])<<5) << (8 * i)
		w[2] |= uint64(s.job[i]) << (8 * i)
	}
	return w
}
