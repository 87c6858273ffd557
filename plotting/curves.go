package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one curve.
type Series struct {
	Name   string    // in the legend; empty leaves it out
	X      []float64 // as long as Y, or nil for 1, 2, 3, …
	Y      []float64
	Spread []float64 // half the height of a band around Y, not negative; as long as Y, or nil for none
	Chosen []float64 // values of X whose points get a ring, such as the setting that was chosen
}

// Limits are the ends of an axis, in the axis's own unit. The zero value leaves them to the data.
type Limits struct{ Low, High float64 }

// Reference is a level that curves are compared with, such as chance, a floor or zero: a thin gray line with its name.
type Reference struct {
	Name string // empty leaves it out
	At   float64
	X    bool // stands upright at a place of the X axis, instead of level at a height
}

// CurveOptions change how curves look. The zero value works.
type CurveOptions struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool
	Floor                 float64 // with LogY: lower values are drawn here, unmarked; 0 makes values ≤ 0 an error
	Bars                  bool    // draw Spread as error bars instead of bands
	Direct                bool    // name each curve at its right end, instead of in a legend
	X, Y                  Limits  // of the axes: the same for all frames of a film; what is outside is cut off
	References            []Reference
	Width, Height         float64 // of the data area, in points; 0 means 340 and 210

	plain  bool               // no markers
	xTicks plot.ConstantTicks // nil takes nice values
}

// Curves draws series of numbers over steps, such as the loss terms of a run or the marginal error of Sinkhorn's
// sweeps. Curves differ in color, dashes and markers, so that they can be told apart in gray. Gaps are not supported:
// every value must be finite. It returns an error that names the series and the index for a value that is not finite or
// has no logarithm (see Floor), a negative spread, lengths that differ, and for no values at all; and one for limits or
// a reference that are out of range.
func Curves(series []Series, o CurveOptions) (Figure, error) {
	if len(series) == 0 {
		return Figure{}, fmt.Errorf("plotting: curves %q: no series", o.Title)
	}
	if err := checkArea(o.Width, o.Height); err != nil {
		return Figure{}, fmt.Errorf("plotting: curves %q: %w", o.Title, err)
	}
	p := newPlot(o.Title, o.XLabel, o.YLabel)
	p.Add(quietGrid())
	legend, ends, whole := newLegend(26), &endLabels{}, true
	levels, err := o.references()
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: curves %q: %w", o.Title, err)
	}
	var all []plot.Plotter
	for i, s := range series {
		c, err := newCurve(i, s, o)
		if err != nil {
			return Figure{}, fmt.Errorf("plotting: series %d (%s): %w", i+1, s.Name, err)
		}
		if c.low != nil && !c.bars {
			p.Add(band{c}) // below all lines
		}
		all, levels.curves = append(all, c), append(levels.curves, c)
		whole = whole && c.wholeX()
		if s.Name != "" {
			legend.Add(s.Name, c)
			ends.add(s.Name, c)
		}
	}
	p.Add(levels)
	p.Add(all...)
	scaleAxes(p, o, whole)
	if err := o.limit(p); err != nil {
		return Figure{}, fmt.Errorf("plotting: curves %q: %w", o.Title, err)
	}
	f := plotFigure(p, vg.Length(cmp.Or(o.Width, 340)), vg.Length(cmp.Or(o.Height, 210)))
	switch {
	case len(ends.names) == 0:
		return f, nil
	case o.Direct:
		return ends.attach(f, p), nil
	}
	return withLegend(f, legend), nil
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
	plain     bool
	chosen    []float64 // values of X with a ring, before logarithms
	log       bool
	raised    []int // points that were raised to the floor, which have no marker: they were not measured there
}

