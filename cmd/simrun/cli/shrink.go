package cli

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"simrun/replay"
	"simrun/scheduler"
)

func (a *app) shrinkCommand() *cobra.Command {
	var out string
	opt := scheduler.ShrinkOptions{Workers: runtime.GOMAXPROCS(0)}
	c := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Make the schedule of a failure file as short as it still fails",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("simrun shrink takes one failure file, got %d arguments", len(args))
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "the file to write (default FILE with .min before .simrun.json)")
	c.Flags().IntVar(&opt.Tries, "tries", 0, "make at most this many runs (default 20000)")
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := replay.Read(args[0])
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		if out == "" {
			out = smallName(args[0])
		}
		started := time.Now()
		small, how, err := replay.Shrink(c.Context(), file, version(), opt)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		if err := small.Write(out); err != nil {
			return &exit{exitCouldNot, err}
		}
		fmt.Fprintf(a.errs, "%d runs in %v\n", how.Tries, time.Since(started).Round(time.Millisecond))
		if a.json {
			return a.write(struct {
				File     string   `json:"file"`
				Was      int      `json:"was"`
				Now      int      `json:"now"`
				Schedule []string `json:"schedule"`
			}{out, len(file.Choices()), len(small.Choices()), small.Choices()})
		}
		fmt.Fprintf(a.out, "%d choices, were %d; written to %s\n", len(small.Choices()), len(file.Choices()), out)
		for i, name := range small.Choices() {
			fmt.Fprintf(a.out, "%5d  %s\n", i, name)
		}
		fmt.Fprintf(a.out, "reproduce: simrun replay %s --timeline\n", out)
		return nil
	}
	return c
}

// smallName is the name of the file for what the run in a failure file shrinks to.
func smallName(path string) string {
	return strings.TrimSuffix(path, ".simrun.json") + ".min.simrun.json"
}
