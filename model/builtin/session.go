package builtin

import (
	"strings"

	"simrun/model/types"
)

func name(s string) V { return types.NewString(types.Name, s) }

func void() V { return V{T: types.Of(types.Void), Valid: true} }

// defVoid defines a volatile function without a result.
func defVoid(sig string, fn func(env Env, a []V) error) {
	def(sig, func(env Env, a []V) (V, error) { return void(), fn(env, a) }, volatile)
}

func init() {
	defTimes()
	defAdvisory()
	defSequences()

	def("gen_random_uuid() uuid", func(env Env, _ []V) (V, error) {
		s, err := env.UUID()
		return types.NewString(types.UUID, s), err
	}, volatile)
	for _, n := range []string{"current_user", "user", "current_role"} {
		def(n+"() name", func(env Env, _ []V) (V, error) { return name(env.User()), nil }, stable)
	}
	def("session_user() name", func(env Env, _ []V) (V, error) { return name(env.SessionUser()), nil }, stable)
	def("current_database() name", func(env Env, _ []V) (V, error) { return name(env.Database()), nil }, stable)
	def("current_catalog() name", func(env Env, _ []V) (V, error) { return name(env.Database()), nil }, stable)
	def("current_schema() name", func(env Env, _ []V) (V, error) {
		if s := env.Schemas(false); len(s) > 0 {
			return name(s[0]), nil
		}
		return types.Null(types.Of(types.Name)), nil
	}, stable)
	def("current_schemas(bool) _name", func(env Env, a []V) (V, error) {
		elems := []V{}
		for _, s := range env.Schemas(a[0].True()) {
			elems = append(elems, name(s))
		}
		return newArray(types.Name, elems), nil
	}, stable)
	def("pg_backend_pid() int4", func(env Env, _ []V) (V, error) { return types.NewInt4(env.PID()), nil }, stable)
	def("current_setting(text) text", func(env Env, a []V) (V, error) {
		s, _, err := env.Setting(a[0].S, false)
		return text(s), err
	}, stable)
	def("current_setting(text,bool) text", func(env Env, a []V) (V, error) {
		s, ok, err := env.Setting(a[0].S, a[1].True())
		if err == nil && !ok {
			return types.Null(textType()), nil
		}
		return text(s), err
	}, stable)
	def("set_config(text,text,bool) text", func(env Env, a []V) (V, error) {
		if !a[0].Valid {
			return V{}, types.NewError("22004", "SET requires parameter name")
		}
		s, err := env.SetSetting(a[0].S, a[1].S, a[2].True())
		return text(s), err
	}, volatile, nonstrict)

	defVoid("pg_sleep(float8) void", func(env Env, a []V) error { return env.Sleep(a[0].Float()) })
	defVoid("pg_sleep_for(interval) void", func(env Env, a []V) error {
		m, d, us := a[0].IntervalParts()
		return env.Sleep(float64(m*30+d)*86400 + float64(us)/1e6)
	})
	def("pg_blocking_pids(int4) _int4", func(env Env, a []V) (V, error) {
		elems := []V{}
		for _, p := range env.BlockingPIDs(int32(a[0].N)) {
			elems = append(elems, types.NewInt4(p))
		}
		return newArray(types.Int4, elems), nil
	}, volatile)
	for n, terminate := range map[string]bool{"pg_cancel_backend": false, "pg_terminate_backend": true} {
		def(n+"(int4) bool", func(env Env, a []V) (V, error) {
			ok, err := env.Signal(int32(a[0].N), terminate)
			return types.NewBool(ok), err
		}, volatile)
	}
	def("pg_terminate_backend(int4,int8) bool", func(env Env, a []V) (V, error) {
		if a[1].N < 0 {
			return V{}, types.NewError("22003", `"timeout" must not be negative`)
		}
		ok, err := env.Signal(int32(a[0].N), true)
		return types.NewBool(ok), err
	}, volatile)
	for n, k := range map[string]types.Kind{"txid_current": types.Int8, "pg_current_xact_id": types.XID8} {
		t := types.Of(k).Typname()
		xid := func(assign bool) Eval {
			return func(env Env, _ []V) (V, error) {
				x, ok, err := env.CurrentXID(assign)
				if err != nil || !ok {
					return types.Null(types.Of(k)), err
				}
				return types.NewInt(k, x), nil
			}
		}
		def(n+"() "+t, xid(true), stable)
		def(n+"_if_assigned() "+t, xid(false), stable)
	}
	def("pg_typeof(any) regtype", pure(func(a []V) V {
		return V{T: types.Of(types.Regtype), Valid: true, N: int64(a[0].T.OID()), S: a[0].T.String()}
	}), stable, nonstrict)
	def("to_regclass(text) regclass", func(env Env, a []V) (V, error) {
		oid, ok, err := env.LookupRegclass(a[0].S, true)
		if err != nil || !ok {
			return types.Null(types.Of(types.Regclass)), err
		}
		return V{T: types.Of(types.Regclass), Valid: true, N: oid, S: a[0].S}, nil
	}, stable)
	def("version() text", pure(func([]V) V { return text("PostgreSQL 15 (simrun)") }), stable)
	def("pg_is_in_recovery() bool", pure(func([]V) V { return types.NewBool(false) }), volatile)
	def("format_type(oid,int4) text", pure(func(a []V) V {
		t, ok := types.FromOID(uint32(a[0].N))
		if !ok {
			return text("???")
		}
		m := types.NoMod
		if a[1].Valid {
			m = types.Mod(a[1].N)
		}
		return text(types.FormatType(t, m))
	}), stable, nonstrict)
	def("num_nulls(variadic any) int4", pure(func(a []V) V { return int4(len(a) - countValid(a)) }), nonstrict)
	def("num_nonnulls(variadic any) int4", pure(func(a []V) V { return int4(countValid(a)) }), nonstrict)
	for _, class := range []string{"table", "sequence", "schema", "function"} {
		has := func(env Env, a []V) (V, error) {
			role := env.User()
			if len(a) == 3 {
				role, a = a[0].Text(), a[1:]
			}
			ok, err := env.HasPrivilege(class, role, a[0].Text(), "", a[1].S)
			return types.NewBool(ok), err
		}
		def("has_"+class+"_privilege(text,text) bool", has, stable)
		def("has_"+class+"_privilege(name,text,text) bool", has, stable)
	}
	columnPrivilege := func(env Env, a []V) (V, error) {
		role := env.User()
		if len(a) == 4 {
			role, a = a[0].Text(), a[1:]
		}
		ok, err := env.HasPrivilege("column", role, a[0].Text(), a[1].Text(), a[2].S)
		return types.NewBool(ok), err
	}
	def("has_column_privilege(text,text,text) bool", columnPrivilege, stable)
	def("has_column_privilege(name,text,text,text) bool", columnPrivilege, stable)
}

