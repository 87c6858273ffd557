package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BarSeries is a bar for each label, in one color.
type BarSeries struct {
	Name   string // in the legend of several series; empty leaves it out
	Values []float64
	Spread []float64 // half the length of an error bar, not negative; nil for none
}

// BarOptions change how bars look. The zero value works.
type BarOptions struct {
	Title, XLabel, YLabel string
	Y                     Limits // of the axis of values; zero takes 0 and the values. A bar beyond it ends in an arrow
	References            []Reference
	Decimals              int     // of the value above each bar; negative writes none but that of a bar with an arrow
	Width, Height         float64 // of the data area, in points; 0 means 340, or more for long labels, and 170

	ignored []float64 // for each label, the value of a plan that ignores classes; nil for none
}

// Bars draws one group of bars for each label, a bar for each series, from zero, each with its value: the KL divergence
// of several plans, or the share of mass in each block. It returns an error for no labels or series, lengths that
// differ, a value that is not finite, a spread that is negative, and limits or references that cannot be drawn.
func Bars(labels []string, series []BarSeries, o BarOptions) (Figure, error) {
	if len(labels) == 0 || len(series) == 0 {
		return Figure{}, fmt.Errorf("plotting: bars %q: %d labels and %d series: want one or more of each",
			o.Title, len(labels), len(series))
	}
	if err := checkArea(o.Width, o.Height); err != nil {
		return Figure{}, fmt.Errorf("plotting: bars %q: %w", o.Title, err)
	}
	for _, s := range series {
		if err := s.check(len(labels)); err != nil {
			return Figure{}, fmt.Errorf("plotting: bars %q: series %q: %w", o.Title, s.Name, err)
		}
	}
	c := CurveOptions{Y: o.Y, References: o.References}
	levels, err := c.references()
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: bars %q: %w", o.Title, err)
	}
	p := newPlot(o.Title, o.XLabel, o.YLabel)
	g := quietGrid()
	g.Vertical.Width = 0
	b := &barGroups{series: series, groups: len(labels), decimals: o.Decimals, ignored: o.ignored}
	p.Add(g, b, levels)
	fromZero := p.Y.Min == 0 && p.Y.Max > 0
	pad(&p.Y, 0.06)
	if fromZero {
		p.Y.Min = 0
	}
	if err := c.limit(p); err != nil {
		return Figure{}, fmt.Errorf("plotting: bars %q: %w", o.Title, err)
	}
	ticks := make(plot.ConstantTicks, len(labels))
	for i, label := range labels {
		ticks[i] = plot.Tick{Value: float64(i), Label: label}
	}
	p.X.Tick.Marker, p.X.Tick.Width = ticks, 0
	width := cmp.Or(o.Width, max(340, float64(p.X.Tick.Label.Width(strings.Join(labels, "  ")))))
	f := plotFigure(p, vg.Length(width), vg.Length(cmp.Or(o.Height, 170)))
	return b.withNames(f), nil
}

// withNames adds a legend where there is more than one thing to name.
func (b *barGroups) withNames(f Figure) Figure {
	if len(b.series) == 1 && b.ignored == nil {
		return f
	}
	legend := newLegend(12)
	for i, s := range b.series {
		if s.Name != "" {
			legend.Add(s.Name, barThumbnail(i))
		}
	}
	if b.ignored != nil {
		legend.Add("classes ignored", lineThumbnail(ignoredLine))
	}
	return withLegend(f, legend)
}

func (s BarSeries) check(n int) error {
	if len(s.Values) != n || s.Spread != nil && len(s.Spread) != n {
		return fmt.Errorf("%d values and %d spreads for %d labels: want equal counts, or no spreads",
			len(s.Values), len(s.Spread), n)
	}
	for i, v := range s.Values {
		if err := checkPoint(i, 0, v); err != nil {
			return err
		}
		if s.Spread != nil && !(s.Spread[i] >= 0 && s.Spread[i] <= largest) {
			return fmt.Errorf("spread %d is %g: want 0 or more, finite", i, s.Spread[i])
		}
	}
	return nil
}

