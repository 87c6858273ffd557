package plotting

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// axis returns the limits on an axis of logarithms if it is one.
func (l Limits) axis(log bool) (low, high float64, err error) {
	low, high = l.Low, l.High
	if log {
		if !(low > 0) {
			return 0, 0, fmt.Errorf("limits from %g to %g: a logarithmic axis starts above 0", l.Low, l.High)
		}
		low, high = math.Log10(low), math.Log10(high)
	}
	if !(low < high) || math.Abs(low) > largest || math.Abs(high) > largest {
		return 0, 0, fmt.Errorf("limits from %g to %g: want Low < High", l.Low, l.High)
	}
	return low, high, nil
}

// limit sets the axes that have limits.
func (o CurveOptions) limit(p *plot.Plot) error {
	for _, a := range []struct {
		name   string
		axis   *plot.Axis
		to     Limits
		log    bool
		length float64
	}{{"X", &p.X, o.X, o.LogX, cmp.Or(o.Width, 340)}, {"Y", &p.Y, o.Y, o.LogY, cmp.Or(o.Height, 210)}} {
		if a.to == (Limits{}) {
			continue
		}
		low, high, err := a.to.axis(a.log)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		a.axis.Min, a.axis.Max = low, high
		if a.log {
			a.axis.Tick.Marker = logMarks(a.length)
		}
	}
	return nil
}

// references checks the references and returns what draws them.
func (o CurveOptions) references() (*levels, error) {
	l := &levels{}
	for _, r := range o.References {
		if log := r.X && o.LogX || !r.X && o.LogY; log {
			if !(r.At > 0) {
				return nil, fmt.Errorf("reference %q at %g has no logarithm", r.Name, r.At)
			}
			r.At = math.Log10(r.At)
		}
		if !(math.Abs(r.At) <= largest) {
			return nil, fmt.Errorf("reference %q at %g: want a finite value", r.Name, r.At)
		}
		l.at = append(l.at, r)
	}
	return l, nil
}

// levels draws references.
type levels struct {
	at     []Reference
	curves []*curve // that names keep clear of
}

// DataRange implements plot.DataRanger: a reference widens only its own axis.
func (l *levels) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, r := range l.at {
		if r.X {
			xmin, xmax = min(xmin, r.At), max(xmax, r.At)
		} else {
			ymin, ymax = min(ymin, r.At), max(ymax, r.At)
		}
	}
	return xmin, xmax, ymin, ymax
}

func (l *levels) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	line := draw.LineStyle{Color: quiet, Width: 0.8, Dashes: []vg.Length{3, 2}}
	style := textStyle(noteSize, quiet)
	style.XAlign, style.YAlign = draw.XLeft, draw.YBottom
	var taken drawnMarks
	for _, curve := range l.curves {
		taken.curves = append(taken.curves, curve.marks(c, plt))
	}
	for _, r := range l.at {
		if at := x(r.At); r.X && c.ContainsX(at) {
			c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
			upright := style
			upright.YAlign = draw.YTop
			c.FillText(upright, vg.Point{X: at + 2, Y: c.Max.Y - 2}, r.Name)
		}
		if at := y(r.At); !r.X && c.ContainsY(at) {
			c.StrokeLine2(line, c.Min.X, at, c.Max.X, at)
			name := taken.clear(c, style.Rectangle(r.Name).Size(), at)
			c.FillText(style, name.Min, r.Name)
			taken.names = append(taken.names, name)
		}
	}
}

// drawnMarks are what a name keeps clear of.
type drawnMarks struct {
	names  []vg.Rectangle
	curves []curveMarks
}

// curveMarks are the lines of a curve on a canvas, and the radius of its largest mark.
type curveMarks struct {
	path   []vg.Point
	bars   [][]vg.Point
	radius vg.Length
}

// marks returns what the curve draws on a canvas.
func (c *curve) marks(canvas draw.Canvas, plt *plot.Plot) curveMarks {
	m := curveMarks{path: c.path(canvas, plt), radius: c.marker.Radius}
	if len(c.chosen) > 0 {
		m.radius = ringRadius
	}
	if _, y := plt.Transforms(&canvas); c.bars && c.low != nil {
		for k, at := range m.path {
			m.bars = append(m.bars, []vg.Point{{X: at.X, Y: y(c.low[k])}, {X: at.X, Y: y(c.high[k])}})
		}
	}
	return m
}

// clear returns the place of a level line's name of a size: at the left end of the line and above it or, if curves or
// other names are there, the first place along the line, above or below it, that the fewest of them touch.
func (d *drawnMarks) clear(c draw.Canvas, size vg.Point, at vg.Length) vg.Rectangle {
	const gap = vg.Length(3)
	place := func(x, y vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + size.X, Y: y + size.Y}}
	}
	best := place(c.Min.X+gap, at+1)
	fewest := d.touching(best)
	for x := c.Min.X + gap; fewest > 0 && x+size.X+gap <= c.Max.X; x += gap {
		for _, y := range []vg.Length{at + 1, at - 1 - size.Y} {
			if n := d.touching(place(x, y)); n < fewest && c.ContainsY(y) {
				best, fewest = place(x, y), n
			}
		}
	}
	return best
}

