package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// A search comes to the same database by many ways: worlds that differ in what actors have observed, or in what monitors
// remember, have the same database much more often than not. So databases are nodes of a graph, as control states are: a node
// is a database that nobody changes, its edges are the requests made of it so far, each with the reply and the database that it
// led to. A request that was made before costs a lookup, and a copy of a world copies a pointer.
//
// Databases with equal fingerprints are one node. What may differ between them, such as the numbers of transactions in words of
// a reply, is then that of whichever came first; nothing that an actor can observe does.

// shared is a Cloner over the graph.
type shared struct {
	graph *dbGraph
	at    *dbNode
	last  *dbEdge
}

// dbGraph holds the nodes by fingerprint.
type dbGraph struct {
	specs    []ActorSpec
	locks    bool // edges tell the locks acquired
	prints   bool // edges tell footprints
	diamonds bool // the sides of diamonds are found without making them; see diamond.go
	shards   [64]dbShard

	made, executed atomic.Int64 // edges, and those of them that are no sides of diamonds that others told
}

type dbShard struct {
	mu    sync.Mutex
	nodes map[uint64]*dbNode
}

// shardMax is how many nodes a shard keeps; a full one is emptied, and its nodes live on as long as worlds stand at them.
const shardMax = 1 << 14

// dbNode is a database. Everything that touches db holds mu, because even reading it may use its scratch memory.
type dbNode struct {
	hash  uint64
	woken []int
	edges table[dbEdge, *dbEdge]

	// The node that this one was made from, by its fingerprint, and the request that made it; both zero for the first node.
	from uint64
	by   *dbEdge

	mu        sync.Mutex
	db        Cloner
	as        map[string]uint64 // FingerprintAs, of the permutations that were asked for
	committed atomic.Uint64     // CommittedFingerprint, 0 when not yet asked
	cycle     atomic.Pointer[[]int]
}

// dbEdge is a request and what came of it.
type dbEdge struct {
	key           uint64
	op            dbOp
	session       int
	to            *dbNode
	obs           observation // of the reply
	shown         uint64      // hash of all that a Step shows of it
	locks         []Lock
	reads, writes []uint64
}

func (e *dbEdge) tableKey() uint64 { return e.key }

type dbOp uint8

const (
	opSubmit dbOp = iota + 1
	opResume
	opInterrupt
	opOpen
	opClose
	opSetNow
)

// share puts a graph around a database, which the graph owns from now on.
func share(db Cloner, specs []ActorSpec, locks, prints bool) *shared {
	g := &dbGraph{specs: specs, locks: locks, prints: prints}
	if f, ok := db.(Footprinter); ok {
		f.TrackFootprints(true)
		g.diamonds = true
	}
	for i := range g.shards {
		g.shards[i].nodes = map[uint64]*dbNode{}
	}
	return &shared{graph: g, at: g.intern(db, 0, nil)}
}

// intern returns the node of a database, which the request by made from the node of fingerprint from.
func (g *dbGraph) intern(db Cloner, from uint64, by *dbEdge) *dbNode {
	hash := db.Fingerprint()
	s := &g.shards[hash>>58]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[hash]; n != nil {
		return n
	}
	if len(s.nodes) >= shardMax {
		clear(s.nodes)
	}
	n := &dbNode{hash: hash, db: db, woken: db.Woken(nil), from: from, by: by}
	s.nodes[hash] = n
	return n
}

// node returns the node of that fingerprint, nil when it is not kept.
func (g *dbGraph) node(hash uint64) *dbNode {
	s := &g.shards[hash>>58]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[hash]
}

// request is an operation with its arguments; most operations use few of them.
type request struct {
	op   dbOp
	i    int
	req  Request
	code string
	now  time.Time
}

// step makes the request of the present node, or finds what came of it.
func (b *shared) step(key uint64, r request) (Reply, error) {
	if reply, ok := b.known(key); ok {
		return reply, nil
	}
	e, err := b.graph.explore(b.at, key, &r)
	if err != nil {
		return Reply{}, err
	}
	b.at, b.last = e.to, e
	return e.obs.reply, nil
}

// known makes the request if it was made before at the present node.
func (b *shared) known(key uint64) (Reply, bool) {
	e := b.at.edges.find(key)
	if e == nil {
		return Reply{}, false
	}
	b.at, b.last = e.to, e
	return e.obs.reply, true
}

