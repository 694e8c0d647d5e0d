package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestReportsInBrowser opens the reports of a mutant of each system in Chromium, drives them by keyboard alone, and wants the console
// to stay empty. With SIMRUN_UPDATE=1 it takes the pictures of docs/reports.md.
func TestReportsInBrowser(t *testing.T) {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = p
		}
	}
	switch {
	case chromium == "" && os.Getenv("CI") != "":
		t.Fatal("no Chromium on PATH: .ci/install installs it")
	case chromium == "":
		t.Skip("no Chromium on PATH")
	}
	pictures, err := filepath.Abs("../../../docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, scenario, mutant string
		back                   int // how many steps before the culprit the picture is of
		linearizability        bool
	}{
		{"rings", "rings/flip", "A2", 1, true},
		{"postings", "postings/claim", "Z03", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			simrun := func(want int, args ...string) {
				t.Helper()
				var errs strings.Builder
				if code := execute(args, io.Discard, &errs); code != want {
					t.Fatalf("simrun %v ended with %d: %s", args, code, errs.String())
				}
			}
			simrun(exitViolated, "fuzz", "--scenario", c.scenario, "--mutant", c.mutant, "--runs", "1000", "--workers", "1")
			files, _ := filepath.Glob("*.min.simrun.json")
			if len(files) != 1 {
				t.Fatalf("shrunk files: %v", files)
			}
			simrun(exitHeld, "report", files[0], "--out", "report.html")
			b := open(t, chromium, "report.html")

			b.key("!")
			last := b.evaluate("document.querySelector('tr.culprit').id")
			if focus := b.evaluate("document.activeElement.id"); focus != last || b.evaluate("location.hash") != "#"+last {
				t.Errorf("! points at %s, the culprit is %s", focus, last)
			}
			for _, column := range []string{"written by", "seen by"} {
				if !strings.Contains(b.evaluate("document.getElementById('d-tables').textContent"), column) {
					t.Errorf("the tables do not say %q", column)
				}
			}
			b.key(kb.ArrowUp)
			before := b.evaluate("document.activeElement.id")
			if before == last {
				t.Error("the arrow key does not step")
			}
			if c.back == 0 {
				b.key("!")
			}
			b.picture(pictures, "report-"+c.name+".png")
			b.key(kb.End)
			b.key(kb.Home)
			if b.evaluate("document.activeElement.id") != "step-0" {
				t.Error("Home does not lead to the first step")
			}
			if got := b.evaluate("String(document.querySelector('#linearizability iframe') !== null)"); (got == "true") != c.linearizability {
				t.Errorf("a linearizability page is there: %s", got)
			}
			if c.linearizability {
				if n := b.evaluate("String(document.querySelector('#linearizability iframe').contentDocument.querySelectorAll('svg rect').length)"); n == "0" {
					t.Error("the linearizability page shows no operation")
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.console) > 0 {
				t.Errorf("console: %v", b.console)
			}
		})
	}
}

// browser is a page in a headless Chromium.
type browser struct {
	*testing.T
	ctx     context.Context
	mu      sync.Mutex
	console []string
}

func open(t *testing.T, chromium, file string) *browser {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.WindowSize(1500, 950))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx}
	if err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.console = append(b.console, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.console = append(b.console, string(ev.Type))
		}
	}); err != nil {
		t.Fatal(err)
	}
	do(b, chromedp.Navigate("file://"+path))
	return b
}

// do runs one action in the browser.
func do[T any](b *browser, a chromedp.Action[T]) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *browser) key(k string) { do(b, chromedp.KeyEvent(k)) }

func (b *browser) evaluate(expression string) string {
	return do(b, chromedp.Evaluate[string](expression))
}

// picture takes what the window shows, when pictures are wanted.
func (b *browser) picture(dir, name string) {
	if os.Getenv("SIMRUN_UPDATE") == "" {
		return
	}
	shot := do(b, chromedp.CaptureScreenshot())
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), shot, 0o644)); err != nil {
		b.Fatal(err)
	}
}
