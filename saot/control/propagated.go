package control

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

const hops = 2 // of propagation, as many as SAOT's GCN has layers

func init() {
	method.Register(loading(define(2, "propagated", "features after two hops of propagation, full width", nil,
		newPropagated), asWide))
	method.Register(define(3, "propagated-random", "the same on the encoder's width, randomly projected",
		[]string{"encoder.out"}, newProjected))
}

// newPropagated embeds a node as its row of Â²X, Â = D^{−1/2}(A+I)D^{−1/2} (Simple Graph Convolution, Wu et al. 2019).
// D holds the row sums of A+I: on a directed graph 1 + the edges that point at a node, as in PyTorch Geometric's
// gcn_norm.
func newPropagated(method.Build, *saot.Config) (continual.Method, error) {
	return &fixed{embed: func(g *graph.Graph) *continual.Embedding {
		return rowsOf(encoder.Propagated(g))
	}}, nil
}

// newProjected embeds a node as its row of Â²XP, P [features, width] with orthonormal columns drawn uniformly, up to
// their signs. Where there are fewer features than width, P is square and the embedding is padded with zeros.
func newProjected(b method.Build, c *saot.Config) (continual.Method, error) {
	features, width := b.Stream.Features, c.Encoder.Out
	basis := linalg.Orthonormal(linalg.Gaussian(features, min(features, width), seed.Stream(b.Seed, "projection")))
	return &fixed{embed: func(g *graph.Graph) *continual.Embedding {
		return embeddingOf(propagate(&g.Adjacency, g.Features.Times(basis)), width)
	}}, nil
}

// propagate returns Â²H. Shapes: h [N, d], which it may overwrite; returns [N, d]. O(E·d) time.
func propagate(a *graph.Adjacency, h *mat.Dense) *mat.Dense {
	return propagateAlong(a, a.DegreeScale(), h)
}

// propagateBack returns (Â²)ᵀH, which is Â²H but on directed graphs. Shapes and time: those of propagate.
func propagateBack(a *graph.Adjacency, h *mat.Dense) *mat.Dense {
	back := a.Transposed()
	return propagateAlong(&back, a.DegreeScale(), h) // the degrees stay those of Â
}

// propagateAlong returns (SAS + S²)²H for the diagonal S. Shapes: scale [N], h [N, d], which it may overwrite; returns
// [N, d].
func propagateAlong(a *graph.Adjacency, scale []float64, h *mat.Dense) *mat.Dense {
	d := h.RawMatrix().Cols
	next := linalg.New(len(scale), d)
	for range hops {
		parallel.Rows(len(scale), d*len(a.Neighbors), func(first, end int) {
			for i := first; i < end; i++ {
				row := next.RawRowView(i)
				floats.ScaleTo(row, scale[i]*scale[i], h.RawRowView(i))
				for _, j := range a.Neighborhood(i) {
					floats.AddScaled(row, scale[i]*scale[j], h.RawRowView(int(j)))
				}
			}
		})
		h, next = next, h
	}
	return h
}

// rowsOf returns features as an embedding.
func rowsOf(f *graph.Features) *continual.Embedding {
	e := &continual.Embedding{Rows: f.Rows, Cols: f.Cols, Data: make([]float32, f.Rows*f.Cols)}
	for i := range f.Rows {
		f.CopyRow(i, e.Data[i*f.Cols:(i+1)*f.Cols])
	}
	return e
}

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
