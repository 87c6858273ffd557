package plotting_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

func TestBarsThatLeaveTheAxisEndInAnArrow(t *testing.T) {
	drawn := func(y plotting.Limits, decimals int, values ...float64) []byte {
		f, err := plotting.Bars([]string{"a", "b"}, []plotting.BarSeries{{Values: values}},
			plotting.BarOptions{Y: y, Decimals: decimals})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return svg
	}
	whole, cut := plotting.Limits{Low: -30, High: 30}, plotting.Limits{Low: -10, High: 10}
	paths := func(svg []byte) int { return bytes.Count(svg, []byte("<path")) }
	require.NotContains(t, string(drawn(whole, -1, 23, 3)), ">23</text>")
	require.Contains(t, string(drawn(cut, -1, 23, 3)), ">23</text>")
	require.Contains(t, string(drawn(cut, 1, -0.04, 3)), ">0.0</text>", "no −0.0")
	for _, values := range [][]float64{{23, 3}, {-23, 3}} {
		inside := paths(drawn(cut, 1, values[1], values[1])) - paths(drawn(whole, 1, values[1], values[1]))
		require.Equal(t, inside+1, paths(drawn(cut, 1, values...))-paths(drawn(whole, 1, values...)))
	}
}

// strokes counts the paths of a picture.
func strokes(t *testing.T, f plotting.Figure, err error) int {
	t.Helper()
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	return bytes.Count(svg, []byte("<path"))
}

// An end of an error bar that is cut off has no cap, and a point outside has no bar.
func TestErrorBarsAreCutAtTheAxis(t *testing.T) {
	for high, want := range map[float64]int{10: 3, 6: 2, 4: 0} {
		o := plotting.CurveOptions{Bars: true, Y: plotting.Limits{High: high}}
		f, err := plotting.Curves([]plotting.Series{{Y: []float64{5}}}, o)
		without := strokes(t, f, err)
		f, err = plotting.Curves([]plotting.Series{{Y: []float64{5}, Spread: []float64{3}}}, o)
		require.Equal(t, without+want, strokes(t, f, err), "curve up to %g", high)
	}
	for high, want := range map[float64]int{10: 3, 6: 2} {
		o := plotting.BarOptions{Y: plotting.Limits{High: high}, Decimals: -1}
		f, err := plotting.Bars([]string{"a"}, []plotting.BarSeries{{Values: []float64{5}}}, o)
		without := strokes(t, f, err)
		f, err = plotting.Bars([]string{"a"}, []plotting.BarSeries{{Values: []float64{5}, Spread: []float64{3}}}, o)
		require.Equal(t, without+want, strokes(t, f, err), "bar up to %g", high)
	}
	f, err := plotting.Bars([]string{"a"}, []plotting.BarSeries{{Values: []float64{1}, Spread: []float64{2}}},
		plotting.BarOptions{})
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">−1</text>", "an error bar below zero is whole")
}

func TestHistogramErrors(t *testing.T) {
	for want, values := range map[string][]float64{
		`plotting: histogram "h": sample "s" is empty`:      nil,
		`sample "s": row 1, column 0 is NaN: want a finite`: {1, math.NaN()},
	} {
		samples := []plotting.Sample{{Name: "s", Values: values}}
		_, err := plotting.Histograms(samples, plotting.HistogramOptions{Title: "h"})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "nil")
	}
}
