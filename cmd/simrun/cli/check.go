package cli

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

func (a *app) checkCommand() *cobra.Command {
	var spec specFlags
	var opt scheduler.Options
	var memory, dir, fair string
	var seed uint64
	var resume, symmetry bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Visit every reachable state on the model, breadth-first: the shortest way to a violation, or that there is none",
		Long: `check visits every reachable state of a scenario on the model, breadth-first, and shows the shortest way to a violation.

With --progress it also looks for runs that can go on for ever: choices assumes that what can be chosen again and again is chosen at
last, so that only a state from which no way leads to an end counts; actors assumes only that an actor that can always move moves at last.

With --backend both or postgres it visits the states on the model too, and then makes one run of every class of equivalent interleavings
on the server, which the model finds by partial-order reduction; --states and --time bound each of the two.`,
		Args: noArgs,
	}
	f := c.Flags()
	spec.instance(f)
	a.server.flags(f)
	f.BoolVar(&spec.lazy, "lazy", false, "make each wake-up a choice: others may run before a woken statement goes on")
	f.Uint64Var(&seed, "seed", 1, "the seed that draws the setup, where a scenario draws one")
	f.IntVar(&opt.Depth, "depth", 0, "look no deeper than this many choices (0: no bound)")
	f.IntVar(&opt.States, "states", 0, "visit at most this many distinct states (0: no bound)")
	f.DurationVar(&opt.Time, "time", 0, "search for at most this long (0: no bound)")
	f.StringVar(&memory, "memory", "", "use at most this much memory, e.g. 8G (default no bound)")
	f.IntVar(&opt.Switches, "switches", 0, "explore at most this many preemptions plus one (0: no bound)")
	f.IntVar(&opt.Workers, "workers", runtime.GOMAXPROCS(0), "how many search at once; the result does not depend on it")
	f.BoolVar(&symmetry, "symmetry", false, "visit one of the states that differ only in which of several actors of one kind is in which condition")
	f.StringVar(&fair, "progress", "none", "look for runs that never end, assuming this fairness: none (do not look), choices, or actors")
	f.StringVar(&opt.Checkpoint, "checkpoint", "", "the file to write when the search is interrupted or hits a bound")
	f.BoolVar(&resume, "resume", false, "go on from --checkpoint")
	f.StringVar(&dir, "out", ".", "the folder for failure files")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := spec.resolve(seed)
		if err != nil {
			return err
		}
		if opt.Memory, err = bytes(memory); err != nil {
			return err
		}
		var known bool
		if opt.Fairness, known = fairness[fair]; !known {
			return usage("--progress %s: expected none, choices or actors", fair)
		}
		if resume && opt.Checkpoint == "" {
			return usage("--resume needs --checkpoint FILE")
		}
		if symmetry && (opt.Switches > 0 || opt.Fairness == scheduler.FairActors || a.server.backend != "model") {
			return usage("--symmetry forgets which actor of a kind is which: it does not go with --switches, --progress actors or --backend %s", a.server.backend)
		}
		opt.Resume = resume
		opt.Identity = fmt.Sprintf("%s seed %d lazy %v symmetry %v %s", s.Flags(), s.Seed, s.Lazy, symmetry, version())
		progress, started := a.teller(), time.Now()
		defer progress.done()
		opt.ProgressEvery = time.Second
		opt.OnProgress = func(p scheduler.Progress) {
			left := ""
			if p.Left > 0 {
				left = fmt.Sprintf(", %v until a bound is hit", p.Left.Round(time.Second))
			}
			progress.tell(time.Since(started), fmt.Sprintf("%d states, %d transitions, depth %d, %d in the queue, %.0f states/s%s", p.States, p.Transitions, p.Depth, p.Queue, p.Rate, left))
		}
		if a.server.backend != "model" {
			open, err := a.opener(c.Context())
			if err != nil {
				return err
			}
			return a.checkClasses(c.Context(), s, open, opt, dir)
		}
		setup, sys, err := modelSystem(s, sim.Options{Lazy: s.Lazy, Share: true, Symmetry: symmetry})
		if err != nil {
			return err
		}
		res, err := scheduler.Search(c.Context(), sys, opt)
		progress.done()
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		fmt.Fprintf(a.errs, "%d states in %v: %.0f states/s; %d control states of actors\n", res.States, res.Elapsed.Round(time.Millisecond), res.Rate(), sys.ControlStates())
		return a.checked(s, setup, res, dir)
	}
	return c
}

// fairness is what --progress takes.
var fairness = map[string]scheduler.Fairness{"none": scheduler.FairnessNone, "choices": scheduler.FairChoices, "actors": scheduler.FairActors}

