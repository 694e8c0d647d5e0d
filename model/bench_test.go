package model_test

import (
	"syscall"
	"testing"

	"simrun/model"
)

// benchDB is a database with a table of 1000 rows and a session.
func benchDB(b *testing.B) *model.DB {
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

func BenchmarkSelectByKey(b *testing.B)     { bench(b, "SELECT v, s FROM t WHERE k = $1", 1) }
func BenchmarkSelectForUpdate(b *testing.B) { bench(b, "SELECT v FROM t WHERE k = $1 FOR UPDATE", 1) }
func BenchmarkInsertOnConflict(b *testing.B) {
	bench(b, "INSERT INTO t VALUES ($1, 1, 'x') ON CONFLICT DO NOTHING", -1)
}
func BenchmarkUpdateByKey(b *testing.B) { bench(b, "UPDATE t SET v = v + 1 WHERE k = $1", -1) }

// BenchmarkDeleteReturningCTE moves a row to and fro between two tables.
func BenchmarkDeleteReturningCTE(b *testing.B) {
	db := benchDB(b)
	to := model.Prepare("WITH d AS (DELETE FROM t WHERE k = $1 RETURNING k, v) INSERT INTO r SELECT k, v FROM d")
	fro := model.Prepare("WITH d AS (DELETE FROM r WHERE k = $1 RETURNING k, v) INSERT INTO t SELECT k, v, 'x' FROM d")
	args := []any{int64(7)}
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		must(b, db.SubmitPrepared(0, to, args))
		must(b, db.SubmitPrepared(0, fro, args))
	}
	b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "stmt/s")
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
