package model_test

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"simrun/model"
)

// benchDB is a database with a table of 1000 rows and a session.
func benchDB(b testing.TB) *model.DB {
	b.Helper()
	db := model.New()
	s := db.Open("")
	must(b, db.Submit(s, `CREATE TABLE t (k bigint PRIMARY KEY, v bigint, s text);
		CREATE TABLE r (k bigint PRIMARY KEY, v bigint);
		INSERT INTO t SELECT g, g, 'text' FROM generate_series(1, 1000) g`, nil))
	return db
}

func must(b testing.TB, rep model.Reply) model.Reply {
	if rep.Err != nil {
		b.Helper()
		b.Fatal(rep.Err)
	}
	if rep.Blocked {
		b.Helper()
		b.Fatal("blocked on ", rep.On)
	}
	return rep
}

// cpuTime reports the process's CPU time per operation, garbage collection included: what an operation costs also on a machine
// that is busy with other things.
func cpuTime(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// bench runs a prepared statement with one changing key.
func bench(b *testing.B, sql string, want int) {
	db := benchDB(b)
	st := model.Prepare(sql)
	args := []any{int64(0)}
	keys := make([]any, 1000)
	for i := range keys {
		keys[i] = int64(i + 1)
	}
	b.ReportAllocs()
	defer cpuTime(b)()
	i := 0
	for b.Loop() {
		args[0] = keys[i]
		if i++; i == len(keys) {
			i = 0
		}
		rep := db.SubmitPrepared(0, st, args)
		if rep.Err != nil || want >= 0 && len(rep.Result.Rows) != want {
			b.Fatal(rep.Err, rep.Result)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "stmt/s")
}

// kinds are the statements by key that protocols are made of, on the tables of benchDB.
var kinds = map[string]string{
	"SelectByKey":        "SELECT v, s FROM t WHERE k = $1",
	"SelectForUpdate":    "SELECT v FROM t WHERE k = $1 FOR UPDATE",
	"InsertOnConflict":   "INSERT INTO t VALUES ($1, 1, 'x') ON CONFLICT DO NOTHING",
	"UpdateByKey":        "UPDATE t SET v = v + 1 WHERE k = $1",
	"DeleteReturningCTE": "WITH d AS (DELETE FROM t WHERE k = $1 RETURNING k, v) INSERT INTO r SELECT k, v FROM d",
	"Back":               "WITH d AS (DELETE FROM r WHERE k = $1 RETURNING k, v) INSERT INTO t SELECT k, v, 'x' FROM d",
}

func BenchmarkSelectByKey(b *testing.B)      { bench(b, kinds["SelectByKey"], 1) }
func BenchmarkSelectForUpdate(b *testing.B)  { bench(b, kinds["SelectForUpdate"], 1) }
func BenchmarkInsertOnConflict(b *testing.B) { bench(b, kinds["InsertOnConflict"], -1) }
func BenchmarkUpdateByKey(b *testing.B)      { bench(b, kinds["UpdateByKey"], -1) }

// BenchmarkDeleteReturningCTE moves a row to and fro between two tables.
func BenchmarkDeleteReturningCTE(b *testing.B) {
	db := benchDB(b)
	to, fro := model.Prepare(kinds["DeleteReturningCTE"]), model.Prepare(kinds["Back"])
	args := []any{int64(7)}
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		must(b, db.SubmitPrepared(0, to, args))
		must(b, db.SubmitPrepared(0, fro, args))
	}
	b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "stmt/s")
}

// TestAllocationDoesNotGrow compares what a statement allocates at the beginning of a long run and at its end, and what stays.
func TestAllocationDoesNotGrow(t *testing.T) {
	length := 50_000
	if os.Getenv("SIMRUN_LONG") != "" {
		length = 1_000_000
	}
	const sample = 10_000
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		sql := kinds[name]
		if name == "Back" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			db := benchDB(t)
			turns := []*model.Statement{model.Prepare(sql), model.Prepare(kinds["Back"])}
			if name != "DeleteReturningCTE" {
				turns = turns[:1]
			}
			n, args := 0, []any{nil}
			run := func(statements int) {
				for range statements {
					args[0] = int64(n/len(turns)%1000 + 1)
					must(t, db.SubmitPrepared(0, turns[n%len(turns)], args))
					n++
				}
			}
			measure := func() (each, live uint64) {
				var before, after, kept runtime.MemStats
				runtime.ReadMemStats(&before)
				run(sample)
				runtime.ReadMemStats(&after)
				runtime.GC()
				runtime.ReadMemStats(&kept)
				return (after.TotalAlloc - before.TotalAlloc) / sample, kept.HeapAlloc
			}
			run(sample)
			each, live := measure()
			run(length - 3*sample)
			eachLater, liveLater := measure()
			t.Logf("%d B a statement and %d KB live after %d statements, %d B and %d KB after %d", each, live>>10, 2*sample, eachLater, liveLater>>10, length)
			if eachLater > each+each/20+8 {
				t.Errorf("a statement allocates %d B after %d statements and %d B after %d", each, 2*sample, eachLater, length)
			}
			if liveLater > live+live/10+100<<10 {
				t.Errorf("%d KB are live after %d statements and %d KB after %d", live>>10, 2*sample, liveLater>>10, length)
			}
		})
	}
}

// BenchmarkStep is what a model checker does: a clone, a statement, a fingerprint.
func BenchmarkStep(b *testing.B) {
	db := benchDB(b)
	st := model.Prepare("UPDATE t SET v = v + 1 WHERE k = $1")
	args := []any{int64(7)}
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		c := db.Clone()
		must(b, c.SubmitPrepared(0, st, args))
		c.Fingerprint()
	}
}
