// Package linalg is what gonum/mat does not offer in the form that is needed here.
package linalg

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Constants of randomized subspace iteration (Halko, Martinsson and Tropp 2011, Algorithms 4.4 and 5.1).
const (
	Oversampling    = 32    // directions kept beyond the width during the iteration
	PowerIterations = 6     // subspace iterations
	NoVariance      = 1e-12 // share of the largest variance below which a direction counts as having none
)

// New returns a zero matrix. Unlike that of mat.NewDense it can be empty.
func New(rows, cols int) *mat.Dense {
	m := &mat.Dense{}
	m.SetRawMatrix(blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)})
	return m
}

// Gaussian returns a matrix of independent standard normal entries. It can be empty.
func Gaussian(rows, cols int, rng *rand.Rand) *mat.Dense {
	m := New(rows, cols)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return m
}

// Orthonormal returns the thin Q of the decomposition m = QR, which mat.QR gives only as a square matrix. Shapes: m [n,
// d] with n ≥ d ≥ 1, overwritten; returns [n, d].
func Orthonormal(m *mat.Dense) *mat.Dense {
	raw := m.RawMatrix()
	tau := make([]float64, raw.Cols)
	query := make([]float64, 1)
	lapack64.Geqrf(raw, tau, query, -1)
	work := make([]float64, max(int(query[0]), 1))
	lapack64.Geqrf(raw, tau, work, len(work))
	lapack64.Orgqr(raw, tau, query, -1)
	work = make([]float64, max(int(query[0]), 1))
	lapack64.Orgqr(raw, tau, work, len(work))
	return m
}
