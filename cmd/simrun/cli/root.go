package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"simrun/sim"
)

// The exit codes.
const (
	exitHeld       = 0 // every invariant held
	exitViolated   = 1
	exitUsage      = 2
	exitDivergence = 3 // model and server disagree, or a run is not repeatable
	exitCouldNot   = 4 // the run could not be made
)

// exit is an error that says with which code the program ends. Its message may be empty: all has been said.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &exit{exitUsage, fmt.Errorf(format, args...)} }

// execute runs the command line and returns the exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	a := &app{out: stdout, errs: stderr}
	defer a.close()
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	a.close()
	code := exitHeld
	var e *exit
	var d *sim.Divergence
	switch {
	case err == nil:
		return exitHeld
	case errors.As(err, &d):
		code = exitDivergence
	case errors.As(err, &e):
		code = e.code
	case ctx.Err() != nil:
		err, code = errors.New("interrupted"), exitCouldNot
	default:
		code = exitCouldNot
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(stderr, "simrun:", msg)
	}
	return code
}

// app is what the verbs share: where they write, and the server when one is needed.
type app struct {
	out, errs io.Writer
	json      bool
	server    server
}

func (a *app) root() *cobra.Command {
	run := a.runCommand()
	root := &cobra.Command{
		Use:   "simrun [verb]",
		Short: "Run Postgres protocols under every schedule: on a model, on a server, on both",
		Long: `simrun runs the actors of a Postgres protocol one SQL statement at a time, in an order that a seed chooses, and judges what
happened. Without a verb it is "simrun run".

Exit codes: 0 every invariant held; 1 one was violated; 2 the command line was wrong; 3 model and server disagree, or a run was not
repeatable; 4 the run could not be made.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no verb %q; expected one of %s", args[0], strings.Join(a.verbs(), ", "))
			}
			return nil
		},
		RunE:          run.RunE,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetVersionTemplate("simrun {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w\nsee %s --help", err, c.CommandPath())
	})
	root.PersistentFlags().BoolVar(&a.json, "json", false, "write the result as JSON")
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(run, a.fuzzCommand(), a.checkCommand(), a.replayCommand(), a.shrinkCommand(), a.scenariosCommand(), a.mutantsCommand(), a.specVerb(), a.parityVerb(),
		a.reportCommand(), a.linCommand(), a.tlaCommand(), a.benchCommand())
	return root
}

func (a *app) verbs() []string {
	return []string{"run", "fuzz", "check", "replay", "shrink", "scenarios", "mutants", "spec", "parity", "report", "lin", "tla", "bench", "completion", "help"}
}

// noArgs refuses arguments that a verb does not take.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, got %q; see %s --help", c.CommandPath(), args, c.CommandPath())
	}
	return nil
}

// version is the module's version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
