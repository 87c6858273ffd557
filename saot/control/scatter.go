package control

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/parallel"
)

// scatter is what is kept of rows h: their number, their mean, and their scatter Σ (h − mean)(h − mean)ᵀ up to its rank
// k, V·diag(s²)·Vᵀ.
type scatter struct {
	Count float64
	Mean  []float64 // [F]
	Axes  []float64 // V [F, k], orthonormal columns
	Roots []float64 // s [k], descending
}

// axes is a view of V.
func (s *scatter) axes() *mat.Dense {
	if len(s.Roots) == 0 {
		return linalg.New(len(s.Mean), 0)
	}
	return mat.NewDense(len(s.Mean), len(s.Roots), s.Axes)
}

// enlarged is a matrix with the scatter of N rows seen, of mean μ, and of the n rows of H, of mean m,
//
//	[ diag(s)·Vᵀ ; H − 1·mᵀ ; √(n·N/(n+N))·(m − μ)ᵀ ].
type enlarged struct {
	past scatter
	rows explicit
	step []float64 // the last row
}

func (s *scatter) with(rows explicit) enlarged {
	e := enlarged{past: *s, rows: rows, step: make([]float64, rows.columns())}
	if s.Count > 0 {
		n := float64(rows.height())
		floats.SubTo(e.step, rows.center, s.Mean)
		floats.Scale(math.Sqrt(n*s.Count/(n+s.Count)), e.step)
	}
	return e
}

// total returns the scatter of all rows, given the leading singular vectors of the matrix and the squares of their
// singular values.
func (e enlarged) total(axes *mat.Dense, squares []float64) scatter {
	n := float64(e.rows.height())
	out := scatter{Count: e.past.Count + n, Mean: slices.Clone(e.rows.center), Axes: axes.RawMatrix().Data}
	if e.past.Count > 0 {
		floats.Scale(n/out.Count, out.Mean)
		floats.AddScaled(out.Mean, e.past.Count/out.Count, e.past.Mean)
	}
	for _, s := range squares {
		out.Roots = append(out.Roots, math.Sqrt(s))
	}
	return out
}

func (e enlarged) columns() int { return e.rows.columns() }
func (e enlarged) height() int  { return len(e.past.Roots) + e.rows.height() + 1 }

// inner returns the inner products of all rows. O(k²·F + k·nnz(H)) time and what those of the task's rows take.
func (e enlarged) inner() *mat.SymDense {
	k, n := len(e.past.Roots), e.rows.height()
	others := linalg.New(e.columns(), k+1) // all but the task's rows, as columns
	for c := range e.columns() {
		floats.MulTo(others.RawRowView(c)[:k], e.past.Axes[c*k:(c+1)*k], e.past.Roots)
	}
	others.SetCol(k, e.step)
	var own mat.SymDense
	own.SymOuterK(1, others.T())
	across, rows := e.rows.times(others), e.rows.inner()
	place := func(i int) int { // of a column of others
		if i == k {
			return k + n
		}
		return i
	}
	out := mat.NewSymDense(k+n+1, nil)
	for i := range k + 1 {
		for j := range i + 1 {
			out.SetSym(place(i), place(j), own.At(i, j))
		}
		for j := range n {
			out.SetSym(place(i), k+j, across.At(j, i))
		}
	}
	for i := range n {
		for j := range i + 1 {
			out.SetSym(k+i, k+j, rows.At(i, j))
		}
	}
	return out
}

// times costs what the task's rows cost, and a pass over the axes. Shapes: b [F, d]; returns [k+n+1, d].
func (e enlarged) times(b *mat.Dense) *mat.Dense {
	k, n, d := len(e.past.Roots), e.rows.height(), b.RawMatrix().Cols
	out := linalg.New(k+n+1, d)
	if k > 0 {
		top := out.Slice(0, k, 0, d).(*mat.Dense)
		top.Mul(e.past.axes().T(), b)
		scaleRows(top, e.past.Roots)
	}
	out.Slice(k, k+n, 0, d).(*mat.Dense).Copy(e.rows.times(b))
	for c, v := range e.step {
		floats.AddScaled(out.RawRowView(k+n), v, b.RawRowView(c))
	}
	return out
}

