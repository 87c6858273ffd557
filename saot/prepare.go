package saot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/transport/symbolic"
)

type plan = train.Plan[inputs[*tensors.Tensor]]

type drawer func(step int, rng *rand.Rand) (in inputs[*tensors.Tensor], pair *train.Pair, points []int32, err error)

// whole draws from a graph that a step takes whole. It returns the teacher's products with the features too, to be
// released after the last step.
func (l *Learner) whole(b *encoder.Batch) (draw drawer, projected []*tensors.Tensor, err error) {
	if l.config.distills() {
		// At this point the encoder is its own teacher, so the teacher's X·W₁ is the encoder's.
		var z *tensors.Tensor
		if z, projected, err = l.encoder.Forward(b); err != nil {
			return nil, nil, fmt.Errorf("teacher: %w", err)
		}
		_ = z.FinalizeAll()
	}
	draw = func(_ int, rng *rand.Rand) (in inputs[*tensors.Tensor], pair *train.Pair, points []int32, err error) {
		if pair, err = train.WholePair(b, l.config.Encoder, l.config.view(), rng); err != nil {
			return in, nil, nil, err
		}
		in.Projected = projected
		if l.config.Objective == Transport {
			recent, buffered := l.shares(b.Graph.NumNodes())
			if l.config.PointChoice == PatchPoints {
				points = newPatches(&b.Graph.Adjacency, recent.of, rng).next(recent.drawn)
			} else {
				points = samplePoints(recent.of, recent.drawn, rng)
			}
			points, in.Buffered = buffered.add(points, recent.of, rng)
			pair.Align(points)
		}
		return in, pair, points, nil
	}
	return draw, projected, nil
}

// samples draws from a graph that is too large for a step. Each step aligns M nodes, in patches, and sees only a
// sampled neighborhood of them. Its cost does not depend on the size of the graph.
func (l *Learner) samples(batched *graph.Graph, task int) (epochs, steps int, draw drawer) {
	sampler := l.encoder.Graphs.Sampler(batched, l.config.Encoder.SampleFanOut)
	recent, buffered := l.shares(batched.NumNodes())
	perEpoch := recent.of / recent.drawn
	var near *patches
	return l.config.Epochs, l.config.Epochs * perEpoch,
		func(step int, rng *rand.Rand) (in inputs[*tensors.Tensor], pair *train.Pair, points []int32, err error) {
			if step%perEpoch == 0 {
				near = newPatches(&batched.Adjacency, recent.of, seed.Stream(l.seed, "order", task, step/perEpoch))
			}
			points, in.Buffered = buffered.add(near.next(recent.drawn), recent.of, rng)
			pair, err = train.SampledPair(sampler, points, l.config.Encoder, l.config.view(),
				l.encoder.Engine().Devices(), rng)
			return in, pair, points, err
		}
}

// share is how many of some nodes are aligned in a step.
type share struct{ drawn, of int }

// shares divides the M aligned nodes of a batched graph. With DistillBuffered, half come from its first nodes, the
// task's, and half from the rest, the buffer's; if one of them has too few, the other gives more. Otherwise all nodes
// are one share, and the other is empty.
func (l *Learner) shares(nodes int) (recent, buffered share) {
	m := l.config.points(nodes)
	if l.config.DistillBuffered {
		buffered.of = l.buffer.NumNodes()
		buffered.drawn = max(min(m/2, buffered.of), m-(nodes-buffered.of))
	}
	return share{m - buffered.drawn, nodes - buffered.of}, buffered
}

// add draws a share of the nodes from first on, and appends them to points. It returns their rows among these [R, 1]
// too, or nil where there are none.
func (s share) add(points []int32, first int, rng *rand.Rand) (all []int32, rows []*tensors.Tensor) {
	if s.drawn == 0 {
		return points, nil
	}
	at := make([]int32, 0, s.drawn)
	for _, v := range samplePoints(s.of, s.drawn, rng) {
		at = append(at, int32(len(points)))
		points = append(points, int32(first)+v)
	}
	return points, []*tensors.Tensor{tensors.FromFlatDataAndDimensions(at, len(at), 1)}
}

// samplePoints draws m of n nodes without replacement, ascending.
func samplePoints(n, m int, rng *rand.Rand) []int32 {
	points := make([]int32, m)
	for i, v := range rng.Perm(n)[:m] {
		points[i] = int32(v)
	}
	slices.Sort(points)
	return points
}

// prepare makes the inputs of a step: two views, the aligned nodes and, for the transport objective, π_G between them.
func (l *Learner) prepare(draw drawer, graphs *graphPlans, figures *planFigures,
	task, step int, last bool) (in inputs[*tensors.Tensor], made any, err error) {
	in, pair, points, err := draw(step, seed.Stream(l.seed, "augment", task, step))
	if err != nil {
		return in, nil, err
	}
	in.Views = pair.Views
	all := func() any { return []any{pair.Made(), in.GraphPlan, in.Target, in.Beta, in.Buffered} }
	if l.config.Objective == Transport {
		result, k, err := graphs.solve(pair, points)
		if errors.Is(err, transport.ErrNotFinite) {
			err = continual.Divergedf("%w", err)
		}
		if err != nil {
			return in, all(), err
		}
		in.GraphPlan, in.Target = matrixTensor(result.Plan), matrixTensor(result.Target)
		*figures = planFigures{marginalError: result.Report.MarginalError, diagonalMass: mat.Trace(result.Plan)}
		if last {
			if figures.structure, err = graphs.structureFigures(result, k); err != nil {
				return in, all(), err
			}
		}
	}
	if l.config.distills() {
		in.Beta = tensors.FromScalar(float32(l.beta()))
	}
	return in, all(), nil
}

