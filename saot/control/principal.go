package control

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

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
// standardises its input would whiten it, and where a task has no more nodes than the embedding has columns, whitened
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
	method.Register(define(4, "propagated-pca",
		"the same, on the encoder's width by PCA of the current task and a buffer", newPrincipal))
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
		return nil, fmt.Errorf("control: task %d has %d feature columns, the learner was made for %d", task+1,
			g.Features.Cols, p.features)
	}
	batched, err := p.buffer.Union(g)
	if err != nil {
		return nil, fmt.Errorf("control: task %d: join replay: %w", task+1, err)
	}
	a := newCentred(batched)
	if p.fit, err = fitComponents(ctx, a, p.width, seed.Stream(p.seed, "pca", task)); err != nil {
		return nil, fmt.Errorf("control: task %d: %w", task+1, err)
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
	a := centred{graph: g, mean: p.fit.Mean}
	return embeddingOf(a.times(mat.NewDense(p.features, p.width, p.fit.Basis)), p.width), nil
}

// centred is the matrix A = Â²X − 1·meanᵀ [N, F], never formed: its products cost a pass over the non-zero entries.
type centred struct {
	graph *graph.Graph
	mean  []float64 // [F], of the columns of Â²X
}

func newCentred(g *graph.Graph) centred {
	n := g.NumNodes()
	ones := linalg.New(n, 1)
	for i := range n {
		ones.RawMatrix().Data[i] = 1 / float64(n)
	}
	mean := g.Features.TransposedTimes(propagateBack(&g.Adjacency, ones)) // Xᵀ(Â²)ᵀ1/N
	return centred{graph: g, mean: mean.RawMatrix().Data}
}

// times returns A·B. Shapes: b [F, d]; returns [N, d].
func (a centred) times(b *mat.Dense) *mat.Dense {
	out := propagate(&a.graph.Adjacency, a.graph.Features.Times(b))
	shift := make([]float64, b.RawMatrix().Cols)
	for c, m := range a.mean {
		floats.AddScaled(shift, -m, b.RawRowView(c))
	}
	for i := range a.graph.NumNodes() {
		floats.Add(out.RawRowView(i), shift)
	}
	return out
}

// transposedTimes returns Aᵀ·B. Shapes: b [N, d], overwritten; returns [F, d].
func (a centred) transposedTimes(b *mat.Dense) *mat.Dense {
	sum := make([]float64, b.RawMatrix().Cols)
	for i := range a.graph.NumNodes() {
		floats.Add(sum, b.RawRowView(i))
	}
	out := a.graph.Features.TransposedTimes(propagateBack(&a.graph.Adjacency, b))
	for c, m := range a.mean {
		floats.AddScaled(out.RawRowView(c), -m, sum)
	}
	return out
}

// fitComponents finds the leading right singular vectors of A by randomised subspace iteration with a final
// Rayleigh-Ritz step (Halko, Martinsson and Tropp 2011, Algorithms 4.4 and 5.1): exact where width + 32 reaches the
// number of features, and otherwise as close as the spectrum's decay over the oversampling allows.
func fitComponents(ctx context.Context, a centred, width int, rng *rand.Rand) (component, error) {
	features := len(a.mean)
	v := linalg.Orthonormal(linalg.Gaussian(features, min(features, width+linalg.Oversampling), rng))
	for range linalg.PowerIterations {
		if err := ctx.Err(); err != nil {
			return component{}, err
		}
		v = linalg.Orthonormal(a.transposedTimes(a.times(v)))
	}
	projected := a.times(v)
	var gram mat.SymDense
	gram.SymOuterK(1, projected.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return component{}, fmt.Errorf("PCA: the eigenvalues of a %d×%d matrix did not converge", gram.SymmetricDim(),
			gram.SymmetricDim())
	}
	return a.turned(v, &eigen, width, rng), nil
}

// turned turns the basis of a subspace to its principal axes, keeps the leading ones, and turns those at random.
func (a centred) turned(v *mat.Dense, eigen *mat.EigenSym, width int, rng *rand.Rand) component {
	values := eigen.Values(nil) // ascending
	last := len(values) - 1
	c := component{Mean: a.mean}
	for k := range min(width, len(values)) {
		if values[last-k] > linalg.NoVariance*values[last] {
			c.Variance = append(c.Variance, values[last-k]/float64(max(1, a.graph.NumNodes()-1)))
		}
	}
	axes := linalg.New(len(values), width) // the leading eigenvectors, and zeros
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for k := range c.Variance {
		axes.SetCol(k, mat.Col(nil, last-k, &vectors))
	}
	var basis mat.Dense
	basis.Product(v, axes, linalg.Orthonormal(linalg.Gaussian(width, width, rng)))
	c.Basis = basis.RawMatrix().Data
	return c
}
