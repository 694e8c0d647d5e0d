package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// console finds the sessions in a document, and example the commands of a session with their output.
var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestDocuments runs the commands that the documents show and compares what they print. A line "..." stands for any lines.
func TestDocuments(t *testing.T) {
	for _, doc := range []string{"README.md", "examples/sqlcqueue/README.md"} {
		t.Run(doc, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../..", doc))
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

// fence finds the blocks of a document by their language.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestTutorial does what docs/tutorial.md says, in an empty folder, and looks for what it says comes of it.
func TestTutorial(t *testing.T) {
	if os.Getenv("SIMRUN_LONG") == "" {
		t.Skip("SIMRUN_LONG is not set")
	}
	text, err := os.ReadFile("../../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	d := tutorial{T: t, dir: t.TempDir(), root: root}
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		switch language, body := block[1], block[2]; language {
		case "go":
			d.save(body)
		case "diff":
			d.edit(body)
		case "console":
			d.session(body)
		default:
			t.Fatalf("a block of %q", language)
		}
	}
	if d.ran != 11 {
		t.Errorf("%d commands; were some lost?", d.ran)
	}
}

type tutorial struct {
	*testing.T
	dir, root string
	files     []string
	ran       int
}

// save writes a file whose name is its first line; a block without one is added to the file of tests.
func (d *tutorial) save(body string) {
	first, rest, _ := strings.Cut(body, "\n")
	name, ok := strings.CutPrefix(first, "// ")
	if ok {
		d.files = append(d.files, name)
	} else {
		name = d.files[slices.IndexFunc(d.files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })]
		rest = d.read(name) + "\n" + body
	}
	d.write(name, rest)
}

// edit replaces the line that begins with "-" by those that begin with "+".
func (d *tutorial) edit(body string) {
	var was string
	var now []string
	for _, line := range strings.Split(strings.TrimRight(body, "\n"), "\n") {
		if line[0] == '-' {
			was = line[1:]
		} else {
			now = append(now, line[1:])
		}
	}
	for _, name := range d.files {
		if text := d.read(name); strings.Count(text, was+"\n") == 1 {
			d.write(name, strings.Replace(text, was, strings.Join(now, "\n"), 1))
			return
		}
	}
	d.Fatalf("no file has the line\n%s", was)
}

// session runs the commands; each line that they are said to print must be printed, but for times and line numbers. Which of
// several shortest schedules is shown depends on the hashes of states, so the steps are not compared.
func (d *tutorial) session(body string) {
	for _, example := range strings.Split(body, "$ ")[1:] {
		command, want, _ := strings.Cut(example, "\n")
		args := strings.Fields(strings.ReplaceAll(command, "../simrun", d.root))
		c := exec.Command(args[0], args[1:]...)
		c.Dir = d.dir
		out, err := c.CombinedOutput()
		if got := err == nil; got == strings.Contains(want, "FAIL") {
			d.Fatalf("$ %s\n%s%v", command, out, err)
		}
		d.ran++
		printed := map[string]bool{}
		for _, line := range strings.Split(string(out), "\n") {
			printed[unstable.ReplaceAllString(strings.TrimSpace(line), "")] = true
		}
		for _, line := range strings.Split(want, "\n") {
			if line = unstable.ReplaceAllString(strings.TrimSpace(line), ""); !steps.MatchString(line) && !printed[line] {
				d.Errorf("$ %s\ndoes not print %q, but\n%s", command, line, out)
			}
		}
	}
}

// unstable is what differs from run to run.
var unstable = regexp.MustCompile(`\(\d+\.\d+s\)|_test\.go:\d+|from step \d+ on`)

// steps are the lines of a timeline, of a drift, and those that stand for others.
var steps = regexp.MustCompile(`^(\d+ .*|\|.*|ends|step .*|it was: .*|now: .*|\.\.\.)?$`)

func (d *tutorial) read(name string) string {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

func (d *tutorial) write(name, text string) {
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		d.Fatal(err)
	}
}

// TestDocumentedHistory checks the history that docs/failure-file.md shows.
func TestDocumentedHistory(t *testing.T) {
	text, err := os.ReadFile("../../../docs/failure-file.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, `{"process"`) {
			lines = append(lines, line)
		}
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := execute([]string{"lin", path}, &out, &errs); code != exitHeld || !strings.HasPrefix(out.String(), "linearizable: 2 operations over 1 keys") {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}
