package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TradeOffOptions change how a trade-off looks. The zero value works.
type TradeOffOptions struct {
	Title         string
	Bold          []string // names of methods in bold type
	Front         bool     // a line through the methods that no other beats in both time and AP (the Pareto front)
	Width, Height float64  // of the data area, in points; 0 means 340 and 230

	names []string // of all methods of a figure, in the order of their colors and markers; nil is that of the panel
}

// TradeOff draws AP against the seconds that learning a task takes, a labeled point for each method with error bars of
// one standard deviation over seeds (divisor n−1), as in Figure 4 of the SAOT paper. The axis of time is logarithmic
// when the times span more than a decade; a bar that would reach 0 there ends at the edge. Labels have the colors of
// their points, darker where white needs it, and overlap neither points nor lines nor one another where there is room;
// a line ties a label that had to move away to its point.
//
// It returns an error if there are no methods, or one has no name, no matrices, or not as many positive finite times as
// matrices.
func TradeOff(methods []Method, o TradeOffOptions) (Figure, error) {
	if len(methods) == 0 {
		return Figure{}, errors.New("plotting: trade-off: no methods")
	}
	points := &labeled{options: o}
	if err := checkArea(o.Width, o.Height); err != nil {
		return Figure{}, fmt.Errorf("plotting: trade-off %q: %w", o.Title, err)
	}
	var times []float64
	for i, m := range methods {
		if err := m.check(); err != nil {
			return Figure{}, err
		}
		if m.Name == "" || len(m.Seconds) != len(m.Matrices) {
			return Figure{}, fmt.Errorf(
				"plotting: method %q has %d times for %d matrices: want a name and one for each",
				m.Name, len(m.Seconds), len(m.Matrices))
		}
		for k, s := range m.Seconds {
			if !(s > 0 && s <= 1e100) {
				return Figure{}, fmt.Errorf("plotting: method %q: time %d is %g s: want a positive, finite one",
					m.Name, k, s)
			}
		}
		q := tradeOffPoint{name: m.Name, label: m.label(), nth: i}
		if o.names != nil {
			q.nth = slices.Index(o.names, m.Name)
		}
		q.x, q.dx = meanStd(m.Seconds)
		q.y, q.dy = AP.over(m.Matrices, len(m.Matrices[0]))
		points.at = append(points.at, q)
		times = append(times, q.x)
	}
	points.log = wideRange(times)
	for i := range points.at {
		q := &points.at[i]
		q.left, q.right = q.x-q.dx, q.x+q.dx
		if points.log {
			q.x, q.left, q.right = math.Log10(q.x), math.Log10(max(q.left, 0)), math.Log10(q.right)
		}
	}
	p := newPlot(o.Title, "seconds per task", AP.label())
	p.Add(quietGrid(), points)
	pad(&p.Y, 0.12)
	pad(&p.X, 0.08)
	if points.log {
		p.X.Tick.Marker = logMarks(cmp.Or(o.Width, 340))
	} else {
		p.X.Min = max(p.X.Min, 0)
	}
	return plotFigure(p, vg.Length(cmp.Or(o.Width, 340)), vg.Length(cmp.Or(o.Height, 230))), nil
}

type tradeOffPoint struct {
	name, label  string
	nth          int // of the colors and markers
	x, y, dx, dy float64
	left, right  float64 // ends of the bar of time; on a logarithmic axis they and x are logarithms, left may be -Inf
}

type labeled struct {
	at      []tradeOffPoint
	log     bool
	options TradeOffOptions
}

// front returns the points that no other beats in both time and AP, by time.
func (l *labeled) front() (front []tradeOffPoint) {
	order := slices.SortedFunc(slices.Values(l.at), func(a, b tradeOffPoint) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.y, a.y))
	})
	for _, p := range order {
		if n := len(front); n == 0 || p.y > front[n-1].y {
			front = append(front, p)
		}
	}
	return front
}

// style returns that of a method's label.
func (l *labeled) style(p tradeOffPoint) text.Style {
	style := textStyle(tickSize, legible(marker(p.nth).Color))
	if slices.Contains(l.options.Bold, p.name) {
		style.Font.Weight = stdfont.WeightBold
	}
	return style
}

// barredMarker is a marker that shows on its error bars, so no plus. There are as many shapes as colors: the second
// round over the colors starts at another shape.
func barredMarker(i int) draw.GlyphStyle {
	glyph, n := marker(i), len(shapes)-1
	glyph.Shape, glyph.Radius = shapes[(i+i/n)%n], 3.5
	return glyph
}

func (l *labeled) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range l.at {
		left := p.left
		if left < p.x-1 && l.log { // a bar that spans decades must not set the scale
			left = p.x
		}
		xmin, xmax = min(xmin, left), max(xmax, p.right)
		ymin, ymax = min(ymin, p.y-p.dy), max(ymax, p.y+p.dy)
	}
	return xmin, xmax, ymin, ymax
}

func (l *labeled) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	free := space{area: c.Rectangle}
	if l.options.Front {
		var line []vg.Point
		for _, p := range l.front() {
			line = append(line, vg.Point{X: x(p.x), Y: y(p.y)})
		}
		c.StrokeLines(draw.LineStyle{Color: quiet, Width: 0.8, Dashes: []vg.Length{4, 2}}, line)
		free.taken = along(line)
	}
	for _, p := range l.at {
		center := vg.Point{X: x(p.x), Y: y(p.y)}
		left, right, low, high := x(p.left), x(p.right), y(p.y-p.dy), y(p.y+p.dy)
		glyph := barredMarker(p.nth)
		if p.dx > 0 {
			errorBar(c, glyph.Color, vg.Point{X: left, Y: center.Y}, vg.Point{X: right, Y: center.Y})
		}
		if p.dy > 0 {
			errorBar(c, glyph.Color, vg.Point{X: center.X, Y: low}, vg.Point{X: center.X, Y: high})
		}
		c.DrawGlyph(glyph, center)
		left = max(left, c.Min.X)
		free.markers = append(free.markers, center)
		free.taken = append(free.taken,
			rect(center.X-markerSpan, center.Y-markerSpan, 2*markerSpan, 2*markerSpan),
			rect(left-1, center.Y-2.5, right-left+2, 5),
			rect(center.X-2.5, low-1, 5, high-low+2))
	}
	for i, p := range l.at {
		style := l.style(p)
		box, near := free.place(i, style.Width(p.label), style.Height(p.label))
		middle := vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: (box.Min.Y + box.Max.Y) / 2}
		if !near {
			at := free.markers[i]
			from := nearest(box, at)
			c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: hairline}, from.X, from.Y, at.X, at.Y)
		}
		c.FillText(style, middle, p.label)
	}
}
