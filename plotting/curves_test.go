package plotting

import (
	"fmt"
	"image/color"
	"math"
	"testing"

	"github.com/saot-go/saot/saot/continual"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
)

func TestCurvesDrawEverySeries(t *testing.T) {
	falling, rising, constant := []float64{4, 3, 2, 1}, []float64{1, 2, 3, 4}, []float64{2, 2, 2, 2}
	series := []Series{{Name: "falling", Y: falling}, {Name: "rising", Y: rising}, {Y: constant}}
	f, err := Curves(series, CurveOptions{})
	img := picture(t, f, err)
	found := map[color.Color]int{}
	top := map[color.Color]int{} // x of the highest pixel of a color, within the data
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			c := img.At(x, y)
			if _, seen := top[c]; !seen && x < 700 {
				top[c] = x
			}
			found[c]++
		}
	}
	// The first three colors of Okabe and Ito in our order: blue, vermillion, bluish green.
	blue, vermillion, green := hex(0x0072b2), hex(0xd55e00), hex(0x009e73)
	for _, c := range []color.Color{blue, vermillion, green} {
		require.Greater(t, found[c], 200)
	}
	require.Less(t, top[blue], top[vermillion], "the falling curve is highest at the left")
}

func TestCurvesConstantAndSinglePoint(t *testing.T) {
	for _, log := range []bool{false, true} {
		for _, y := range [][]float64{{1}, {5, 5, 5}, {1e-300, 1e300}, {1e300}, {1e16, 1e16 + 2}, {3e-310, 3e-310}} {
			f, err := Curves([]Series{{Name: "s", Y: y}}, CurveOptions{LogY: log})
			picture(t, f, err)
			f, err = Curves([]Series{{Name: "s", X: y, Y: y}}, CurveOptions{LogY: log})
			picture(t, f, err)
		}
	}
}

func TestCurvesManySeriesDiffer(t *testing.T) {
	require.Empty(t, seriesStyle(0).Dashes)
	type look struct{ color, dashes, shape any }
	pairs, gray := map[look]bool{}, map[look]bool{}
	for i := range 42 {
		dashes, shape := fmt.Sprint(seriesStyle(i).Dashes), fmt.Sprintf("%T", marker(i).Shape)
		pairs[look{seriesStyle(i).Color, dashes, nil}] = true
		if i < 24 {
			gray[look{nil, dashes, shape}] = true
		}
		require.Equal(t, seriesStyle(i).Color, marker(i).Color)
	}
	require.Len(t, pairs, 42)
	require.Len(t, gray, 24, "told apart without color")
}

func TestMarkersAreFew(t *testing.T) {
	for n, most := range map[int]int{1: 1, 24: 24, 25: 10, 100: 10, 100000: 10} {
		for i := range 8 {
			c, err := newCurve(i, Series{Y: make([]float64, n)}, CurveOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, c.marked())
			require.LessOrEqual(t, len(c.marked()), most)
		}
	}
	first := map[int]bool{}
	for i := range 7 {
		c, err := newCurve(i, Series{Y: make([]float64, 56)}, CurveOptions{})
		require.NoError(t, err)
		first[c.marked()[0]] = true
	}
	require.Len(t, first, 7, "of each series at another place")
	c, err := newCurve(3, Series{Y: make([]float64, 40)}, CurveOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, c.marked()[0], "five points from marker to marker are fewer than the series")
}

// A point that was raised to the floor has no marker: nothing was measured there.
func TestRaisedPointsHaveNoMarker(t *testing.T) {
	c, err := newCurve(0, Series{Y: []float64{1, 0, 1e-3, 1e-9}}, CurveOptions{LogY: true, Floor: 1e-6})
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, c.marked())
}

