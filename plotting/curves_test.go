package plotting

import (
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCurvesDrawEverySeries(t *testing.T) {
	falling, rising, constant := []float64{4, 3, 2, 1}, []float64{1, 2, 3, 4}, []float64{2, 2, 2, 2}
	f, err := Curves([]Series{{Name: "falling", Y: falling}, {Name: "rising", Y: rising}, {Y: constant}}, CurveOptions{})
	img := picture(t, f, err)
	found := map[color.Color]int{}
	top := map[color.Color]int{} // x of the highest pixel of a colour, within the data
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			c := img.At(x, y)
			if _, seen := top[c]; !seen && x < 700 {
				top[c] = x
			}
			found[c]++
		}
	}
	// The first three colours of Okabe and Ito in our order: blue, vermillion, bluish green.
	blue, vermillion, green := color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff}
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
	require.Equal(t, seriesStyle(0).Color, seriesStyle(7).Color)
	require.NotEqual(t, seriesStyle(7).Dashes, seriesStyle(14).Dashes)
}

func TestDecadeTicks(t *testing.T) {
	ticks := decadeTicks(-9, 1)
	require.Len(t, ticks, 11)
	require.Equal(t, "1e-9", ticks[0].Label)
	require.Empty(t, ticks[1].Label)
	require.Equal(t, "1e1", ticks[10].Label)
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
	} {
		_, err := Curves([]Series{c.s}, c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := Curves(nil, CurveOptions{})
	require.ErrorContains(t, err, "no series")

	f, err := Curves([]Series{{Y: []float64{1, 0}}}, CurveOptions{LogY: true, Floor: 1e-12})
	picture(t, f, err)
}
