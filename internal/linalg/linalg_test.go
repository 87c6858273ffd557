package linalg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Q has orthonormal columns that span those of m, by its singular vectors, and Qᵀm is upper triangular.
func TestOrthonormal(t *testing.T) {
	m := Gaussian(6, 4, rand.New(rand.NewPCG(1, 2)))
	var svd mat.SVD
	require.True(t, svd.Factorize(m, mat.SVDThin))
	var u, want, got, gram, r mat.Dense
	svd.UTo(&u)
	want.Mul(&u, u.T())
	q := Orthonormal(mat.DenseCopyOf(m))
	got.Mul(q, q.T())
	require.InDeltaSlice(t, want.RawMatrix().Data, got.RawMatrix().Data, 1e-13)
	gram.Mul(q.T(), q)
	r.Mul(q.T(), m)
	for i := range 4 {
		for j := range 4 {
			identity := 0.0
			if i == j {
				identity = 1
			}
			require.InDelta(t, identity, gram.At(i, j), 1e-13)
			if i > j {
				require.InDelta(t, 0, r.At(i, j), 1e-13)
			}
		}
	}
	// The squared diagonal of R multiplies up to det(mᵀm), the product of its eigenvalues.
	gram.Mul(m.T(), m)
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(mat.NewSymDense(4, gram.RawMatrix().Data), false))
	ratio := 1.0
	for i, value := range eigen.Values(nil) {
		ratio *= value / (r.At(i, i) * r.At(i, i))
	}
	require.InDelta(t, 1, ratio, 1e-12)
}

// Matrices can be empty, and the entries of a Gaussian one are standard normal.
func TestNewAndGaussian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][2]int{{0, 3}, {3, 0}, {0, 0}, {2, 3}} {
		for _, m := range []*mat.Dense{New(shape[0], shape[1]), Gaussian(shape[0], shape[1], rng)} {
			rows, cols := m.Dims()
			require.Equal(t, shape, [2]int{rows, cols})
		}
	}
	require.True(t, mat.Equal(mat.NewDense(2, 3, nil), New(2, 3)))
	mean, deviation := stat.MeanStdDev(Gaussian(100, 100, rng).RawMatrix().Data, nil)
	require.InDelta(t, 0, mean, 0.03, "three standard errors")
	require.InDelta(t, 1, deviation, 0.03)
}
