package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// hooks are what a table wants done around the change of a row: triggers and foreign keys. AFTER work is queued in run.after
// for the end of the statement, a row's foreign keys before its triggers, as the names of Postgres's own constraint triggers
// sort before those of users.
type hooks struct {
	table    *Relation
	w        *writer
	cols     []Col
	live     []int // places of the columns that are not dropped; nil: all
	oldRel   int   // relations of the frame for OLD and NEW in WHEN conditions
	newRel   int
	triggers []*rowTrigger
	checks   []*fkCheck  // foreign keys of the table
	guards   []*fkAction // foreign keys that refer to the table
}

// rowTrigger is a row trigger with its function.
type rowTrigger struct {
	*Trigger
	fn   *Function
	when qual
}

// triggerData is what TG_OP and its kin tell.
type triggerData struct {
	op      string
	trigger *Trigger
	table   *Relation
}

// newHooks analyses a table's triggers and foreign keys; nil when it has none.
func (a *analyzer) newHooks(r *Relation) (*hooks, error) {
	if len(r.Triggers) == 0 && len(r.FKs) == 0 && len(r.RefFKs) == 0 {
		return nil, nil
	}
	h := &hooks{table: r, cols: rowCols(r), oldRel: a.newRel(), newRel: a.newRel()}
	if len(h.cols) != len(r.Columns) {
		for i := range r.Columns {
			if !r.Columns[i].Dropped {
				h.live = append(h.live, i)
			}
		}
	}
	for i := range r.Triggers {
		t := &r.Triggers[i]
		if t.Disabled || !t.Row {
			continue
		}
		p, ok := a.cat.find(classFunction, t.Function+"()")
		if !ok {
			return nil, types.Errorf("42883", "function %s() does not exist", baseName(t.Function))
		}
		rt := &rowTrigger{Trigger: t, fn: p.(*Function)}
		if t.When != nil {
			e, err := a.triggerCondition(h, t)
			if err != nil {
				return nil, err
			}
			rt.when = compileQual(e, &a.shape)
		}
		h.triggers = append(h.triggers, rt)
	}
	for i := range r.FKs {
		h.checks = append(h.checks, newFKCheck(r, &r.FKs[i]))
	}
	for i := range r.RefFKs {
		h.guards = append(h.guards, newFKAction(r, &r.RefFKs[i]))
	}
	return h, nil
}

// triggerCondition analyses a WHEN condition, in which OLD and NEW are relations.
func (a *analyzer) triggerCondition(h *hooks, t *Trigger) (expr, error) {
	saved := a.sql
	a.sql = t.Text
	defer func() { a.sql = saved }()
	q := a.newQuery(nil)
	item := func(name string, rel int) {
		it := &nsItem{name: name, rel: rel, table: h.table, qualOnly: true}
		for i := range h.table.Columns {
			if c := &h.table.Columns[i]; !c.Dropped {
				it.cols = append(it.cols, nsCol{name: c.Name, e: &varExpr{at: -1, rel: rel, col: i, t: c.Type, typmod: c.Typmod, name: c.Name}})
			}
		}
		q.items = append(q.items, it)
	}
	item("old", h.oldRel)
	item("new", h.newRel)
	e, err := q.expr(t.When)
	if err != nil {
		return nil, err
	}
	return a.boolean(e, "WHEN")
}

// wants says whether a trigger is for this event; changed are the columns that an UPDATE sets.
func (t *rowTrigger) wants(before bool, op byte, changed func(col int) bool) bool {
	if t.Before != before {
		return false
	}
	switch op {
	case 'i':
		return t.Insert
	case 'd':
		return t.Delete
	}
	if !t.Update || t.UpdateOf == nil {
		return t.Update
	}
	for _, c := range t.UpdateOf {
		if changed(c) {
			return true
		}
	}
	return false
}

// holds evaluates a WHEN condition.
func (h *hooks) holds(f *frame, t *rowTrigger, old, new []types.Value) (bool, error) {
	if t.when == nil {
		return true, nil
	}
	f.rows[h.oldRel], f.rows[h.newRel] = old, new
	return t.when(f)
}

var opNames = map[byte]string{'i': "INSERT", 'u': "UPDATE", 'd': "DELETE"}