// beta returns β, or 0 while nothing has been learned that could be distilled.
func (l *Learner) beta() float64 {
	if l.tasks == 0 {
		return 0
	}
	return l.config.Beta
}

type planFigures struct {
	marginalError, diagonalMass float64
	structure                   structureFigures // of a task's last step
}

// graphPlans solves the plans π_G of a task (Eq. 7).
type graphPlans struct {
	solver   *transport.FusedGromovSolver
	features *graph.Features // what the feature cost K is made of
	clean    bool            // no columns are masked
	relation Relation
	sigma    float64
	cost     func(in costInputs[*tensors.Tensor]) ([]*tensors.Tensor, error)
	rows     alignedRows
	result   transport.GromovResult // of the last step
}

func (l *Learner) newGraphPlans(g *graph.Graph) (*graphPlans, error) {
	p := &graphPlans{features: &g.Features, cost: l.cost.Call, relation: l.config.Relation,
		sigma: l.config.Sigma}
	if l.config.FeatureCost == PropagatedFeatures && l.config.Objective == Transport {
		p.features, p.clean = encoder.Propagated(g), true
	}
	var err error
	p.solver, err = transport.NewFusedGromovSolver(l.config.gromov())
	return p, err
}

// solve solves Eq. 7 between two views restricted to the aligned nodes, and returns the feature cost K too. The engine
// makes K, the host the plan; no gradient is needed. The result holds until the next call.
func (p *graphPlans) solve(pair *train.Pair, points []int32) (_ *transport.GromovResult, k *mat.Dense, err error) {
	if k, err = p.featureCost(pair.Columns, points); err != nil {
		return nil, nil, fmt.Errorf("feature cost: %w", err)
	}
	problem := transport.GromovProblem{Feature: k, Structure1: p.relation.structureOf(pair, 0, points),
		Structure2: p.relation.structureOf(pair, 1, points)}
	if err := p.solver.Solve(&p.result, problem); err != nil {
		return nil, nil, fmt.Errorf("graph plan: %w", err)
	}
	return &p.result, k, nil
}

// costInputs are the rows of X of the aligned nodes [M, F], and rows [1, F] that are 0 on the columns that a view
// masks.
type costInputs[T any] struct {
	Rows T
	Keep [2]T
}

// featureCost returns K(X₁, X₂)_ij = 1 − cos(x¹_i, x²_j) [M, M] between the rows of the aligned nodes in two views.
func featureCost(in costInputs[*Node]) []*Node {
	return []*Node{symbolic.CosineCost(Mul(in.Rows, in.Keep[0]), Mul(in.Rows, in.Keep[1]))}
}

func (p *graphPlans) featureCost(masked [2][]int32, points []int32) (*mat.Dense, error) {
	f := p.features
	rows, err := p.rows.of(f, points)
	if err != nil {
		return nil, err
	}
	if p.clean {
		masked = [2][]int32{}
	}
	in := costInputs[*tensors.Tensor]{Rows: rows}
	for i := range masked {
		in.Keep[i] = tensors.FromFlatDataAndDimensions(encoder.Unmasked(f.Cols, masked[i]), 1, f.Cols)
	}
	out, err := p.cost(in)
	defer engine.Release(in.Keep, out)
	if err != nil {
		return nil, err
	}
	k := mat.NewDense(len(points), len(points), nil)
	err = tensors.ConstFlatData(out[0], func(flat []float32) {
		for i, v := range flat {
			k.RawMatrix().Data[i] = float64(v)
		}
	})
	return k, err
}

// alignedRows are the rows of X of the aligned nodes on the engine. The steps of a task share the array: most of its
// entries are 0, and only the others are written.
type alignedRows struct {
	tensor *tensors.Tensor // [M, F]; nil before the first step
	points []int32         // whose rows it holds
}

// of returns the rows of some nodes, which hold until the next call.
func (r *alignedRows) of(f *graph.Features, points []int32) (*tensors.Tensor, error) {
	if len(points) != len(r.points) {
		engine.Release(r.tensor)
		*r = alignedRows{tensor: tensors.FromShape(shapes.Make(dtypes.Float32, len(points), f.Cols))}
	}
	err := tensors.MutableFlatData(r.tensor, func(flat []float32) {
		for i, v := range points {
			row := flat[i*f.Cols : (i+1)*f.Cols]
			if len(r.points) > 0 {
				last, _ := f.Row(int(r.points[i])) // nil of dense features, whose rows are written whole
				for _, c := range last {
					row[c] = 0
				}
			}
			columns, values := f.Row(int(v))
			if f.IsDense() {
				copy(row, values)
			}
			for k, c := range columns {
				row[c] = values[k]
			}
		}
	})
	r.points = points
	return r.tensor, err
}

func matrixTensor(m *mat.Dense) *tensors.Tensor {
	rows, cols := m.Dims()
	data := make([]float32, rows*cols)
	for i, v := range m.RawMatrix().Data {
		data[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(data, rows, cols)
}