// bytes reads a size such as 512M or 8G.
func bytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	var n int64
	var unit string
	if _, err := fmt.Sscanf(s+" ", "%d%s", &n, &unit); err != nil && unit == "" && n == 0 {
		return 0, usage("--memory %s: expected a number and K, M or G", s)
	}
	shift := strings.Index(" KMG", strings.ToUpper(unit + " ")[:1])
	if n <= 0 || shift < 0 || len(unit) > 1 {
		return 0, usage("--memory %s: expected a number and K, M or G", s)
	}
	return n << (10 * shift), nil
}

// jsonCheck is the form of a search under --json.
type jsonCheck struct {
	replay.Spec
	Verdict     string         `json:"verdict"` // held, held within bounds, violated
	BoundsHit   []string       `json:"bounds_hit,omitempty"`
	States      int            `json:"states"`
	Transitions int            `json:"transitions"`
	Depth       int            `json:"depth"`
	Queue       int            `json:"queue"`
	Completed   int            `json:"completed"`
	Stuck       int            `json:"stuck"`
	Collision   float64        `json:"collision_probability"`
	Unseen      []string       `json:"unseen,omitempty"`
	NotChecked  []string       `json:"not_checked,omitempty"` // invariants of whole runs
	Violation   *replay.Broken `json:"violation,omitempty"`
	Schedule    []string       `json:"schedule,omitempty"`
	Cycle       []string       `json:"cycle,omitempty"` // of a run that never ends: what it does over and over after the schedule
	File        string         `json:"file,omitempty"`
}

func (a *app) checked(s replay.Spec, setup *sim.Setup, res *scheduler.Result, dir string) error {
	out := jsonCheck{Spec: s, Verdict: res.Verdict.String(), BoundsHit: res.BoundsHit, States: res.States, Transitions: res.Transitions,
		Depth: res.Depth, Queue: res.Queue, Completed: res.Completed, Stuck: res.Stuck, Collision: res.Collision}
	if res.Verdict == scheduler.Violated {
		if res.Violation.Invariant == sim.CouldNotRun {
			return &exit{exitCouldNot, fmt.Errorf("%s", res.Violation.Detail)}
		}
		if err := a.counterexample(&out, s, res, dir); err != nil {
			return err
		}
	} else {
		seen := map[string]bool{}
		for _, w := range res.Witnesses {
			seen[w] = true
		}
		for _, w := range setup.Witnesses {
			if !seen[w] {
				out.Unseen = append(out.Unseen, w)
			}
		}
	}
	for _, inv := range setup.Invariants {
		if inv.Kind == sim.WholeRun {
			out.NotChecked = append(out.NotChecked, inv.Name)
		}
	}
	if a.json {
		if err := a.write(out); err != nil {
			return err
		}
	} else {
		a.printCheck(&out)
	}
	if out.Violation != nil {
		return &exit{code: exitViolated}
	}
	return nil
}

// counterexample runs the shortest schedule again, recorded, and writes its file.
func (a *app) counterexample(out *jsonCheck, s replay.Spec, res *scheduler.Result, dir string) error {
	s.Strategy = "random"
	run, err := replay.Follow(s, res.Schedule.Names, sim.NewModel)
	if err != nil {
		return err
	}
	if run.Violation != res.Violation {
		run.Violation = res.Violation // a state that search judges, such as one that is stuck
	}
	file := replay.NewFile(run, version())
	out.Violation, out.Schedule, out.Cycle = &file.Violation, res.Schedule.Names, res.Cycle
	out.File, err = file.WriteTo(dir)
	return err
}

func (a *app) printCheck(c *jsonCheck) {
	if c.Violation != nil {
		fmt.Fprintf(a.out, "VIOLATED: %s: %s\n%d choices, written to %s\n", c.Violation.Invariant, c.Violation.Detail, len(c.Schedule), c.File)
		for i, name := range c.Schedule {
			fmt.Fprintf(a.out, "%5d  %s\n", i, name)
		}
		if len(c.Cycle) > 0 {
			fmt.Fprintln(a.out, "and then for ever:")
			for _, name := range c.Cycle {
				fmt.Fprintf(a.out, "       %s\n", name)
			}
		}
		fmt.Fprintf(a.out, "reproduce: simrun replay %s --timeline\n", c.File)
	} else {
		fmt.Fprintf(a.out, "%s: %s\n", c.Verdict, c.Flags())
	}
	fmt.Fprintf(a.out, "%d distinct states, %d transitions, depth %d, %d ends; probability that a collision hid a state below %.1g\n",
		c.States, c.Transitions, c.Depth, c.Completed, max(c.Collision, 1e-19))
	for _, b := range c.BoundsHit {
		fmt.Fprintf(a.out, "bound hit: %s, %d states left in the queue; raise --%s\n", b, c.Queue, b)
	}
	for _, w := range c.Unseen {
		fmt.Fprintf(a.out, "warning: no state saw %s\n", w)
	}
	if len(c.NotChecked) > 0 {
		fmt.Fprintf(a.out, "not checked, because they judge whole runs (fuzz does): %s\n", strings.Join(c.NotChecked, ", "))
	}
}
