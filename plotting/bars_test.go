package plotting_test

import (
	"bytes"
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
