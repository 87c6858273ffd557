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

// Cost draws a cost matrix as a heat map, row 0 at the top, brighter where the cost is higher.
//
// cost: [n, m], row major; entries of any sign and unit, of magnitude at most 1e300. o.Low and o.High are costs; both 0
// means from the least to the greatest. A cost with more than o.MaxSide rows or columns is drawn as the mean of square
// blocks.
// It returns an error if n·m does not match, an entry is not finite, or an option is out of range.
func Cost(cost []float64, n, m int, o PlanOptions) (Figure, error) {
	err := checkShape(cost, n, m)
	if err == nil {
		err = checkEntries(cost, m, largest)
	}
	var g *grid
	if err == nil {
		g, err = o.pooled(cost, n, m, wholeRange)
	}
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: cost %q: %w", o.Title, err)
	}
	return heatFigure(g, viridis, "cost", nil, nil, o), nil
}

// wholeRange returns the least and the greatest value, set apart where all values are the same.
func wholeRange(values []float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	if size := max(math.Abs(low), math.Abs(high)); high-low <= 1e-9*size {
		low, high = low-0.1*size, high+0.1*size
	}
	if low == high { // all are zero
		high = 1
	}
	return low, high
}

func checkEntries(values []float64, cols int, most float64) error {
	for k, v := range values {
		if !(math.Abs(v) <= most) {
			return fmt.Errorf("row %d, column %d is %g: want a finite value, at most %g", k/cols, k%cols, v, most)
		}
	}
	return nil
}

// CostAndPlan draws a cost matrix and, next to it, the transport plan that it leads to. Both are [n, m], row major;
// o.Low and o.High are those of the plan, o.Title stands above both. Its errors are those of Cost and Plan.
func CostAndPlan(cost, plan []float64, n, m int, o PlanOptions) (Figure, error) {
	left := o
	left.Title, left.Low, left.High = "cost", 0, 0
	c, err := Cost(cost, n, m, left)
	if err != nil {
		return Figure{}, err
	}
	right := o
	right.Title = "plan"
	p, err := Plan(plan, n, m, right)
	if err != nil {
		return Figure{}, err
	}
	f, err := Grid(2, c, p)
	if err != nil {
		return Figure{}, err
	}
	return titled(f, o.Title), nil
}

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
		p := newPlot("", []string{"row", "column"}[i], []string{"potential f", "potential g"}[i])
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
	return titled(both, title), nil
}

type bars struct {
	values []float64
	nth    int
}

func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(len(b.values)) - 0.5, min(0, slices.Min(b.values)), max(0, slices.Max(b.values))
}

// Plot implements plot.Plotter. Bars are one staircase, so that many of them draw as fast as a curve. Those of g are
// lighter, to differ from those of f in gray.
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
	c.FillPolygon(faded(fill, uint8(0xd0-0x80*b.nth)), steps)
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
