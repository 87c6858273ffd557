package experiment

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/saot-go/saot/saot/continual"
)

// docs/methods.md and docs/results.md name the slopes of Class-IL AP over α and β on UAI, means over three seeds, and
// their p: the share of all 120³ permutations within seeds whose mean slope is as steep at least.
func TestTrendsOfCommittedResults(t *testing.T) {
	groups, err := Collect([]string{"../../results/sensitivity.jsonl.gz"})
	require.NoError(t, err)
	values := []string{"0", "0.25", "0.5", "0.75", "1"}
	for _, c := range []struct {
		varied, held, at string
		slope, p         float64
	}{{"alpha", "beta", "0.5", -1.2, 0.15}, {"beta", "alpha", "1", 1.0, 0.07}} {
		var ap [3][5]float64
		for _, g := range groups {
			if g.Dataset == "uai" && g.Settings[c.held] == c.at {
				for seed, r := range g.Runs {
					score, ok := r.Score(continual.ClassIL, continual.ProbeConverged)
					require.True(t, ok)
					ap[seed][slices.Index(values, g.Settings[c.varied])] = score.AP
				}
			}
		}
		slope := func(seed int, order []int) (sum float64) {
			for k, from := range order {
				sum += (float64(k)/4 - 0.5) / 0.625 * ap[seed][from]
			}
			return sum / 3
		}
		found := 0.0
		for seed := range ap {
			found += slope(seed, []int{0, 1, 2, 3, 4})
		}
		require.InDelta(t, c.slope, found, 0.05, c.varied)

		orders := combin.Permutations(5, 5)
		var slopes [3][]float64
		for seed := range slopes {
			for _, order := range orders {
				slopes[seed] = append(slopes[seed], slope(seed, order))
			}
		}
		steep := 0
		for _, a := range slopes[0] {
			for _, b := range slopes[1] {
				for _, d := range slopes[2] {
					if math.Abs(a+b+d) >= math.Abs(found)-1e-9 {
						steep++
					}
				}
			}
		}
		require.InDelta(t, c.p, float64(steep)/math.Pow(float64(len(orders)), 3), 0.005, c.varied)
	}
}
