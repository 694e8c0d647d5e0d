package tla

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

//go:embed graphs
var graphFiles embed.FS

// Graph is the labelled state graph of a configuration. Edge multiplicity carries no meaning, so edges are distinct.
type Graph struct {
	States  []State
	Initial []int // indexes of States
	Edges   []Edge
	byKey   map[string]int
	out     map[int][]int // state -> indexes of Edges

	mu    sync.Mutex
	shown map[string][]string // by the variables shown, the projection of each state
}

// projected is the text of each state's variables of these names. The names are sorted.
func (g *Graph) projected(names []string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := strings.Join(names, " ")
	if g.shown[key] == nil {
		all := make([]string, len(g.States))
		visible := make(State, len(names))
		for i, s := range g.States {
			for _, name := range names {
				visible[name] = s[name]
			}
			all[i] = visible.Key()
		}
		if g.shown == nil {
			g.shown = map[string][]string{}
		}
		g.shown[key] = all
	}
	return g.shown[key]
}

// Edge is a step of the specification.
type Edge struct {
	From, To int
	Action   string // as TLC labels it, e.g. "Reserve"
}

// Find returns the index of the state, or -1.
func (g *Graph) Find(s State) int {
	if i, ok := g.byKey[s.Key()]; ok {
		return i
	}
	return -1
}

// Steps returns the indexes of the edges between two states.
func (g *Graph) Steps(from, to int) []int {
	var steps []int
	for _, e := range g.out[from] {
		if g.Edges[e].To == to {
			steps = append(steps, e)
		}
	}
	return steps
}

// Out returns the indexes of the edges that leave a state.
func (g *Graph) Out(state int) []int { return g.out[state] }

func (g *Graph) index() {
	g.byKey = make(map[string]int, len(g.States))
	for i, s := range g.States {
		g.byKey[s.Key()] = i
	}
	g.out = make(map[int][]int, len(g.States))
	for i, e := range g.Edges {
		g.out[e.From] = append(g.out[e.From], i)
	}
}

// ParseDot reads what TLC -dump dot,actionlabels wrote: node lines "ID [label="..."...", of which initial states have
// style = filled, and edge lines "ID -> ID [label="Action"...". States come out sorted by their text, so that the graph
// does not depend on the order in which TLC's workers found them.
func ParseDot(r io.Reader) (*Graph, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<26)
	states := map[string]State{}
	initial := map[string]bool{}
	type edge struct{ from, to, action string }
	edges := map[edge]bool{}
	for scanner.Scan() {
		line := scanner.Text()
		node, rest, ok := strings.Cut(line, " ")
		if _, err := strconv.ParseInt(node, 10, 64); err != nil || !ok {
			continue // header, ranks and legend
		}
		if to, isEdge := strings.CutPrefix(rest, "-> "); isEdge {
			id, attrs, _ := strings.Cut(to, " ")
			action, err := label(attrs)
			if err != nil {
				return nil, err
			}
			edges[edge{node, strings.TrimSuffix(id, ";"), action}] = true
			continue
		}
		text, err := label(rest)
		if err != nil {
			return nil, err
		}
		s, err := ParseState(text)
		if err != nil {
			return nil, err
		}
		states[node] = s
		if strings.Contains(rest, "style = filled") {
			initial[node] = true
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(states))
	for id := range states {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return states[ids[i]].Key() < states[ids[j]].Key() })
	g := &Graph{}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
		g.States = append(g.States, states[id])
		if initial[id] {
			g.Initial = append(g.Initial, i)
		}
	}
	for e := range edges {
		g.Edges = append(g.Edges, Edge{at[e.from], at[e.to], e.action})
	}
	sort.Slice(g.Edges, func(i, j int) bool {
		a, b := g.Edges[i], g.Edges[j]
		if a.From != b.From {
			return a.From < b.From
		}
		if a.To != b.To {
			return a.To < b.To
		}
		return a.Action < b.Action
	})
	g.index()
	return g, nil
}

