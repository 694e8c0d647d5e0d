// Package reports shows what runs and searches found: plots, JUnit and Markdown summaries, and one offline HTML page a failure.
package reports

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is a chart of one or more series over a common x axis.
type Plot struct {
	Title string
	// X and Y are what the axes show, with the unit, e.g. "simulated time (s)".
	X, Y string
	// LogX and LogY make an axis logarithmic; points that are not positive there are left out.
	LogX, LogY bool
	// Caption says how the plot came about: the command that made it.
	Caption string
	Series  []Series
}

// Series is one line of a plot, or with Bars a group of bars at Points' X.
type Series struct {
	Name   string
	Points []Point
	// Marks draws points instead of a line.
	Marks bool
	// Steps draws a staircase, for quantities that jump.
	Steps bool
}

// Point is one value of a series. A point with NaN coordinates ends a stretch of the line.
type Point struct{ X, Y float64 }

// The palette is colour-blind safe (Okabe and Ito, "Color Universal Design", 2008).
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff},
}

const plotWidth, plotHeight = 18 * vg.Centimeter, 11 * vg.Centimeter

// Write writes the plot to path, whose extension says the format: .svg or .png. The same plot gives the same bytes.
func (p Plot) Write(path string) error {
	pl, err := p.build()
	if err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	switch ext := filepath.Ext(path); ext {
	case ".svg":
		c := vgsvg.New(plotWidth, plotHeight)
		pl.Draw(draw.New(c))
		_, err = c.WriteTo(f)
	case ".png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(144))}
		pl.Draw(draw.New(c))
		_, err = c.WriteTo(f)
	default:
		err = fmt.Errorf("plot %s: extension %q is neither .svg nor .png", path, ext)
	}
	return errors.Join(err, f.Close())
}

func (p Plot) build() (*plot.Plot, error) {
	pl := plot.New()
	pl.Title.Text, pl.Title.Padding = p.Title, vg.Points(6)
	pl.X.Label.Text, pl.Y.Label.Text = p.X, p.Y
	if p.Caption != "" {
		pl.X.Label.Text += "\n" + wrap(p.Caption, 70)
	}
	pl.Legend.Top, pl.Legend.Left = true, true
	pl.Add(plotter.NewGrid())
	legend := func(name string, thumb plot.Thumbnailer) {
		if len(p.Series) > 1 { // one series is what the title says
			pl.Legend.Add(name, thumb)
		}
	}
	drawn := 0
	for i, s := range p.Series {
		points := p.points(s)
		if len(points) == 0 {
			continue
		}
		drawn++
		col := palette[i%len(palette)]
		if s.Marks {
			marks, err := plotter.NewScatter(points)
			if err != nil {
				return nil, fmt.Errorf("series %q: %w", s.Name, err)
			}
			marks.Color, marks.Radius = col, vg.Points(2)
			pl.Add(marks)
			legend(s.Name, marks)
			continue
		}
		for n, stretch := range stretches(points) {
			line, err := plotter.NewLine(stretch)
			if err != nil {
				return nil, fmt.Errorf("series %q: %w", s.Name, err)
			}
			line.Color, line.Width = col, vg.Points(1.5)
			line.Dashes = plotDashes(i)
			if s.Steps {
				line.StepStyle = plotter.PostStep
			}
			pl.Add(line)
			if n == 0 {
				legend(s.Name, line)
			}
		}
	}
	if drawn == 0 {
		return nil, errors.New("no points to draw")
	}
	if p.LogX {
		pl.X.Tick.Marker = decades{}
	}
	if p.LogY {
		pl.Y.Tick.Marker = decades{}
	} else if pl.Y.Min > 0 {
		pl.Y.Min = 0
	}
	return pl, nil
}

// decades marks an axis of decimal logarithms by what they stand for. (plot.LogScale places labels by the arithmetic middle of the
// axis, and leaves half of the drawing empty for a long one.)
type decades struct{}

// Ticks is plot.Ticker's.
func (decades) Ticks(least, most float64) []plot.Tick {
	var out []plot.Tick
	few := math.Floor(most)-math.Ceil(least) < 1
	for k := math.Floor(least); k <= most; k++ {
		for digit := 1.0; digit < 10; digit++ {
			t := plot.Tick{Value: k + math.Log10(digit)}
			if t.Value < least || t.Value > most {
				continue
			}
			if digit == 1 || few && (digit == 2 || digit == 5) {
				t.Label = strconv.FormatFloat(digit*math.Pow(10, k), 'g', -1, 64)
			}
			out = append(out, t)
		}
	}
	return out
}

// wrap breaks a text at spaces into lines of at most width bytes, where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// stretches cuts points where they are NaN.
func stretches(points plotter.XYs) []plotter.XYs {
	var out []plotter.XYs
	start := 0
	for i := range points {
		if math.IsNaN(points[i].X) {
			if i > start {
				out = append(out, points[start:i])
			}
			start = i + 1
		}
	}
	if start < len(points) {
		out = append(out, points[start:])
	}
	return out
}

// plotDashes tells series apart without colour.
func plotDashes(i int) []vg.Length {
	switch i % 3 {
	case 1:
		return []vg.Length{vg.Points(6), vg.Points(3)}
	case 2:
		return []vg.Length{vg.Points(2), vg.Points(2)}
	}
	return nil
}

func (p Plot) points(s Series) plotter.XYs {
	var out plotter.XYs
	for _, pt := range s.Points {
		if p.LogX && pt.X <= 0 || p.LogY && pt.Y <= 0 {
			continue
		}
		if p.LogX {
			pt.X = math.Log10(pt.X)
		}
		if p.LogY {
			pt.Y = math.Log10(pt.Y)
		}
		out = append(out, plotter.XY{X: pt.X, Y: pt.Y})
	}
	return out
}
