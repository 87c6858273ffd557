package continual

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// coordinates are V = UW, U upper triangular: those in which the optimiser looks for W. Without U they are W itself.
type coordinates struct {
	u *blas64.Triangular
}

func matrixOf(data []float64, columns int) blas64.General {
	return blas64.General{Rows: len(data) / columns, Cols: columns, Stride: columns, Data: data}
}

func (co coordinates) place(w []float64, columns int) []float64 {
	v := slices.Clone(w)
	if co.u != nil {
		blas64.Trmm(blas.Left, blas.NoTrans, 1, *co.u, matrixOf(v, columns))
	}
	return v
}

// weights computes W = U⁻¹V into w, and returns it.
func (co coordinates) weights(w, v []float64, columns int) []float64 {
	copy(w, v)
	if co.u != nil {
		blas64.Trsm(blas.Left, blas.NoTrans, 1, *co.u, matrixOf(w, columns))
	}
	return w
}

// gradient computes the gradient by V, U⁻ᵀ times that by W.
func (co coordinates) gradient(byV, byW []float64, columns int) {
	copy(byV, byW)
	if co.u != nil {
		blas64.Trsm(blas.Left, blas.Trans, 1, *co.u, matrixOf(byV, columns))
	}
}

// curvature returns the coordinates in which the objective of class-il curves about alike in all directions: UᵀU is the
// mean of the diagonal blocks of the Hessian, one a class, at the solution so far,
//
//	Xᵀ diag(h) X + diag(penalty), hᵢ = weightᵢ/C · Σ_c p_ic (1 − p_ic).
//
// Embeddings are strongly correlated, and a few directions hold most of their variance: by W itself the curvature spans
// five orders. The minimum is the same.
func (pr *logistic) curvature(strength float64) (coordinates, error) {
	d, n := pr.design, pr.width
	m := mat.NewSymDense(n, nil)
	pr.eachBlock(d.train, func(first int, x blas64.General) {
		z := matrixOf(make([]float64, x.Rows*pr.columns), pr.columns)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, matrixOf(pr.w, pr.columns), 0, z)
		for i := range x.Rows {
			s := spread(z.Data[i*pr.columns : (i+1)*pr.columns])
			h := d.weight(ClassIL, d.train[first+i].task) * max(leastCurvature, s/float64(pr.columns))
			floats.Scale(math.Sqrt(h), x.Data[i*n:(i+1)*n])
		}
		blas64.Syrk(blas.Trans, 1, x, 1, m.RawSymmetric())
	})
	for k := range n - 1 {
		m.SetSym(k, k, m.At(k, k)+strength)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(m) {
		return coordinates{}, fmt.Errorf("converged probe at strength %g: no Cholesky factor", strength)
	}
	var u mat.TriDense
	cholesky.UTo(&u)
	triangle := u.RawTriangular()
	return coordinates{&triangle}, nil
}

// spread returns Σ p(1 − p) of p = softmax(z), and overwrites z with p.
func spread(z []float64) float64 {
	floats.AddConst(-floats.LogSumExp(z), z)
	sum := 0.0
	for c, v := range z {
		z[c] = math.Exp(v)
		sum += z[c] * (1 - z[c])
	}
	return sum
}
