package plotting

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/saot-go/saot/saot/continual"
)

// shown returns the texts of a figure, in the order in which they are drawn, each between bars.
func shown(t *testing.T, f Figure, err error) string {
	t.Helper()
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	texts := []string{""}
	for _, text := range regexp.MustCompile(`>([^<]*)</text>`).FindAllStringSubmatch(string(svg), -1) {
		texts = append(texts, text[1])
	}
	return strings.Join(append(texts, ""), "|")
}

// strokesOf returns the lines that a plotter draws on a canvas of 100 by 100, each by its ends.
func strokesOf(plotter plot.Plotter, p *plot.Plot) (lines [][2]vg.Point) {
	var r recorder.Canvas
	plotter.Plot(draw.NewCanvas(&r, 100, 100), p)
	for _, action := range r.Actions {
		if a, ok := action.(*recorder.Stroke); ok {
			lines = append(lines, [2]vg.Point{a.Path[0].Pos, a.Path[len(a.Path)-1].Pos})
		}
	}
	return lines
}

// Of a mass of 5, class 0 sends 1 to itself and 2 to class 1, which sends 1 to each.
func TestBlockMassGoesFromRowsToColumns(t *testing.T) {
	blocks, err := BlockMass([]float64{1, 0, 2, 0, 1, 1}, []int{0, 1}, []int{0, 0, 1}, 2)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.2, 0.4, 0.2, 0.2}, blocks, 1e-12)
}

// Class a sends half of its mass to each class, b all of its own to itself. What ignores classes depends on the columns
// of plans, not on their rows.
func TestBlockBarsAreSharesOfTheSender(t *testing.T) {
	classes, names := []int{0, 1}, []string{"a", "b"}
	f, err := BlockBars([]NamedPlan{{"one", []float64{1, 1, 0, 1}}}, classes, classes, names, BarOptions{})
	require.Contains(t, shown(t, f, err), "|50|50|0|100|")
	f, err = BlockBars([]NamedPlan{{"left", []float64{1, 0, 1, 0}}, {"right", []float64{0, 1, 0, 1}}}, classes, classes,
		names, BarOptions{})
	require.NotContains(t, shown(t, f, err), "classes ignored")
	_, _, _, top := (&barGroups{series: []BarSeries{{Values: []float64{10}}}, groups: 1,
		ignored: []float64{75}}).DataRange()
	require.InDelta(t, 75, top, 0, "the line of what ignores classes is on the axis")
}

// What lies outside the limits of a histogram counts as what lies next to them.
func TestHistogramCountsWhatIsOutside(t *testing.T) {
	drawn := func(values ...float64) string {
		f, err := Histograms([]Sample{{"s", values}}, HistogramOptions{X: Limits{0, 1}})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return string(svg)
	}
	require.Equal(t, drawn(0, 0.1, 0.1, 0.999), drawn(-9, 0.1, 0.1, 9))
}

func TestTasksHaveWholeNumbers(t *testing.T) {
	f, err := OverTasks([]Method{{Matrices: twoSeeds}}, AP, CurveOptions{})
	texts := shown(t, f, err)
	require.Contains(t, texts, "|1|2|3|")
	require.NotContains(t, texts, "|1.5|")
}

// Limits and references are in the unit of the axis, whether it is logarithmic or not.
func TestAxesOfLogarithmsAreInTheirOwnUnit(t *testing.T) {
	series := []Series{{X: []float64{1, 10}, Y: []float64{1, 10}}}
	limits := Limits{1, 1000}
	f, err := Curves(series, CurveOptions{LogX: true, LogY: true, X: limits, Y: limits})
	texts := shown(t, f, err)
	require.Equal(t, 2, strings.Count(texts, "|1000|"), texts)
	require.Equal(t, 2, strings.Count(texts, "|100|"), texts)
	f, err = Curves(series, CurveOptions{LogX: true, References: []Reference{{Name: "best", At: 1000, X: true}}})
	require.Contains(t, shown(t, f, err), "|1000|", "a reference widens its axis")
}

// Names that want one place stand around it, and others where they want.
func TestNamesStandAroundTheirPlace(t *testing.T) {
	require.Equal(t, []vg.Length{-10, 0, 10, 20, 30},
		spreadOut([]vg.Length{10, 10, 10, 10, 10}, []int{0, 1, 2, 3, 4}, 10))
	require.Equal(t, []vg.Length{100, 0}, spreadOut([]vg.Length{100, 0}, []int{1, 0}, 10))
}

// The window of a plane is as wide and as high as the points on it.
func TestWindowOfAPlane(t *testing.T) {
	z := []float64{-100, 0, 100, 0, 0, 1, 0, -1}
	plane, err := NewPlane(2, z)
	require.NoError(t, err)
	f, err := Embedding(z, 4, 2, EmbeddingOptions{Plane: plane})
	require.Contains(t, shown(t, f, err), "|−100|−50|0|50|100|")
}

