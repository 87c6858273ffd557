package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/saot-go/saot/saot/continual"
)

// Series is one curve.
type Series struct {
	Name   string    // in the legend; empty leaves it out
	X      []float64 // as long as Y, or nil for 1, 2, 3, …
	Y      []float64
	Spread []float64 // half the height of a band around Y, not negative; as long as Y, or nil for none
}

// CurveOptions change how curves look. The zero value works.
type CurveOptions struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool
	Floor                 float64 // with LogY: lower values are drawn at Floor; 0 means that values ≤ 0 are an error
	Bars                  bool    // draw Spread as error bars instead of bands
}

// Curves draws series of numbers over steps, such as the loss terms of a run or the marginal error of Sinkhorn's
// sweeps. Curves differ in color, dashes and markers, so that they can be told apart in gray. Gaps are not supported:
// every value must be finite. It returns an error that names the series and the index for a value that is not finite or
// has no logarithm (see Floor), a negative spread, lengths that differ, and for no values at all.
func Curves(series []Series, o CurveOptions) (Figure, error) { return curves(series, o, 340, 210) }

func curves(series []Series, o CurveOptions, w, h vg.Length) (Figure, error) {
	p := newPlot(o.Title, o.XLabel, o.YLabel)
	p.Add(quietGrid())
	legend, named, whole := newLegend(26), false, true
	var all []plot.Plotter
	for i, s := range series {
		c, err := newCurve(i, s, o)
		if err != nil {
			return Figure{}, fmt.Errorf("plotting: series %d (%s): %w", i+1, s.Name, err)
		}
		if c.low != nil && !c.bars {
			p.Add(band{c}) // below all lines
		}
		all = append(all, c)
		whole = whole && c.wholeX()
		if s.Name != "" {
			legend.Add(s.Name, c)
			named = true
		}
	}
	if len(series) == 0 {
		return Figure{}, fmt.Errorf("plotting: curves %q: no series", o.Title)
	}
	p.Add(all...)
	scaleAxes(p, o, whole)
	f := plotFigure(p, w, h)
	if named {
		f = withLegend(f, p, legend)
	}
	return f, nil
}

// largest is the greatest magnitude of a coordinate: the width of an axis must not overflow.
const largest = 1e300

func checkPoint(k int, x, y float64) error {
	if !(math.Abs(x) <= largest) || !(math.Abs(y) <= largest) {
		return fmt.Errorf("point %d is (%g, %g): want finite values, at most %g", k, x, y, largest)
	}
	return nil
}

type curve struct {
	points    plotter.XYs
	low, high []float64 // ends of the spread; nil for none
	line      draw.LineStyle
	marker    draw.GlyphStyle
	nth       int // number of the series: shifts its markers against those of others
	bars      bool
}

func newCurve(i int, s Series, o CurveOptions) (*curve, error) {
	if len(s.Y) == 0 || (s.X != nil && len(s.X) != len(s.Y)) {
		return nil, fmt.Errorf("%d values of X for %d of Y: want as many, at least one", len(s.X), len(s.Y))
	}
	if s.Spread != nil && len(s.Spread) != len(s.Y) {
		return nil, fmt.Errorf("%d values of Spread for %d of Y: want as many, or none", len(s.Spread), len(s.Y))
	}
	c := &curve{points: make(plotter.XYs, len(s.Y)), line: seriesStyle(i), marker: marker(i), nth: i, bars: o.Bars}
	for k := range s.Y {
		x := float64(k + 1)
		if s.X != nil {
			x = s.X[k]
		}
		at, err := o.place(k, x, s.Y[k])
		if err != nil {
			return nil, err
		}
		c.points[k] = at
		if s.Spread == nil {
			continue
		}
		if !(s.Spread[k] >= 0) {
			return nil, fmt.Errorf("spread of point %d is %g: want 0 or more", k, s.Spread[k])
		}
		low, err := o.place(k, x, s.Y[k]-s.Spread[k])
		if err != nil {
			return nil, fmt.Errorf("lower end of the spread: %w", err)
		}
		high, err := o.place(k, x, s.Y[k]+s.Spread[k])
		if err != nil {
			return nil, fmt.Errorf("upper end of the spread: %w", err)
		}
		c.low, c.high = append(c.low, low.Y), append(c.high, high.Y)
	}
	return c, nil
}

