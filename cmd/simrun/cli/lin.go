package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"simrun/invariants/lin"
	"simrun/reports"
)

func (a *app) linCommand() *cobra.Command {
	var model, html, plot string
	var timeout time.Duration
	var independent bool
	names := []string{}
	for name := range lin.Models() {
		names = append(names, name)
	}
	slices.Sort(names)
	c := &cobra.Command{
		Use:   "lin FILE",
		Short: "Check a recorded history for linearizability",
		Long: `lin reads a history of operations that simrun or another tool recorded, and says whether it is linearizable, key by key.

It reads JSONL, one event a line: {"process":2,"type":"invoke","f":"cas","key":"x","value":[1,2]}, with types invoke, ok, fail and info;
Jepsen's EDN maps with the same names; and Jepsen's log lines "INFO  jepsen.util - 2 :invoke :cas [1 2]".`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("simrun lin takes one history file, got %d arguments", len(args))
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&model, "model", "", "the sequential object: "+strings.Join(names, ", ")+" (default: by the functions that the history calls)")
	f.DurationVar(&timeout, "timeout", time.Minute, "how long the check may take; after it the verdict is unknown")
	f.BoolVar(&independent, "independent", false, "values are [key value] pairs, as Jepsen's independent tests write them")
	f.StringVar(&html, "html", "", "write porcupine's interactive page to this file")
	f.StringVar(&plot, "plot", "", "write a plot of the operations over time to this file (.svg or .png)")
	c.RunE = func(c *cobra.Command, args []string) error {
		ops, err := readHistory(args[0], independent)
		if err != nil {
			return err
		}
		m, ok := lin.Models()[model]
		if model == "" {
			m, err = lin.ModelFor(ops)
		} else if !ok {
			return usage("--model %q: expected one of %s", model, strings.Join(names, ", "))
		}
		if err != nil {
			return usage("%s: %v", args[0], err)
		}
		r, err := lin.Check(ops, m, lin.Bounds{Timeout: timeout})
		if err != nil {
			return usage("%s: %v", args[0], err)
		}
		if plot != "" {
			if err := reports.OperationsPlot(ops, "simrun lin "+args[0]).Write(plot); err != nil {
				return &exit{exitCouldNot, err}
			}
		}
		if html != "" {
			if err := a.writeLinearizability(r, html); err != nil {
				return &exit{exitCouldNot, err}
			}
		}
		return a.linVerdict(r)
	}
	return c
}

func readHistory(path string, independent bool) ([]lin.Operation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &exit{exitCouldNot, err}
	}
	defer f.Close()
	events, err := lin.Read(f, independent)
	if err != nil {
		return nil, &exit{exitCouldNot, fmt.Errorf("%s: %w", path, err)}
	}
	ops, err := lin.Pair(events)
	if err != nil {
		return nil, &exit{exitCouldNot, fmt.Errorf("%s: %w", path, err)}
	}
	return ops, nil
}

func (a *app) writeLinearizability(r *lin.Report, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	shown, err := r.WriteHTML(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !shown {
		fmt.Fprintf(a.errs, "simrun: %s is empty: a page is made for histories that are not linearizable, and for linearizable ones of at most %d operations\n", path, lin.MaxShown)
	}
	return nil
}

func (a *app) linVerdict(r *lin.Report) error {
	if a.json {
		if err := a.write(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "%s: %d operations over %d keys, checked as %s\n", r.Verdict, r.Operations, r.Keys, r.Model)
		if r.Verdict == lin.NotLinearizable {
			fmt.Fprintf(a.out, "key %q: at most %d of its %d operations can be put in an order\n", r.Bad, r.Longest, r.BadOperations)
		}
		if len(r.Unsure) > 0 {
			fmt.Fprintf(a.out, "undecided in time: %d keys, the first is %q; give --timeout more\n", len(r.Unsure), r.Unsure[0])
		}
	}
	switch r.Verdict {
	case lin.NotLinearizable:
		return &exit{code: exitViolated}
	case lin.Unknown:
		return &exit{code: exitCouldNot}
	}
	return nil
}