// barGroups plots groups of bars at 0, 1, …
type barGroups struct {
	series   []BarSeries
	groups   int
	decimals int
	ignored  []float64
}

func (b *barGroups) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, s := range b.series {
		for i, v := range s.Values {
			var half float64
			if s.Spread != nil {
				half = s.Spread[i]
			}
			ymin, ymax = min(ymin, v-half), max(ymax, v+half)
		}
	}
	for _, v := range b.ignored {
		ymax = max(ymax, v)
	}
	return -0.5, float64(b.groups) - 0.5, ymin, ymax
}

func (b *barGroups) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	width := 0.8 / float64(len(b.series))
	zero := min(max(y(0), c.Min.Y), c.Max.Y)
	for k, s := range b.series {
		for i, v := range s.Values {
			left := x(float64(i) - 0.4 + width*float64(k))
			right := x(float64(i) - 0.4 + width*float64(k+1))
			end := min(max(y(v), c.Min.Y), c.Max.Y)
			bar := rect(left+0.5, min(zero, end), right-left-1, max(zero, end)-min(zero, end))
			c.SetColor(faded(okabeIto[k%len(okabeIto)], 0xd8))
			c.Fill(bar.Path())
			middle := (left + right) / 2
			text := barText{zero: zero, low: end, high: end, fill: okabeIto[k%len(okabeIto)]}
			switch {
			case b.cut(plt, v):
				b.arrow(c, bar, v, v > plt.Y.Max, text.fill)
				continue
			case s.Spread != nil && s.Spread[i] > 0:
				low, high := y(v-s.Spread[i]), y(v+s.Spread[i])
				errorBar(c, ink, vg.Point{X: middle, Y: low}, vg.Point{X: middle, Y: high})
				text.low, text.high = max(low, c.Min.Y), min(high, c.Max.Y)
			}
			if b.decimals >= 0 {
				text.write(c, b.text(v), v < 0, middle, right-left)
			}
		}
	}
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: hairline}, c.Min.X, zero, c.Max.X, zero)
	for i, v := range b.ignored {
		left, right := vg.Point{X: x(float64(i) - 0.47), Y: y(v)}, vg.Point{X: x(float64(i) + 0.47), Y: y(v)}
		segment(c, ignoredLine, left, right)
	}
}

// ignoredLine marks, over a group of bars, what a plan that ignores classes has.
var ignoredLine = draw.LineStyle{Color: ink, Width: 0.9, Dashes: []vg.Length{3, 2}}

// cut reports whether a bar leaves the axis.
func (b *barGroups) cut(plt *plot.Plot, v float64) bool { return v > plt.Y.Max || v < plt.Y.Min }

// arrow draws, within a bar that leaves the axis, an arrow up or down and the value of the bar.
func (b *barGroups) arrow(c draw.Canvas, bar vg.Rectangle, v float64, up bool, fill color.RGBA) {
	away, end := vg.Length(-1), vg.Point{X: (bar.Min.X + bar.Max.X) / 2, Y: bar.Min.Y}
	if up {
		away, end.Y = 1, bar.Max.Y
	}
	style := textStyle(noteSize, contrast(fill))
	if style.Width(b.text(v)) > bar.Size().X || bar.Size().Y < 18 { // partly on white
		style.Color = ink
	}
	var p vg.Path
	p.Move(vg.Point{X: end.X - 3.5, Y: end.Y - 6*away})
	p.Line(vg.Point{X: end.X, Y: end.Y - 1.5*away})
	p.Line(vg.Point{X: end.X + 3.5, Y: end.Y - 6*away})
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.2})
	c.Stroke(p)
	style.YAlign = draw.YCenter
	c.FillText(style, vg.Point{X: end.X, Y: end.Y - 12*away}, b.text(v))
}

