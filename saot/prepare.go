package saot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/view"
)

// prepared is what the host makes for one training step: two views, the aligned nodes, and π_G with its cost.
type prepared struct {
	operators         [2]*encoder.Operator
	samples           [2]encoder.Sample[*tensors.Tensor] // of a graph that is not encoded whole
	masked            [2]*tensors.Tensor
	points            *tensors.Tensor
	graphPlan, target *tensors.Tensor

	marginalError, diagonalMass float64 // of π_G
	seconds                     float64
	err                         error
}

// into sets the inputs of a step.
func (p *prepared) into(in *stepInputs[*tensors.Tensor]) {
	for i, operator := range p.operators {
		in.operators[i] = operator.Tensors()
	}
	in.masked, in.points, in.graphPlan, in.target = p.masked, p.points, p.graphPlan, p.target
}

// finalize frees the tensors.
func (p *prepared) finalize() {
	for _, o := range p.operators {
		if o != nil {
			o.Finalize()
		}
	}
	for _, s := range p.samples {
		finalize(encoder.Tensors(s)...)
	}
	finalize(p.masked[0], p.masked[1], p.points, p.graphPlan, p.target)
}

// prepareAll makes the inputs of a task's steps one ahead of their use. The channel closes after the last one, after an
// error, and when ctx ends.
func (t training) prepareAll(ctx context.Context) <-chan *prepared {
	out := make(chan *prepared, 1)
	go func() {
		defer close(out)
		for step := range t.steps {
			p, err := t.prepare(step)
			if err != nil {
				p = &prepared{err: err}
			}
			select {
			case out <- p:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// prepare draws two views and, for the transport objective, M nodes of the batched graph, and solves π_G between them.
func (l *Learner) prepare(solver *transport.FusedGromovSolver, source costSource, b *encoder.Batch, rng *rand.Rand) (*prepared, error) {
	start := time.Now()
	p := &prepared{}
	v1, v2 := view.Pair(b.Graph, l.config.view(), rng)
	for i, v := range []view.View{v1, v2} {
		op, err := l.config.Encoder.NewOperator(&v.Adjacency, b.Size)
		if err != nil {
			return nil, err
		}
		p.operators[i] = op
		if len(v.Masked) > 0 {
			p.masked[i] = tensors.FromFlatDataAndDimensions(v.Masked, len(v.Masked))
		}
	}
	if l.config.Objective == Transport {
		points := samplePoints(b.Graph.NumNodes(), l.config.Points, rng)
		p.points = tensors.FromFlatDataAndDimensions(points, len(points), 1)
		induced := [2]graph.Adjacency{v1.Adjacency.Induced(points), v2.Adjacency.Induced(points)}
		if err := l.graphPlan(p, solver, source, induced, [2][]int32{v1.Masked, v2.Masked}, points); err != nil {
			return nil, err
		}
	}
	p.seconds = time.Since(start).Seconds()
	return p, nil
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

// graphPlan solves Eq. 7 between the two views restricted to the sampled nodes, given the edges among these and the masked
// columns. The engine makes the feature cost K, the host the plan; no gradient is needed.
func (l *Learner) graphPlan(p *prepared, solver *transport.FusedGromovSolver, source costSource, induced [2]graph.Adjacency, masked [2][]int32, points []int32) error {
	if source.clean {
		masked = [2][]int32{}
	}
	k, err := l.featureCost(source.Features, masked[0], masked[1], points)
	if err != nil {
		return fmt.Errorf("feature cost: %w", err)
	}
	var result transport.GromovResult
	if err := solver.Solve(&result, transport.GromovProblem{Feature: k, Structure1: structure(induced[0]), Structure2: structure(induced[1])}); err != nil {
		return fmt.Errorf("graph plan: %w", err)
	}
	p.graphPlan, p.target = matrixTensor(result.Plan), matrixTensor(result.Target)
	p.marginalError, p.diagonalMass = result.Report.MarginalError, mat.Trace(result.Plan)
	return nil
}

// structure is the adjacency as transport takes it: symmetric.
func structure(a graph.Adjacency) transport.Structure { return transport.Sparse(a.Undirected()) }

// costSource is what K is made of: features of a task's batched graph.
type costSource struct {
	*graph.Features
	clean bool // no columns are masked
}

func (c Config) costSource(g *graph.Graph) costSource {
	if c.FeatureCost == PropagatedFeatures && c.Objective == Transport {
		return costSource{encoder.Propagated(g), true}
	}
	return costSource{Features: &g.Features}
}

// featureCost returns K(X₁, X₂)_ij = 1 − cos(x¹_i, x²_j) between the masked rows of the sampled nodes.
func (l *Learner) featureCost(f *graph.Features, masked1, masked2, points []int32) (*mat.Dense, error) {
	rows := make([]float32, len(points)*f.Cols)
	for i, v := range points {
		f.CopyRow(int(v), rows[i*f.Cols:(i+1)*f.Cols])
	}
	inputs := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(rows, len(points), f.Cols), keep(f.Cols, masked1), keep(f.Cols, masked2)}
	out, err := l.cost.Call(inputs...)
	if err != nil {
		return nil, err
	}
	k := mat.NewDense(len(points), len(points), nil)
	err = tensors.ConstFlatData(out[0], func(flat []float32) {
		for i, v := range flat {
			k.RawMatrix().Data[i] = float64(v)
		}
	})
	for _, t := range append(inputs, out...) {
		_ = t.FinalizeAll()
	}
	return k, err
}

// keep returns a row [1, cols] that is 0 on the masked columns and 1 elsewhere.
func keep(cols int, masked []int32) *tensors.Tensor {
	row := make([]float32, cols)
	for i := range row {
		row[i] = 1
	}
	for _, c := range masked {
		row[c] = 0
	}
	return tensors.FromFlatDataAndDimensions(row, 1, cols)
}

func matrixTensor(m *mat.Dense) *tensors.Tensor {
	rows, cols := m.Dims()
	data := make([]float32, rows*cols)
	for i, v := range m.RawMatrix().Data {
		data[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(data, rows, cols)
}