// place checks the k-th point of a series, raises its y to the floor, and takes logarithms. Axes are always linear:
// gonum places the label of a logarithmic axis wrong.
func (o CurveOptions) place(k int, x, y float64) (at plotter.XY, err error) {
	if o.LogY && o.Floor > 0 {
		y = max(y, o.Floor)
	}
	if err := checkPoint(k, x, y); err != nil {
		return at, err
	}
	switch {
	case o.LogY && y <= 0:
		return at, fmt.Errorf("point %d is %g, which has no logarithm: set Floor or draw without LogY", k, y)
	case o.LogX && x <= 0:
		return at, fmt.Errorf("point %d stands at %g, which has no logarithm: draw without LogX", k, x)
	}
	if o.LogX {
		x = math.Log10(x)
	}
	if o.LogY {
		y = math.Log10(y)
	}
	return plotter.XY{X: x, Y: y}, nil
}

// wholeX reports whether every x is a whole number, such as that of a task.
func (c *curve) wholeX() bool {
	return !slices.ContainsFunc(c.points, func(at plotter.XY) bool { return at.X != math.Trunc(at.X) })
}

func (c *curve) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(c.points)
	if c.low != nil {
		ymin, ymax = slices.Min(c.low), slices.Max(c.high)
	}
	return xmin, xmax, ymin, ymax
}

func (c *curve) Plot(canvas draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&canvas)
	line := make([]vg.Point, len(c.points))
	for k, at := range c.points {
		line[k] = vg.Point{X: x(at.X), Y: y(at.Y)}
	}
	canvas.StrokeLines(c.line, line)
	if c.low != nil && c.bars {
		for k, at := range line {
			errorBar(canvas, c.line.Color, vg.Point{X: at.X, Y: y(c.low[k])}, vg.Point{X: at.X, Y: y(c.high[k])})
		}
	}
	for _, k := range c.marked() {
		canvas.DrawGlyph(c.marker, line[k])
	}
}

type band struct{ *curve }

func (b band) Plot(canvas draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&canvas)
	border := make([]vg.Point, 0, 2*len(b.points))
	for k, at := range b.points {
		border = append(border, vg.Point{X: x(at.X), Y: y(b.high[k])})
	}
	for k, at := range slices.Backward(b.points) {
		border = append(border, vg.Point{X: x(at.X), Y: y(b.low[k])})
	}
	canvas.FillPolygon(faded(b.line.Color, 0x2a), border)
}

// marked returns the points that carry a marker: all of up to 24, else about eight, at other places for each series.
func (c *curve) marked() []int {
	n, every, first := len(c.points), 1, 0
	if n > 24 {
		every = n / 8
		first = every / 7 * (c.nth % 7)
	}
	var at []int
	for k := first; k < n; k += every {
		at = append(at, k)
	}
	return at
}

func (c *curve) Thumbnail(canvas *draw.Canvas) {
	middle := canvas.Center()
	canvas.StrokeLine2(c.line, canvas.Min.X, middle.Y, canvas.Max.X-2, middle.Y)
	middle.X--
	canvas.DrawGlyph(c.marker, middle)
}

// errorBar draws a vertical or horizontal bar with caps between two points.
func errorBar(c draw.Canvas, col color.Color, from, to vg.Point) {
	style := draw.LineStyle{Color: col, Width: 0.8}
	c.StrokeLine2(style, from.X, from.Y, to.X, to.Y)
	const half = vg.Length(2.5)
	for _, end := range []vg.Point{from, to} {
		if from.X == to.X {
			c.StrokeLine2(style, end.X-half, end.Y, end.X+half, end.Y)
		} else {
			c.StrokeLine2(style, end.X, end.Y-half, end.X, end.Y+half)
		}
	}
}

func newLegend(thumbnail vg.Length) plot.Legend {
	legend := plot.NewLegend()
	restyle(&legend.TextStyle, tickSize)
	legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, 3, thumbnail
	return legend
}

// withLegend adds a legend to the right of a figure, level with the top of the data. The figure grows downward if the
// legend is longer.
func withLegend(f Figure, p *plot.Plot, legend plot.Legend) Figure {
	size := legend.Rectangle(draw.Canvas{}).Size()
	data := p.DataCanvas(draw.Canvas{Rectangle: rect(margin, margin, f.width-2*margin, f.height-2*margin)})
	more := max(0, size.Y+2*margin-data.Max.Y)
	width := size.X + 12
	return Figure{width: f.width + width, height: f.height + more, paint: func(c draw.Canvas) {
		f.paint(subCanvas(c, c.Min.X, c.Min.Y+more, f.width, f.height))
		legend.Draw(subCanvas(c, c.Min.X+f.width, c.Min.Y, width, more+data.Max.Y))
	}}
}