// A cut is before its row or column: that of 5 of 20 is a quarter from the top, or from the left.
func TestCutsAreBeforeTheirRowsAndColumns(t *testing.T) {
	for _, c := range []struct {
		o    PlanOptions
		want [2]vg.Point
	}{
		{PlanOptions{High: 1, RowCuts: []int{5}}, [2]vg.Point{{X: 0, Y: 75}, {X: 100, Y: 75}}},
		{PlanOptions{High: 1, ColCuts: []int{5}}, [2]vg.Point{{X: 25, Y: 0}, {X: 25, Y: 100}}},
	} {
		h := &heatMap{grid: pool(make([]float64, 400), 20, 20, 1), ramp: mass, options: c.o}
		p := plot.New()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = h.DataRange()
		p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		require.Equal(t, [][2]vg.Point{c.want}, strokesOf(h, p))
	}
}

// The bar has a tip at the end beyond which there are values.
func TestBarTellsOfValuesBeyondIt(t *testing.T) {
	o := PlanOptions{Low: 0, High: 1}
	under, over := Costs.bar(o, -0.1, 0.5), Costs.bar(o, 0.5, 1.1)
	require.Equal(t, []bool{true, false, false, true}, []bool{under.below, under.above, over.below, over.above})
	paths := func(low, high float64) int {
		f, err := Matrix([][]float64{{60}}, MatrixOptions{Low: low, High: high})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return strings.Count(string(svg), "<path")
	}
	require.Equal(t, paths(20, 70)+1, paths(0, 50), "above")
	require.Equal(t, paths(20, 70)+1, paths(70, 120), "below")
}

// A plan with few rows and many columns is pooled as well, and a signed scale has zero in its middle.
func TestPooledByTheLongerSide(t *testing.T) {
	o := PlanOptions{MaxSide: 4, High: 2}
	g, err := o.pooled(make([]float64, 40), 2, 20, Signed)
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, []int{g.rows, g.cols})
	require.InDelta(t, -2, o.Low, 0)
}

// A true pair has a line of its own where no mass goes.
func TestTruePairsAreDrawn(t *testing.T) {
	p := plot.New()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	f := &flow{from: drawn{points: []Point{{0.2, 0.2}}}, to: drawn{points: []Point{{0.8, 0.6}}},
		options: FlowOptions{Truth: []int{0}}}
	require.Equal(t, [][2]vg.Point{{{X: 20, Y: 20}, {X: 80, Y: 60}}}, strokesOf(f, p))
}

func TestSweepsArePlacesOfErrors(t *testing.T) {
	f, err := SinkhornErrors([]SweepTrace{{Epsilon: 1, Sweeps: []int{10, 20, 30}, Errors: []float64{1, 0.1, 0.01}}},
		CurveOptions{})
	require.Contains(t, shown(t, f, err), "|30|")
}

// The mean of several seeds has no deviation where none is wanted.
func TestPanelWithoutDeviation(t *testing.T) {
	m := Method{Matrices: twoSeeds}
	require.Equal(t, Panel{Title: "AP 65.0, AF −20.0",
		Matrix: continual.Matrix{{85}, {70, 80}, {60, 65, 70}}}, m.Panel(false))
	require.Equal(t, "AP 65.0 ± 7.1, AF −20.0 ± 14.1", m.Panel(true).Title)
}

// The name of a reference stands at the left above its line, or at the first place along it where no curve passes.
func TestReferenceNamesKeepClearOfCurves(t *testing.T) {
	const left, right, above, below = 3, 15, true, false
	point := &curve{points: plotter.XYs{{X: 0.1, Y: 0.55}}, marker: marker(0)}
	bar := &curve{points: plotter.XYs{{X: 0.1, Y: 0.9}}, low: []float64{0.3}, high: []float64{1}, bars: true,
		marker: marker(0)}
	higher := &curve{points: plotter.XYs{{X: 0, Y: 0.55}, {X: 1, Y: 0.55}}, marker: marker(0)}
	along := &curve{points: plotter.XYs{{X: 0, Y: 0.5}, {X: 1, Y: 0.5}}, marker: marker(0)}
	for _, test := range []struct {
		others []Reference
		curves []*curve
		x      vg.Length
		above  bool
	}{
		{nil, nil, left, above},
		{nil, []*curve{point}, left, below},
		{nil, []*curve{higher}, left, below},
		{nil, []*curve{along}, left, above},
		{nil, []*curve{bar}, right, above},
		{nil, []*curve{bar, higher}, right, below},
		{nil, []*curve{bar, along}, right, above},
		{[]Reference{{Name: "near", At: 0.52}}, nil, left, below},
	} {
		var r recorder.Canvas
		p := plot.New()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		l := levels{at: append(test.others, Reference{Name: "zero", At: 0.5}), curves: test.curves}
		l.Plot(draw.NewCanvas(&r, 100, 100), p)
		at := r.Actions[len(r.Actions)-1].(*recorder.FillString).Point
		require.Equal(t, test.x, at.X)
		require.Equal(t, test.above, at.Y > 50, "%v", at)
	}
}

// Pale thin lines, which the comparison of pictures cannot see, are drawn.
func TestGridIsDrawn(t *testing.T) {
	curves, err := Curves([]Series{{Y: []float64{1, 2}}}, CurveOptions{})
	require.NoError(t, err)
	z := []float64{-1, 0, 1, 0}
	plane, err := NewPlane(2, z)
	require.NoError(t, err)
	embedding, err := Embedding(z, 2, 2, EmbeddingOptions{Plane: plane})
	require.NoError(t, err)
	for _, f := range []Figure{curves, embedding} {
		svg, err := f.SVG()
		require.NoError(t, err)
		require.Contains(t, string(svg), "stroke:#DDDDDD")
	}
}
