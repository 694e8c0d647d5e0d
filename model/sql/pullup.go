package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// A planner that has pulled subqueries up into joins knows more of a table than its own conditions say: of a.slot = b.slot and
// b.slot = 1 it makes a.slot = 1. The model runs subqueries where they stand; what follows finds out what a server's planner
// would know (prepjointree.c, initsplan.c, equivclass.c), for the partitions that it would not lock.

// level is one FROM clause with its conditions, as analysed.
type level struct {
	tree  *jtree
	where []expr
	sel   *selection // nil of UPDATE and DELETE
	// absorbed: what the level knows is part of what the level around it knows.
	absorbed bool
}

// newLevel keeps a FROM clause before its conditions are moved to where they are run.
func (a *analyzer) newLevel(tree *jtree, where expr) *level {
	lv := &level{tree: tree.clone(), where: conjuncts(where)}
	a.levels = append(a.levels, lv)
	return lv
}

func (t *jtree) clone() *jtree {
	if t == nil {
		return nil
	}
	c := *t
	c.l, c.r, c.quals = t.l.clone(), t.r.clone(), slices.Clip(t.quals)
	return &c
}

// settlePartitions finds what rules out partitions, once the whole statement is analysed, and gives the scans in the order in
// which the planner locks the rest.
func (a *analyzer) settlePartitions() []func(*frame) error {
	var groups [][]*partScan
	for i := len(a.levels) - 1; i >= 0; i-- { // the outer levels come last
		if lv := a.levels[i]; !lv.absorbed {
			groups = append(groups, a.rootScans(lv, nil))
		}
	}
	slices.Reverse(groups)
	var starts []func(*frame) error
	for _, n := range slices.Concat(groups...) {
		starts = append(starts, n.lockParts)
	}
	return starts
}

// rootScans settles the scans of a level with all that it absorbs. more are facts that come from the level around it.
func (a *analyzer) rootScans(lv *level, more func(*facts)) []*partScan {
	fs := &facts{a: a, alias: map[string]expr{}, class: map[string]*eqClass{}, sink: &scanSink{}, leaves: map[int]bool{}, inside: map[int]map[int]bool{}}
	fs.level(lv)
	if more != nil {
		more(fs)
	}
	fs.throughOuterJoins()
	fs.settleJoins()
	scans := fs.sink.flat()
	for _, n := range scans {
		fs.settle(n)
	}
	for _, it := range fs.closed {
		scans = append(scans, fs.intoClosed(it)...)
	}
	return scans
}

// eqClass is a set of expressions that are equal in every row (an EquivalenceClass).
type eqClass struct {
	members []expr
	merged  bool // into another one
	below   bool // a condition of it stands below an outer or anti join, on the side that may be missing
}

// outerEq is a condition of an outer or anti join: inner is NULL or equal to outer.
type outerEq struct{ outer, inner expr }

// scanSink collects partitioned tables in the order of the range table: those of subqueries in FROM follow the others.
type scanSink struct {
	scans []*partScan
	late  []*scanSink
}

func (s *scanSink) flat() []*partScan {
	out := s.scans
	for _, l := range s.late {
		out = append(out, l.flat()...)
	}
	return out
}

// facts is what is known of the rows of a level and of what it has absorbed.
type facts struct {
	a       *analyzer
	alias   map[string]expr     // columns of subqueries that were pulled up: what they stand for
	class   map[string]*eqClass // by what is in it
	classes []*eqClass
	outers  []outerEq
	quals   []expr    // other conditions
	closed  []*nsItem // subqueries in FROM that stay, into which conditions are pushed
	sink    *scanSink
	below   int                  // how many outer and anti joins what is being taken in is below
	bases   int                  // tables and other sources of rows
	leaves  map[int]bool         // items of FROM
	inside  map[int]map[int]bool // those that were pulled up: the relations in them
}

