package baseline

import (
	"math"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
)

const hops = 2 // of propagation, as many as the encoder has layers

// newPropagated embeds a node as its row of Â²X, Â = D^{−1/2}(A+I)D^{−1/2} (Simple Graph Convolution, Wu et al. 2019). D holds
// the row sums of A+I: on a directed graph 1 + the edges that point at a node, as in PyTorch Geometric's gcn_norm.
func newPropagated() continual.Learner {
	return fixed{func(g *graph.Graph) *continual.Embedding {
		return embeddingOf(propagate(&g.Adjacency, dense(&g.Features)), 0)
	}}
}

// newProjected embeds a node as its row of Â²XP, P [features, width] with orthonormal columns drawn uniformly. Where
// there are fewer features than width, P is square and the embedding is padded with zeros.
func newProjected(features, width int, seedValue uint64) continual.Learner {
	basis := orthonormal(gaussian(features, min(features, width), seed.Stream(seedValue, "projection")))
	return fixed{func(g *graph.Graph) *continual.Embedding {
		return embeddingOf(propagate(&g.Adjacency, times(&g.Features, basis)), width)
	}}
}

// propagate returns Â²H. Shapes: h [N, d], which it may overwrite; returns [N, d]. O(E·d) time.
func propagate(a *graph.Adjacency, h *mat.Dense) *mat.Dense {
	return propagateAlong(a, degreeScale(a), h)
}

// propagateBack returns (Â²)ᵀH, which is Â²H but on directed graphs. Shapes and time: those of propagate.
func propagateBack(a *graph.Adjacency, h *mat.Dense) *mat.Dense {
	back := a.Transposed()
	return propagateAlong(&back, degreeScale(a), h) // the degrees stay those of Â
}

// degreeScale returns the diagonal of D^{−1/2}.
func degreeScale(a *graph.Adjacency) []float64 {
	scale := make([]float64, a.NumNodes())
	for i := range scale {
		scale[i] = 1 / math.Sqrt(float64(len(a.Neighborhood(i))+1))
	}
	return scale
}

// propagateAlong returns (SAS + S²)²H for the diagonal S. Shapes: scale [N], h [N, d], which it may overwrite; returns [N, d].
func propagateAlong(a *graph.Adjacency, scale []float64, h *mat.Dense) *mat.Dense {
	next := matrix(h.RawMatrix().Rows, h.RawMatrix().Cols)
	for range hops {
		for i := range scale {
			row := next.RawRowView(i)
			floats.ScaleTo(row, scale[i]*scale[i], h.RawRowView(i))
			for _, j := range a.Neighborhood(i) {
				floats.AddScaled(row, scale[i]*scale[j], h.RawRowView(int(j)))
			}
		}
		h, next = next, h
	}
	return h
}

// dense returns X [N, F].
func dense(f *graph.Features) *mat.Dense {
	x := matrix(f.Rows, f.Cols)
	for i := range f.Rows {
		each(f, i, func(c int, v float64) { x.RawRowView(i)[c] = v })
	}
	return x
}

// times returns X·B. Shapes: b [F, d]; returns [N, d]. O(nnz(X)·d) time.
func times(f *graph.Features, b *mat.Dense) *mat.Dense {
	out := matrix(f.Rows, b.RawMatrix().Cols)
	for i := range f.Rows {
		row := out.RawRowView(i)
		each(f, i, func(c int, v float64) { floats.AddScaled(row, v, b.RawRowView(c)) })
	}
	return out
}

// transposedTimes returns Xᵀ·B. Shapes: b [N, d]; returns [F, d]. O(nnz(X)·d) time.
func transposedTimes(f *graph.Features, b *mat.Dense) *mat.Dense {
	out := matrix(f.Cols, b.RawMatrix().Cols)
	for i := range f.Rows {
		row := b.RawRowView(i)
		each(f, i, func(c int, v float64) { floats.AddScaled(out.RawRowView(c), v, row) })
	}
	return out
}

// each visits the entries of row i that are not 0.
func each(f *graph.Features, i int, visit func(column int, value float64)) {
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

// matrix returns a zero matrix; unlike mat.NewDense it can be empty.
func matrix(rows, cols int) *mat.Dense {
	m := &mat.Dense{}
	m.SetRawMatrix(blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)})
	return m
}

// gaussian returns a matrix of independent standard normal entries; unlike linalg's it can be empty.
func gaussian(rows, cols int, rng *rand.Rand) *mat.Dense {
	m := matrix(rows, cols)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return m
}

// orthonormal is linalg.Orthonormal, for matrices that may be empty.
func orthonormal(m *mat.Dense) *mat.Dense { return linalg.Orthonormal(m) }

// embeddingOf returns a matrix as an embedding, padded with columns of zeros to at least the given width.
func embeddingOf(m *mat.Dense, width int) *continual.Embedding {
	raw := m.RawMatrix()
	e := &continual.Embedding{Rows: raw.Rows, Cols: max(raw.Cols, width)}
	e.Data = make([]float32, e.Rows*e.Cols)
	for i := range raw.Rows {
		for c, v := range m.RawRowView(i) {
			e.Data[i*e.Cols+c] = float32(v)
		}
	}
	return e
}
