package control

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/replay"
)

// principal embeds nodes by PCA of Â²X, fitted again at each task on the task's graph joined with the replay buffer:
// what SAOT sees, without an encoder or a gradient.
//
// The coordinates within the principal subspace are turned at random. Along the principal axes a probe that
// standardizes its input would whiten it, and where a task has no more nodes than the embedding has columns, whitened
// train nodes are all equally far apart: nothing would be left to learn from. Turned, the columns have about equal
// variance already, and distances between nodes stay as PCA leaves them.
type principal struct {
	method.State
	width, features int
	seed            uint64
	buffer          replay.Buffer
	fit             component
}

// component is a fitted PCA: the embedding of a row x is (x − Mean)·Basis.
type component struct {
	Mean     []float64 // [F]
	Basis    []float64 // [F, width] = V·R: orthonormal principal axes V [F, k], and orthonormal rows R [k, width]
	Variance []float64 // [k], of the fitted rows along each axis; k ≤ width, as axes without variance are left out
}

func init() {
	method.Register(loading(define(4, "propagated-pca",
		"the same, on the encoder's width by PCA of the current task and a buffer",
		[]string{"encoder.out", "buffer", "fan_out"}, newPrincipal), func(c *saot.Config) method.Load {
		return method.Load{Width: c.Encoder.Out, Factored: true}
	}))
}

func newPrincipal(b method.Build, c *saot.Config) (continual.Method, error) {
	p := &principal{width: c.Encoder.Out, features: b.Stream.Features, seed: b.Seed,
		buffer: replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}}
	p.State = method.State{Name: "control: propagated-pca", Parts: []any{&p.fit, &p.buffer.Subgraphs}}
	return p, nil
}

// Learn fits the components and keeps a subgraph of the task. Diagnostics of the report: "components", how many there
// are, and "variance", what the fitted rows have along them in total.
func (p *principal) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	if g.Features.Cols != p.features {
		return nil, p.Fault(task, fmt.Errorf("the graph has %d feature columns, the learner was made for %d",
			g.Features.Cols, p.features))
	}
	batched, err := p.buffer.Union(g)
	if err != nil {
		return nil, p.Fault(task, fmt.Errorf("join replay: %w", err))
	}
	a := newCentered(batched)
	rng := seed.Stream(p.seed, "pca", task)
	axes, squares, err := leading(ctx, a, p.width, rng)
	if err != nil {
		return nil, p.Fault(task, err)
	}
	p.fit = component{Mean: a.center, Basis: turned(axes, rotation(p.width, rng)).RawMatrix().Data}
	for _, s := range squares {
		p.fit.Variance = append(p.fit.Variance, s/float64(max(1, batched.NumNodes()-1)))
	}
	p.buffer.Add(g, seed.Stream(p.seed, "replay", task))
	return &continual.TaskReport{Task: task, Nodes: batched.NumNodes(),
		Diagnostics: map[string]float64{"components": float64(len(p.fit.Variance)),
			"variance": floats.Sum(p.fit.Variance)}}, nil
}

// Embed returns (Â²X − 1·meanᵀ)·Basis.
func (p *principal) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.fit.Basis) == 0 {
		return nil, errors.New("control: propagated-pca has learned no task yet")
	}
	a := centered{graph: g, center: p.fit.Mean}
	return embeddingOf(a.times(mat.NewDense(p.features, p.width, p.fit.Basis)), p.width), nil
}

// centered is the matrix A = Â²X − 1·meanᵀ [N, F], never formed: its products cost a pass over the non-zero entries and
// the edges.
type centered struct {
	graph  *graph.Graph
	center []float64 // [F]
}

// newCentered takes the mean of the rows.
func newCentered(g *graph.Graph) centered {
	a := centered{graph: g, center: make([]float64, g.Features.Cols)}
	share := linalg.New(g.NumNodes(), 1)
	for i := range g.NumNodes() {
		share.Set(i, 0, 1/float64(g.NumNodes()))
	}
	a.center = a.transposedTimes(share).RawMatrix().Data
	return a
}

// times returns A·B. Shapes: b [F, d]; returns [N, d].
func (a centered) times(b *mat.Dense) *mat.Dense {
	return shifted(propagate(&a.graph.Adjacency, a.graph.Features.Times(b)), a.center, b)
}

// transposedTimes returns Aᵀ·B. Shapes: b [N, d], overwritten; returns [F, d].
func (a centered) transposedTimes(b *mat.Dense) *mat.Dense {
	sum := columnSums(b)
	return lessSums(a.graph.Features.TransposedTimes(propagateBack(&a.graph.Adjacency, b)), a.center, sum)
}

// shifted returns out − 1·(centerᵀB). Shapes: out [N, d], overwritten; center [F], b [F, d].
func shifted(out *mat.Dense, center []float64, b *mat.Dense) *mat.Dense {
	shift := make([]float64, b.RawMatrix().Cols)
	for c, m := range center {
		floats.AddScaled(shift, -m, b.RawRowView(c))
	}
	for i := range out.RawMatrix().Rows {
		floats.Add(out.RawRowView(i), shift)
	}
	return out
}

// columnSums returns 1ᵀB. Shapes: b [N, d]; returns [d].
func columnSums(b *mat.Dense) []float64 {
	sum := make([]float64, b.RawMatrix().Cols)
	for i := range b.RawMatrix().Rows {
		floats.Add(sum, b.RawRowView(i))
	}
	return sum
}

// lessSums returns out − center·sumᵀ. Shapes: out [F, d], overwritten; center [F], sum [d].
func lessSums(out *mat.Dense, center, sum []float64) *mat.Dense {
	for c, m := range center {
		floats.AddScaled(out.RawRowView(c), -m, sum)
	}
	return out
}

func (a centered) height() int  { return a.graph.NumNodes() }
func (a centered) columns() int { return len(a.center) }
