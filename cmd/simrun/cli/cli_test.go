package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const cliDocument = "../../../docs/cli.md"

// TestCommandLineDocument checks that docs/cli.md has every verb and flag as simrun --help tells them. With SIMRUN_UPDATE=1 it
// writes the file.
func TestCommandLineDocument(t *testing.T) {
	want := commandLineDocument()
	if os.Getenv("SIMRUN_UPDATE") != "" {
		if err := os.WriteFile(cliDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(cliDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == want {
		return
	}
	had, has := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range max(len(had), len(has)) {
		if i >= len(had) || i >= len(has) || had[i] != has[i] {
			t.Fatalf("docs/cli.md is not what the program says, from line %d on; write it with SIMRUN_UPDATE=1 go test ./cmd/simrun/cli -run %s", i+1, t.Name())
		}
	}
}

// TestEveryVerbIsNamed checks the list that the message about an unknown verb shows.
func TestEveryVerbIsNamed(t *testing.T) {
	a := &app{}
	named := map[string]bool{}
	for _, v := range a.verbs() {
		named[v] = true
	}
	for _, c := range a.root().Commands() {
		if !named[c.Name()] {
			t.Errorf("%s is not among the verbs", c.Name())
		}
	}
}

func commandLineDocument() string {
	var b strings.Builder
	root := (&app{}).root()
	fmt.Fprintf(&b, `# The command line

This page is made from the program: what `+"`simrun VERB --help`"+` says, for all verbs. A test compares the two.

%s

Every verb takes:

`, root.Long)
	flagTable(&b, root.PersistentFlags())
	b.WriteString(`
Standard output of run, check, replay and shrink is the same, byte for byte, for the same command; times and progress go to standard error.

## Shell completion

` + "`simrun completion bash`" + ` (or zsh, fish, powershell) prints a script that completes verbs and flags;
` + "`simrun completion bash --help`" + ` says where to put it. For the present shell: ` + "`source <(simrun completion bash)`" + `.
`)
	for _, c := range root.Commands() {
		if c.Name() != "completion" && c.Name() != "help" {
			verb(&b, c)
		}
	}
	return b.String()
}

func verb(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n    %s\n\n", strings.TrimPrefix(c.CommandPath(), "simrun "), c.UseLine())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(text + "\n")
	if c.LocalFlags().HasFlags() {
		b.WriteString("\n")
		flagTable(b, c.LocalFlags())
	}
	for _, sub := range c.Commands() {
		verb(b, sub)
	}
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if value != "" {
			name += " " + value
		}
		initial := f.DefValue
		switch {
		case f.Name == "workers" && initial != "0":
			initial = "one for each processor"
		case initial == "" || initial == "false" || initial == "[]" || initial == "0" && value != "int" || initial == "0s":
			initial = ""
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, initial, strings.ReplaceAll(usage, "|", "\\|"))
	})
}
