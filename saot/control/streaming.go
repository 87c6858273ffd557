package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// streaming embeds nodes by PCA of the rows of Â²X, scaled to unit length, of all tasks seen. It stores no node. What
// it keeps of the past is the PCA itself, its axes and their variance, which each task's rows update (incremental PCA:
// Ross, Lim, Lin and Yang 2008). The coordinates are turned at random, as those of principal are.
type streaming struct {
	method.State
	width, features int
	seed            uint64
	seen            scatter
}

// scatter is what is kept of rows h: their number, their mean, and their scatter Σ (h − mean)(h − mean)ᵀ up to its rank
// k, V·diag(s²)·Vᵀ.
type scatter struct {
	Count float64
	Mean  []float64 // [F]
	Axes  []float64 // V [F, k], orthonormal columns
	Roots []float64 // s [k], descending
}

func init() {
	method.Register(define(5, "propagated-streaming",
		"the same by PCA of unit rows of all tasks seen, updated with each task, without a buffer", newStreaming))
}

func newStreaming(b method.Build, c *saot.Config) (continual.Method, error) {
	s := &streaming{width: c.Encoder.Out, features: b.Stream.Features, seed: b.Seed}
	s.State = method.State{Name: "control: propagated-streaming", Parts: []any{&s.seen}}
	return s, nil
}

// Learn adds the task's rows to the scatter. Diagnostics of the report: "components", how many axes there are, and
// "variance", what all rows seen have along them in total.
func (s *streaming) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	if err := s.check(g); err != nil {
		return nil, fmt.Errorf("control: task %d: %w", task+1, err)
	}
	next := s.seen.with(newCentred(g, unitScale(g)))
	axes, squares, err := leading(ctx, next, s.width, seed.Stream(s.seed, "pca", task))
	if err != nil {
		return nil, fmt.Errorf("control: task %d: %w", task+1, err)
	}
	s.seen = next.total(axes, squares)
	return &continual.TaskReport{Task: task, Nodes: g.NumNodes(),
		Diagnostics: map[string]float64{"components": float64(len(squares)),
			"variance": floats.Sum(squares) / math.Max(1, s.seen.Count-1)}}, nil
}

// Embed returns (H − 1·meanᵀ)·V·R for unit rows H and a random rotation R, which is that of all tasks.
func (s *streaming) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.seen.Count == 0 {
		return nil, errors.New("control: propagated-streaming has learned no task yet")
	}
	if err := s.check(g); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	rows := centred{graph: g, scale: unitScale(g), centre: s.seen.Mean}
	return embeddingOf(rows.times(turned(s.seen.axes(), s.width, seed.Stream(s.seed, "turn"))), s.width), nil
}

func (s *streaming) check(g *graph.Graph) error {
	if g.Features.Cols != s.features {
		return fmt.Errorf("the graph has %d feature columns, the learner was made for %d", g.Features.Cols, s.features)
	}
	return nil
}

// unitScale returns what scales each row of Â²X to unit length; 1 for a row of zeros.
func unitScale(g *graph.Graph) []float64 {
	h, scale := encoder.Propagated(g), make([]float64, g.NumNodes())
	for i := range scale {
		square := 0.0
		h.Each(i, func(_ int, v float64) { square += v * v })
		if scale[i] = 1; square > 0 {
			scale[i] = 1 / math.Sqrt(square)
		}
	}
	return scale
}

func (s *scatter) axes() *mat.Dense {
	axes := linalg.New(len(s.Mean), len(s.Roots))
	copy(axes.RawMatrix().Data, s.Axes)
	return axes
}

// table is the rows of a task less their mean.
type table interface {
	operator
	height() int     // N
	mean() []float64 // [F]
}

// enlarged is a matrix with the scatter of N rows seen, of mean μ, and of the n rows of H, of mean m,
//
//	[ diag(s)·Vᵀ ; H − 1·mᵀ ; √(n·N/(n+N))·(m − μ)ᵀ ].
type enlarged struct {
	past scatter
	rows table
	step []float64 // the last row
}

func (s *scatter) with(rows table) enlarged {
	e := enlarged{past: *s, rows: rows, step: make([]float64, rows.columns())}
	if s.Count > 0 {
		n := float64(rows.height())
		floats.SubTo(e.step, rows.mean(), s.Mean)
		floats.Scale(math.Sqrt(n*s.Count/(n+s.Count)), e.step)
	}
	return e
}

// total returns the scatter of all rows, given the leading singular vectors of the matrix and the squares of their
// singular values.
func (e enlarged) total(axes *mat.Dense, squares []float64) scatter {
	n := float64(e.rows.height())
	out := scatter{Count: e.past.Count + n, Mean: slices.Clone(e.rows.mean()), Axes: axes.RawMatrix().Data}
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
