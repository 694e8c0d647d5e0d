package sim

import "simrun/scheduler"

// When two sessions' requests touch nothing in common, it does not matter who comes first: from a node p, a leads to n and b to c;
// b asked of n and a asked of c both lead to one node, with the replies that they had at p. Of the two sides of such a diamond
// one is executed, and the other follows from it. Since most pairs of requests are of this kind, most edges are never executed.
//
// Whether two requests are independent is told by their footprints, as reduction has it. Footprints name rows by numbers that
// nodes of equal fingerprints need not share. So they are compared at p, where both requests were made of one database, and
// only nodes that were made from p take an edge with its footprint over.

// diamond is what is known of a diamond before its last side is.
type diamond struct {
	a, b *dbEdge // of p; b is the request that is looked for
	c    *dbNode // where b leads to from p
	last *dbEdge // a, asked of c; nil when it was not yet
}

// diamond looks for the one that has the request of node n as a side; it is zero when there is none.
func (g *dbGraph) diamond(n *dbNode, key uint64, r *request) (d diamond) {
	a := n.by
	if !g.diamonds || a == nil || a.session == r.i || a.op == opSetNow || r.op == opSetNow || len(n.woken) > 0 {
		return d
	}
	p := g.node(n.from)
	if p == nil || len(p.woken) > 0 {
		return d
	}
	b := p.edges.find(key)
	if b == nil || len(b.to.woken) > 0 || scheduler.Dependent(a.footprint(), b.footprint()) {
		return d
	}
	return diamond{a: a, b: b, c: b.to, last: b.to.edges.find(a.key)}
}

func (e *dbEdge) footprint() scheduler.Footprint {
	return scheduler.Footprint{Reads: e.reads, Writes: e.writes}
}

// closed returns the edge of the request when the other side of the diamond tells where it leads to.
func (d *diamond) closed(key uint64) *dbEdge {
	if d.last == nil {
		return nil
	}
	e := *d.b
	e.to = d.last.to
	return &e
}

// close takes in where the request led to: the other side leads there too.
func (d *diamond) close(to *dbNode) {
	if d.b == nil || d.c.by != d.b {
		return
	}
	e := *d.a
	e.to = to
	d.c.edges.add(&e)
}