func (g *dbGraph) explore(n *dbNode, key uint64, r *request) (*dbEdge, error) {
	g.made.Add(1)
	d := g.diamond(n, key, r)
	if e := d.closed(key); e != nil {
		return n.edges.add(e), nil
	}
	g.executed.Add(1)
	n.mu.Lock()
	db := n.db.Clone().(Cloner)
	n.mu.Unlock()
	var reply Reply
	var err error
	switch r.op {
	case opSubmit:
		reply, err = db.Submit(r.i, r.req)
	case opResume:
		reply, err = db.Resume(r.i)
	case opInterrupt:
		reply, err = db.Interrupt(r.i, r.code)
	case opOpen:
		err = db.Open(r.i, g.specs[r.i])
	case opClose:
		err = db.Close(r.i)
	case opSetNow:
		err = db.SetNow(r.now)
	}
	if err != nil {
		return nil, err
	}
	e := &dbEdge{key: key, op: r.op, session: r.i, obs: replyObservation(reply)}
	e.shown = hashShown(e.obs.hash, &reply)
	if g.locks {
		e.locks = append(e.locks, db.(LockTracker).Acquired(r.i)...)
		e.shown = hashLocks(e.shown, e.locks)
	}
	if g.prints || g.diamonds && r.op != opSetNow {
		reads, writes := db.(Footprinter).Footprint()
		e.reads, e.writes = append(e.reads, reads...), append(e.writes, writes...)
	}
	e.to = g.intern(db, n.hash, e)
	d.close(e.to)
	return n.edges.add(e), nil
}

func (b *shared) Submit(i int, req Request) (Reply, error) {
	h := req.hash
	if h == 0 {
		h = req.hashed()
	}
	return b.step(mix(h, uint64(i)<<8|uint64(opSubmit)), request{op: opSubmit, i: i, req: req})
}

func (b *shared) Resume(i int) (Reply, error) {
	return b.step(mix(81, uint64(i)<<8|uint64(opResume)), request{op: opResume, i: i})
}

func (b *shared) Interrupt(i int, code string) (Reply, error) {
	return b.step(hashString(uint64(i)<<8|uint64(opInterrupt), code), request{op: opInterrupt, i: i, code: code})
}

func (b *shared) Open(i int, _ ActorSpec) error {
	_, err := b.step(mix(82, uint64(i)<<8|uint64(opOpen)), request{op: opOpen, i: i})
	return err
}

func (b *shared) Close(i int) error {
	_, err := b.step(mix(83, uint64(i)<<8|uint64(opClose)), request{op: opClose, i: i})
	return err
}

func (b *shared) SetNow(t time.Time) error {
	_, err := b.step(mix(uint64(t.UnixNano()), uint64(opSetNow)), request{op: opSetNow, now: t})
	return err
}

func (b *shared) Woken(buf []int) []int {
	if buf == nil {
		return b.at.woken
	}
	return append(buf, b.at.woken...)
}

func (b *shared) Deadlock() []int {
	n := b.at
	if c := n.cycle.Load(); c != nil {
		return *c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.db.Deadlock()
	n.cycle.Store(&c)
	return c
}

func (b *shared) Clone() Backend {
	return &shared{graph: b.graph, at: b.at}
}

func (b *shared) Fingerprint() uint64 { return b.at.hash }

func (b *shared) FingerprintAs(as []int) uint64 {
	n := b.at
	var key [16]byte
	for i, to := range as {
		key[i] = byte(to)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h, known := n.as[string(key[:len(as)])]
	if !known {
		h = n.db.(relabeler).FingerprintAs(as)
		if n.as == nil {
			n.as = map[string]uint64{}
		}
		n.as[string(key[:len(as)])] = h
	}
	return h
}

func (b *shared) CommittedFingerprint() uint64 {
	n := b.at
	if c := n.committed.Load(); c != 0 {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := max(n.db.CommittedFingerprint(), 1)
	n.committed.Store(c)
	return c
}

func (b *shared) Query(sql string) (*Result, error) {
	b.at.mu.Lock()
	defer b.at.mu.Unlock()
	return b.at.db.Query(sql)
}

// Reset does nothing: runs begin with copies.
func (b *shared) Reset() error    { return nil }
func (b *shared) Shutdown() error { return nil }

func (b *shared) Track(bool)                          {}
func (b *shared) TrackFootprints(bool)                {}
func (b *shared) Acquired(int) []Lock                 { return b.last.locks }
func (b *shared) Footprint() (reads, writes []uint64) { return b.last.reads, b.last.writes }