// barText is where the value of a bar may stand.
type barText struct {
	zero, low, high vg.Length // of the axis, and the ends of the error bar or, without one, the bar's own end
	fill            color.RGBA
}

// write writes a value above its bar, or below that of a negative value, if it is about as narrow as the bar. Where
// that leaves the canvas, it stands on the other side of zero, or else within the bar.
func (t barText) write(c draw.Canvas, text string, negative bool, middle, width vg.Length) {
	style := textStyle(noteSize, ink)
	style.YAlign = draw.YBottom
	if style.Width(text) > width*1.25 {
		return
	}
	h := style.Height(text)
	above, below := max(t.zero, t.high)+1, min(t.zero, t.low)-1-h
	places := []vg.Length{above, below, t.low - 1 - h}
	if negative {
		places = []vg.Length{below, above, t.high + 1}
	}
	fit := slices.IndexFunc(places, func(y vg.Length) bool { return y >= c.Min.Y-1 && y+h <= c.Max.Y+1 })
	if fit == 2 {
		style.Color = contrast(t.fill)
	}
	c.FillText(style, vg.Point{X: middle, Y: places[max(fit, 0)]}, text)
}

func (b *barGroups) text(v float64) string { return decimal(v, max(b.decimals, 0)) }

type barThumbnail int

func (t barThumbnail) Thumbnail(c *draw.Canvas) {
	c.SetColor(faded(okabeIto[int(t)%len(okabeIto)], 0xd8))
	middle := c.Center()
	c.Fill(rect(middle.X-4, middle.Y-4, 8, 8).Path())
}

// BlockMass adds up a plan over blocks: entry [a, b] is the share of the mass that rows of class a send to columns of
// class b, all entries together 1.
//
// plan: [len(rows), len(cols)], row major; rows, cols: the class of each row and column, 0 … classes−1; returns
// [classes, classes]. It returns an error for a plan that is not valid (see Plan) and a class that is out of range.
func BlockMass(plan []float64, rows, cols []int, classes int) ([]float64, error) {
	if err := checkPlan(plan, len(rows), len(cols)); err != nil {
		return nil, fmt.Errorf("plotting: blocks: %w", err)
	}
	for side, of := range [][]int{rows, cols} {
		for i, class := range of {
			if class < 0 || class >= classes {
				return nil, fmt.Errorf("plotting: blocks: %s %d has class %d: want 0 to %d",
					[]string{"row", "column"}[side], i, class, classes-1)
			}
		}
	}
	blocks := make([]float64, classes*classes)
	var total float64
	for k, v := range plan {
		blocks[rows[k/len(cols)]*classes+cols[k%len(cols)]] += v
		total += v
	}
	for k := range blocks {
		blocks[k] /= total
	}
	return blocks, nil
}

// NamedPlan is a transport plan and what to call it, such as "before training".
type NamedPlan struct {
	Name string
	Plan []float64
}

// BlockBars draws how much of its mass each class sends to each class, as bars side by side for several plans: "1 → 2"
// is the share of the mass of rows of class 1 that ends at columns of class 2, in percent. A dashed line over each
// group marks what a plan that ignores classes sends there: the share of those columns in all mass. Plans whose
// columns differ in that by more than 1 % have no such line.
//
// plans: each [len(rows), len(cols)], row major; names: one for each class, in order. It returns an error for no plans,
// those of BlockMass, and a class without mass; so a name without rows is one.
func BlockBars(plans []NamedPlan, rows, cols []int, names []string, o BarOptions) (Figure, error) {
	if len(plans) == 0 || len(names) == 0 {
		return Figure{}, errors.New("plotting: block bars: no plans, or no names of classes")
	}
	n := len(names)
	var labels []string
	for _, from := range names {
		for _, to := range names {
			labels = append(labels, from+" → "+to)
		}
	}
	series, columns := make([]BarSeries, len(plans)), make([][]float64, len(plans))
	for k, p := range plans {
		blocks, err := BlockMass(p.Plan, rows, cols, n)
		if err != nil {
			return Figure{}, fmt.Errorf("%w (%s)", err, p.Name)
		}
		series[k] = BarSeries{Name: p.Name, Values: make([]float64, n*n)}
		var rows []float64
		rows, columns[k] = marginals(blocks, n, n)
		for a, of := range rows {
			if of == 0 {
				return Figure{}, fmt.Errorf("plotting: block bars: class %s has no mass in plan %q", names[a], p.Name)
			}
			for b := range n {
				series[k].Values[a*n+b] = 100 * blocks[a*n+b] / of
			}
		}
	}
	o.YLabel = cmp.Or(o.YLabel, "share of the class's mass (%)")
	o.ignored = ignoring(columns)
	return Bars(labels, series, o)
}

