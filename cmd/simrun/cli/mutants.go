package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/sim"
)

// mutantOptions are the flags of mutants.
type mutantOptions struct {
	scenario  string
	only      []string
	verify    bool
	runs      uint64
	campaigns int
	strategy  string
	markdown  string
	dir       string
}

func (a *app) mutantsCommand() *cobra.Command {
	var o mutantOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "List the seeded bugs; with --verify, show that each is found",
		Args:  noArgs,
	}
	f := c.Flags()
	f.StringVar(&o.scenario, "scenario", "", "only those of this scenario, or of all under this name: rings means rings/...")
	f.StringArrayVar(&o.only, "mutant", nil, "only this one, by name or id; may be repeated")
	f.BoolVar(&o.verify, "verify", false, "look for each mutant on the model until it breaks an invariant that it must break, and show that its twin without it holds")
	f.Uint64Var(&o.runs, "runs", 100_000, "with --verify, how many runs to give each campaign")
	f.IntVar(&o.campaigns, "campaigns", 5, "with --verify, how many campaigns with other seeds to make of each mutant, for the median")
	f.StringVar(&o.strategy, "strategy", "portfolio", "with --verify, how choices are made")
	f.StringVar(&o.markdown, "markdown", "", "with --verify, write the table to this file")
	f.StringVar(&o.dir, "out", "", "with --verify, write each mutant's shrunk failure file into this folder")
	a.server.flags(f)
	f.Lookup("backend").Usage = "with --verify, where each failing run is made again: model for nowhere else, postgres, or both in lock-step"
	c.AddCommand(a.compareCommand())
	c.RunE = func(c *cobra.Command, _ []string) error {
		rows, err := o.rows()
		if err != nil {
			return err
		}
		if !o.verify {
			return a.listMutants(rows)
		}
		again, err := a.opener(c.Context())
		if err != nil {
			return err
		}
		if a.server.backend == "model" {
			again = nil
		}
		return a.verifyMutants(c.Context(), &o, rows, again)
	}
	return c
}

// rows are the mutants asked for, each once, with all scenarios that have it.
func (o *mutantOptions) rows() ([]*jsonMutant, error) {
	rows := []*jsonMutant{}
	byName := map[string]*jsonMutant{}
	any := false
	for _, s := range sim.Scenarios() {
		if o.scenario != "" && s.Name != o.scenario && !strings.HasPrefix(s.Name, strings.TrimSuffix(o.scenario, "/")+"/") {
			continue
		}
		any = true
		for _, m := range s.Mutants {
			if o.only != nil && !slices.Contains(o.only, m.Name) && !slices.Contains(o.only, m.ID) {
				continue
			}
			family, _, _ := strings.Cut(s.Name, "/")
			row := byName[family+" "+m.Name]
			if row == nil {
				row = &jsonMutant{Name: m.Name, ID: m.ID, Doc: m.Doc, Breaks: m.Breaks, Masked: m.Masked, Pair: m.Pair, mutant: m}
				byName[family+" "+m.Name] = row
				rows = append(rows, row)
			}
			row.Scenarios = append(row.Scenarios, s.Name)
		}
	}
	switch {
	case !any:
		_, _, err := sim.Instance{Scenario: o.scenario}.Resolve()
		return nil, usage("%w", err)
	case o.only != nil && len(rows) == 0:
		return nil, usage("no mutant %s; simrun mutants lists them", strings.Join(o.only, ", "))
	}
	return rows, nil
}

type jsonMutant struct {
	Scenarios []string      `json:"scenarios"`
	Name      string        `json:"name"`
	ID        string        `json:"id"`
	Doc       string        `json:"doc"`
	Breaks    []string      `json:"breaks"`
	Masked    bool          `json:"masked,omitempty"`
	Pair      string        `json:"pair,omitempty"`
	Verified  *verification `json:"verified,omitempty"`

	mutant sim.Mutant
}

// verification is what looking for a mutant came to.
type verification struct {
	OK        bool     `json:"ok"`
	Scenario  string   `json:"scenario"`
	Invariant string   `json:"invariant,omitempty"` // that broke
	Median    uint64   `json:"median"`              // runs to the first failure
	Most      uint64   `json:"most"`
	First     []uint64 `json:"first"`           // in rising order
	Steps     int      `json:"steps,omitempty"` // of the shrunk failing run
	Alone     uint64   `json:"alone,omitempty"` // runs that a masked mutant survived alone, and its pair without it
	Again     string   `json:"again,omitempty"` // the backend on which the failing run was the same
	File      string   `json:"file,omitempty"`
	Why       string   `json:"why,omitempty"`
}

func (a *app) listMutants(rows []*jsonMutant) error {
	if a.json {
		return a.write(rows)
	}
	for _, row := range rows {
		row.print(a.out)
	}
	return nil
}

