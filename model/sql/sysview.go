package sql

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// sysView is a view of the system catalogs whose rows are computed from the state of the moment.
type sysView struct {
	cols []outCol
	rows func(rn *run) [][]types.Value
}

// sysViews are those that the model has, by name in pg_catalog.
var sysViews = map[string]*sysView{}

// defineView adds a system view; columns are "name type" pairs.
func defineView(name string, rows func(rn *run) [][]types.Value, columns ...string) {
	v := &sysView{rows: rows}
	for i := 0; i < len(columns); i += 2 {
		t, ok := types.ByName(columns[i+1])
		if !ok {
			panic("sql: no type " + columns[i+1])
		}
		v.cols = append(v.cols, outCol{name: columns[i], t: t})
	}
	sysViews[name] = v
}

// sysViewItem is a system view in FROM, nil when the name means none.
func (q *query) sysViewItem(n *pg.RangeVar) *nsItem {
	if n.Schemaname != "" && n.Schemaname != "pg_catalog" {
		return nil
	}
	v := sysViews[n.Relname]
	if v == nil {
		return nil
	}
	a := q.a
	a.volatile = true
	it := a.outItem(n.Relname, v.cols, n.Alias)
	if n.Alias == nil {
		it.schema = "pg_catalog"
	}
	slot := a.newSlot()
	it.node = func(quals []expr) (node, error) {
		rows := func(f *frame) ([][]types.Value, error) { return f.run.moment(v.rows), nil }
		return &functionNode{rows: rows, rel: it.rel, slot: slot, quals: compileQuals(quals, &a.shape)}, nil
	}
	return it
}

// moment computes the rows of a system view; a statement that runs again after a wait gets the rows that it had.
func (rn *run) moment(rows func(*run) [][]types.Value) [][]types.Value {
	r := rn.req
	if rn.viewAt == len(r.views) {
		r.views = append(r.views[:len(r.views):len(r.views)], rows(rn))
	}
	rn.viewAt++
	return r.views[rn.viewAt-1]
}

func name(s string) types.Value { return types.NewString(types.Name, s) }

func orNull(v types.Value, ok bool) types.Value {
	if !ok {
		return types.Null(v.T)
	}
	return v
}

func init() {
	defineView("pg_stat_activity", (*run).activity,
		"datid", "oid", "datname", "name", "pid", "int4", "usesysid", "oid", "usename", "name", "application_name", "text",
		"xact_start", "timestamptz", "query_start", "timestamptz", "state_change", "timestamptz", "wait_event_type", "text",
		"wait_event", "text", "state", "text", "backend_xid", "xid8", "backend_xmin", "xid8", "query", "text", "backend_type", "text")
	defineView("pg_locks", (*run).lockRows,
		"locktype", "text", "database", "oid", "relation", "oid", "page", "int4", "tuple", "int2", "virtualxid", "text",
		"transactionid", "xid8", "classid", "oid", "objid", "oid", "objsubid", "int2", "virtualtransaction", "text",
		"pid", "int4", "mode", "text", "granted", "bool", "fastpath", "bool", "waitstart", "timestamptz")
	defineView("pg_stat_user_tables", (*run).tableStats,
		"relid", "oid", "schemaname", "name", "relname", "name", "n_tup_ins", "int8", "n_tup_upd", "int8", "n_tup_del", "int8",
		"n_tup_hot_upd", "int8", "n_live_tup", "int8", "n_dead_tup", "int8")
	defineView("pg_sequences", (*run).sequences,
		"schemaname", "name", "sequencename", "name", "sequenceowner", "name", "start_value", "int8", "min_value", "int8",
		"max_value", "int8", "increment_by", "int8", "cycle", "bool", "cache_size", "int8", "last_value", "int8")
	defineView("pg_tables", (*run).tables, "schemaname", "name", "tablename", "name", "tableowner", "name")
}

// activity is pg_stat_activity, as it was when the transaction first read it. Others' sessions show little to a role without the
// rights of their role or of pg_read_all_stats.
func (rn *run) activity() [][]types.Value {
	d, me := rn.d, rn.s.user()
	d.st.TouchEverything()
	if rn.s.activity == nil {
		rn.s.activity = rn.present()
	}
	if d.isSuperuser(rn.s, me) || d.memberships(rn.s, me)["pg_read_all_stats"] {
		return rn.s.activity
	}
	out := slices.Clone(rn.s.activity)
	for k, row := range out {
		login := row[4].S
		if login == me || d.memberships(rn.s, me)[login] {
			continue
		}
		row = slices.Clone(row)
		for i, c := range sysViews["pg_stat_activity"].cols {
			switch c.name {
			case "xact_start", "query_start", "state_change", "wait_event_type", "wait_event", "state", "backend_type":
				row[i] = types.Null(row[i].T)
			case "query":
				row[i] = types.NewText("<insufficient privilege>")
			}
		}
		out[k] = row
	}
	return out
}

