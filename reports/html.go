package reports

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"simrun/model/types"
)

//go:embed assets
var assets embed.FS

var pageTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"style": func() (template.CSS, error) {
		b, err := assets.ReadFile("assets/report.css")
		return template.CSS(b), err
	},
	"script": func() (template.JS, error) { b, err := assets.ReadFile("assets/report.js"); return template.JS(b), err },
	"cells":  cells,
	"graph":  lockGraph,
	"actor":  func(p *Page, i int) string { return p.actor(i) },
	"join":   strings.Join,
}).ParseFS(assets, "assets/report.html"))

// WriteHTML writes the page as one file that needs nothing else: no network, no other file.
func (p *Page) WriteHTML(w io.Writer) error { return pageTemplate.Execute(w, p) }

func (p *Page) actor(i int) string {
	if i < 0 || i >= len(p.Actors) {
		return "the environment"
	}
	return p.Actors[i]
}

// cell is one actor's place in one row of the timeline.
type cell struct {
	Step  bool
	Waits string // whom the actor waits for while another moves, "" when it does not wait
	Open  bool   // in a transaction
}

// cells lays out one row: the actor that moves, those that wait, those with a transaction open.
func cells(p *Page, at int) []cell {
	s := p.Steps[at]
	out := make([]cell, len(p.Actors))
	for a := range out {
		out[a].Step = a == s.Actor
		for prev := at; prev >= 0; prev-- {
			if p.Steps[prev].Actor == a {
				out[a].Open = p.Steps[prev].Tx != ""
				break
			}
		}
	}
	for _, span := range p.Spans {
		if span.From < s.Index && s.Index < span.To {
			var by []string
			for _, b := range span.By {
				by = append(by, p.actor(b))
			}
			out[span.Actor].Waits = strings.Join(by, ", ")
		}
	}
	return out
}

// lockGraph draws the acquisition order: an arrow from a lock that was held to one that was then taken. Arrows that are
// part of a cycle are marked.
func lockGraph(p *Page) template.HTML {
	var names []string
	at := map[string]int{}
	for _, e := range p.Edges {
		for _, n := range []string{e.From, e.To} {
			if _, ok := at[n]; !ok {
				at[n] = len(names)
				names = append(names, n)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	const rowHeight, width = 44, 760
	height := rowHeight * (len(names) + 1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="Order in which transactions took locks" class="graph">`, width, height)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>`)
	reach := closure(len(names), p.Edges, at)
	for _, e := range p.Edges {
		i, j := at[e.From], at[e.To]
		class := "edge"
		if reach[j][i] {
			class = "edge cycle"
		}
		y1, y2 := rowHeight*(i+1), rowHeight*(j+1)
		bend := 380 + 18*math.Abs(float64(j-i))
		if j < i {
			bend = 340 - 18*math.Abs(float64(j-i))
		}
		x := 360
		fmt.Fprintf(&b, `<path class="%s" d="M%d %d C%.0f %d %.0f %d %d %d" marker-end="url(#tip)"><title>%s, then %s: %s</title></path>`, class, x, y1, bend, y1, bend, y2, x, y2,
			template.HTMLEscapeString(e.From), template.HTMLEscapeString(e.To), template.HTMLEscapeString(strings.Join(e.By, "; ")))
	}
	for i, n := range names {
		fmt.Fprintf(&b, `<circle cx="360" cy="%d" r="5"/><text x="%d" y="%d" text-anchor="end">%s</text>`, rowHeight*(i+1), 345, rowHeight*(i+1)+4, template.HTMLEscapeString(n))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// closure says which lock can be reached from which over the edges.
func closure(n int, edges []LockEdge, at map[string]int) [][]bool {
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
	}
	for _, e := range edges {
		reach[at[e.From]][at[e.To]] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	return reach
}

// texts gives the values of a row as psql prints them, NULL as "∅".
func texts(row []types.Value) []string {
	out := make([]string, len(row))
	for i, v := range row {
		if out[i] = "∅"; v.Valid {
			out[i] = v.Text()
		}
	}
	return out
}
