package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Standing says how a finding relates to the corpus of failures that was there before.
type Standing string

// The standings. A fixed finding is one of the corpus that no longer fails.
const (
	New   Standing = "new"
	Known Standing = "known"
	Fixed Standing = "fixed"
)

// Finding is one violated invariant of one scenario.
type Finding struct {
	Scenario, Variant string
	Mutants           []string
	Invariant, Detail string
	Standing          Standing
	Steps             int    // of the shrunk run
	File              string // failure file
	Reproduce         string // command line that shows it again
}

// Name identifies a finding between runs: what is violated where.
func (f Finding) Name() string {
	name := f.Scenario + " (" + f.Variant
	if len(f.Mutants) > 0 {
		name += ", mutant " + strings.Join(f.Mutants, ", ")
	}
	return name + "): " + f.Invariant
}

// Coverage is a witness and how often it was seen.
type Coverage struct {
	Witness string
	Seen    int
}

// Summary is what a fuzzing job did and found, for CI.
type Summary struct {
	Command   string // the command line that made it
	Scenarios []string
	Runs      int
	Steps     int
	Wall      time.Duration
	Findings  []Finding
	Coverage  []Coverage
	// Saturation is the line that says how much more there seems to be, "" when it was not estimated.
	Saturation string
}

// Failed says whether a new or known finding is there.
func (s Summary) Failed() bool {
	for _, f := range s.Findings {
		if f.Standing != Fixed {
			return true
		}
	}
	return false
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the summary as JUnit XML: a test case a scenario without findings, and one a finding. Fixed findings pass.
func (s Summary) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "simrun fuzz", Time: fmt.Sprintf("%.3f", s.Wall.Seconds())}
	found := map[string]bool{}
	for _, f := range s.Findings {
		c := junitCase{Class: f.Scenario, Name: f.Name()}
		if f.Standing != Fixed {
			found[f.Scenario] = true
			suite.Failures++
			c.Failure = &junitFailure{
				Message: fmt.Sprintf("%s (%s)", oneLine(f.Detail), f.Standing),
				Text:    fmt.Sprintf("%s\n\nreproduce: %s\n", f.Detail, f.Reproduce),
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, name := range s.Scenarios {
		if !found[name] {
			suite.Cases = append(suite.Cases, junitCase{Class: name, Name: name + ": holds"})
		}
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteMarkdown writes the summary for a merge request or a step summary.
func (s Summary) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	verdict := "held"
	if s.Failed() {
		verdict = "violated"
	}
	fmt.Fprintf(&b, "### simrun: %s\n\n", verdict)
	fmt.Fprintf(&b, "`%s`: %d runs, %d steps, %.1f s, %s.\n\n", s.Command, s.Runs, s.Steps, s.Wall.Seconds(), strings.Join(s.Scenarios, ", "))
	if len(s.Findings) > 0 {
		b.WriteString("| finding | | steps | reproduce |\n|---|---|--:|---|\n")
		for _, f := range s.Findings {
			fmt.Fprintf(&b, "| %s<br>%s | %s | %d | `%s` |\n", tableCell(f.Name()), tableCell(f.Detail), f.Standing, f.Steps, f.Reproduce)
		}
		b.WriteString("\n")
	}
	var never []string
	for _, c := range s.Coverage {
		if c.Seen == 0 {
			never = append(never, c.Witness)
		}
	}
	if len(s.Coverage) > 0 {
		fmt.Fprintf(&b, "Witnesses: %d of %d seen.", len(s.Coverage)-len(never), len(s.Coverage))
		if len(never) > 0 {
			fmt.Fprintf(&b, " Never seen: %s.", strings.Join(never, ", "))
		}
		b.WriteString("\n")
	}
	if s.Saturation != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Saturation)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteGitHub writes workflow commands, which GitHub Actions shows as annotations: an error a finding, a notice a fixed one
// and a warning a witness that was never seen.
func (s Summary) WriteGitHub(w io.Writer) error {
	var b strings.Builder
	for _, f := range s.Findings {
		level := "error"
		if f.Standing == Fixed {
			level = "notice"
		}
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapeProperty(f.Name()+" ["+string(f.Standing)+"]"), escapeData(f.Detail+"\nreproduce: "+f.Reproduce))
	}
	for _, c := range s.Coverage {
		if c.Seen == 0 {
			fmt.Fprintf(&b, "::warning title=witness never seen::%s\n", escapeData(c.Witness))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func oneLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

func tableCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(s)
}

// The escapes of workflow commands (GitHub documentation, "Workflow commands for GitHub Actions").
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}
