package postings

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"simrun/sim"
)

// measurePrivileges runs Privileges in a world.
func measurePrivileges(t *testing.T, backend backendMaker, variant string) ([]PrivilegeRow, []Tampering) {
	t.Helper()
	p, err := newProgram(variant)
	if err != nil {
		t.Fatal(err)
	}
	open := opening{}
	open.account(alice, noOverdraft, 0)
	open.posting(alice, usd, 60)
	var rows []PrivilegeRow
	var tampers []Tampering
	setup := &sim.Setup{
		Schema: schemaOf(p.encoding), Seed: open.sql(p.encoding),
		Actors: []sim.ActorSpec{{Name: "probe", Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
			r, a, err := Privileges(ctx, db, variant)
			rows, tampers = r, a
			return err
		})}},
	}
	w, o := runOnce(t, setup, backend, 1)
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	if done, err := w.Done("probe"); !done || err != nil {
		t.Fatalf("done %t: %v", done, err)
	}
	return rows, tampers
}

// The measured tables are kept; SIMRUN_UPDATE=1 in the environment writes them anew.
func TestPrivileges(t *testing.T) {
	onEachBackend(t, func(t *testing.T, backend backendMaker) {
		measured := []string{variantSeed, variantShipped, variantLive, variantStatus, variantRepaired}
		if strings.HasSuffix(t.Name(), "server") && os.Getenv("SIMRUN_LONG") == "" {
			measured = []string{variantSeed, variantLive} // each takes some seconds; SIMRUN_LONG=1 measures all
		}
		for _, variant := range measured {
			var got strings.Builder
			rows, tampers := measurePrivileges(t, backend, variant)
			for _, r := range rows {
				if r.Failed != "" {
					t.Errorf("%s: %s fails with all grants: %s", variant, r.Statement, r.Failed)
				}
				touched := strings.Join(r.Beyond, " ")
				if variant != variantStatus && (strings.Contains(touched, "on postings") || strings.Contains(touched, "on transfers") ||
					strings.Contains(touched, "on events") || strings.Contains(touched, "on accounts")) {
					t.Errorf("%s: %s needs %v on an append-only table", variant, r.Statement, r.Beyond)
				}
			}
			for _, a := range tampers {
				allowed := variant == variantStatus && strings.HasPrefix(a.SQL, "UPDATE postings")
				if want := map[bool]string{false: "42501", true: ""}[allowed]; a.SQLState != want {
					t.Errorf("%s: %s: got %q, want %q", variant, a.SQL, a.SQLState, want)
				}
			}
			if err := WritePrivileges(&got, variant, rows, tampers); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "privileges", variant+".md")
			if os.Getenv("SIMRUN_UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the table differs from %s:\n%s", golden, difference(got.String(), string(want)))
			}
		}
	})
}

func difference(got, want string) string {
	w := strings.Split(want, "\n")
	var out []string
	for _, line := range strings.Split(got, "\n") {
		if !slices.Contains(w, line) {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out, "\n")
}