func countValid(a []V) (n int) {
	for _, v := range a {
		if v.Valid {
			n++
		}
	}
	return n
}

func defTimes() {
	clock := func(at func(Env) int64) Eval {
		return func(env Env, _ []V) (V, error) { return types.NewTimestamptz(at(env)), nil }
	}
	def("now() timestamptz", clock(Env.Now), stable)
	def("transaction_timestamp() timestamptz", clock(Env.Now), stable)
	def("statement_timestamp() timestamptz", clock(Env.StatementNow), stable)
	def("clock_timestamp() timestamptz", clock(Env.ClockNow), volatile)
	def("timeofday() text", func(env Env, _ []V) (V, error) {
		return text(types.ToTime(env.ClockNow()).Format("Mon Jan 02 15:04:05.000000 2006 UTC")), nil
	}, volatile)
	for _, t := range []string{"timestamp", "timestamptz"} {
		def("age("+t+") interval", func(env Env, a []V) (V, error) {
			today, _ := types.SplitTimestamp(env.Now())
			return age(today*day, a[0].N), nil
		}, stable)
	}
}

// defAdvisory defines the advisory lock functions (Postgres documentation 9.27.10).
func defAdvisory() {
	for _, keys := range []string{"int8", "int4,int4"} {
		two := keys != "int8"
		key := func(a []V) int64 {
			if two {
				return a[0].N<<32 | a[1].N&0xffffffff
			}
			return a[0].N
		}
		for _, scope := range []string{"", "xact_"} {
			for _, mode := range []string{"", "_shared"} {
				session, shared := scope == "", mode != ""
				defVoid("pg_advisory_"+scope+"lock"+mode+"("+keys+") void", func(env Env, a []V) error {
					_, err := env.Advisory(key(a), two, shared, session, false)
					return err
				})
				def("pg_try_advisory_"+scope+"lock"+mode+"("+keys+") bool", func(env Env, a []V) (V, error) {
					ok, err := env.Advisory(key(a), two, shared, session, true)
					return types.NewBool(ok), err
				}, volatile)
			}
		}
		for _, mode := range []string{"", "_shared"} {
			shared := mode != ""
			def("pg_advisory_unlock"+mode+"("+keys+") bool", func(env Env, a []V) (V, error) {
				ok, err := env.AdvisoryUnlock(key(a), two, shared)
				return types.NewBool(ok), err
			}, volatile)
		}
	}
	defVoid("pg_advisory_unlock_all() void", func(env Env, _ []V) error { return env.AdvisoryUnlockAll() })
}

func defSequences() {
	def("nextval(regclass) int8", func(env Env, a []V) (V, error) {
		n, err := env.Nextval(a[0].N)
		return types.NewInt8(n), err
	}, volatile)
	def("currval(regclass) int8", func(env Env, a []V) (V, error) {
		n, err := env.Currval(a[0].N)
		return types.NewInt8(n), err
	}, volatile)
	def("lastval() int8", func(env Env, _ []V) (V, error) {
		n, err := env.Lastval()
		return types.NewInt8(n), err
	}, volatile)
	def("pg_sequence_last_value(regclass) int8", func(env Env, a []V) (V, error) {
		n, ok, err := env.SequenceLast(a[0].N)
		if err != nil || !ok {
			return types.Null(types.Of(types.Int8)), err
		}
		return types.NewInt8(n), nil
	}, volatile)
	setval := func(env Env, a []V) (V, error) {
		called := len(a) < 3 || a[2].True()
		return a[1], env.Setval(a[0].N, a[1].N, called)
	}
	def("setval(regclass,int8) int8", setval, volatile)
	def("setval(regclass,int8,bool) int8", setval, volatile)
	def("pg_get_serial_sequence(text,text) text", func(env Env, a []V) (V, error) {
		s, ok, err := env.SerialSequence(a[0].S, a[1].S)
		if err != nil || !ok {
			return types.Null(textType()), err
		}
		return text(s), nil
	}, stable)
}

// ArgNames gives the names of the arguments of the few functions that are called with named arguments, and their defaults.
func ArgNames(function string) (names []string, defaults []V) {
	if function != "make_interval" {
		return nil, nil
	}
	names = strings.Fields("years months weeks days hours mins secs")
	for i := range names {
		defaults = append(defaults, types.NewInt4(0))
		if i == len(names)-1 {
			defaults[i] = types.NewFloat8(0)
		}
	}
	return names, defaults
}
