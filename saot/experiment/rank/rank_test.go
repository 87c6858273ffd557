package rank

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected values are SciPy's (1.17.1), from testdata/scipy.py: python testdata/scipy.py

func TestFriedman(t *testing.T) {
	f, err := NewFriedman([][]float64{
		{92.1, 93.4, 90.9, 81.3}, {86.9, 88.0, 84.2, 76.2}, {99.0, 99.0, 98.7, 96.8},
		{74.3, 81.6, 55.2, 38.9}, {96.4, 96.4, 95.1, 95.1}, {91.5, 93.4, 90.9, 83.0},
	})
	require.NoError(t, err)
	require.InDelta(t, 17.315789473684216, f.ChiSquare, 1e-10)
	require.InDelta(t, 0.0006085343275396487, f.P, 1e-12)
	require.InDeltaSlice(t, []float64{11.0 / 6, 7.0 / 6, 18.5 / 6, 23.5 / 6}, f.MeanRanks, 1e-12)

	same, err := NewFriedman([][]float64{{1, 1}, {2, 2}})
	require.NoError(t, err)
	require.Equal(t, 1.0, same.P)
	for want, values := range map[string][][]float64{
		"1 blocks": {{1, 2}}, "block 2 has 1": {{1, 2}, {1}},
		"block 2 has a value that is not finite": {{1, 2}, {1, math.NaN()}},
		"block 1 has a value that is not finite": {{math.Inf(-1), 2}, {1, 2}},
	} {
		_, err := NewFriedman(values)
		require.ErrorContains(t, err, want)
	}
}

func TestNemenyi(t *testing.T) {
	for _, c := range []struct {
		methods  int
		level, q float64
	}{
		{2, 0.05, 1.9599639845400534}, {4, 0.05, 2.569031772546482}, {10, 0.05, 3.163683577053373},
		{14, 0.1, 3.1196933331372936},
	} {
		k := float64(c.methods)
		want := c.q * math.Sqrt(k*(k+1)/(6*7))
		require.InDelta(t, want, CriticalDifference(c.methods, 7, c.level), 1e-6)
	}
	require.InDelta(t, 0.18328657955037886, Nemenyi(1.5, 4, 6), 1e-8)
	require.InDelta(t, 0.05, Nemenyi(CriticalDifference(5, 8, 0.05), 5, 8), 1e-8)
	require.Equal(t, 1.0, Nemenyi(0, 4, 6))
}

func TestWilcoxon(t *testing.T) {
	w, err := NewWilcoxon([]float64{1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3},
		[]float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29})
	require.NoError(t, err)
	require.InDelta(t, 0.0390625, w.P, 1e-12)

	// Ties and a zero: over all 2⁶ signs.
	w, err = NewWilcoxon([]float64{3, 1, 2, 2, 5, 4, 0}, []float64{1, 2, 1, 1, 1, 1, 0})
	require.NoError(t, err)
	require.Equal(t, 6, w.Pairs)
	require.InDelta(t, 0.125, w.P, 1e-12)
	require.InDelta(t, 0.8095238095238095, w.Effect, 1e-12)

	many, zero := make([]float64, 80), make([]float64, 80)
	for i := range many {
		many[i] = 0.1 * float64(i+1)
		if (i+1)%3 == 0 {
			many[i] = -many[i]
		}
	}
	w, err = NewWilcoxon(many, zero)
	require.NoError(t, err)
	require.InDelta(t, 0.0065381715497651515, w.P, 1e-12)

	// Ties of ten: scipy.stats.wilcoxon(x, method="approx", correction=False).
	for i := range many {
		many[i] = math.Copysign(float64(1+i/10), many[i])
	}
	w, err = NewWilcoxon(many, zero)
	require.NoError(t, err)
	require.InDelta(t, 0.0064365628874393545, w.P, 1e-12)

	w, err = NewWilcoxon(zero, zero)
	require.NoError(t, err)
	require.Equal(t, 1.0, w.P)
	_, err = NewWilcoxon(zero, many[:3])
	require.Error(t, err)
}

// By hand, as R's p.adjust(p, "holm"): 0.005·4, 0.01·3, 0.03·2, and 0.04·1 raised to the one before it.
func TestHolm(t *testing.T) {
	require.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	require.Equal(t, []float64{1, 1}, Holm([]float64{0.6, 0.9}))
	require.Empty(t, Holm(nil))
}

func TestNaNHasNoPeer(t *testing.T) {
	require.Equal(t, []float64{3, 1, 4, 2}, Of([]float64{math.NaN(), 1, math.NaN(), 0}))
	for _, a := range []float64{math.NaN(), math.Inf(1)} {
		_, err := NewWilcoxon([]float64{2, a}, []float64{1, 1})
		require.ErrorContains(t, err, "pair 2")
	}
}

func TestRanksShareTies(t *testing.T) {
	require.Equal(t, []float64{3, 1.5, 1.5, 4}, Of([]float64{2, 5, 5, 1}))
	require.Empty(t, Of(nil))
}

// Differences that are equal except for the last bits are ties: p and effect are those of the decimals as written.
func TestRoundingIsNoOrder(t *testing.T) {
	a, b := []float64{60.3, 50.3, 40.3, 70.2, 30.3, 0.3}, []float64{60.2, 50.2, 40.2, 70.3, 30.2, 0.2}
	w, err := NewWilcoxon(a, b)
	require.NoError(t, err)
	require.InDelta(t, 14.0/64, w.P, 1e-12, "one of six alike is negative: 2·(1 + 6) of 2⁶ signs")
	require.InDelta(t, 4.0/6, w.Effect, 1e-12)
	require.Equal(t, []float64{1.5, 1.5, 3}, Of([]float64{0.1 + 0.2, 0.3, 0.2}))
	w, err = NewWilcoxon([]float64{0.1 + 0.2, 1}, []float64{0.3, 2})
	require.NoError(t, err)
	require.Equal(t, 1, w.Pairs)
}

// Up to 60 pairs P is exact: of n differences of one sign it is 2/2^n.
func TestWilcoxonIsExactForManyPairs(t *testing.T) {
	for _, n := range []int{10, 21, 60} {
		a := make([]float64, n)
		for i := range a {
			a[i] = float64(i + 1)
		}
		w, err := NewWilcoxon(a, make([]float64, n))
		require.NoError(t, err)
		require.InEpsilon(t, math.Exp2(float64(1-n)), w.P, 1e-9)
	}
}

// With ties in three of four rows: χ² = 1 of one degree of freedom.
func TestFriedmanOfManyTies(t *testing.T) {
	f, err := NewFriedman([][]float64{{1, 1}, {1, 1}, {1, 1}, {2, 1}})
	require.NoError(t, err)
	require.InDelta(t, 1, f.ChiSquare, 1e-12)
	require.InDelta(t, 0.31731050786291415, f.P, 1e-12)
}
