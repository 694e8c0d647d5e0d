package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"simrun/model"
)

// modelBackend is the in-memory Postgres as a Backend. Sessions have the numbers of their actors: a closed one is followed at
// once by an idle one in its place.
type modelBackend struct {
	db     *model.DB
	texts  *texts
	opened int // sessions
	locks  bool
	prints bool

	// The footprint of the session's end that the last Open or Close was; what followed it in there touched nothing.
	ended         bool
	reads, writes []uint64
}

// texts keeps parsed statements, for all copies of a model.
type texts struct{ m sync.Map }

func (t *texts) get(sql string) *model.Statement {
	if s, ok := t.m.Load(sql); ok {
		return s.(*model.Statement)
	}
	s, _ := t.m.LoadOrStore(sql, model.Prepare(sql))
	return s.(*model.Statement)
}

// NewModel makes the in-memory Postgres with the schema and the seed of a setup.
func NewModel(setup *Setup) (Backend, error) {
	b, err := begun(setup)
	if err != nil {
		return nil, err
	}
	b.db.Close(b.session)
	return &modelBackend{db: b.db, texts: &texts{}}, nil
}

// ServerVersion says which server to be like, as server_version_num.
func (b *modelBackend) ServerVersion(version int) { b.db.ServerVersion(version) }

// SequentialScans says whether SERIALIZABLE remembers reads by table, as under sessions that are told to use no indexes, which a
// model is made with, or look-ups by key, as where the server's planner is free.
func (b *modelBackend) SequentialScans(on bool) { b.db.SequentialScans(on) }

// around is the part of a script near a position: an error in a schema of many pages is found by it.
func around(sql string, position int) string {
	runes := []rune(sql)
	from, to := max(0, min(position-1, len(runes))), min(len(runes), max(0, position-1)+60)
	return OneLine(string(runes[from:to]), 0)
}

func (b *modelBackend) Clone() Backend {
	c := *b
	c.db = b.db.Clone()
	return &c
}

func (b *modelBackend) Fingerprint() uint64           { return b.db.Fingerprint() }
func (b *modelBackend) FingerprintAs(as []int) uint64 { return b.db.FingerprintAs(as) }
func (b *modelBackend) CommittedFingerprint() uint64  { return b.db.CommittedFingerprint() }

func (b *modelBackend) Open(i int, spec ActorSpec) error {
	for b.opened <= i {
		b.db.Open("")
		b.opened++
	}
	b.end(i)
	if got := b.db.Open(spec.Role); got != i {
		return fmt.Errorf("sim: the model opened session %d for actor %d", got, i)
	}
	for _, s := range spec.Settings {
		if r := b.db.Submit(i, "SET "+s[0]+" = "+quote(s[1]), nil); r.Err != nil {
			return r.Err
		}
	}
	return nil
}

func (b *modelBackend) Close(i int) error {
	b.end(i)
	b.db.Open("")
	return nil
}

// end ends a session and keeps what that touched.
func (b *modelBackend) end(i int) {
	b.db.Close(i)
	if b.prints {
		reads, writes := b.db.Footprint()
		b.reads, b.writes, b.ended = slices.Clone(reads), slices.Clone(writes), true
	}
}

func quote(s string) string {
	out := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, '\'')
		}
		out = append(out, s[i])
	}
	return string(append(out, '\''))
}

func (b *modelBackend) Submit(i int, req Request) (Reply, error) {
	b.ended = false
	return b.db.SubmitPrepared(i, b.texts.get(req.SQL), req.Args), nil
}

func (b *modelBackend) Woken(buf []int) []int { return b.db.Woken(buf) }
func (b *modelBackend) Deadlock() []int       { return b.db.Deadlock() }

func (b *modelBackend) Resume(i int) (Reply, error) {
	b.ended = false
	return b.db.Resume(i), nil
}

func (b *modelBackend) Interrupt(i int, code string) (Reply, error) {
	b.ended = false
	return b.db.Interrupt(i, code), nil
}

func (b *modelBackend) SetNow(t time.Time) error {
	b.db.SetNow(t)
	return nil
}

func (b *modelBackend) Query(sql string) (*Result, error) {
	r, err := b.db.Query(sql)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Reset does nothing: runs begin with copies.
func (b *modelBackend) Reset() error    { return nil }
func (b *modelBackend) Shutdown() error { return nil }

// Locks are the rows of pg_locks of a session, which lock-step compares with the server's.
func (b *modelBackend) Locks(i int) []model.Lock { return b.db.Locks(i) }

// Track is LockTracker's; TrackFootprints is Footprinter's.
func (b *modelBackend) Track(on bool) {
	b.locks = on
	b.db.Track(b.prints, b.locks)
}

func (b *modelBackend) TrackFootprints(on bool) {
	b.prints = on
	b.db.Track(b.prints, b.locks)
}

func (b *modelBackend) Acquired(int) []Lock { return b.db.Acquired() }

func (b *modelBackend) Footprint() (reads, writes []uint64) {
	if b.ended {
		return b.reads, b.writes
	}
	return b.db.Footprint()
}

// Versions is RowVersions's.
func (b *modelBackend) Versions(table string) ([]string, []model.RowVersion) {
	return b.db.Versions(table)
}