// level takes in a level: its FROM, its conditions, and the subqueries that its conditions become joins with. It gives the
// relations that outer joins may null-extend.
func (fs *facts) level(lv *level) map[int]bool {
	lv.absorbed = true
	quals, joins := fs.split(lv.where, relSet(lv.tree))
	nullable := fs.tree(lv.tree, fs.nonNull(quals))
	for _, e := range quals {
		fs.qual(e, nullable)
	}
	for _, j := range joins {
		fs.join(j, nullable)
	}
	return nullable
}

func relSet(t *jtree) map[int]bool {
	set := map[int]bool{}
	if t != nil {
		for _, r := range t.rels {
			set[r] = true
		}
	}
	return set
}

// tree takes in a FROM clause. nonNull are relations whose null-extended rows the conditions above throw away: an outer join
// with such a side is none (reduce_outer_joins).
func (fs *facts) tree(t *jtree, nonNull map[int]bool) map[int]bool {
	switch {
	case t == nil:
		return nil
	case t.item != nil:
		return fs.leaf(t.item)
	}
	l, r, kind := t.l, t.r, t.kind
	lrels, rrels := relSet(l), relSet(r)
	if kind == pg.JoinType_JOIN_RIGHT {
		l, r, lrels, rrels, kind = r, l, rrels, lrels, pg.JoinType_JOIN_LEFT
	}
	strictL, strictR := overlap(nonNull, lrels), overlap(nonNull, rrels)
	switch {
	case kind == pg.JoinType_JOIN_FULL && strictL && strictR, kind == pg.JoinType_JOIN_LEFT && strictR:
		kind = pg.JoinType_JOIN_INNER
	case kind == pg.JoinType_JOIN_FULL && strictL:
		kind = pg.JoinType_JOIN_LEFT
	case kind == pg.JoinType_JOIN_FULL && strictR:
		l, r, lrels, rrels, kind = r, l, rrels, lrels, pg.JoinType_JOIN_LEFT
	}
	switch kind {
	case pg.JoinType_JOIN_INNER:
		quals, joins := fs.split(t.quals, relSet(t))
		inner := union(nonNull, fs.nonNull(quals))
		nullable := union(fs.tree(l, inner), fs.tree(r, inner))
		for _, e := range quals {
			fs.qual(e, nullable)
		}
		for _, j := range joins {
			fs.join(j, nullable)
		}
		return nullable
	case pg.JoinType_JOIN_LEFT:
		quals, joins := fs.split(t.quals, rrels)
		nullable := fs.tree(l, nonNull)
		fs.below++
		below := fs.tree(r, fs.nonNull(quals))
		fs.onQuals(quals, rrels, below)
		for _, j := range joins {
			fs.join(j, below)
		}
		fs.below--
		return union(union(nullable, below), rrels)
	default:
		return union(union(fs.tree(l, nil), fs.tree(r, nil)), relSet(t))
	}
}

// onQuals takes in the conditions of a left or anti join, whose right side has the relations inner.
func (fs *facts) onQuals(quals []expr, inner, nullable map[int]bool) {
	for _, e := range quals {
		if within(relsOf(e), inner) {
			fs.qual(e, nullable)
			continue
		}
		l, r, ok := fs.equality(e)
		if !ok {
			continue
		}
		args := e.(*callExpr).args
		lr, rr := relsOf(args[0]), relsOf(args[1])
		switch {
		case len(rr) > 0 && within(rr, inner) && !overlap(lr, inner):
			fs.outers = append(fs.outers, outerEq{outer: l, inner: r})
		case len(lr) > 0 && within(lr, inner) && !overlap(rr, inner):
			fs.outers = append(fs.outers, outerEq{outer: r, inner: l})
		}
	}
}