func TestLogMarks(t *testing.T) {
	labels := func(length, lo, hi float64) (all []string) {
		for _, tick := range logMarks(length)(math.Log10(lo), math.Log10(hi)) {
			if tick.Label != "" {
				all = append(all, tick.Label)
			}
		}
		return all
	}
	require.Equal(t, []string{"5", "10", "20", "50"}, labels(100, 4, 60))
	require.Equal(t, []string{"25", "30", "35", "40"}, labels(340, 21, 42))
	require.Equal(t, []string{"6", "8", "10", "12", "14"}, labels(340, 5.1, 14.9))
	require.Equal(t, []string{"0.01", "0.1", "1", "10"}, labels(100, 0.009, 11))
	require.Equal(t, []string{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"}, labels(340, 0.009, 11))
	require.Equal(t, []string{
		"$10^{-9}$", "$10^{-6}$", "$10^{-3}$", "$10^{0}$", "$10^{3}$", "$10^{6}$",
	}, labels(340, 1e-9, 1e6))
}

func TestDecadeTicks(t *testing.T) {
	ticks := decadeTicks(-9, 1)
	require.Len(t, ticks, 11)
	require.Equal(t, "$10^{-9}$", ticks[0].Label)
	require.Empty(t, ticks[1].Label)
	require.Equal(t, "$10^{1}$", ticks[10].Label)
}

func TestCurvesErrors(t *testing.T) {
	for want, c := range map[string]struct {
		s Series
		o CurveOptions
	}{
		"series 1 (empty)":        {Series{Name: "empty"}, CurveOptions{}},
		"2 values of X for 1":     {Series{X: []float64{1, 2}, Y: []float64{1}}, CurveOptions{}},
		"point 0 is (1, 1e+301)":  {Series{Y: []float64{1e301}}, CurveOptions{}},
		"point 1 is (2, NaN)":     {Series{Y: []float64{1, math.NaN()}}, CurveOptions{}},
		"point 0 is (+Inf, 1)":    {Series{X: []float64{math.Inf(1)}, Y: []float64{1}}, CurveOptions{}},
		"point 1 is 0, which has": {Series{Y: []float64{1, 0}}, CurveOptions{LogY: true}},
		"point 0 is at 0":         {Series{X: []float64{0}, Y: []float64{1}}, CurveOptions{LogX: true}},
		"1 values of Spread":      {Series{Y: []float64{1, 0}, Spread: []float64{1}}, CurveOptions{}},
		"spread of point 0 is -1": {Series{Y: []float64{1}, Spread: []float64{-1}}, CurveOptions{}},
		"spread of point 0 is Na": {Series{Y: []float64{1}, Spread: []float64{math.NaN()}}, CurveOptions{}},
		"lower end of the spread": {Series{Y: []float64{1}, Spread: []float64{2}}, CurveOptions{LogY: true}},
		"upper end of the spread": {Series{Y: []float64{1e300}, Spread: []float64{1e300}}, CurveOptions{}},
	} {
		_, err := Curves([]Series{c.s}, c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := Curves(nil, CurveOptions{})
	require.ErrorContains(t, err, "no series")

	f, err := Curves([]Series{{Y: []float64{1, 0}}}, CurveOptions{LogY: true, Floor: 1e-12})
	picture(t, f, err)
}

func TestLongLegendIsNotClipped(t *testing.T) {
	series := make([]Series, 40)
	for i := range series {
		series[i] = Series{Name: "a curve of its own", Y: []float64{1, 2}}
	}
	f, err := Curves(series, CurveOptions{Title: "forty"})
	img := picture(t, f, err)
	requireWhiteBorder(t, img)
	short, err := Curves(series[:3], CurveOptions{Title: "forty"})
	require.NoError(t, err)
	require.Greater(t, f.height, short.height+100)
}

// A curve's name stands where the curve ends or leaves the axis.
func TestHeightAtTheEnd(t *testing.T) {
	points := plotter.XYs{{X: 2, Y: 2}, {X: 0, Y: 0}, {X: 10, Y: 90}, {X: 1, Y: 1}}
	for x, want := range map[float64]float64{-1: 0, 0: 0, 1.5: 1.5, 2: 2, 6: 46, 10: 90, 99: 90} {
		require.InDelta(t, want, heightAt(points, x), 1e-12, "at %v", x)
	}
}

// A size at which nothing can be drawn is an error that names the field.
func TestSizes(t *testing.T) {
	for _, size := range []float64{-50, math.NaN(), math.Inf(1)} {
		one, labels := []BarSeries{{Values: []float64{1}}}, []string{"a"}
		points := []Point{{X: 0, Y: 0}, {X: 1, Y: 1}}
		m := []Method{{Name: "a", Matrices: []continual.Matrix{{{1}}}, Seconds: []float64{1}}}
		for field, draw := range map[string]func() (Figure, error){
			"a Width of":  func() (Figure, error) { return Bars(labels, one, BarOptions{Width: size}) },
			"a Height of": func() (Figure, error) { return Bars(labels, one, BarOptions{Height: size}) },
			"a Side of": func() (Figure, error) {
				return Flow([]float64{1, 0, 0, 1}, points, points, FlowOptions{Side: size})
			},
			"trade-off \"\": a Width of": func() (Figure, error) { return TradeOff(m, TradeOffOptions{Width: size}) },
			"histogram \"\": a Height of": func() (Figure, error) {
				return Histograms([]Sample{{Values: []float64{1}}}, HistogramOptions{Height: size})
			},
			"curves \"\": a Width of": func() (Figure, error) {
				return Curves([]Series{{Y: []float64{1}}}, CurveOptions{Width: size})
			},
		} {
			_, err := draw()
			require.ErrorContains(t, err, field)
		}
	}
}

// A value far outside the limits counts in the bin at its end, and limits that hold nothing are refused.
func TestHistogramLimits(t *testing.T) {
	svg := func(far float64) string {
		f, err := Histograms([]Sample{{Values: []float64{0.5, far}}}, HistogramOptions{X: Limits{Low: 0, High: 1}})
		require.NoError(t, err)
		data, err := f.SVG()
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, svg(1e9), svg(1e19))
	require.NotEqual(t, svg(1e9), svg(-1e19))
	_, err := Histograms([]Sample{{Values: []float64{0.5}}}, HistogramOptions{X: Limits{Low: 5, High: 5}})
	require.ErrorContains(t, err, "from 5 to 5")
}
