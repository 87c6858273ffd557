package drift

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func TestDistanceIsTheFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const n, d = 7, 3
	before, after := make([]float64, n*d), make([]float64, n*d)
	for k := range before {
		before[k], after[k] = r.NormFloat64(), r.NormFloat64()
	}
	distances := func(z []float64) *mat.Dense {
		m := mat.NewDense(n, n, nil)
		m.Apply(func(i, j int, _ float64) float64 { return floats.Distance(z[i*d:(i+1)*d], z[j*d:(j+1)*d], 2) }, m)
		return m
	}
	var centering mat.Dense
	centering.Apply(func(i, j int, _ float64) float64 {
		if i == j {
			return 1 - 1.0/n
		}
		return -1.0 / n
	}, mat.NewDense(n, n, nil))
	norm := func(m mat.Matrix) float64 {
		var c mat.Dense
		c.Product(&centering, m, &centering)
		return mat.Norm(&c, 2)
	}
	var change mat.Dense
	change.Sub(distances(after), distances(before))
	got, err := Distance(before, after, n, d)
	require.NoError(t, err)
	require.InDelta(t, norm(&change)/norm(distances(before)), got, 1e-12)
}

func TestDistanceInvariances(t *testing.T) {
	before := []float64{0, 0, 3, 0, 0, 4, 1, 1}
	wider := []float64{0, 0, 0, 3, 0, 0, 0, 4, 0, 1, 1, 0} // a column of zeros more
	scaled := make([]float64, len(before))
	for k, v := range before {
		scaled[k] = 2.5 * v
	}
	got, err := Distance(before, wider, 4, 2)
	require.NoError(t, err)
	require.InDelta(t, 0, got, 1e-12)
	got, err = Distance(before, scaled, 4, 2)
	require.NoError(t, err)
	require.InDelta(t, 1.5, got, 1e-12)
	turned, sin, cos := make([]float64, len(before)), math.Sin(0.5), math.Cos(0.5)
	for k := 0; k < len(before); k += 2 {
		turned[k], turned[k+1] = cos*before[k]-sin*before[k+1], sin*before[k]+cos*before[k+1]
	}
	got, err = Distance(before, turned, 4, 2)
	require.NoError(t, err)
	require.InDelta(t, 0, got, 1e-12)

	for want, c := range map[string][2][]float64{
		"before: 7 entries":      {before[:7], before},
		"after: 7 entries":       {before, before[:7]},
		"after: 0 entries":       {before, nil},
		"row 0, column 0 is NaN": {before, {math.NaN(), 0, 0, 0}},
		"all rows of the first":  {make([]float64, 8), before},
		// These rows differ only by rounding.
		"first embedding are": {[]float64{3, 4, 3 + 2e-7, 4, 3, 4 - 3e-7, 3, 4}, before},
	} {
		_, err := Distance(c[0], c[1], 4, 2)
		require.ErrorContains(t, err, want)
	}
	_, err = Distance(nil, nil, 0, 0)
	require.Error(t, err)
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		before, after []float64
		want          float64
	}{
		{[]float64{1, 0}, []float64{0, 5}, 1},
		{[]float64{1, 3}, []float64{2, 6}, 0},
		{[]float64{0.5, 0.5}, []float64{0.25, 0.75}, 0.25},
	} {
		got, err := Plan(c.before, c.after)
		require.NoError(t, err)
		require.InDelta(t, c.want, got, 1e-12)
	}
	for want, c := range map[string][2][]float64{
		"1 entries before, 2 after": {{1}, {1, 1}},
		"before: 0 entries":         {nil, {1}},
		"after: all entries":        {{1}, {0}},
		"is -1":                     {{-1, 2}, {1, 1}},
		"infinite":                  {{1e308, 1e308}, {1, 1}},
	} {
		_, err := Plan(c[0], c[1])
		require.ErrorContains(t, err, want)
	}
}

func TestEffectiveRank(t *testing.T) {
	// Singular values 3 and 1: p = 3/4, 1/4, so exp(−¾ ln ¾ − ¼ ln ¼) = 4/3^¾.
	got, err := EffectiveRank([]float64{3, 0, 0, 0, 1, 0}, 2, 3)
	require.NoError(t, err)
	require.InDelta(t, 4/math.Pow(3, 0.75), got, 1e-12)
	got, err = EffectiveRank([]float64{0, 3e-50, 1e-50, 0, 0, 0}, 3, 2) // neither scale nor order matter
	require.NoError(t, err)
	require.InDelta(t, 4/math.Pow(3, 0.75), got, 1e-12)
	for want, z := range map[string][]float64{
		"all entries are zero": {0, 0, 0, 0}, "is NaN": {1, math.NaN(), 0, 0}, "3 entries": {1, 2, 3},
	} {
		_, err := EffectiveRank(z, 2, 2)
		require.ErrorContains(t, err, want)
	}
	_, err = EffectiveRank(nil, 0, 0)
	require.Error(t, err)
}

// Three points on a line at 0, 1, 3: D = [0 1 3; 1 0 2; 3 2 0]. Row means 4/3, 1, 5/3, of all 4/3, so JDJ = D − r − c +
// m has −4/3, 0, 4/3; −2/3, 2/3; −2 on and above its diagonal: squares 16/9 + 4/9 + 4, and twice 0 + 16/9 + 4/9.
func TestCenteredNormByHand(t *testing.T) {
	points := []float64{0, 1, 3}
	norm := centeredNorm(3, distances(points, 3, 1))
	require.InDelta(t, math.Sqrt((16+4+36)/9.0+2*(16+4)/9.0), norm, 1e-12)
}