// leaf takes in an item of FROM.
func (fs *facts) leaf(it *nsItem) map[int]bool {
	fs.bases++
	fs.leaves[it.rel] = true
	if it.part != nil {
		fs.sink.scans = append(fs.sink.scans, it.part)
		return nil
	}
	p := it.subplan()
	switch {
	case p == nil || p.level == nil || p.level.absorbed:
		return nil
	case !p.level.simple():
		p.level.absorbed = true
		fs.closed = append(fs.closed, it)
		return nil
	}
	fs.bases--
	fs.inside[it.rel] = relSet(p.level.tree)
	outer := fs.sink
	fs.sink = &scanSink{}
	outer.late = append(outer.late, fs.sink)
	nullable := fs.level(p.level)
	fs.sink = outer
	for i, c := range p.cols {
		if _, isVar := c.e.(*varExpr); isVar || fs.planConst(c.e) {
			fs.alias[signature(&varExpr{rel: it.rel, col: i})] = c.e
		}
	}
	if len(nullable) > 0 { // a column of such a relation may be NULL in the subquery's row
		return union(nullable, map[int]bool{it.rel: true})
	}
	return nil
}

// resolve looks through columns of subqueries that were pulled up, and through casts that leave a value as it is.
func (fs *facts) resolve(e expr) expr {
	for {
		switch v := e.(type) {
		case *varExpr:
			to, ok := fs.alias[signature(v)]
			if !ok {
				return e
			}
			e = to
		case *castExpr:
			if v.fn != nil || isInt(v.to.Kind) {
				return e
			}
			e = v.e
		default:
			return e
		}
	}
}

// equality gives the sides of a condition that makes two expressions equal.
func (fs *facts) equality(e expr) (l, r expr, ok bool) {
	sides := equated(e)
	if sides == nil || isVolatile(e) || hasSubquery(e) {
		return nil, nil, false
	}
	return fs.resolve(sides[0]), fs.resolve(sides[1]), true
}

// equated gives the two sides of a comparison for equality, nil for other expressions.
func equated(e expr) []expr {
	if c, ok := e.(*callExpr); ok && c.fn.name == "=" && len(c.args) == 2 {
		return c.args
	}
	return nil
}

// qual takes in a condition that holds of every row of the level, unless outer joins below it may have made NULLs.
func (fs *facts) qual(e expr, nullable map[int]bool) {
	if isVolatile(e) || overlap(relsOf(e), nullable) {
		return
	}
	if or, ok := e.(*boolExpr); ok && or.op == "OR" && !or.list && allSame(or.args) {
		e = or.args[0]
	}
	if l, r, ok := fs.equality(e); ok && len(relsOf(l))+len(relsOf(r)) > 0 {
		if signature(l) != signature(r) {
			fs.equal(l, r)
			return
		}
		e = &testExpr{at: -1, name: "notnull", e: l, test: rowNotNull}
	}
	fs.quals = append(fs.quals, e)
}

// equal puts two expressions into one class. What is new comes last, as the first constant of a class is the one that counts.
func (fs *facts) equal(l, r expr) {
	c, other := fs.classOf(l), fs.classOf(r)
	switch {
	case c == nil && other == nil:
		c = fs.newClass(l, r)
	case other == nil:
		fs.add(c, r)
	case c == nil:
		c = other
		fs.add(c, l)
	case c != other:
		for _, m := range other.members {
			fs.add(c, m)
		}
		c.below, other.merged = c.below || other.below, true
	}
	c.below = c.below || fs.below > 0
}

// classOf finds an expression's class. Below an outer join a constant has none: it does not stand for the one above.
func (fs *facts) classOf(e expr) *eqClass {
	if fs.below > 0 && len(relsOf(e)) == 0 {
		return nil
	}
	return fs.class[signature(e)]
}

func (fs *facts) add(c *eqClass, e expr) {
	c.members = append(c.members, e)
	if fs.below == 0 || len(relsOf(e)) > 0 {
		fs.class[signature(e)] = c
	}
}

func (fs *facts) newClass(members ...expr) *eqClass {
	c := &eqClass{}
	fs.classes = append(fs.classes, c)
	for _, m := range members {
		fs.add(c, m)
	}
	return c
}

