package graph

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
)

// Each visits the entries of row i that are not 0.
func (f *Features) Each(i int, visit func(column int, value float64)) {
	columns, values := f.Row(i)
	for k, v := range values {
		switch {
		case v == 0:
		case columns == nil:
			visit(k, float64(v))
		default:
			visit(int(columns[k]), float64(v))
		}
	}
}

// Matrix returns X [N, F].
func (f *Features) Matrix() *mat.Dense {
	x := linalg.New(f.Rows, f.Cols)
	for i := range f.Rows {
		f.Each(i, func(c int, v float64) { x.RawRowView(i)[c] = v })
	}
	return x
}

// Times returns X·B. Shapes: b [F, d]; returns [N, d]. O(nnz(X)·d) time.
func (f *Features) Times(b *mat.Dense) *mat.Dense {
	out := linalg.New(f.Rows, b.RawMatrix().Cols)
	for i := range f.Rows {
		row := out.RawRowView(i)
		f.Each(i, func(c int, v float64) { floats.AddScaled(row, v, b.RawRowView(c)) })
	}
	return out
}

// TransposedTimes returns Xᵀ·B. Shapes: b [N, d]; returns [F, d]. O(nnz(X)·d) time.
func (f *Features) TransposedTimes(b *mat.Dense) *mat.Dense {
	out := linalg.New(f.Cols, b.RawMatrix().Cols)
	for i := range f.Rows {
		row := b.RawRowView(i)
		f.Each(i, func(c int, v float64) { floats.AddScaled(out.RawRowView(c), v, row) })
	}
	return out
}

// DegreeScale returns the diagonal of D^{−1/2}, where D holds the row sums of A+I.
func (a *Adjacency) DegreeScale() []float64 {
	scale := make([]float64, a.NumNodes())
	for i := range scale {
		scale[i] = 1 / math.Sqrt(float64(len(a.Neighborhood(i))+1))
	}
	return scale
}
