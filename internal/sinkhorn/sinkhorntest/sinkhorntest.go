// Package sinkhorntest has what the tests of both of Sinkhorn's solvers share: problems, and how plans are compared.
package sinkhorntest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// Cost draws a matrix [n, m] with entries in [0, 2).
func Cost(seed uint64, n, m int) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	return draw(n, m, func() float64 { return 2 * rng.Float64() })
}

// Points draws n points of d standard normal coordinates, [n, d].
func Points(seed uint64, n, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 3))
	return draw(n, d, rng.NormFloat64)
}

func draw(n, m int, entry func() float64) *mat.Dense {
	x := mat.NewDense(n, m, nil)
	x.Apply(func(int, int, float64) float64 { return entry() }, x)
	return x
}

// RequireClose compares entry by entry; tol is absolute.
func RequireClose(t testing.TB, want, got []float64, tol float64, msg ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i], got[i], tol, msg...)
	}
}