func newCurve(i int, s Series, o CurveOptions) (*curve, error) {
	if len(s.Y) == 0 || (s.X != nil && len(s.X) != len(s.Y)) {
		return nil, fmt.Errorf("%d values of X for %d of Y: want equal counts, at least one", len(s.X), len(s.Y))
	}
	if s.Spread != nil && len(s.Spread) != len(s.Y) {
		return nil, fmt.Errorf("%d values of Spread for %d of Y: want equal counts, or none", len(s.Spread), len(s.Y))
	}
	c := &curve{chosen: s.Chosen, log: o.LogX,
		points: make(plotter.XYs, len(s.Y)), line: seriesStyle(i), marker: marker(i), nth: i,
		bars: o.Bars, plain: o.plain,
	}
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
		if o.LogY && s.Y[k] < o.Floor {
			c.raised = append(c.raised, k)
		}
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
		return at, fmt.Errorf("point %d is at %g, which has no logarithm: draw without LogX", k, x)
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
	_, y := plt.Transforms(&canvas)
	line := c.path(canvas, plt)
	canvas.StrokeLines(c.line, canvas.ClipLinesXY(line)...)
	if c.low != nil && c.bars {
		for k, at := range line {
			low, high := vg.Point{X: at.X, Y: y(c.low[k])}, vg.Point{X: at.X, Y: y(c.high[k])}
			if low.Y < high.Y && canvas.Contains(at) {
				errorBar(canvas, c.line.Color, low, high)
			}
		}
	}
	for _, v := range c.chosen {
		if c.log {
			v = math.Log10(v)
		}
		for k, at := range c.points {
			if math.Abs(at.X-v) <= 1e-9*max(1, math.Abs(v)) && canvas.Contains(line[k]) {
				canvas.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: ringRadius, Shape: draw.RingGlyph{}}, line[k])
			}
		}
	}
	for _, k := range c.marked() {
		if canvas.Contains(line[k]) {
			canvas.DrawGlyph(c.marker, line[k])
		}
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
	canvas.FillPolygon(faded(b.line.Color, 0x2a), canvas.ClipPolygonXY(border))
}

// marked returns the points that carry a marker: all of up to 24, else about eight, at other places for each series.
func (c *curve) marked() []int {
	if c.plain {
		return nil
	}
	n, every, first := len(c.points), 1, 0
	if n > 24 {
		every = n / 8
		first = every * (c.nth % 7) / 7
	}
	var at []int
	for k := first; k < n; k += every {
		if !slices.Contains(c.raised, k) {
			at = append(at, k)
		}
	}
	return at
}

func (c *curve) Thumbnail(canvas *draw.Canvas) {
	middle := canvas.Center()
	canvas.StrokeLine2(c.line, canvas.Min.X, middle.Y, canvas.Max.X-2, middle.Y)
	middle.X--
	if !c.plain {
		canvas.DrawGlyph(c.marker, middle)
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
func withLegend(f Figure, legend plot.Legend) Figure {
	size := legend.Rectangle(draw.Canvas{}).Size()
	more := max(0, size.Y+2*margin-f.data.Max.Y)
	at := vg.Point{X: f.width, Y: f.data.Max.Y + more}
	f = f.moved(0, size.X+12, more, 0)
	return f.over(func(c draw.Canvas) { legend.Draw(subCanvas(c, c.Min.X+at.X, c.Min.Y, size.X+12, at.Y)) })
}

// scaleAxes leaves room around the curves, or ends a logarithmic y axis at whole decades.
func scaleAxes(p *plot.Plot, o CurveOptions, whole bool) {
	pad(&p.X, 0.02)
	switch {
	case o.LogX:
		p.X.Tick.Marker = logMarks(cmp.Or(o.Width, 340))
	case o.xTicks != nil:
		p.X.Tick.Marker = o.xTicks
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

// pad leaves a share of an axis free at both ends, after it sets ends apart that are the same except for rounding.
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

// logMarks marks 1, 2 and 5 times powers of ten on an axis of logarithms of a length. It labels all of them within two
// decades and where there is room, and about six powers beyond. An axis with fewer than two of them gets other nice
// marks.
func logMarks(length float64) plot.TickerFunc {
	return func(lo, hi float64) []plot.Tick {
		low, high := int(math.Floor(lo)), int(math.Ceil(hi))
		if high-low > 6 {
			ticks := decadeTicks(low, high)
			return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < lo || t.Value > hi })
		}
		var ticks []plot.Tick
		var between []int // powers of ten
		var widest vg.Length
		style := textStyle(tickSize, ink)
		for e := low; e <= high; e++ {
			for _, m := range []string{"1", "2", "5"} {
				v, err := strconv.ParseFloat(fmt.Sprintf("%se%d", m, e), 64) // exact, unlike m·10^e
				tick := plot.Tick{Value: math.Log10(v), Label: formatTick(v)}
				if err != nil || tick.Value < lo || tick.Value > hi {
					continue
				}
				if m != "1" {
					between = append(between, len(ticks))
				}
				widest = max(widest, style.Width(tick.Label))
				ticks = append(ticks, tick)
			}
		}
		if len(ticks) < 2 {
			return niceLogMarks(lo, hi)
		}
		room := vg.Length(math.Log10(2) / (hi - lo) * length) // between 1 and 2, or 5 and 10
		if hi-lo > 2.2 && room < widest+4 {
			for _, i := range between {
				ticks[i].Label = ""
			}
		}
		return ticks
	}
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

func quietGrid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical = draw.LineStyle{Color: faint, Width: hairline}
	g.Horizontal = g.Vertical
	return g
}