// constOf gives the constant that an expression is equal to, nil when none is known.
func (fs *facts) constOf(e expr) expr {
	if c := fs.constsOf(fs.classOf(fs.resolve(e))); len(c) > 0 {
		return c[0]
	}
	return nil
}

func (fs *facts) constsOf(c *eqClass) (out []expr) {
	if c != nil {
		for _, m := range c.members {
			if fs.planConst(m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// classSteps is what the classes say of a scan. Of several constants that the key is equal to the first one counts. That two
// constants of a class differ is a condition of the whole query; of the scan only when there is nothing else, or below an
// outer join.
func (fs *facts) classSteps(n *partScan) (steps []partStep) {
	if c := fs.constOf(&varExpr{rel: n.rel, col: n.root.PartKey[0]}); c != nil {
		steps = append(steps, valueStep("=", c.compile(&fs.a.shape)))
	}
	for _, c := range fs.classes {
		consts := fs.constsOf(c)
		if len(consts) < 2 || c.merged || !c.below && fs.bases > 1 {
			continue
		}
		alone := true
		for _, m := range c.members {
			alone = alone && fs.onlyOf(m, n.rel)
		}
		if alone {
			steps = append(steps, differStep(compileAll(consts, &fs.a.shape)))
		}
	}
	return steps
}

// differStep leaves nothing when constants differ.
func differStep(vals []evalFn) partStep {
	return func(f *frame, n *partScan, out partSet) error {
		first, err := vals[0](f)
		if err != nil {
			return err
		}
		same := first.Valid
		for _, val := range vals[1:] {
			v, err := val(f)
			if err != nil {
				return err
			}
			same = same && v.Valid && types.Compare(v, first) == 0
		}
		out.fill(same)
		return nil
	}
}

// throughOuterJoins carries constants from the outer side of joins to the inner one (reconsider_outer_join_clauses).
func (fs *facts) throughOuterJoins() {
	for again := true; again; {
		again = false
		for i, o := range fs.outers {
			if o.outer == nil {
				continue
			}
			if consts := fs.constsOf(fs.classOf(o.outer)); len(consts) > 0 {
				class := fs.classOf(o.inner)
				if class == nil {
					class = fs.newClass(o.inner)
				}
				class.members, class.below = append(class.members, consts...), true
				fs.outers[i].outer, again = nil, true
			}
		}
	}
}

// settle gives a scan what rules out its partitions.
func (fs *facts) settle(n *partScan) {
	if len(n.root.PartKey) != 1 {
		return
	}
	steps := fs.classSteps(n)
	for _, e := range fs.quals {
		if step := fs.partStep(e, n, false); step != nil && fs.onlyOf(e, n.rel) {
			steps = append(steps, step)
		}
	}
	if steps != nil {
		n.steps = combineSteps(steps, true)
	}
}

// onlyOf says whether a condition looks at one relation alone.
func (fs *facts) onlyOf(e expr, rel int) bool {
	only := true
	walk(e, func(x expr) bool {
		if v, ok := x.(*varExpr); ok {
			to, isVar := fs.resolve(v).(*varExpr)
			only = only && (!isVar || to.rel == rel)
		}
		return only
	})
	return only
}

func allSame(es []expr) bool {
	for _, e := range es[1:] {
		if signature(e) != signature(es[0]) {
			return false
		}
	}
	return true
}

func overlap(a, b map[int]bool) bool {
	for r := range a {
		if b[r] {
			return true
		}
	}
	return false
}

func within(a, b map[int]bool) bool {
	for r := range a {
		if !b[r] {
			return false
		}
	}
	return true
}

func union(a, b map[int]bool) map[int]bool {
	out := map[int]bool{}
	for r := range a {
		out[r] = true
	}
	for r := range b {
		out[r] = true
	}
	return out
}