// transposedTimes costs as much. Shapes: b [k+n+1, d]; returns [F, d].
func (e enlarged) transposedTimes(b *mat.Dense) *mat.Dense {
	k, n, d := len(e.past.Roots), e.rows.height(), b.RawMatrix().Cols
	out := e.rows.transposedTimes(mat.DenseCopyOf(b.Slice(k, k+n, 0, d)))
	if k > 0 {
		top := mat.DenseCopyOf(b.Slice(0, k, 0, d))
		scaleRows(top, e.past.Roots)
		var past mat.Dense
		past.Mul(e.past.axes(), top)
		out.Add(out, &past)
	}
	for c, v := range e.step {
		floats.AddScaled(out.RawRowView(c), v, b.RawRowView(k+n))
	}
	return out
}

func scaleRows(m *mat.Dense, by []float64) {
	for i, s := range by {
		floats.Scale(s, m.RawRowView(i))
	}
}

// stretched returns the scatter of rows whose columns are scaled by to instead of from. Its axes are no longer
// orthonormal.
func (s *scatter) stretched(to, from []float64) scatter {
	out := scatter{Count: s.Count, Mean: make([]float64, len(s.Mean)), Axes: slices.Clone(s.Axes), Roots: s.Roots}
	k := len(s.Roots)
	for c, m := range s.Mean {
		ratio := to[c] / from[c]
		out.Mean[c] = m * ratio
		floats.Scale(ratio, out.Axes[c*k:(c+1)*k])
	}
	return out
}

// explicit is the matrix H − 1·meanᵀ of rows that are at hand. Its products cost a pass over the entries of H.
type explicit struct {
	features *graph.Features
	center   []float64 // [F]
}

// newExplicit takes the mean of the rows.
func newExplicit(f *graph.Features) explicit {
	e := explicit{features: f, center: make([]float64, f.Cols)}
	for i := range f.Rows {
		f.Each(i, func(c int, v float64) { e.center[c] += v })
	}
	floats.Scale(1/float64(max(1, f.Rows)), e.center)
	return e
}

func (e explicit) columns() int { return e.features.Cols }
func (e explicit) height() int  { return e.features.Rows }

// inner returns the inner products of the rows. O(N·nnz(H)) time.
func (e explicit) inner() *mat.SymDense {
	shift := linalg.New(e.columns(), 1)
	shift.SetCol(0, e.center)
	share, square := e.features.Times(shift), floats.Dot(e.center, e.center)
	n := e.height()
	out := mat.NewSymDense(n, nil)
	parallel.Rows((n+1)/2, n*max(len(e.features.Dense), len(e.features.Values)), func(first, end int) {
		row := make([]float64, e.columns())
		with := func(i int) { // the rows up to i
			e.features.Each(i, func(c int, v float64) { row[c] = v })
			for j := range i + 1 {
				sum := square - share.At(i, 0) - share.At(j, 0)
				e.features.Each(j, func(c int, v float64) { sum += v * row[c] })
				out.SetSym(i, j, sum)
			}
			e.features.Each(i, func(c int, _ float64) { row[c] = 0 })
		}
		for i := first; i < end; i++ { // a short row and a long one together are as long as any other two
			with(i)
			if j := n - 1 - i; j > i {
				with(j)
			}
		}
	})
	return out
}

// times returns the product with b. Shapes: b [F, d]; returns [N, d].
func (e explicit) times(b *mat.Dense) *mat.Dense {
	return shifted(e.features.Times(b), e.center, b)
}

// transposedTimes returns the product of the transpose with b. Shapes: b [N, d]; returns [F, d].
func (e explicit) transposedTimes(b *mat.Dense) *mat.Dense {
	return lessSums(e.features.TransposedTimes(b), e.center, columnSums(b))
}
