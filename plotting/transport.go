package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Potentials draws the two potentials of an entropic plan, f over its rows above g over its columns, as bars from zero
// on one scale. Only their sum f_i + g_j has a meaning: a constant may move from one to the other.
//
// f, g: of any length; unit: cost. It returns an error for a potential that is empty or an entry that is not finite.
func Potentials(f, g []float64, title string) (Figure, error) {
	low, high := 0.0, 0.0
	for name, values := range map[string][]float64{"f": f, "g": g} {
		if len(values) == 0 {
			return Figure{}, fmt.Errorf("plotting: potential %s is empty", name)
		}
		for i, v := range values {
			if !(math.Abs(v) <= largest) {
				return Figure{}, fmt.Errorf("plotting: potential %s: entry %d is %g: want a finite value, at most %g",
					name, i, v, largest)
			}
			low, high = min(low, v), max(high, v)
		}
	}
	if low == high {
		low, high = -1, 1
	}
	var panels []Figure
	for i, values := range [][]float64{f, g} {
		p := newPlot("", []string{"row", "column"}[i], []string{"potential $f$", "potential $g$"}[i])
		p.X.Tick.Marker = indexTicks(len(values))
		p.Add(quietGrid(), &bars{values: values, nth: i})
		p.Y.Min, p.Y.Max = low, high
		pad(&p.Y, 0.05)
		panels = append(panels, plotFigure(p, 340, 100))
	}
	both, err := Grid(1, panels...)
	if err != nil {
		return Figure{}, err
	}
	return both.WithTitle(title), nil
}

type bars struct {
	values []float64
	nth    int
}

func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(len(b.values)) - 0.5, min(0, slices.Min(b.values)), max(0, slices.Max(b.values))
}

// Plot implements plot.Plotter. Bars are one staircase, so that many of them draw as fast as a curve.
func (b *bars) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	gap := 0.1
	if len(b.values) > 60 {
		gap = 0
	}
	steps := []vg.Point{{X: x(-0.5), Y: y(0)}}
	for i, v := range b.values {
		left, right := x(float64(i)-0.5+gap), x(float64(i)+0.5-gap)
		steps = append(steps, vg.Point{X: left, Y: y(0)}, vg.Point{X: left, Y: y(v)})
		steps = append(steps, vg.Point{X: right, Y: y(v)}, vg.Point{X: right, Y: y(0)})
	}
	steps = append(steps, vg.Point{X: x(float64(len(b.values)) - 0.5), Y: y(0)})
	fill := okabeIto[b.nth]
	c.FillPolygon(faded(fill, 0x90), steps)
	c.StrokeLines(draw.LineStyle{Color: fill, Width: 0.7}, steps)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: hairline}, c.Min.X, y(0), c.Max.X, y(0))
}

// SweepTrace is the marginal error of Sinkhorn's iteration over its sweeps.
type SweepTrace struct {
	Epsilon float64
	Sweeps  []int     // as long as Errors, or nil for 1, 2, 3, …
	Errors  []float64 // L1 distance of the marginals
}

// SinkhornErrors draws the marginal error over sweeps on a logarithmic scale, one curve for each ε. An error of 0 is
// drawn at o.Floor, which defaults to 1e-16. Its errors are those of Curves.
func SinkhornErrors(traces []SweepTrace, o CurveOptions) (Figure, error) {
	series := make([]Series, len(traces))
	for i, t := range traces {
		series[i] = Series{Name: "ε = " + strconv.FormatFloat(t.Epsilon, 'g', 4, 64), Y: t.Errors}
		if t.Sweeps == nil {
			continue
		}
		series[i].X = make([]float64, len(t.Sweeps))
		for k, sweep := range t.Sweeps {
			series[i].X[k] = float64(sweep)
		}
	}
	o.LogY, o.Floor = true, cmp.Or(o.Floor, 1e-16)
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "Sinkhorn sweep"), cmp.Or(o.YLabel, "marginal error (L1)")
	return Curves(series, o)
}
