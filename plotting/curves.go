package plotting

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one curve.
type Series struct {
	Name string    // in the legend; empty leaves it out
	X    []float64 // as long as Y, or nil for 1, 2, 3, …
	Y    []float64
}

// CurveOptions change how curves look. The zero value works.
type CurveOptions struct {
	Title, XLabel, YLabel string
	LogY                  bool
	Floor                 float64 // with LogY: values at or below Floor are drawn at it; 0 means that they are an error
}

// Curves draws series of figures over steps, such as loss terms of a run or the marginal error of Sinkhorn's sweeps.
// Gaps are not drawn: every value must be finite. It returns an error that names the series and the index for a value
// that is not finite, one that has no logarithm (see Floor), lengths that differ, and for no values at all.
func Curves(series []Series, o CurveOptions) (Figure, error) {
	p := newPlot(o.Title, o.XLabel, o.YLabel)
	p.Add(quietGrid())
	legend := plot.NewLegend()
	restyle(&legend.TextStyle, tickSize)
	legend.Top, legend.Left, legend.Padding = true, true, 3
	var names int
	var widest vg.Length
	for i, s := range series {
		points, err := s.points(o)
		if err != nil {
			return Figure{}, fmt.Errorf("plotting: series %d (%s): %w", i+1, s.Name, err)
		}
		line := &plotter.Line{XYs: points, LineStyle: seriesStyle(i)}
		p.Add(line)
		if s.Name != "" {
			legend.Add(s.Name, line)
			names++
			widest = max(widest, legend.TextStyle.Width(s.Name))
		}
	}
	if len(series) == 0 {
		return Figure{}, fmt.Errorf("plotting: curves %q: no series", o.Title)
	}
	scaleAxes(p, o.LogY)
	f := plotFigure(p, 340, 210)
	if names == 0 {
		return f, nil
	}
	return withLegend(f, p, legend, widest+legend.ThumbnailWidth+12), nil
}

// largest is the greatest magnitude of a coordinate: the width of an axis must still be a number.
const largest = 1e300

// points pairs the coordinates of a series and checks them.
func (s Series) points(o CurveOptions) (plotter.XYs, error) {
	if len(s.Y) == 0 || (s.X != nil && len(s.X) != len(s.Y)) {
		return nil, fmt.Errorf("%d values of X for %d of Y: want as many, at least one", len(s.X), len(s.Y))
	}
	points := make(plotter.XYs, len(s.Y))
	for k, y := range s.Y {
		x := float64(k + 1)
		if s.X != nil {
			x = s.X[k]
		}
		if o.LogY && o.Floor > 0 {
			y = max(y, o.Floor)
		}
		if !(math.Abs(x) <= largest) || !(math.Abs(y) <= largest) {
			return nil, fmt.Errorf("point %d is (%g, %g): want finite values, at most %g", k, x, y, largest)
		}
		if o.LogY && y <= 0 {
			return nil, fmt.Errorf("point %d is %g, which has no logarithm: set Floor or draw without LogY", k, y)
		}
		points[k] = plotter.XY{X: x, Y: y}
	}
	return points, nil
}

// withLegend adds a legend of the given width to the right of a figure, level with the top of the data.
func withLegend(f Figure, p *plot.Plot, legend plot.Legend, width vg.Length) Figure {
	return Figure{width: f.width + width, height: f.height, paint: func(c draw.Canvas) {
		inner := subCanvas(c, c.Min.X, c.Min.Y, f.width, f.height)
		f.paint(inner)
		top := p.DataCanvas(draw.Crop(inner, margin, -margin, margin, -margin)).Max.Y
		legend.Draw(subCanvas(c, c.Min.X+f.width, c.Min.Y, width, top-c.Min.Y))
	}}
}

// scaleAxes leaves room above and below the curves, or ends a logarithmic axis at whole decades.
func scaleAxes(p *plot.Plot, log bool) {
	spread(&p.X)
	if !log {
		spread(&p.Y)
		pad := 0.04 * (p.Y.Max - p.Y.Min)
		p.Y.Min, p.Y.Max = p.Y.Min-pad, p.Y.Max+pad
		return
	}
	low, high := int(math.Floor(math.Log10(p.Y.Min))), int(math.Ceil(math.Log10(p.Y.Max)))
	high = max(high, low+1)
	p.Y.Min, p.Y.Max = math.Pow(10, float64(low)), math.Pow(10, float64(high))
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = decadeTicks(low, high)
}

// spread widens an axis whose ends are the same but for rounding, so that they can be told apart.
func spread(a *plot.Axis) {
	if size := max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min <= 1e-9*size {
		a.Min, a.Max = a.Min-0.1*size, a.Max+0.1*size
	}
}

// decadeTicks labels about six powers of ten.
func decadeTicks(low, high int) plot.ConstantTicks {
	every := (high - low + 5) / 6
	var ticks []plot.Tick
	for e := low; e <= high; e++ {
		tick := plot.Tick{Value: math.Pow(10, float64(e))}
		if (e-low)%every == 0 {
			tick.Label = powerOfTen(e)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// seriesStyle distinguishes curves by colour first, and by dashes once the colours have been used up.
func seriesStyle(i int) draw.LineStyle {
	style := draw.LineStyle{Color: okabeIto[i%len(okabeIto)], Width: 1.4}
	if round := i / len(okabeIto); round > 0 {
		style.Dashes = []vg.Length{vg.Length(2 + 2*round), 2}
	}
	return style
}

func quietGrid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical = draw.LineStyle{Color: faint, Width: hairline}
	g.Horizontal = g.Vertical
	return g
}