// fire calls a trigger function. The row that it returns is nil when it returns NULL.
func (h *hooks) fire(rn *run, t *rowTrigger, op byte, old, new []types.Value) ([]types.Value, error) {
	fn, p := t.fn, t.fn.prog
	if p == nil {
		return nil, types.Errorf("0A000", "trigger function %s is not in PL/pgSQL", fn.Name)
	}
	if rn.depth >= maxDepth {
		return nil, types.NewError("54001", "stack depth limit exceeded")
	}
	rn.depth++
	defer func() { rn.depth-- }()
	restore, err := fn.enter(rn)
	if err != nil {
		return nil, err
	}
	ps := p.activate(rn)
	ps.trig = &triggerData{op: opNames[op], trigger: t.Trigger, table: h.table}
	ps.recs[p.newVar] = &plRecord{cols: h.cols, vals: h.alive(new)}
	ps.recs[p.oldVar] = &plRecord{cols: h.cols, vals: h.alive(old)}
	flow, err := p.body(ps)
	if err == storage.ErrWait {
		return nil, err
	}
	restore()
	switch {
	case err != nil:
		return nil, err
	case flow.how != 'r':
		return nil, types.NewError("2F005", "control reached end of trigger procedure without RETURN")
	case ps.ret == nil:
		return nil, nil
	case len(ps.ret) != len(h.cols):
		return nil, types.NewError("42804", "returned row structure does not match the structure of the triggering table").
			WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(ps.ret), len(h.cols))
	}
	return h.whole(ps.ret)
}

// alive are the values of the columns that are not dropped.
func (h *hooks) alive(vals []types.Value) []types.Value {
	if vals == nil {
		return nil
	}
	out := make([]types.Value, len(h.cols))
	for i := range out {
		at := i
		if h.live != nil {
			at = h.live[i]
		}
		out[i] = types.Null(h.cols[i].Type)
		if at < len(vals) {
			out[i] = vals[at]
		}
	}
	return out
}

// whole undoes alive, converting each value to its column's type.
func (h *hooks) whole(vals []types.Value) ([]types.Value, error) {
	out := make([]types.Value, len(h.table.Columns))
	for i := range vals {
		at := i
		if h.live != nil {
			at = h.live[i]
		}
		v, err := plCast(vals[i], h.cols[i].Type, h.table.Columns[at].Typmod)
		if err != nil {
			return nil, err
		}
		out[at] = v
	}
	return out, nil
}

// special is the value of a name that only trigger functions have.
func (ps *plState) special(name string) (types.Value, bool) {
	t := ps.trig
	if t == nil {
		return types.Value{}, false
	}
	switch name {
	case "tg_op":
		return types.NewText(t.op), true
	case "tg_name":
		return types.NewString(types.Name, t.trigger.Name), true
	case "tg_table_name", "tg_relname":
		return types.NewString(types.Name, t.table.Name), true
	case "tg_table_schema":
		return types.NewString(types.Name, t.table.Schema), true
	case "tg_relid":
		return types.NewInt(types.OID, int64(t.table.OID)), true
	case "tg_when":
		if t.trigger.Before {
			return types.NewText("BEFORE"), true
		}
		return types.NewText("AFTER"), true
	case "tg_level":
		if t.trigger.Row {
			return types.NewText("ROW"), true
		}
		return types.NewText("STATEMENT"), true
	case "tg_nargs":
		return types.NewInt4(int32(len(t.trigger.Args))), true
	case "tg_argv":
		elems := make([]types.Value, len(t.trigger.Args))
		for i, s := range t.trigger.Args {
			elems[i] = types.NewText(s)
		}
		return types.NewArray(types.Text, elems), true
	}
	return types.Value{}, false
}

func none(int) bool { return false }

// beforeInsert runs BEFORE INSERT row triggers; it returns the row to store, nil to leave it out.
func (h *hooks) beforeInsert(f *frame, vals []types.Value) ([]types.Value, error) {
	return h.before(f, 'i', nil, vals, none)
}

// before runs the BEFORE row triggers of an event and gives the row as the last of them left it.
func (h *hooks) before(f *frame, op byte, old, new []types.Value, changed func(int) bool) ([]types.Value, error) {
	row := new
	if op == 'd' {
		row = old
	}
	for _, t := range h.triggers {
		if !t.wants(true, op, changed) {
			continue
		}
		ok, err := h.holds(f, t, old, new)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		out, err := h.fire(f.run, t, op, old, new)
		if out == nil || err != nil {
			return nil, err
		}
		if op != 'd' {
			row, new = out, out
		}
	}
	return row, nil
}

