package drift

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Three points on a line at 0, 1, 3: D = [0 1 3; 1 0 2; 3 2 0]. Row means 4/3, 1, 5/3, of all 4/3, so
// JDJ = D − r − c + m has −4/3, 0, 4/3; −2/3, 2/3; −2 on and above its diagonal: squares 16/9 + 4/9 + 4, and twice 0 + 16/9 + 4/9.
func TestDistanceByHand(t *testing.T) {
	norm := math.Sqrt((16+4+36)/9.0 + 2*(16+4)/9.0)
	require.InDelta(t, norm, centredNorm(3, func(i, j int) float64 { return math.Abs([]float64{0, 1, 3}[i] - []float64{0, 1, 3}[j]) }), 1e-12)
	scaled, err := Distance([]float64{0, 1, 3}, []float64{0, 2, 6}, 3, 1)
	require.NoError(t, err)
	require.InDelta(t, 1, scaled, 1e-12)
	// Into another space, mirrored and moved: no distance changes.
	kept, err := Distance([]float64{0, 1, 3}, []float64{5, 7, 5, 6, 5, 4}, 3, 1)
	require.NoError(t, err)
	require.InDelta(t, 0, kept, 1e-12)

	_, err = Distance([]float64{1, 1}, []float64{1, 2}, 2, 1)
	require.ErrorContains(t, err, "all rows of before are the same")
	_, err = Distance([]float64{1, math.NaN()}, []float64{1, 2}, 2, 1)
	require.ErrorContains(t, err, "row 1, column 0 is NaN")
	_, err = Distance([]float64{1, 2}, []float64{1, 2, 3}, 2, 1)
	require.ErrorContains(t, err, "after")
}

func TestPlanByHand(t *testing.T) {
	moved, err := Plan([]float64{0.5, 0, 0, 0.5}, []float64{1, 1, 0, 2}) // the second has mass 4: ¼, ¼, 0, ½
	require.NoError(t, err)
	require.InDelta(t, 0.25, moved, 1e-12)
	disjoint, err := Plan([]float64{1, 0}, []float64{0, 7})
	require.NoError(t, err)
	require.InDelta(t, 1, disjoint, 1e-12)
	for _, bad := range [][]float64{{0, 0}, {-1, 2}, {math.Inf(1), 0}, {1}} {
		_, err = Plan(bad, []float64{1, 0})
		require.Error(t, err)
	}
}

// Equal singular values count in full, one alone counts as one; diag(3, 1) has the shares ¾ and ¼.
func TestEffectiveRankByHand(t *testing.T) {
	for want, z := range map[float64][]float64{
		2: {2, 0, 0, 2}, 1: {1, 2, 2, 4}, math.Exp(-0.75*math.Log(0.75) - 0.25*math.Log(0.25)): {3, 0, 0, 1},
	} {
		got, err := EffectiveRank(z, 2, 2)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-9)
	}
	_, err := EffectiveRank([]float64{0, 0}, 1, 2)
	require.ErrorContains(t, err, "all entries are zero")
}
