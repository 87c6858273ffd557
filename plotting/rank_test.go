package plotting

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The key of the critical difference is whole, however few the methods, and rank 1 is named the best.
func TestCriticalDifferenceShowsItsKey(t *testing.T) {
	for n := 2; n <= 6; n++ {
		for _, difference := range []float64{0.1, 1.5, 7} {
			var methods []Ranking
			for k := range n {
				methods = append(methods, Ranking{strconv.Itoa(k), float64(k + 1)})
			}
			f, err := CriticalDifference(methods, difference, "")
			requireWhiteBorder(t, picture(t, f, err))
			svg, err := f.SVG()
			require.NoError(t, err)
			require.Contains(t, string(svg), ">best</text>")
		}
	}
}
