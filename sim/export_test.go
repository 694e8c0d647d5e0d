package sim

import "fmt"

// verified is a shared database each of whose steps is also made without sharing, and compared.
type verified struct{ *shared }

// ShareVerified gives the backend of a system as a shared one that verifies itself: a step that leads to another state or has
// another answer than its plain execution is an error of the backend.
func ShareVerified(db Backend, specs []ActorSpec) Backend {
	return verified{share(db.(Cloner), specs, false, false)}
}

// Diamonds returns how many edges the graph has, and how many of them were executed.
func Diamonds(w *World) (edges, executed int64) {
	g := w.db.(verified).graph
	return g.made.Load(), g.executed.Load()
}

func (v verified) Clone() Backend { return verified{v.shared.Clone().(*shared)} }

func (v verified) compare(name string, made func(db Cloner) (Reply, error), shared func() (Reply, error)) (Reply, error) {
	v.at.mu.Lock()
	db := v.at.db.Clone().(Cloner)
	v.at.mu.Unlock()
	want, err := made(db)
	if err != nil {
		return want, err
	}
	got, err := shared()
	if err != nil {
		return got, err
	}
	a, b := hashShown(hashReply(&want), &Reply{Blocked: want.Blocked, By: want.By}), hashShown(hashReply(&got), &Reply{Blocked: got.Blocked, By: got.By})
	if h := db.Fingerprint(); a != b || h != v.at.hash {
		return got, fmt.Errorf("%s: shared %+v to %x, plain %+v to %x", name, got, v.at.hash, want, h)
	}
	return got, nil
}

func (v verified) Submit(i int, req Request) (Reply, error) {
	return v.compare(fmt.Sprintf("session %d: %s %v", i, req.SQL, req.Args),
		func(db Cloner) (Reply, error) { return db.Submit(i, req) }, func() (Reply, error) { return v.shared.Submit(i, req) })
}

func (v verified) Resume(i int) (Reply, error) {
	return v.compare(fmt.Sprintf("session %d goes on", i),
		func(db Cloner) (Reply, error) { return db.Resume(i) }, func() (Reply, error) { return v.shared.Resume(i) })
}

func (v verified) Interrupt(i int, code string) (Reply, error) {
	return v.compare(fmt.Sprintf("session %d gets %s", i, code),
		func(db Cloner) (Reply, error) { return db.Interrupt(i, code) }, func() (Reply, error) { return v.shared.Interrupt(i, code) })
}

func (v verified) Open(i int, spec ActorSpec) error {
	_, err := v.compare(fmt.Sprintf("session %d opens", i),
		func(db Cloner) (Reply, error) { return Reply{}, db.Open(i, spec) }, func() (Reply, error) { return Reply{}, v.shared.Open(i, spec) })
	return err
}

func (v verified) Close(i int) error {
	_, err := v.compare(fmt.Sprintf("session %d closes", i),
		func(db Cloner) (Reply, error) { return Reply{}, db.Close(i) }, func() (Reply, error) { return Reply{}, v.shared.Close(i) })
	return err
}

// KeepShared bounds the requests of shared databases that Trim leaves.
func KeepShared(s *System, n int64) { s.sharedMax = n }

// Kept is how many requests of shared databases are kept, -1 when worlds share none.
func Kept(s *System) int64 {
	if s.pristine == nil {
		return -1
	}
	return s.cloner.(*shared).graph.made.Load()
}
