package saot

import (
	"context"
	"errors"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/transport/symbolic"
)

var _ continual.Watched = (*Learner)(nil)

// stepFigures lists the figures of a step for a recording: those of π_Z and of the gradients, and those of π_G.
func stepFigures(out map[string]float64, graph *planFigures) (figures []continual.Term) {
	for _, name := range append(gradientNames(), figureDiagonalMass, figureEntropy) {
		figures = append(figures, continual.Term{Name: name, Value: out[name]})
	}
	return append(figures, continual.Term{Name: "graph_diagonal_mass", Value: graph.diagonalMass},
		continual.Term{Name: "graph_marginal_error", Value: graph.marginalError})
}

// watch makes the plans of SAOT between some nodes of a task, in two views that are drawn once: what changes from look
// to look is the network. Its BatchNorm is that of inference, so that looking moves no running average. It has its own
// shapes and its own stream of random numbers, so training stays as it is.
type watch struct {
	learner *Learner
	graph   *graph.Graph
	batch   *encoder.Batch // of a graph that is taken whole, else nil
	nodes   []int32
	pair    *train.Pair
	views   continual.WatchedViews
}

// Watch prepares for looks at some nodes of a task's graph; see continual.Watched. The teacher is the encoder as it is
// now: from the second task on, if the settings distill. Replayed nodes are not part of the graph.
func (l *Learner) Watch(ctx context.Context, task int, g *graph.Graph, nodes []int32) (continual.Watch, error) {
	w := &watch{learner: l, graph: g, nodes: nodes}
	err := w.draw(task)
	if err == nil {
		err = l.compileWatchedPlan()
	}
	if err == nil && ctx.Err() == nil {
		err = w.solveGraphPlan()
	}
	if err == nil && ctx.Err() == nil && task > 0 && l.config.distills() {
		w.views.Teacher, err = w.solvePlan()
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		w.Close()
		return nil, fmt.Errorf("saot: task %d: watch %d nodes: %w", task+1, len(nodes), err)
	}
	return w, nil
}

// draw draws the views.
func (w *watch) draw(task int) (err error) {
	l, rng := w.learner, seed.Stream(w.learner.seed, "watch", task)
	if l.config.Encoder.Samples(w.graph.NumNodes()) {
		sampler := l.watched.Sampler(w.graph, l.config.Encoder.SampleFanOut)
		w.pair, err = train.SampledPair(sampler, w.nodes, l.config.Encoder, l.config.view(), 1, rng)
	} else if w.batch, err = l.watched.Upload(w.graph); err == nil {
		if w.pair, err = train.WholePair(w.batch, l.config.Encoder, l.config.view(), rng); err == nil {
			w.pair.Align(w.nodes)
		}
	}
	if err != nil {
		return err
	}
	for i := range w.views.Edges {
		w.views.Edges[i] = w.pair.Induced(i, w.nodes)
	}
	return nil
}

// compileWatchedPlan makes the graph of π_Z between the embeddings of two views, by the step's settings.
func (l *Learner) compileWatchedPlan() (err error) {
	if l.watchedPlan != nil {
		return nil
	}
	settings := l.config.sinkhorn()
	settings.Gradient = transport.Detached
	e, store := l.encoder.Engine(), l.encoder.Store()
	l.watchedPlan, err = engine.NewNamed[train.Views[*tensors.Tensor]](e, "watched plan", store,
		func(views train.Views[*Node]) []*Node {
			z := train.Embed(l.encoder, encoder.Scope, views, nil, encoder.Inference)
			plan, marginalError := symbolic.Sinkhorn(symbolic.CosineCost(z[0], z[1]), settings)
			return []*Node{plan, marginalError}
		})
	return err
}

func (w *watch) solveGraphPlan() error {
	graphs, err := w.learner.newGraphPlans(w.graph)
	if err != nil {
		return err
	}
	defer func() { engine.Release(graphs.rows.tensor) }()
	result, _, err := graphs.solve(w.pair, w.nodes)
	if err != nil {
		return err
	}
	plan := &continual.WatchedPlan{MarginalError: result.Report.MarginalError}
	for _, v := range result.Plan.RawMatrix().Data {
		plan.Data = append(plan.Data, float32(v))
	}
	w.views.Graph = plan
	return nil
}

// solvePlan returns π_Z of the encoder as it is now.
func (w *watch) solvePlan() (*continual.WatchedPlan, error) {
	out, err := w.learner.watchedPlan.Call(w.pair.Views)
	if err != nil {
		return nil, err
	}
	defer engine.Release(out)
	p := &continual.WatchedPlan{}
	if p.Data, err = tensors.CopyFlatData[float32](out[0]); err != nil {
		return nil, err
	}
	return p, tensors.ConstFlatData(out[1], func(flat []float32) { p.MarginalError = float64(flat[0]) })
}

// Views returns the views, π_G, and the teacher's plan where there is a teacher.
func (w *watch) Views() *continual.WatchedViews { return &w.views }

// Look returns the embeddings of the nodes, and π_Z between the views.
func (w *watch) Look(ctx context.Context) (*continual.Sight, error) {
	plan, err := w.solvePlan()
	if err != nil {
		return nil, err
	}
	rows, err := w.embed(ctx)
	if err != nil {
		return nil, err
	}
	cols := w.learner.encoder.Config.Out
	some := &continual.Embedding{Rows: len(w.nodes), Cols: cols}
	for _, v := range w.nodes {
		some.Data = append(some.Data, rows[int(v)*cols:(int(v)+1)*cols]...)
	}
	return &continual.Sight{Embedding: some, Plan: plan}, nil
}

// embed returns the embeddings of all nodes of the graph as it is.
func (w *watch) embed(ctx context.Context) ([]float32, error) {
	if w.batch == nil {
		data, _, _, err := w.learner.encoder.Embed(ctx, w.graph)
		return data, err
	}
	z, projected, err := w.learner.encoder.Forward(w.batch)
	if err != nil {
		return nil, err
	}
	defer engine.Release(projected, z)
	return tensors.CopyFlatData[float32](z)
}

// Close releases what the engine holds.
func (w *watch) Close() {
	if w.pair != nil {
		engine.Release(w.pair.Made())
	}
	if w.batch != nil {
		w.batch.Release()
	}
}