func (m *jsonMutant) print(w io.Writer) {
	fmt.Fprintf(w, "%s  %s (%s)\n  %s\n  breaks: %s\n", strings.Join(m.Scenarios, ", "), m.Name, m.ID, m.Doc, strings.Join(m.Breaks, ", "))
	if m.Masked {
		fmt.Fprintf(w, "  masked: survives alone, shown with %s\n", m.Pair)
	}
	v := m.Verified
	switch {
	case v == nil:
	case v.OK:
		fmt.Fprintf(w, "  ok: %s after %d runs in %s", v.Invariant, v.Median, v.Scenario)
		if len(v.First) > 1 {
			fmt.Fprintf(w, " (median of %d campaigns, at most %d)", len(v.First), v.Most)
		}
		fmt.Fprintf(w, "; %d steps", v.Steps)
		if v.Again != "" {
			fmt.Fprintf(w, ", the same on %s", v.Again)
		}
		if v.Alone > 0 {
			fmt.Fprintf(w, "; %d runs of either alone do not", v.Alone)
		}
		fmt.Fprintln(w)
	default:
		fmt.Fprintf(w, "  NOT SHOWN: %s\n", v.Why)
	}
}

// twin is a scenario without mutants.
type twin struct {
	Scenario string `json:"scenario"`
	Runs     uint64 `json:"runs"`
	OK       bool   `json:"ok"`
	Why      string `json:"why,omitempty"`
}

// verifyMutants looks for the mutants, and then for violations in as many runs of their scenarios without them.
func (a *app) verifyMutants(ctx context.Context, o *mutantOptions, rows []*jsonMutant, again replay.Opener) error {
	hunt := fuzz.Hunt{Runs: o.runs, Campaigns: o.campaigns, Strategy: o.strategy, Workers: runtime.GOMAXPROCS(0), Open: sim.NewModel, Again: again, Context: ctx}
	missed := 0
	longest := map[string]uint64{}
	for _, row := range rows {
		h := hunt
		h.Scenarios, h.Mutant = row.Scenarios, row.mutant
		q, err := h.Run()
		if err != nil {
			return err
		}
		if row.Verified, err = a.verified(o, row, q); err != nil {
			return &exit{exitCouldNot, err}
		}
		if !q.OK() {
			missed++
		}
		longest[q.Scenario] = max(longest[q.Scenario], min(q.Most(), o.runs))
		if !a.json {
			row.print(a.out)
		}
	}
	twins := []twin{}
	for _, s := range sim.Scenarios() {
		if longest[s.Name] == 0 {
			continue
		}
		r, err := hunt.Twin(s.Name, longest[s.Name])
		if err != nil {
			return err
		}
		t := twin{Scenario: s.Name, Runs: r.Runs, OK: !r.Failed}
		if r.Failed {
			missed++
			t.Why = fmt.Sprintf("seed %d breaks %s: %s", r.Seed, r.Violation.Invariant, r.Violation.Detail)
		}
		twins = append(twins, t)
		if !a.json {
			fmt.Fprintf(a.out, "%s without mutants: %s after %d runs\n", t.Scenario, nonEmpty(t.Why, "holds"), t.Runs)
		}
	}
	if o.markdown != "" {
		if err := os.WriteFile(o.markdown, []byte(mutantTable(o, rows, twins)), 0o644); err != nil {
			return &exit{exitCouldNot, err}
		}
	}
	if a.json {
		if err := a.write(struct {
			Mutants []*jsonMutant `json:"mutants"`
			Twins   []twin        `json:"twins"`
		}{rows, twins}); err != nil {
			return err
		}
	}
	if missed > 0 {
		return &exit{exitViolated, fmt.Errorf("%d of %d mutants and %d twins did not do what they must", missed, len(rows), len(twins))}
	}
	return nil
}

// verified is what a hunt came to; the failing run goes into its file.
func (a *app) verified(o *mutantOptions, row *jsonMutant, q *fuzz.Quarry) (*verification, error) {
	v := &verification{OK: q.OK(), Scenario: q.Scenario, Invariant: q.Invariant, Median: q.Median(), Most: q.Most(), First: q.First, Alone: q.Alone, Why: q.Why}
	if q.File == nil {
		return v, nil
	}
	v.Steps = len(q.File.Steps)
	q.File.Tool = version()
	switch {
	case q.Drift != nil:
		v.Why = "not the same on " + a.server.backend + ": " + q.Drift.Error()
	case a.server.backend != "model":
		v.Again = a.server.backend
	}
	if o.dir == "" {
		return v, nil
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	family, _, _ := strings.Cut(q.Scenario, "/")
	v.File = filepath.Join(o.dir, family+"-"+row.ID+"-"+row.Name+".simrun.json")
	return v, q.File.Write(v.File)
}

// mutantTable is the verification as a Markdown table.
func mutantTable(o *mutantOptions, rows []*jsonMutant, twins []twin) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| mutant | what is wrong | found in | broke | median runs | most of %d | steps, shrunk | the same on |\n|---|---|---|---|---:|---:|---:|---|\n", o.campaigns)
	for _, m := range rows {
		v := m.Verified
		name, broke := m.ID+" "+m.Name, nonEmpty(v.Invariant, "nothing")
		if m.Masked {
			name += " with " + m.Pair + " (masked: in " + fmt.Sprint(v.Alone) + " runs neither does it alone)"
		}
		if !v.OK {
			broke = "**" + v.Why + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %d | %d | %d | %s |\n", name, m.Doc, v.Scenario, broke, v.Median, v.Most, v.Steps, nonEmpty(v.Again, "-"))
	}
	b.WriteString("\n| scenario without mutants | runs | verdict |\n|---|---:|---|\n")
	for _, t := range twins {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", t.Scenario, t.Runs, nonEmpty(t.Why, "holds"))
	}
	return b.String()
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