// present is pg_stat_activity at this moment, as a superuser sees it.
func (rn *run) present() [][]types.Value {
	d := rn.d
	var out [][]types.Value
	for _, s := range d.sess {
		if s == nil || s.gone != nil {
			continue
		}
		busy := s == rn.s || s.req != nil
		tx := d.st.InTx(s.id)
		state := "idle"
		switch {
		case busy:
			state = "active"
		case tx == storage.Failed:
			state = "idle in transaction (aborted)"
		case tx == storage.Active:
			state = "idle in transaction"
		}
		query, started := s.query, s.asked
		waits := s.req != nil && d.st.Waiting(s.id)
		xid := d.st.TopXID(s.id)
		xmin := d.st.Xmin(s.id)
		waitType, wait := "Lock", d.waitEvent(s.id)
		if !busy {
			waitType, wait = "Client", "ClientRead"
		}
		out = append(out, []types.Value{types.NewInt(types.OID, 5), name(rn.Database()), types.NewInt4(int32(s.id) + 1),
			types.NewInt(types.OID, 10), name(s.login), types.NewText(s.get("application_name")),
			orNull(types.NewInt(types.Timestamptz, s.txStart), tx != storage.Idle), types.NewInt(types.Timestamptz, started),
			types.NewInt(types.Timestamptz, started), orNull(types.NewText(waitType), waits || !busy), orNull(types.NewText(wait), waits || !busy),
			types.NewText(state), orNull(types.NewInt(types.XID8, int64(xid)), xid != 0), orNull(types.NewInt(types.XID8, int64(xmin)), xmin != 0),
			types.NewText(query), types.NewText("client backend")})
	}
	return out
}

// waitEvent is wait_event of a session that waits for a lock, or has been granted it and has not gone on yet.
func (d *Database) waitEvent(id storage.SessionID) string {
	tag, ok := d.st.WaitedFor(id)
	if !ok {
		return ""
	}
	switch tag.Kind {
	case storage.LockRelation:
		return "relation"
	case storage.LockTuple:
		return "tuple"
	case storage.LockXID:
		return "transactionid"
	case storage.LockAdvisory:
		return "advisory"
	}
	return "object"
}

// lockRows is pg_locks, without virtual transaction ids and locks on catalogs.
func (rn *run) lockRows() [][]types.Value {
	d := rn.d
	d.st.TouchEverything()
	var out [][]types.Value
	oid := func(n int64) types.Value { return types.NewInt(types.OID, n) }
	for _, s := range d.sess {
		if s == nil {
			continue
		}
		for _, l := range d.st.Locks(s.id, nil) {
			row := make([]types.Value, 16)
			for i, c := range sysViews["pg_locks"].cols {
				row[i] = types.Null(c.t)
			}
			kind := "object"
			row[1] = oid(5)
			switch l.Tag.Kind {
			case storage.LockRelation, storage.LockTuple:
				kind = "relation"
				if r := d.relByID(l.Tag.Rel); r != nil {
					row[2] = oid(int64(r.OID))
				}
				if l.Tag.Kind == storage.LockTuple {
					kind = "tuple"
					row[3] = types.NewInt4(int32(l.Tag.TID / 256))
					row[4] = types.NewInt(types.Int2, int64(l.Tag.TID%256)+1)
				}
			case storage.LockXID:
				kind = "transactionid"
				row[1], row[6] = types.Null(row[1].T), types.NewInt(types.XID8, int64(l.Tag.XID))
			case storage.LockAdvisory:
				kind = "advisory"
				k := l.Tag.Advisory
				row[7], row[8], row[9] = oid(int64(uint64(k.Key)>>32)), oid(k.Key&0xffffffff), types.NewInt(types.Int2, 1)
				if k.Two {
					row[7], row[8], row[9] = oid(k.Key&0xffffffff), oid(int64(uint32(k.Key2))), types.NewInt(types.Int2, 2)
				}
			}
			row[0] = types.NewText(kind)
			row[10] = types.NewText(fmt.Sprintf("%d/1", int(s.id)+3))
			row[11] = types.NewInt4(int32(s.id) + 1)
			row[12], row[13], row[14] = types.NewText(modeNames[l.Mode]), types.NewBool(l.Granted), types.NewBool(false)
			out = append(out, row)
		}
	}
	return out
}

// relations calls f for each relation of the given kinds.
func (rn *run) relations(f func(r *Relation), kinds ...RelKind) {
	rn.d.st.List(rn.s.id, classRelation, func(_ string, p any) bool {
		r := p.(*Relation)
		for _, k := range kinds {
			if r.Kind == k {
				f(r)
			}
		}
		return true
	})
}

func (rn *run) tableStats() [][]types.Value {
	rn.d.st.TouchEverything()
	var out [][]types.Value
	rn.relations(func(r *Relation) {
		s := rn.d.st.Stats(r.ID)
		out = append(out, []types.Value{types.NewInt(types.OID, int64(r.OID)), name(r.Schema), name(r.Name), types.NewInt8(s.Inserted),
			types.NewInt8(s.Updated), types.NewInt8(s.Deleted), types.NewInt8(s.HotUpdated), types.NewInt8(s.Live), types.NewInt8(s.Dead)})
	}, KindTable)
	return out
}

func (rn *run) sequences() [][]types.Value {
	var out [][]types.Value
	rn.relations(func(r *Relation) {
		sp := r.Sequence
		last, called := rn.x.SequenceValue(r.ID)
		out = append(out, []types.Value{name(r.Schema), name(r.Name), name(r.Owner), types.NewInt8(sp.Start), types.NewInt8(sp.Min),
			types.NewInt8(sp.Max), types.NewInt8(sp.Inc), types.NewBool(sp.Cycle), types.NewInt8(1), orNull(types.NewInt8(last), called)})
	}, KindSequence)
	return out
}

func (rn *run) tables() [][]types.Value {
	var out [][]types.Value
	rn.relations(func(r *Relation) {
		out = append(out, []types.Value{name(r.Schema), name(r.Name), name(r.Owner)})
	}, KindTable, KindPartitioned)
	return out
}
