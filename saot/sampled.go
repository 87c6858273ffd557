package saot

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/view"
)

// patchFanOut is how many neighbours of a node are aligned with it in a sampled step. M nodes drawn at random from a large
// graph have hardly an edge among them, and L⊗π_G would say nothing.
const patchFanOut = 4

// fitSampled runs the epochs of a task whose graph is too large for a step. Each step aligns M nodes, in patches, of which it
// sees a sampled neighbourhood: what it costs does not depend on the size of the graph.
func (l *Learner) fitSampled(ctx context.Context, task int, batched *graph.Graph, report *continual.TaskReport, observe func(continual.Step)) error {
	solver, err := transport.NewFusedGromovSolver(l.config.gromov())
	if err != nil {
		return err
	}
	sampler := encoder.NewSampler(batched, l.config.Encoder.SampleFanOut)
	perEpoch := max(1, batched.NumNodes()/l.config.Points)
	var patches *patches
	beta, source := l.beta(), l.config.costSource(batched)
	return l.descend(ctx, task, report, observe, training{
		steps: l.config.Epochs * perEpoch,
		prepare: func(step int) (*prepared, error) {
			if step%perEpoch == 0 {
				patches = newPatches(&batched.Adjacency, seed.Stream(l.seed, "order", task, step/perEpoch))
			}
			rng := seed.Stream(l.seed, "augment", task, step)
			return l.prepareSample(solver, source, sampler, batched, patches.next(l.config.Points), rng)
		},
		step: func(p *prepared) ([]float64, error) {
			return l.run(l.sampled, l.sampledInputs(p, beta))
		},
	})
}

// patches deals the nodes of a graph out in a random order, each with some of its neighbours.
type patches struct {
	adjacency *graph.Adjacency
	order     []int
	at        int // in the order
	rng       *rand.Rand
}

func newPatches(a *graph.Adjacency, rng *rand.Rand) *patches {
	return &patches{adjacency: a, order: rng.Perm(a.NumNodes()), rng: rng}
}

// next returns m different nodes, of which the graph must have as many. The order is gone through again when it ends.
func (p *patches) next(m int) []int32 {
	points := make([]int32, 0, m)
	taken := make(map[int32]bool, m)
	take := func(v int32) {
		if !taken[v] && len(points) < m {
			taken[v] = true
			points = append(points, v)
		}
	}
	for ; len(points) < m; p.at++ {
		v := int32(p.order[p.at%len(p.order)])
		take(v)
		near := p.adjacency.Neighborhood(int(v))
		for range min(patchFanOut, len(near)) {
			take(near[p.rng.IntN(len(near))])
		}
	}
	return points
}

// prepareSample draws two views of the neighbourhood of some nodes, and, for the transport objective, solves π_G between these.
func (l *Learner) prepareSample(solver *transport.FusedGromovSolver, source costSource, sampler *encoder.Sampler, g *graph.Graph, points []int32, rng *rand.Rand) (*prepared, error) {
	start := time.Now()
	p := &prepared{}
	v1, v2 := view.LazyPair(g.Features.Cols, g.Adjacency.Directed, l.config.view(), rng)
	var induced [2]graph.Adjacency
	for i, v := range []view.Lazy{v1, v2} {
		var err error
		if p.samples[i], err = sampler.Sample(l.config.Encoder, sampler.Draw(points, v.Edges, rng.Uint64())); err != nil {
			return nil, err
		}
		if len(v.Masked) > 0 {
			p.masked[i] = keep(g.Features.Cols, v.Masked)
		}
		induced[i] = v.Edges.Induced(&g.Adjacency, points)
	}
	if l.config.Objective == Transport {
		if err := l.graphPlan(p, solver, source, induced, [2][]int32{v1.Masked, v2.Masked}, points); err != nil {
			return nil, err
		}
	}
	p.seconds = time.Since(start).Seconds()
	return p, nil
}

// sampledInputs lists the tensors of a step on samples in the order in which sampledStep takes them.
func (l *Learner) sampledInputs(p *prepared, beta *tensors.Tensor) []*tensors.Tensor {
	list := slices.Concat(encoder.Tensors(p.samples[0]), encoder.Tensors(p.samples[1]))
	if p.masked[0] != nil {
		list = append(list, p.masked[:]...)
	}
	if l.config.Objective == Transport {
		list = append(list, p.graphPlan, p.target)
	}
	if l.config.distils() {
		list = append(list, beta)
	}
	return list
}

// sampledStep builds one training step (Eq. 13) on the sampled neighbourhoods of the aligned nodes in both views.
func (l *Learner) sampledStep(_ *model.Scope, in []*Node) []*Node {
	c := l.config
	var samples [2]encoder.Sample[*Node]
	for i := range samples {
		samples[i], in = c.Encoder.TakeSample(in)
	}
	if c.view().MaskedColumns(l.encoder.Features) > 0 {
		for i := range samples {
			samples[i].Rows = Mul(samples[i].Rows, in[i])
		}
		in = in[2:]
	}
	encode := func(scopePath string, view int, mode encoder.Mode) *Node {
		return c.Encoder.EncodeSample(l.encoder.Store().Scope(scopePath), samples[view], mode)
	}
	z := [2]*Node{encode(encoder.Scope, 0, encoder.Training), encode(encoder.Scope, 1, encoder.Training)}
	out := newOutputs(z[0].Graph())
	if c.Objective == BarlowTwins {
		out[outTotal] = BarlowTwinsLoss(z[0], z[1], OnesLike(Slice(z[0], AxisRange(), AxisRange(0, 1))))
		return l.update(out)
	}
	a := aligned{z: z, graphPlan: in[0], target: in[1]}
	a.teacher = func(view int) *Node { return encode(encoder.TeacherScope, view, encoder.Inference) }
	if c.distils() {
		a.beta = in[2]
	}
	l.transportLosses(out, a)
	return l.update(out)
}
