package tla

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoTLC says that TLC is not at hand.
var ErrNoTLC = errors.New("TLC is not at hand: set TLA2TOOLS_JAR to a tla2tools.jar (Java 11 or later), or put tlc on PATH")

// TLC is a way to run the model checker.
type TLC struct {
	command []string
	// Quick has the Java machine start fast and compute slowly, which suits small configurations.
	Quick bool
}

// FindTLC looks for TLC: the jar that TLA2TOOLS_JAR names, otherwise tlc on PATH. It fails with ErrNoTLC.
func FindTLC() (*TLC, error) {
	if jar := os.Getenv("TLA2TOOLS_JAR"); jar != "" {
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("TLA2TOOLS_JAR: %w", err)
		}
		java, err := exec.LookPath("java")
		if err != nil {
			return nil, fmt.Errorf("TLA2TOOLS_JAR is set, but java is not on PATH: %w", err)
		}
		return &TLC{command: []string{java, "-cp", jar, "tlc2.TLC"}}, nil
	}
	if path, err := exec.LookPath("tlc"); err == nil {
		return &TLC{command: []string{path}}, nil
	}
	return nil, ErrNoTLC
}

// Outcome is what TLC said of a configuration.
type Outcome struct {
	Violated  string // invariant or property, "" when all hold
	Generated int    // states generated, duplicates included
	Distinct  int
	Depth     int
	Wall      time.Duration // with the start of the Java machine
	CPU       time.Duration // user and system
	PeakBytes int64         // greatest resident set of the process
}

var (
	violatedLine = regexp.MustCompile(`Error: (?:Invariant|Action property|Temporal property) (\w+) is violated`)
	statesLine   = regexp.MustCompile(`(?m)^([\d,]+) states generated, ([\d,]+) distinct states found`)
	depthLine    = regexp.MustCompile(`The depth of the complete state graph search is (\d+)`)
)

// Run checks one configuration with as many workers as given. With dot set it also writes the labelled state graph to that
// file. It fails when TLC neither finished nor found a violation, with TLC's own words.
func (t *TLC) Run(ctx context.Context, c Config, workers int, dot string) (*Outcome, error) {
	spec, cfg, err := c.source()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "simrun-tlc-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, c.Spec+".tla"), spec, 0o644),
		os.WriteFile(filepath.Join(dir, c.Name+".cfg"), cfg, 0o644),
	); err != nil {
		return nil, err
	}
	args := append(t.command[1:len(t.command):len(t.command)], "-workers", strconv.Itoa(workers), "-metadir", filepath.Join(dir, "meta"), "-config", c.Name+".cfg")
	if dot != "" {
		args = append(args, "-dump", "dot,actionlabels", dot)
	}
	cmd := exec.CommandContext(ctx, t.command[0], append(args, c.Spec)...)
	cmd.Dir = dir
	options := "-XX:+UseParallelGC" // as TLC advises
	if t.Quick {
		options = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
	}
	// TLC unpacks its standard modules into the temporary folder and deletes them at exit, under other runs' feet if they share it.
	cmd.Env = append(os.Environ(), "JDK_JAVA_OPTIONS="+options+" -Djava.io.tmpdir=\""+dir+"\"")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	runErr := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, fmt.Errorf("TLC could not be started: %w", runErr)
	}
	o := &Outcome{Wall: time.Since(start), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.PeakBytes = usage.Maxrss * 1024
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	text := out.String()
	if m := violatedLine.FindStringSubmatch(text); m != nil {
		o.Violated = m[1]
	} else if runErr != nil {
		return nil, fmt.Errorf("TLC on %s: %w\n%s", c.Name, runErr, text)
	}
	m := statesLine.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("TLC on %s printed no count of states:\n%s", c.Name, text)
	}
	o.Generated, o.Distinct = number(m[1]), number(m[2])
	if m := depthLine.FindStringSubmatch(text); m != nil {
		o.Depth = number(m[1])
	}
	return o, nil
}

// Agrees says whether the outcome is the expected one of c.
func (o *Outcome) Agrees(c Config) bool { return o.Violated == c.Breaks }

func number(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")) // the pattern admits digits and commas only
	return n
}
