package control

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
)

// operator is a matrix A [N, F] that is known by its products.
type operator interface {
	height() int  // N
	columns() int // F

	times(b *mat.Dense) *mat.Dense           // A·B
	transposedTimes(b *mat.Dense) *mat.Dense // Aᵀ·B, which may overwrite B
}

// leading returns the leading right singular vectors of A [F, k] and the squares of their singular values, k ≤ width:
// axes without variance are left out. It is randomized subspace iteration with a final Rayleigh-Ritz step (Halko,
// Martinsson and Tropp 2011, Algorithms 4.4 and 5.1): as close as the spectrum's decay over the oversampling allows. A
// matrix of few columns, and a wide one of few rows, needs no iteration.
func leading(ctx context.Context, a operator, width int, rng *rand.Rand) (axes *mat.Dense, squares []float64,
	err error) {
	if w, ok := a.(wide); ok && w.height() <= min(exactSide, a.columns()) {
		return leadingOf(w, width)
	}
	v, err := subspace(ctx, a, width+linalg.Oversampling, rng)
	if err != nil {
		return nil, nil, err
	}
	var gram mat.SymDense
	gram.SymOuterK(1, a.times(v).T())
	chosen, squares, err := largest(&gram, width)
	if err != nil {
		return nil, nil, err
	}
	axes = linalg.New(a.columns(), len(squares))
	if len(squares) > 0 {
		axes.Mul(v, chosen)
	}
	return axes, squares, nil
}

// subspace returns an orthonormal basis [F, d] that holds the leading right singular vectors nearly: that of all
// columns where these are few, so that nothing is missing. Else it spans (AᵀA)^p·Ω for Gaussian Ω [F, d] and p power
// iterations, which run on the shorter side of A: orthonormal columns take most of the time.
func subspace(ctx context.Context, a operator, d int, rng *rand.Rand) (*mat.Dense, error) {
	if n := a.columns(); n <= exactSide {
		v := linalg.New(n, n)
		for i := range n {
			v.Set(i, i, 1)
		}
		return v, nil
	}
	v := linalg.Gaussian(a.columns(), min(a.columns(), d), rng)
	if rows := a.height(); rows < a.columns() {
		v = v.Slice(0, a.columns(), 0, min(rows, v.RawMatrix().Cols)).(*mat.Dense)
		u := linalg.Orthonormal(a.times(v))
		for range linalg.PowerIterations - 1 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			u = linalg.Orthonormal(a.times(a.transposedTimes(u)))
		}
		return linalg.Orthonormal(a.transposedTimes(u)), nil
	}
	v = linalg.Orthonormal(v)
	for range linalg.PowerIterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v = linalg.Orthonormal(a.transposedTimes(a.times(v)))
	}
	return v, nil
}

// wide is an operator with few rows, whose inner products are cheap.
type wide interface {
	operator
	inner() *mat.SymDense // A·Aᵀ [N, N]
}

// exactSide is the number of rows or columns up to which all eigenvectors of A·Aᵀ or AᵀA take less time than the
// iteration.
const exactSide = 1000

// leadingOf is leading without iteration: the left singular vectors U are the eigenvectors of A·Aᵀ, and the right ones
// are Aᵀ·U/s. Squaring costs half of the digits, so an axis whose variance is below 1e-12 of the largest is noise, as
// in leading.
func leadingOf(a wide, width int) (axes *mat.Dense, squares []float64, err error) {
	left, squares, err := largest(a.inner(), width)
	if err != nil {
		return nil, nil, err
	}
	if len(squares) == 0 {
		return linalg.New(a.columns(), 0), nil, nil
	}
	for k, s := range squares {
		for i := range left.RawMatrix().Rows {
			left.Set(i, k, left.At(i, k)/math.Sqrt(s))
		}
	}
	return a.transposedTimes(left), squares, nil
}

// largest returns the eigenvectors [n, k] of the k ≤ width largest eigenvalues of a symmetric matrix [n, n] without
// negative ones, and these values, descending: those below linalg.NoVariance of the largest are left out.
func largest(m *mat.SymDense, width int) (vectors *mat.Dense, values []float64, err error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(m, true) {
		return nil, nil, fmt.Errorf("PCA: the eigenvalues of a %d×%d matrix did not converge", m.SymmetricDim(),
			m.SymmetricDim())
	}
	all := eigen.Values(nil) // ascending
	last := len(all) - 1
	for k := range min(width, len(all)) {
		if all[last-k] > linalg.NoVariance*all[last] {
			values = append(values, all[last-k])
		}
	}
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	vectors = linalg.New(len(all), len(values))
	for k := range values {
		vectors.SetCol(k, mat.Col(nil, last-k, &basis))
	}
	return vectors, values, nil
}

// rotation returns a random rotation [width, width].
func rotation(width int, rng *rand.Rand) *mat.Dense {
	return linalg.Orthonormal(linalg.Gaussian(width, width, rng))
}

// turned returns m·T [n, width] for the coordinates m [n, k] along axes, or for the axes m [F, k] themselves: T has the
// first k rows of a rotation.
func turned(m, turn *mat.Dense) *mat.Dense {
	n, k, width := m.RawMatrix().Rows, m.RawMatrix().Cols, turn.RawMatrix().Cols
	out := linalg.New(n, width)
	if n > 0 && k > 0 {
		out.Mul(m, turn.Slice(0, k, 0, width))
	}
	return out
}
