package record

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Plane places nodes on a plane by their embeddings, frame after frame: each frame by its first two principal
// components, turned to the frame before. The zero value is ready for a first frame, whose components point so that the
// coordinate of largest magnitude is positive in each.
//
// For the centered embeddings X [n, d] of a frame with the eigenvectors U and eigenvalues λ of XXᵀ, and the coordinates
// Y' [n, 2] of the frame before,
//
//	Y = U·√λ·R,   R = argmin ‖U·√λ·R − Y'‖_F over orthogonal R = PQᵀ,   PSQᵀ = (U·√λ)ᵀY'
//
// (orthogonal Procrustes: Schönemann 1966). Distances in a frame are those of its own two components.
type Plane struct{ before []float64 }

// Place returns the coordinates [n, 2] of embeddings z [n, d], and the share of the variance along each of the two
// components before the turn. Embeddings without columns, or all alike, lie in the origin. It returns an error if z
// does not hold n rows, if n is not that of the frame before, or if an eigenvalue does not converge. O(n²d + n³) time.
func (p *Plane) Place(z []float32, n, d int) (points []float32, shares [2]float64, err error) {
	if min(n, d) < 0 || len(z) != n*d {
		return nil, shares, fmt.Errorf("record: there are %d entries of %d embeddings in %d columns", len(z), n, d)
	}
	if p.before != nil && len(p.before) != 2*n {
		return nil, shares, fmt.Errorf("record: there are %d embeddings, and %d in the frame before", n,
			len(p.before)/2)
	}
	y, shares, err := components(z, n, d)
	if err != nil {
		return nil, shares, err
	}
	if p.before == nil {
		outward(y)
	} else if y, err = turned(y, p.before, n); err != nil {
		return nil, shares, err
	}
	p.before = y
	points = make([]float32, len(y))
	for i, v := range y {
		points[i] = float32(v)
	}
	return points, shares, nil
}

// components returns U·√λ of the two largest eigenvalues.
func components(z []float32, n, d int) (y []float64, shares [2]float64, err error) {
	y = make([]float64, 2*n)
	if n == 0 || d == 0 {
		return y, shares, nil
	}
	x := mat.NewDense(n, d, nil)
	for j := range d {
		mean := 0.0
		for i := range n {
			mean += float64(z[i*d+j]) / float64(n)
		}
		for i := range n {
			x.Set(i, j, float64(z[i*d+j])-mean)
		}
	}
	gram := mat.NewSymDense(n, nil)
	gram.SymOuterK(1, x)
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, shares, errors.New("record: the principal components did not converge: the embeddings may not " +
			"be finite")
	}
	values := eigen.Values(nil) // ascending
	var u mat.Dense
	eigen.VectorsTo(&u)
	total := mat.Trace(gram)
	for c := range min(2, n) {
		k := n - 1 - c
		length := math.Sqrt(max(0, values[k]))
		for i := range n {
			y[2*i+c] = length * u.At(i, k)
		}
		if total > 0 {
			shares[c] = max(0, values[k]) / total
		}
	}
	return y, shares, nil
}

// outward makes the largest coordinate of each component positive.
func outward(y []float64) {
	for c := range 2 {
		extreme := 0.0
		for i := c; i < len(y); i += 2 {
			if math.Abs(y[i]) > math.Abs(extreme) {
				extreme = y[i]
			}
		}
		if extreme < 0 {
			for i := c; i < len(y); i += 2 {
				y[i] = -y[i]
			}
		}
	}
}

// turned returns Y·R.
func turned(y, before []float64, n int) ([]float64, error) {
	now, then := mat.NewDense(n, 2, y), mat.NewDense(n, 2, before)
	var cross, u, v, r, out mat.Dense
	cross.Mul(now.T(), then)
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDFull) {
		return nil, errors.New("record: the turn to the frame before did not converge: the embeddings may not be " +
			"finite")
	}
	svd.UTo(&u)
	svd.VTo(&v)
	r.Mul(&u, v.T())
	out.Mul(now, &r)
	return out.RawMatrix().Data, nil
}