// after queues the AFTER row triggers of an event.
func (h *hooks) after(f *frame, op byte, old, new []types.Value, changed func(int) bool) error {
	rn := f.run
	for _, t := range h.triggers {
		if !t.wants(false, op, changed) {
			continue
		}
		ok, err := h.holds(f, t, old, new)
		if err != nil {
			return err
		}
		if ok {
			rn.after = append(rn.after, func() error {
				_, err := h.fire(rn, t, op, old, new)
				return err
			})
		}
	}
	return nil
}

// afterInsert queues AFTER INSERT row triggers and foreign-key checks.
func (h *hooks) afterInsert(f *frame, row *storage.Row, _ storage.TID) error {
	h.queueChecks(f.run, nil, row.Vals, false)
	return h.after(f, 'i', nil, row.Vals, none)
}

// lockBefore locks the row that BEFORE UPDATE or DELETE triggers will see. again is set when it is a newer version than the
// statement's, or gone: then the statement looks again.
func (h *hooks) lockBefore(f *frame, ref *rowRef, mode storage.RowLock) (att storage.Attempt, again bool, err error) {
	att, err = f.run.x.LockRow(f.run.snap, h.table.ID, ref.tid, mode, storage.Wait, storage.ForTrigger)
	if err != nil {
		return att, true, err
	}
	if att.Outcome == storage.OK && att.TID != ref.tid {
		att.Outcome = storage.Updated
	}
	return att, att.Outcome != storage.OK, nil
}

// hasBefore says whether the table has such a trigger, be it for columns that the statement does not set (UPDATE OF): a server locks
// the row, as strongly as the columns in SET demand, before it looks which triggers are meant.
func (h *hooks) hasBefore(op byte) bool {
	for _, t := range h.triggers {
		if t.wants(true, op, func(int) bool { return true }) {
			return true
		}
	}
	return false
}

// setsColumn says which columns a statement sets: those of SET, or those of ON CONFLICT DO UPDATE.
func (h *hooks) setsColumn(sets []setCol) func(int) bool {
	return func(col int) bool {
		for _, s := range sets {
			if s.col == col {
				return true
			}
		}
		if sets == nil && h.w != nil {
			for _, c := range h.w.lockCols {
				if c == col {
					return true
				}
			}
		}
		return false
	}
}

// beforeUpdate runs BEFORE UPDATE row triggers, after locking the row. A nil row with outcome Updated asks for a re-check, one
// with another outcome leaves the row alone.
func (h *hooks) beforeUpdate(f *frame, ref *rowRef, vals []types.Value, sets []setCol) (storage.Attempt, []types.Value, error) {
	if !h.hasBefore('u') {
		return storage.Attempt{}, vals, nil
	}
	changed := h.setsColumn(sets)
	var cols []int
	for i := range h.table.Columns {
		if changed(i) {
			cols = append(cols, i)
		}
	}
	att, again, err := h.lockBefore(f, ref, f.run.x.UpdateLockMode(h.table.ID, cols))
	if again || err != nil {
		return att, nil, err
	}
	row, err := h.before(f, 'u', ref.row.Vals, vals, changed)
	if row == nil || err != nil {
		return storage.Attempt{Outcome: storage.SelfModified}, nil, err
	}
	return att, row, nil
}

// afterUpdate queues AFTER UPDATE row triggers and foreign-key checks. madeHere says that the transaction itself has made old.
func (h *hooks) afterUpdate(f *frame, old, row *storage.Row, madeHere bool, sets []setCol) error {
	h.queueActions(f.run, 'u', old.Vals, row.Vals)
	h.queueChecks(f.run, old.Vals, row.Vals, madeHere)
	return h.after(f, 'u', old.Vals, row.Vals, h.setsColumn(sets))
}

// beforeDelete runs BEFORE DELETE row triggers, after locking the row; goOn is false when the row is to be left alone.
func (h *hooks) beforeDelete(f *frame, ref *rowRef) (att storage.Attempt, goOn bool, err error) {
	if !h.hasBefore('d') {
		return storage.Attempt{}, true, nil
	}
	att, again, err := h.lockBefore(f, ref, storage.Update)
	if again || err != nil {
		return att, false, err
	}
	row, err := h.before(f, 'd', ref.row.Vals, nil, none)
	if row == nil || err != nil {
		return storage.Attempt{Outcome: storage.SelfModified}, false, err
	}
	return att, true, nil
}

// afterDelete queues AFTER DELETE row triggers and foreign-key checks.
func (h *hooks) afterDelete(f *frame, old *storage.Row) error {
	h.queueActions(f.run, 'd', old.Vals, nil)
	return h.after(f, 'd', old.Vals, nil, none)
}

