package plotting

import (
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// The value of a bar leaves neither the axis of values nor the bar's own place.
func TestValuesOfBarsStayOnTheCanvas(t *testing.T) {
	for _, c := range []struct {
		name            string
		value, min, max float64
		low, high       float64 // where the text's foot lies
	}{
		{"above a bar", 3, 0, 10, 30, 34},
		{"below a negative one", -3, -10, 0, 58, 64},
		{"at the end of the axis", -3, -3.1, 10, 23, 27},
		{"with no room below nor above", -3, -3.1, 0, 3, 7},
		{"with no room above nor below", 3, 0, 3.1, 84, 93},
	} {
		var r recorder.Canvas
		p := plot.New()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, 0.5, c.min, c.max
		b := &barGroups{series: []BarSeries{{Values: []float64{c.value}}}, groups: 1}
		b.Plot(draw.NewCanvas(&r, 100, 100), p)
		var at []float64
		for _, action := range r.Actions {
			if text, ok := action.(*recorder.FillString); ok {
				at = append(at, float64(text.Point.Y))
			}
		}
		require.Len(t, at, 1, c.name)
		require.Greater(t, at[0], c.low, c.name)
		require.Less(t, at[0], c.high, c.name)
	}
}

// The value of a cut bar is white on a dark bar, and dark where it is wider than the bar.
func TestValuesOfCutBarsAreLegible(t *testing.T) {
	for width, want := range map[vg.Length]color.Color{100: color.White, 10: ink} {
		var r recorder.Canvas
		p := plot.New()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, 0.5, 0, 10
		b := &barGroups{series: []BarSeries{{Values: []float64{123}}}, groups: 1}
		b.Plot(draw.NewCanvas(&r, width, 100), p)
		var now color.Color
		for _, action := range r.Actions {
			switch a := action.(type) {
			case *recorder.SetColor:
				now = a.Color
			case *recorder.FillString:
				require.Equal(t, want, now, "a bar of %v", width)
			}
		}
	}
}

// A plan that ignores classes sends each class the mass of its columns. Where plans differ in them, no value is common.
func TestIgnoredClassesHaveTheMassOfTheirColumns(t *testing.T) {
	require.InDeltaSlice(t, []float64{75, 25, 75, 25}, ignoring([][]float64{{0.75, 0.25}, {0.7499, 0.2501}}), 1e-9)
	require.Nil(t, ignoring([][]float64{{0.75, 0.25}, {0.7, 0.3}}))
	classes := []int{0, 1}
	f, err := BlockBars([]NamedPlan{{"one", []float64{1, 1, 0, 1}}}, classes, classes, []string{"a", "b"}, BarOptions{})
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">classes ignored</text>")
}

// The arrow of a cut bar points to the end of the axis beyond which the bar goes, and its value stands within.
func TestArrowsPointToTheCut(t *testing.T) {
	for value, end := range map[float64]float64{30: 0, -30: 0, 130: 100} {
		var r recorder.Canvas
		p := plot.New()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, 0.5, 50, 100
		b := &barGroups{series: []BarSeries{{Values: []float64{value}}}, groups: 1}
		b.Plot(draw.NewCanvas(&r, 100, 100), p)
		texts, arrows := 0, 0
		for _, action := range r.Actions {
			switch a := action.(type) {
			case *recorder.FillString:
				texts++
				require.InDelta(t, end, float64(a.Point.Y), 20, "of %v", value)
				require.Greater(t, float64(a.Point.Y), 0.0, "of %v", value)
				require.Less(t, float64(a.Point.Y), 100.0, "of %v", value)
			case *recorder.Stroke:
				if len(a.Path) != 3 {
					continue
				}
				arrows++
				from := func(k int) float64 { return math.Abs(float64(a.Path[k].Pos.Y) - end) }
				require.Less(t, from(1), min(from(0), from(2)), "of %v", value)
			}
		}
		require.Equal(t, []int{1, 1}, []int{texts, arrows}, "of %v", value)
	}
}
