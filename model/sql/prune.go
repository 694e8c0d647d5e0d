package sql

import (
	"strings"

	"simrun/model/types"
)

// Partitions are ruled out as the planner does it (partprune.c): by what the conditions say of the partition key with
// constants, parameters among them. A partition that is ruled out is not locked.

// partSet says of each value that a partition of a table lists, in the order of the partitions, whether a row may have it; the
// last two elements are of the values that none lists, and of NULL when none lists it.
type partSet []bool

func newPartSet(values int) partSet { return make(partSet, values+2) }

func (s partSet) fill(v bool) {
	for i := range s {
		s[i] = v
	}
}

// tail is the element of the values that no partition lists; the one of NULL follows.
func (s partSet) tail() int { return len(s) - 2 }

// joinTail forgets whether the default partition is left for a NULL, as the planner does in OR and ANY.
func (s partSet) joinTail() {
	t := s.tail()
	s[t] = s[t] || s[t+1]
	s[t+1] = s[t]
}

// and, or combine a set with another.
func (s partSet) and(o partSet) {
	for i, v := range o {
		s[i] = s[i] && v
	}
}

func (s partSet) or(o partSet) {
	for i, v := range o {
		s[i] = s[i] || v
	}
}

// partStep fills a set with what one condition leaves.
type partStep func(f *frame, n *partScan, out partSet) error

// partStep makes the step of a condition; nil when it says nothing of the key. neg is of a condition under NOT.
func (fs *facts) partStep(e expr, n *partScan, neg bool) partStep {
	switch x := e.(type) {
	case *boolExpr:
		return fs.boolStep(x, n, neg)
	case *callExpr:
		return fs.compareStep(x, n, neg)
	case *anyExpr:
		return fs.anyStep(x, n, neg)
	case *testExpr:
		if fs.isKey(x.e, n) && (x.name == "isnull" || x.name == "notnull") {
			return nullStep((x.name == "isnull") != neg)
		}
	}
	return nil
}

func (fs *facts) boolStep(e *boolExpr, n *partScan, neg bool) partStep {
	if e.op == "NOT" {
		return fs.partStep(e.args[0], n, !neg)
	}
	all := (e.op == "AND") != neg // of De Morgan
	var steps []partStep
	for _, arg := range e.args {
		step := fs.partStep(arg, n, neg)
		switch {
		case step != nil:
			steps = append(steps, step)
		case !all:
			return nil
		}
	}
	if steps == nil {
		return nil
	}
	step := combineSteps(steps, all)
	if !e.list {
		return step
	}
	return func(f *frame, n *partScan, out partSet) error {
		err := step(f, n, out)
		out.joinTail()
		return err
	}
}

// combineSteps is the intersection of what several steps leave, or the union.
func combineSteps(steps []partStep, all bool) partStep {
	if len(steps) == 1 {
		return steps[0]
	}
	return func(f *frame, n *partScan, out partSet) error {
		out.fill(all)
		part := make(partSet, len(out))
		for _, step := range steps {
			if err := step(f, n, part); err != nil {
				return err
			}
			if all {
				out.and(part)
			} else {
				out.or(part)
			}
		}
		if !all {
			out.joinTail()
		}
		return nil
	}
}

// negators and commuters of the comparisons.
var (
	negators  = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	commuters = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

func (fs *facts) compareStep(e *callExpr, n *partScan, neg bool) partStep {
	op, ok := e.fn.name, false
	if len(e.args) != 2 {
		return nil
	}
	key, other := e.args[0], e.args[1]
	if !fs.isKey(key, n) {
		key, other = other, key
		if op, ok = commuters[op]; !ok {
			return nil
		}
	}
	if neg {
		op = negators[op]
	}
	if _, ok = negators[op]; !ok || !fs.isKey(key, n) || !fs.planConst(other) {
		return nil
	}
	return valueStep(op, other.compile(&fs.a.shape))
}

// valueStep compares the key with a constant.
func valueStep(op string, val evalFn) partStep {
	return func(f *frame, n *partScan, out partSet) error {
		v, err := val(f)
		if err == nil {
			n.compareValues(op, v, out)
		}
		return err
	}
}

// compareValues fills a set with the values that a comparison with v leaves.
func (n *partScan) compareValues(op string, v types.Value, out partSet) {
	out.fill(false)
	if !v.Valid { // no comparison with NULL is true
		return
	}
	listed := false
	for i, x := range n.values {
		if !x.Valid {
			continue
		}
		c := types.Compare(x, v)
		listed = listed || c == 0
		switch op {
		case "=":
			out[i] = c == 0
		case "<>":
			out[i] = c != 0
		default:
			out[i] = c < 0 && op[0] == '<' || c > 0 && op[0] == '>' || c == 0 && strings.HasSuffix(op, "=")
		}
	}
	out[out.tail()] = op != "=" || !listed
}

func nullStep(null bool) partStep {
	return func(_ *frame, n *partScan, out partSet) error {
		listed := false
		for i, x := range n.values {
			out[i] = x.Valid != null
			listed = listed || !x.Valid
		}
		out[out.tail()], out[out.tail()+1] = !null, null && !listed
		return nil
	}
}

func (fs *facts) anyStep(e *anyExpr, n *partScan, neg bool) partStep {
	op, all := e.op.name, e.all
	if neg {
		op, all = negators[op], !all
	}
	if _, ok := negators[op]; !ok || !fs.isKey(e.l, n) || !fs.planConst(e.array) {
		return nil
	}
	array := e.array.compile(&fs.a.shape)
	return func(f *frame, n *partScan, out partSet) error {
		v, err := array(f)
		if err != nil {
			return err
		}
		out.fill(all && v.Valid)
		if !v.Valid {
			return nil
		}
		part := make(partSet, len(out))
		for _, elem := range v.L.Elems {
			n.compareValues(op, elem, part)
			if all {
				out.and(part)
			} else {
				out.or(part)
			}
		}
		out.joinTail()
		return nil
	}
}

// isKey says whether an expression is the partition key of a scan.
func (fs *facts) isKey(e expr, n *partScan) bool {
	v, ok := fs.resolve(e).(*varExpr)
	return ok && len(n.root.PartKey) == 1 && v.rel == n.rel && v.col == n.root.PartKey[0]
}

// planConst says whether an expression is a constant when the statement is planned: it looks at no row, and all that it calls
// is immutable.
func (fs *facts) planConst(e expr) bool {
	ok := true
	walk(fs.resolve(e), func(x expr) bool {
		switch v := x.(type) {
		case *constExpr, *arrayExpr, *boolExpr, *coalesceExpr, *caseExpr, *minmaxExpr:
		case *paramExpr:
			ok = ok && !fs.a.sqlFunction
		case *callExpr:
			ok = ok && v.fn.volatile == 'i'
		case *castExpr:
			ok = ok && !(v.fn != nil && stableCast(v.to.Kind, v.e.typ().Kind))
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// stableCast says whether a conversion depends on settings or the catalog: between times and text, and of names of relations.
func stableCast(to, from types.Kind) bool {
	for _, k := range []types.Kind{to, from} {
		switch k {
		case types.Timestamptz, types.Date, types.Regclass:
			return true
		}
	}
	return false
}
