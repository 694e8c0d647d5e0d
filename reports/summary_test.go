package reports

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

var found = Summary{
	Command: "simrun fuzz --time 5m", Scenarios: []string{"rings/flip", "postings/claim"}, Runs: 100, Steps: 2500, Wall: 1500 * time.Millisecond,
	Findings: []Finding{
		{Scenario: "rings/flip", Variant: "seed", Invariant: "NoSkip", Detail: "generation 1 | 3\nrow two", Standing: New, Steps: 9, Reproduce: "simrun replay a.simrun.json"},
		{Scenario: "rings/flip", Variant: "seed", Mutants: []string{"no-trigger"}, Invariant: "Fence", Detail: "old", Standing: Fixed},
	},
	Coverage: []Coverage{{"Rotated", 7}, {"Blocked", 0}},
}

func text(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJUnit(t *testing.T) {
	out := text(t, func(b *strings.Builder) error { return found.WriteJUnit(b) })
	var suite junitSuite
	if err := xml.Unmarshal([]byte(out), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 3 || suite.Failures != 1 || suite.Cases[0].Failure == nil || suite.Cases[1].Failure != nil || suite.Cases[2].Name != "postings/claim: holds" {
		t.Errorf("%+v", suite)
	}
	if !strings.Contains(suite.Cases[0].Failure.Text, "simrun replay a.simrun.json") {
		t.Error("a failure must say how to reproduce it")
	}
}

func TestMarkdownAndGitHub(t *testing.T) {
	md := text(t, func(b *strings.Builder) error { return found.WriteMarkdown(b) })
	for _, want := range []string{"simrun: violated", `generation 1 \| 3<br>row two`, "Witnesses: 1 of 2 seen. Never seen: Blocked."} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	gh := text(t, func(b *strings.Builder) error { return found.WriteGitHub(b) })
	want := "::error title=rings/flip (seed)%3A NoSkip [new]::generation 1 | 3%0Arow two%0Areproduce: simrun replay a.simrun.json\n" +
		"::notice title=rings/flip (seed%2C mutant no-trigger)%3A Fence [fixed]::old%0Areproduce: \n::warning title=witness never seen::Blocked\n"
	if gh != want {
		t.Errorf("got\n%swant\n%s", gh, want)
	}
}

func TestOnlyFixedIsNoFailure(t *testing.T) {
	s := Summary{Findings: []Finding{{Standing: Fixed}}}
	if s.Failed() || !found.Failed() {
		t.Error("a fixed finding does not fail a job, a new one does")
	}
}
