package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// innerArgs is what a statement inside a function body may refer to besides tables.
type innerArgs struct {
	params []types.Type   // $1, $2, ...
	names  map[string]int // parameters by name, from 0
	ext    *externals     // PL/pgSQL variables, OLD and NEW
}

// compileInner compiles a statement of a function body. Its parameters are those of the function.
func compileInner(c *catalog, text string, n *pg.Node, args innerArgs) (*Compiled, error) {
	a := &analyzer{cat: c, sql: text, params: args.params, names: args.names, ext: args.ext, sqlFunction: args.names != nil}
	return a.compileNode(n)
}

// maxDepth bounds the nesting of function and trigger calls, in place of max_stack_depth.
const maxDepth = 200

// runInner runs a statement of a function body in a frame of its own. With the zero snapshot it takes a new one that sees
// what the function's caller and the statements before it have done, as in a VOLATILE function; STABLE and IMMUTABLE
// functions pass their caller's. row is called for each row; it is nil when nobody wants them. n is the number of rows
// that the statement gave or changed. What the statement left for its end (AFTER triggers) has run when runInner returns.
func (rn *run) runInner(c *Compiled, params []types.Value, snap storage.Snapshot, row func([]types.Value) (more bool, err error)) (n int64, err error) {
	if rn.depth >= maxDepth {
		return 0, types.NewError("54001", "stack depth limit exceeded").
			WithHint("Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.")
	}
	if c.control != nil {
		return 0, types.NewError("0A000", "transaction and parameter commands in a function are not supported by the model")
	}
	f := c.frame()
	inner := f.run
	after := inner.after
	*inner = run{d: rn.d, s: rn.s, x: rn.x, req: rn.req, clockAt: rn.clockAt, viewAt: rn.viewAt, signalAt: rn.signalAt, depth: rn.depth + 1, after: after[:0]}
	f.gen++
	f.params = append(f.params[:0], params...)
	n, err = inner.innerStatement(f, c, snap, row)
	rn.clockAt, rn.viewAt, rn.signalAt = inner.clockAt, inner.viewAt, inner.signalAt
	rn.notices = append(rn.notices, inner.notices...)
	*inner = run{after: after[:0]}
	if err == nil {
		c.spare.put(f)
	}
	return n, err
}

func (rn *run) innerStatement(f *frame, c *Compiled, snap storage.Snapshot, row func([]types.Value) (bool, error)) (int64, error) {
	if c.util != nil {
		if err := c.allowed(rn.s); err != nil {
			return 0, err
		}
	}
	for i := range c.locks {
		if _, err := rn.x.LockTable(c.locks[i].rel.ID, c.locks[i].mode, storage.Wait); err != nil {
			return 0, err
		}
	}
	if err := c.allowed(rn.s); err != nil {
		return 0, err
	}
	if err := rn.d.checkPrivileges(rn.s, c.privs); err != nil {
		return 0, err
	}
	fresh := !snap.Valid()
	if fresh {
		rn.x.CommandCounterIncrement()
	}
	if c.util != nil {
		if !fresh {
			return 0, types.Errorf("0A000", "%s is not allowed in a non-volatile function", c.tag)
		}
		if _, err := c.util(rn); err != nil {
			return 0, err
		}
		return 0, rn.finish()
	}
	if c.writes && !fresh {
		return 0, types.Errorf("0A000", "%s is not allowed in a non-volatile function", c.name)
	}
	for _, start := range c.starts {
		if err := start(f); err != nil {
			return 0, err
		}
	}
	if fresh {
		if c.latest {
			snap = rn.x.LatestSnapshot()
		} else {
			snap = rn.x.NewSnapshot()
		}
	}
	rn.snap = snap
	return c.innerPlan(f, row)
}

func (c *Compiled) innerPlan(f *frame, row func([]types.Value) (bool, error)) (int64, error) {
	p, count := c.plan, int64(0)
	if err := p.root.open(f); err != nil {
		return 0, err
	}
	for {
		ok, err := p.root.next(f)
		if err != nil {
			return count, err
		}
		if !ok {
			break
		}
		count++
		if row == nil && len(p.outs) == 0 {
			continue
		}
		vals, err := p.row(f, make([]types.Value, 0, len(p.outs)))
		if err != nil {
			return count, err
		}
		if row != nil {
			more, err := row(vals)
			if err != nil {
				return count, err
			}
			if !more {
				break
			}
		}
	}
	for i := len(c.dml) - 1; i >= 0; i-- {
		if err := c.dml[i].finish(f); err != nil {
			return count, err
		}
	}
	if a, ok := p.root.(affecting); ok {
		count = a.affected(f)
	}
	return count, f.run.finish()
}