// ignoring returns, for each pair of classes, the percentage that a plan that ignores classes sends: the mass of the
// second class's columns. It returns nil where the plans do not agree on them.
func ignoring(columns [][]float64) (values []float64) {
	first := columns[0]
	for _, other := range columns[1:] {
		for b, v := range other {
			if math.Abs(v-first[b]) > 0.01*first[b] {
				return nil
			}
		}
	}
	for range first {
		for _, v := range first {
			values = append(values, 100*v)
		}
	}
	return values
}

// Sample is a set of numbers, such as the cosines of pairs of one kind.
type Sample struct {
	Name   string
	Values []float64
}

// HistogramOptions change how histograms look. The zero value works.
type HistogramOptions struct {
	Title, XLabel string
	X             Limits  // of the values; zero takes their least and greatest. What is outside counts in the last bins
	Y             Limits  // of the shares, the same for all frames of a film; zero takes them from the samples
	Width, Height float64 // of the data area, in points; 0 means 340 and 170
}

// histogramBins is in how many bins a histogram counts.
const histogramBins = 40

// Histograms draws the distribution of several samples as outlines over the same bins: the share of each sample in each
// bin, in percent. It returns an error for no samples, an empty one, limits that are none, and a value that is not
// finite.
func Histograms(samples []Sample, o HistogramOptions) (Figure, error) {
	if err := checkArea(o.Width, o.Height); err != nil {
		return Figure{}, fmt.Errorf("plotting: histogram %q: %w", o.Title, err)
	}
	low, high := o.X.Low, o.X.High
	if o.X == (Limits{}) {
		low, high = math.Inf(1), math.Inf(-1)
	}
	for _, s := range samples {
		if len(s.Values) == 0 {
			return Figure{}, fmt.Errorf("plotting: histogram %q: sample %q is empty", o.Title, s.Name)
		}
		if err := checkEntries(s.Values, 1, largest); err != nil {
			return Figure{}, fmt.Errorf("plotting: histogram %q: sample %q: %w", o.Title, s.Name, err)
		}
		for _, v := range s.Values {
			if o.X == (Limits{}) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low == high && o.X == (Limits{}) {
		low, high = low-0.5, high+0.5
	}
	if len(samples) == 0 || !(low < high) {
		return Figure{}, fmt.Errorf("plotting: histogram %q: %d samples from %g to %g: want one or more",
			o.Title, len(samples), low, high)
	}
	series := make([]Series, len(samples))
	for k, s := range samples {
		counts := make([]float64, histogramBins)
		for _, v := range s.Values {
			at := (v - low) / (high - low) * histogramBins
			counts[int(min(max(at, 0), histogramBins-1))] += 100 / float64(len(s.Values))
		}
		series[k].Name = s.Name
		for i, share := range counts {
			series[k].X = append(series[k].X, low+(high-low)*float64(i)/histogramBins,
				low+(high-low)*float64(i+1)/histogramBins)
			series[k].Y = append(series[k].Y, share, share)
		}
	}
	return Curves(series, CurveOptions{
		Title: o.Title, XLabel: o.XLabel, YLabel: "share of the sample (%)", Y: o.Y,
		Width: o.Width, Height: cmp.Or(o.Height, 170), plain: true,
	})
}