// label takes the text out of [label="..."], where \\ and \" are escaped and a newline is written \n.
func label(attrs string) (string, error) {
	_, rest, ok := strings.Cut(attrs, `label="`)
	if !ok {
		return "", fmt.Errorf("dot: no label in %.60q", attrs)
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '"':
			return b.String(), nil
		case rest[i] == '\\' && i+1 < len(rest) && rest[i+1] == 'n':
			b.WriteByte('\n')
			i++
		case rest[i] == '\\' && i+1 < len(rest):
			i++
			b.WriteByte(rest[i])
		default:
			b.WriteByte(rest[i])
		}
	}
	return "", fmt.Errorf("dot: unterminated label in %.60q", attrs)
}

// Write stores the graph, compressed, with the hash of the texts that it came from.
func (g *Graph) Write(w io.Writer, hash string) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	b := bufio.NewWriter(z)
	fmt.Fprintf(b, "simrun-tla-graph 1\nhash %s\nstates %d\n", hash, len(g.States))
	for _, s := range g.States {
		fmt.Fprintln(b, strings.ReplaceAll(s.Key(), "\n", "\t"))
	}
	fmt.Fprintf(b, "initial %d\n", len(g.Initial))
	for _, i := range g.Initial {
		fmt.Fprintln(b, i)
	}
	fmt.Fprintf(b, "edges %d\n", len(g.Edges))
	for _, e := range g.Edges {
		fmt.Fprintf(b, "%d %d %s\n", e.From, e.To, e.Action)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return z.Close()
}

// GraphOf returns the stored graph of a configuration. It fails when there is none, and when the stored one came from other
// texts than today's: then `simrun tla check --graphs` makes it anew.
func GraphOf(c Config) (*Graph, error) {
	known, _ := graphs.LoadOrStore(c.Name, sync.OnceValues(func() (*Graph, error) { return loadGraph(c) }))
	return known.(func() (*Graph, error))()
}

// graphs are the stored graphs that were read: name of the configuration -> func() (*Graph, error).
var graphs sync.Map

func loadGraph(c Config) (*Graph, error) {
	f, err := graphFiles.Open("graphs/" + c.Name + ".zst")
	if err != nil {
		return nil, fmt.Errorf("no stored graph of %s: make it with simrun tla check --graphs: %w", c.Name, err)
	}
	defer f.Close()
	g, hash, err := readGraph(f)
	if err != nil {
		return nil, fmt.Errorf("stored graph of %s: %w", c.Name, err)
	}
	want, err := c.Hash()
	if err != nil {
		return nil, err
	}
	if hash != want {
		return nil, fmt.Errorf("stored graph of %s is stale: the specification or its configuration has changed since; make it anew with simrun tla check --graphs", c.Name)
	}
	return g, nil
}

func readGraph(r io.Reader) (*Graph, string, error) {
	z, err := zstd.NewReader(r)
	if err != nil {
		return nil, "", err
	}
	defer z.Close()
	scanner := bufio.NewScanner(z)
	scanner.Buffer(nil, 1<<26)
	line := func() string { scanner.Scan(); return scanner.Text() }
	count := func(what string) (n int, err error) {
		_, err = fmt.Sscanf(line(), what+" %d", &n)
		return n, err
	}
	if got := line(); got != "simrun-tla-graph 1" {
		return nil, "", fmt.Errorf("unknown format %.40q", got)
	}
	hash := strings.TrimPrefix(line(), "hash ")
	g := &Graph{}
	n, err := count("states")
	if err != nil {
		return nil, "", err
	}
	for range n {
		s := State{}
		for pair := range strings.SplitSeq(line(), "\t") {
			name, v, _ := strings.Cut(pair, " = ")
			s[name] = Value(v)
		}
		g.States = append(g.States, s)
	}
	if n, err = count("initial"); err != nil {
		return nil, "", err
	}
	for range n {
		i, err := strconv.Atoi(line())
		if err != nil {
			return nil, "", err
		}
		g.Initial = append(g.Initial, i)
	}
	if n, err = count("edges"); err != nil {
		return nil, "", err
	}
	for range n {
		var e Edge
		if _, err := fmt.Sscanf(line(), "%d %d %s", &e.From, &e.To, &e.Action); err != nil {
			return nil, "", err
		}
		g.Edges = append(g.Edges, e)
	}
	if err := scanner.Err(); err != nil {
		return nil, "", err
	}
	g.index()
	return g, hash, nil
}