// touching returns how many names, points, error bars and pieces of curves touch a place.
func (d *drawnMarks) touching(place vg.Rectangle) (n int) {
	for _, other := range d.names {
		if place.Min.X < other.Max.X && other.Min.X < place.Max.X &&
			place.Min.Y < other.Max.Y && other.Min.Y < place.Max.Y {
			n++
		}
	}
	for _, m := range d.curves {
		around := vg.Point{X: m.radius, Y: m.radius}
		on := draw.Canvas{Rectangle: vg.Rectangle{Min: place.Min.Sub(around), Max: place.Max.Add(around)}}
		n += len(on.ClipLinesXY(m.path)) + len(on.ClipLinesXY(m.bars...))
		for _, at := range m.path {
			if on.Contains(at) {
				n++
			}
		}
	}
	return n
}

// path returns where the points are on a canvas.
func (c *curve) path(canvas draw.Canvas, plt *plot.Plot) []vg.Point {
	x, y := plt.Transforms(&canvas)
	path := make([]vg.Point, len(c.points))
	for k, at := range c.points {
		path[k] = vg.Point{X: x(at.X), Y: y(at.Y)}
	}
	return path
}

// endLabels are the names of curves at their right ends.
type endLabels struct {
	names  []string
	curves []*curve
}

func (e *endLabels) add(name string, c *curve) {
	e.names, e.curves = append(e.names, name), append(e.curves, c)
}

// heightAt returns the height of a curve where it ends or, if that comes first, where it passes x.
func heightAt(points plotter.XYs, x float64) float64 {
	byX := func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) }
	sorted := slices.SortedStableFunc(slices.Values(points), byX)
	k := slices.IndexFunc(sorted, func(p plotter.XY) bool { return p.X > x })
	if k < 0 {
		return sorted[len(sorted)-1].Y
	}
	if k == 0 {
		return sorted[0].Y
	}
	a, b := sorted[k-1], sorted[k]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

// attach adds the names to the right of a figure of the plot, moved apart where they would overlap. A hairline ties a
// name that had to move to its curve.
func (e *endLabels) attach(f Figure, p *plot.Plot) Figure {
	style := textStyle(tickSize, ink)
	style.XAlign = draw.XLeft
	height := style.Height("x")
	order := make([]int, len(e.names))
	wanted := make([]vg.Length, len(e.names))
	var widest vg.Length
	for i, c := range e.curves {
		at := f.data.Min.Y + vg.Length((heightAt(c.points, p.X.Max)-p.Y.Min)/(p.Y.Max-p.Y.Min))*f.data.Size().Y
		order[i], wanted[i] = i, min(max(at, f.data.Min.Y), f.data.Max.Y)
		widest = max(widest, style.Width(e.names[i]))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
	places := spreadOut(wanted, order, height)
	const gap = vg.Length(14)
	x := f.data.Max.X
	needed := x + gap + widest + margin
	below := max(0, margin-(places[order[0]]-height/2))
	f = f.moved(0, max(0, needed-f.width), below, max(0, places[order[len(order)-1]]+height/2+margin-f.height))
	return f.over(func(c draw.Canvas) {
		for i, name := range e.names {
			from := vg.Point{X: c.Min.X + x, Y: c.Min.Y + below + wanted[i]}
			to := vg.Point{X: c.Min.X + x + gap, Y: c.Min.Y + below + places[i]}
			col := e.curves[i].line.Color
			c.StrokeLine2(draw.LineStyle{Color: faded(col, 0xa0), Width: hairline}, from.X+2, from.Y, to.X-2, to.Y)
			style.Color = legible(col)
			c.FillText(style, to, name)
		}
	})
}

// spreadOut returns places at least a distance apart, in order, as near to the wanted ones as that allows: runs of
// places that touch stand around the mean of what they want.
func spreadOut(wanted []vg.Length, order []int, apart vg.Length) []vg.Length {
	type run struct {
		first, count int
		sum          vg.Length // of what each would want of the first place
	}
	var runs []run
	for k, i := range order {
		runs = append(runs, run{k, 1, wanted[i]})
		for n := len(runs); n > 1; n = len(runs) {
			a, b := runs[n-2], runs[n-1]
			if b.sum/vg.Length(b.count)-a.sum/vg.Length(a.count) >= vg.Length(a.count)*apart {
				break
			}
			b.sum -= vg.Length(b.count*a.count) * apart
			runs = append(runs[:n-2], run{a.first, a.count + b.count, a.sum + b.sum})
		}
	}
	places := make([]vg.Length, len(wanted))
	for _, r := range runs {
		for k := range r.count {
			places[order[r.first+k]] = r.sum/vg.Length(r.count) + vg.Length(k)*apart
		}
	}
	return places
}

// errorBar draws a vertical or horizontal bar between two points, as far as the canvas goes, with a cap at each end on
// it.
func errorBar(c draw.Canvas, col color.Color, from, to vg.Point) {
	style := draw.LineStyle{Color: col, Width: 0.8}
	a, b := nearest(c.Rectangle, from), nearest(c.Rectangle, to)
	c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
	const half = vg.Length(2.5)
	for _, end := range []vg.Point{from, to} {
		switch {
		case !c.Contains(end):
		case from.X == to.X:
			c.StrokeLine2(style, end.X-half, end.Y, end.X+half, end.Y)
		default:
			c.StrokeLine2(style, end.X, end.Y-half, end.X, end.Y+half)
		}
	}
}
