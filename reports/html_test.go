package reports

import (
	"context"
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

	"simrun/model"
	"simrun/model/types"
	"simrun/sim"
)

// view answers every query with one row, the number of times it was asked.
type view struct {
	sim.View
	asked *int64
}

func (v view) Query(string) (*sim.Result, error) {
	*v.asked++
	return &sim.Result{Fields: []model.Field{{Name: "id", Type: types.Type{Kind: types.Int8}}}, Rows: [][]types.Value{{{T: types.Type{Kind: types.Int8}, Valid: true, N: *v.asked}}}}, nil
}

// sampleTrace is a run of two actors: b waits for a, then fails.
func sampleTrace() (*sim.Trace, *Recorder) {
	lock := func(object string) sim.Lock {
		return sim.Lock{Class: "row", Object: object, Mode: "FOR UPDATE"}
	}
	t := &sim.Trace{Actors: []string{"a", "b"}, Steps: []sim.Step{
		{Index: 0, Name: "a", Actor: 0, SQL: "BEGIN", Reply: sim.Reply{Tx: 'T'}},
		{Index: 1, Name: "a", Actor: 0, SQL: "UPDATE t SET id = 2 WHERE note = '<script>'", Reply: sim.Reply{Tx: 'T', Result: &sim.Result{Tag: "UPDATE 1"}}, Acquired: []sim.Lock{lock("t(1)"), lock("t(2)")}},
		{Index: 2, Name: "b", Actor: 1, SQL: "UPDATE t SET id = 3", Reply: sim.Reply{Blocked: true, By: []int{0}, On: "row of t"}},
		{Index: 3, Name: "a", Actor: 0, SQL: "COMMIT", Reply: sim.Reply{Tx: 'I', Result: &sim.Result{Tag: "COMMIT"}}, Changed: true},
		{Index: 4, Name: "wake b", Actor: 1, Kind: sim.StepWake, Eager: true, SQL: "UPDATE t SET id = 3", Reply: sim.Reply{Tx: 'I', Err: types.NewError("40001", "could not serialize access due to concurrent update")}},
	}, History: []sim.HistoryOp{{Actor: 0, Name: "set", Input: 2, Output: "ok", Call: 1, Return: 3}, {Actor: 1, Name: "set", Input: 3, Call: 2, Indeterminate: true}}}
	r := NewRecorder([]string{"t"}, t.Actors)
	asked := int64(0)
	for i := range t.Steps {
		s := t.Steps[i]
		s.Committed = view{asked: &asked}
		r.Observe(&s)
	}
	return t, r
}

func samplePage(t *testing.T) *Page {
	t.Helper()
	trace, r := sampleTrace()
	p, err := BuildPage(trace, r)
	if err != nil {
		t.Fatal(err)
	}
	p.Title, p.Invariant, p.Detail, p.Reproduce = "demo", "NoError", "b failed", "simrun replay demo.simrun.json"
	p.Steps[4].Culprit = true
	return p
}

func TestBuildPage(t *testing.T) {
	p := samplePage(t)
	if len(p.Spans) != 1 || p.Spans[0].From != 2 || p.Spans[0].To != 4 || p.Spans[0].Actor != 1 {
		t.Errorf("spans %+v", p.Spans)
	}
	if len(p.Edges) != 1 || p.Edges[0].From != "t(1) FOR UPDATE" || p.Edges[0].By[0] != "a, step 1" {
		t.Errorf("edges %+v", p.Edges)
	}
	if len(p.Tables) != 1 || len(p.Tables[0].Versions) != 1 || p.Tables[0].Versions[0].From != 3 {
		t.Errorf("tables %+v", p.Tables)
	}
	if len(p.Steps[1].Held) != 2 || len(p.Steps[3].Held) != 0 {
		t.Errorf("held %v, then %v", p.Steps[1].Held, p.Steps[3].Held)
	}
	other, _ := sampleTrace()
	other.Steps[1].Reply.Result = &sim.Result{Tag: "UPDATE 0"}
	p.Beside("postgres", other)
	if p.Steps[1].Other != "UPDATE 0" || p.Steps[0].Other != "" {
		t.Errorf("beside: %q, %q", p.Steps[1].Other, p.Steps[0].Other)
	}
}

func TestHTMLIsOneEscapedFile(t *testing.T) {
	var b strings.Builder
	if err := samplePage(t).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if strings.Contains(html, "note = '<script>'") {
		t.Error("SQL stands in the page unescaped")
	}
	for _, outside := range []string{"http://", "https://", " src=", "@import"} {
		if strings.Contains(html, outside) {
			t.Errorf("the page refers to something outside: %s", outside)
		}
	}
	if len(html) > 2<<20 {
		t.Errorf("%d bytes", len(html))
	}
}

// browser returns a headless Chromium, and fails without one in CI.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium on PATH: .ci/install installs it")
		}
		t.Skip("no Chromium on PATH")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.WindowSize(1400, 900))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// ask runs one action in the browser.
func ask[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The page works by keyboard alone, its addresses are permanent, and the console stays empty.
// SIMRUN_SCREENSHOTS names a folder for pictures to look at.
func TestInBrowser(t *testing.T) {
	ctx := browser(t)
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := samplePage(t).WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var console []string
	if err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			console = append(console, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			console = append(console, string(ev.Type))
		}
	}); err != nil {
		t.Fatal(err)
	}
	do := func(a chromedp.Action[chromedp.Void]) { ask(t, ctx, a) }
	step := func() string { return ask(t, ctx, chromedp.Text("#d-step")) }
	do(chromedp.Navigate("file://" + file))
	first := step()
	do(chromedp.KeyEvent(kb.ArrowDown))
	second := step()
	do(chromedp.KeyEvent("!"))
	culprit := step()
	hash := ask(t, ctx, chromedp.Evaluate[string]("location.hash"))
	do(chromedp.KeyEvent("w"))
	wait := ask(t, ctx, chromedp.Text("#d-locks"))
	focused := ask(t, ctx, chromedp.Evaluate[string]("document.activeElement.id"))
	do(chromedp.Navigate("file://" + file + "#step-3"))
	do(chromedp.Reload())
	linked := step()
	shot := ask(t, ctx, chromedp.FullScreenshot(100))
	for what, got := range map[string][2]string{
		"at first": {first, "0: a"}, "one down": {second, "1: a"}, "the culprit": {culprit, "4: wake b"}, "its address": {hash, "#step-4"},
		"the focus": {focused, "step-2"}, "a permanent link": {linked, "3: a"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if !strings.Contains(wait, "b waits for a (row of t)") || !strings.Contains(wait, "t(1) FOR UPDATE") {
		t.Errorf("locks at the wait: %q", wait)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(console) > 0 {
		t.Errorf("console: %v", console)
	}
	if dir := os.Getenv("SIMRUN_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "report.png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
