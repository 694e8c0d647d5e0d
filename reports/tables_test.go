package reports

import (
	"slices"
	"testing"

	"simrun/model"
	"simrun/sim"
)

// versionsDB is a model whose sessions are actors.
type versionsDB struct {
	sim.Backend
	db *model.DB
}

func (v versionsDB) Versions(table string) ([]string, []model.RowVersion) {
	return v.db.Versions(table)
}

// TestRecorderShowsRowVersions checks who is said to have written and to see each row version, step by step.
func TestRecorderShowsRowVersions(t *testing.T) {
	db := versionsDB{db: model.New()}
	for range 2 {
		db.db.Open("")
	}
	do := func(session int, sql string) {
		t.Helper()
		if r := db.db.Submit(session, sql, nil); r.Err != nil || r.Blocked {
			t.Fatalf("%s: %+v", sql, r)
		}
	}
	do(0, "CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20)")
	r := NewRecorder([]string{"t"}, []string{"a", "b"})
	r.Start(db)
	for i, step := range []struct {
		session int
		sql     string
	}{
		{1, "BEGIN ISOLATION LEVEL REPEATABLE READ"},
		{1, "SELECT * FROM t"},
		{0, "BEGIN"},
		{0, "UPDATE t SET v = 11 WHERE k = 1"},
		{0, "COMMIT"},
		{1, "COMMIT"},
	} {
		do(step.session, step.sql)
		r.Observe(&sim.Step{Index: i, Actor: step.session, Versions: db})
	}
	type row struct {
		v, by, seen string
		isNew, gone bool
	}
	want := []struct {
		from int
		rows []row
	}{
		{-1, []row{{"10", "the start", "everyone", false, false}, {"20", "the start", "everyone", false, false}}},
		{3, []row{{"10", "the start", "b, new transactions; a has updated or deleted it, not committed", false, true}, {"20", "the start", "everyone", false, false},
			{"11", "a, step 3", "a; not committed", true, false}}},
		{4, []row{{"10", "the start", "b", false, true}, {"20", "the start", "everyone", false, false}, {"11", "a, step 3", "new transactions", false, false}}},
		{5, []row{{"20", "the start", "everyone", false, false}, {"11", "a, step 3", "everyone", false, false}}},
	}
	got := r.seen["t"].Versions
	if len(got) != len(want) {
		t.Fatalf("%d versions of the table: %+v", len(got), got)
	}
	for i, w := range want {
		var rows []row
		for k := range got[i].Rows {
			rows = append(rows, row{got[i].Rows[k][1], got[i].By[k], got[i].Seen[k], got[i].New[k], got[i].Gone[k]})
		}
		if got[i].From != w.from || !slices.Equal(rows, w.rows) {
			t.Errorf("from step %d: %+v\nwant %d: %+v", got[i].From, rows, w.from, w.rows)
		}
	}
}