// scaleAxes leaves room around the curves, or ends a logarithmic y axis at whole decades.
func scaleAxes(p *plot.Plot, o CurveOptions, whole bool) {
	pad(&p.X, 0.02)
	switch {
	case o.LogX:
		p.X.Tick.Marker = plot.TickerFunc(logMarks)
	case whole:
		p.X.Tick.Marker = plot.TickerFunc(wholeMarks)
	}
	if !o.LogY {
		pad(&p.Y, 0.04)
		return
	}
	low, high := int(math.Floor(p.Y.Min+1e-9)), int(math.Ceil(p.Y.Max-1e-9))
	high = max(high, low+1)
	p.Y.Min, p.Y.Max = float64(low), float64(high)
	p.Y.Tick.Marker = decadeTicks(low, high)
}

// pad leaves a share of an axis free at both ends, after it sets ends apart that are the same but for rounding.
func pad(a *plot.Axis, share float64) {
	size := max(math.Abs(a.Min), math.Abs(a.Max))
	if a.Max-a.Min <= 1e-9*size {
		a.Min, a.Max = a.Min-0.1*size, a.Max+0.1*size
	}
	if size == 0 {
		a.Min, a.Max = -1, 1
	}
	free := share * (a.Max - a.Min)
	a.Min, a.Max = a.Min-free, a.Max+free
}

// logMarks marks 1, 2 and 5 times powers of ten on an axis of logarithms. It labels all of them within two decades,
// and about six powers beyond.
func logMarks(lo, hi float64) []plot.Tick {
	low, high := int(math.Floor(lo)), int(math.Ceil(hi))
	if high-low > 6 {
		ticks := decadeTicks(low, high)
		return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < lo || t.Value > hi })
	}
	var ticks []plot.Tick
	for e := low; e <= high; e++ {
		for _, m := range []float64{1, 2, 5} {
			v, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", m, e), 64) // exact, unlike m·10^e
			tick := plot.Tick{Value: math.Log10(v)}
			if err != nil || tick.Value < lo || tick.Value > hi {
				continue
			}
			if m == 1 || hi-lo <= 2.2 {
				tick.Label = formatTick(v)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// wholeMarks labels nice ticks that are whole numbers, or all nice ticks if none is.
func wholeMarks(lo, hi float64) []plot.Tick {
	ticks := niceMarks(lo, hi)
	whole := slices.DeleteFunc(slices.Clone(ticks), func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
	if len(whole) == 0 {
		return ticks
	}
	return whole
}

// decadeTicks labels about six powers of ten on an axis of logarithms.
func decadeTicks(low, high int) plot.ConstantTicks {
	every := (high - low + 5) / 6
	var ticks []plot.Tick
	for e := low; e <= high; e++ {
		tick := plot.Tick{Value: float64(e)}
		if (e-low)%every == 0 {
			tick.Label = powerOfTen(e)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// seriesStyle distinguishes curves by color and by dashes. There is one pattern fewer than there are colors, so a pair
// repeats only after all combinations.
func seriesStyle(i int) draw.LineStyle {
	patterns := [][]vg.Length{nil, {6, 2}, {2, 2}, {7, 2, 2, 2}, {10, 3}, {4, 2, 1, 2, 1, 2}}
	return draw.LineStyle{Color: okabeIto[i%len(okabeIto)], Width: 1.4, Dashes: patterns[i%len(patterns)]}
}

func quietGrid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical = draw.LineStyle{Color: faint, Width: hairline}
	g.Horizontal = g.Vertical
	return g
}

// LossTerms draws the loss terms of a run at the end of each task. A term that only some tasks have, such as one that
// needs an earlier task, has points at those tasks. It returns an error for a result without terms, and those of
// Curves. For terms over steps, collect them with an observer and call Curves.
func LossTerms(r *continual.Result, o CurveOptions) (Figure, error) {
	if r == nil {
		return Figure{}, errors.New("plotting: loss terms: the result is nil")
	}
	var series []Series
	for _, task := range r.Tasks {
		for _, term := range task.LastLoss {
			i := slices.IndexFunc(series, func(s Series) bool { return s.Name == term.Name })
			if i < 0 {
				i = len(series)
				series = append(series, Series{Name: term.Name})
			}
			series[i].X, series[i].Y = append(series[i].X, float64(task.Task+1)), append(series[i].Y, term.Value)
		}
	}
	if len(series) == 0 {
		return Figure{}, errors.New("plotting: loss terms: the result has none: was the run finished?")
	}
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "task"), cmp.Or(o.YLabel, "loss at its end")
	return Curves(series, o)
}

// EffectiveRanks draws effective ranks (drift.EffectiveRank) over tasks, one curve per method: Curves with its axes
// named.
func EffectiveRanks(methods []Series, o CurveOptions) (Figure, error) {
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "tasks learned"), cmp.Or(o.YLabel, "effective rank")
	return Curves(methods, o)
}
