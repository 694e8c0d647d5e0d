package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// console finds the sessions in a document, and example the commands of a session with their output.
var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestDocuments runs the commands that the documents show and compares what they print. A line "..." stands for any lines.
func TestDocuments(t *testing.T) {
	for _, doc := range []string{"README.md", "examples/sqlcqueue/README.md"} {
		t.Run(doc, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../..", doc))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			sessions := console.FindAllStringSubmatch(string(text), -1)
			if len(sessions) == 0 {
				t.Fatal("no session in it")
			}
			for _, s := range sessions {
				for _, example := range strings.Split(s[1], "$ ")[1:] {
					command, want, _ := strings.Cut(example, "\n")
					args := strings.Fields(command)
					if args[0] != "simrun" {
						t.Fatalf("%q is no command of simrun", command)
					}
					var out, errs strings.Builder
					execute(args[1:], &out, &errs)
					if got := out.String(); !matches(got, want) {
						t.Errorf("$ %s\nprints now:\n%s%s\nand the document says:\n%s", command, got, errs.String(), want)
					}
				}
			}
		})
	}
}

// matches compares line by line; blanks at the end of lines do not count.
func matches(got, want string) bool {
	var re strings.Builder
	re.WriteString("^")
	for _, line := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		if line == "..." {
			re.WriteString(`(?:.*\n)*?`)
		} else {
			re.WriteString(regexp.QuoteMeta(strings.TrimRight(line, " ")) + ` *\n`)
		}
	}
	re.WriteString("$")
	return regexp.MustCompile(re.String()).MatchString(got)
}