// hasTrigger says whether the table has a trigger of that name.
func (r *Relation) hasTrigger(name string) bool {
	for i := range r.Triggers {
		if r.Triggers[i].Name == name {
			return true
		}
	}
	return false
}

// addTrigger puts a trigger in its place: they fire in the order of their names.
func addTrigger(list []Trigger, t Trigger) []Trigger {
	at := 0
	for at < len(list) && list[at].Name < t.Name {
		at++
	}
	return append(list[:at:at], append([]Trigger{t}, list[at:]...)...)
}

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CreateTrigStmt) (*Compiled, error) {
		s := n.CreateTrigStmt
		const before, insteadOf = 1 << 1, 1 << 6
		switch {
		case !s.Row:
			return nil, a.unsupported(-1, "a statement trigger")
		case s.Timing&insteadOf != 0:
			return nil, a.unsupported(-1, "INSTEAD OF")
		case s.Isconstraint:
			return nil, a.unsupported(-1, "CREATE CONSTRAINT TRIGGER")
		case len(s.TransitionRels) > 0:
			return nil, a.unsupported(-1, "REFERENCING")
		}
		return a.utility("CREATE TRIGGER", func(rn *run, a *analyzer) error { return rn.createTrigger(a, s, s.Timing&before != 0) }), nil
	})
}

func (rn *run) createTrigger(a *analyzer, s *pg.CreateTrigStmt, before bool) error {
	const insert, del, update, truncate = 1 << 2, 1 << 3, 1 << 4, 1 << 5
	r, err := a.cat.relation(s.Relation.Schemaname, s.Relation.Relname)
	if err != nil {
		return a.at(err, -1)
	}
	if r.Kind != KindTable && r.Kind != KindPartitioned {
		return types.Errorf("42809", "%q is not a table", r.Name)
	}
	if err := rn.lock(r, storage.ShareRowExclusive); err != nil {
		return err
	}
	if !rn.d.granted(rn.s, rn.s.user(), r, 't') {
		return types.Errorf("42501", "permission denied for table %s", r.Name)
	}
	if r, err = rn.change(a, r.QName()); err != nil {
		return err
	}
	t := Trigger{Name: s.Trigname, Before: before, Row: true, Insert: s.Events&insert != 0, Update: s.Events&update != 0,
		Delete: s.Events&del != 0, Truncate: s.Events&truncate != 0, When: s.WhenClause, Text: a.sql}
	for _, name := range strs(s.Columns) {
		i := r.Col(name)
		if i < 0 {
			return types.Errorf("42703", "column %q of relation %q does not exist", name, r.Name)
		}
		t.UpdateOf = append(t.UpdateOf, i)
	}
	for _, an := range s.Args {
		t.Args = append(t.Args, an.GetString_().GetSval())
	}
	names := strs(s.Funcname)
	schema := ""
	if len(names) > 1 {
		schema = names[0]
	}
	var fn *Function
	for _, f := range a.cat.functionsNamed(schema, names[len(names)-1]) {
		if len(f.inputs()) == 0 {
			fn = f
			break
		}
	}
	if fn == nil {
		return types.Errorf("42883", "function %s() does not exist", strings.Join(names, "."))
	}
	if fn.Ret.Kind != types.Trigger {
		return types.Errorf("42P17", "function %s must return type trigger", strings.Join(names, "."))
	}
	t.Function = fn.Schema + "." + fn.Name
	if t.When != nil {
		scratch := &analyzer{cat: a.cat, sql: a.sql}
		if _, err := scratch.triggerCondition(&hooks{table: r, oldRel: scratch.newRel(), newRel: scratch.newRel()}, &t); err != nil {
			return err
		}
	}
	tables := []string{r.QName()}
	for _, p := range r.Parts {
		tables = append(tables, p.Table)
	}
	for _, q := range tables {
		c, err := rn.change(a, q)
		if err != nil {
			return err
		}
		if c.hasTrigger(t.Name) {
			if !s.Replace {
				return types.Errorf("42710", "trigger %q for relation %q already exists", t.Name, c.Name)
			}
			kept := c.Triggers[:0]
			for _, old := range c.Triggers {
				if old.Name != t.Name {
					kept = append(kept, old)
				}
			}
			c.Triggers = kept
		}
		c.Triggers = addTrigger(c.Triggers, t)
		if err := rn.replace(c); err != nil {
			return err
		}
	}
	return nil
}
