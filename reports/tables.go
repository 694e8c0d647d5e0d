package reports

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"simrun/model"
	"simrun/sim"
)

// Recorder takes down the rows of tables as a run goes on. Have a setup's Observe call its own, and call Start before the run.
type Recorder struct {
	tables, actors []string
	seen           map[string]*Table
	writers        map[place]string
	err            error
}

// place is where a row version lies.
type place struct {
	table string
	id    uint64
}

// NewRecorder records the named tables of a run of the named actors.
func NewRecorder(tables, actors []string) *Recorder {
	r := &Recorder{tables: tables, actors: actors, seen: map[string]*Table{}, writers: map[place]string{}}
	for _, t := range tables {
		r.seen[t] = &Table{Name: t}
	}
	return r
}

// Start takes down what a run begins with.
func (r *Recorder) Start(db sim.Backend) {
	v, _ := db.(sim.RowVersions)
	for _, name := range r.tables {
		if v != nil {
			r.versions(-1, "the start", v, r.seen[name])
		} else {
			r.committed(-1, db, r.seen[name])
		}
	}
}

// Observe takes down the row versions where the backend tells them, otherwise the committed rows when they may have changed.
func (r *Recorder) Observe(s *sim.Step) {
	for _, name := range r.tables {
		switch {
		case s.Versions != nil:
			r.versions(s.Index, fmt.Sprintf("%s, step %d", r.actor(s.Actor), s.Index), s.Versions, r.seen[name])
		case s.Changed && s.Committed != nil:
			r.committed(s.Index, s.Committed, r.seen[name])
		}
	}
}

// versions takes down the row versions of a table. Who wrote one is known from the step after which it is first there.
func (r *Recorder) versions(step int, writer string, from sim.RowVersions, t *Table) {
	columns, versions := from.Versions(t.Name)
	if columns == nil {
		return
	}
	v := TableVersion{From: step}
	for i := range versions {
		row := &versions[i]
		at := place{row.Table, row.ID}
		by, known := r.writers[at]
		if !known {
			by = writer
			r.writers[at] = by
		}
		v.Rows = append(v.Rows, texts(row.Values))
		v.New = append(v.New, !known && step >= 0)
		v.By = append(v.By, by)
		v.Seen = append(v.Seen, r.visibility(row))
		v.Gone = append(v.Gone, row.Dead || row.Ender >= 0)
	}
	t.add(columns, v)
}

// visibility says which open transactions see a row version, and what becomes of it.
func (r *Recorder) visibility(v *model.RowVersion) string {
	if v.Maker < 0 && v.Ender < 0 && !v.Dead && len(v.Hidden) == 0 {
		return "everyone"
	}
	var seen []string
	for _, s := range v.Seen {
		seen = append(seen, r.actor(s))
	}
	if v.Maker < 0 && !v.Dead {
		seen = append(seen, "new transactions")
	}
	text := strings.Join(seen, ", ")
	if text == "" {
		text = "nobody"
	}
	if v.Maker >= 0 {
		text += "; not committed"
	}
	if v.Ender >= 0 {
		text += "; " + r.actor(v.Ender) + " has updated or deleted it, not committed"
	}
	return text
}

func (r *Recorder) actor(i int) string {
	if i < 0 || i >= len(r.actors) {
		return "the environment"
	}
	return r.actors[i]
}

// committed takes down the committed rows of a table, sorted.
func (r *Recorder) committed(step int, from interface {
	Query(sql string) (*sim.Result, error)
}, t *Table) {
	res, err := from.Query("SELECT * FROM " + t.Name)
	if err != nil {
		r.err = fmt.Errorf("reading table %s for the report: %w", t.Name, err)
		return
	}
	v := TableVersion{From: step}
	for _, row := range res.Rows {
		v.Rows = append(v.Rows, texts(row))
	}
	sort.Slice(v.Rows, func(i, j int) bool { return slices.Compare(v.Rows[i], v.Rows[j]) < 0 })
	var columns []string
	for _, f := range res.Fields {
		columns = append(columns, f.Name)
	}
	before := map[string]int{}
	if n := len(t.Versions); n > 0 {
		for _, row := range t.Versions[n-1].Rows {
			before[strings.Join(row, "\x00")]++
		}
	}
	for _, row := range v.Rows {
		key := strings.Join(row, "\x00")
		v.New = append(v.New, before[key] == 0 && len(t.Versions) > 0)
		before[key]--
	}
	t.add(columns, v)
}

// add keeps a version that differs from the last one.
func (t *Table) add(columns []string, v TableVersion) {
	t.Columns = columns
	if n := len(t.Versions); n > 0 {
		last := t.Versions[n-1]
		if slices.EqualFunc(last.Rows, v.Rows, slices.Equal) && slices.Equal(last.Seen, v.Seen) && slices.Equal(last.By, v.By) {
			return
		}
	}
	t.Versions = append(t.Versions, v)
}
