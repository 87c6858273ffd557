package saot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/replay"
	"github.com/saot-go/saot/saot/train"
)

// Learner is the method: an encoder trained task by task to align transport plans, with a teacher and a replay buffer.
// It implements continual.Learner. It is not safe for concurrent use.
type Learner struct {
	method.State // what later tasks depend on
	config       Config
	seed         uint64
	encoder      *encoder.Encoder
	buffer       replay.Buffer
	moments      train.Moments // Adam's, where they are carried from task to task
	tasks        int           // tasks learned so far

	trainer *train.Trainer[inputs[*tensors.Tensor]]
	cost    *engine.Named[costInputs[*tensors.Tensor]] // K(X₁, X₂) of the aligned nodes

	watched     *encoder.Graphs                             // in shapes for Watch
	watchedPlan *engine.Named[train.Views[*tensors.Tensor]] // π_Z of Watch, once it is wanted
}

var _ continual.Learner = (*Learner)(nil)

// New returns a learner for graphs with a number of feature columns, 1 or more, whose weights are drawn from seedValue.
// tasks are the sizes of the graphs to come, as SizesOf returns them, from which it chooses few padded shapes. If they
// are nil, it chooses shapes as graphs arrive. It returns an error that names every setting out of range, an error if
// there are no feature columns, and errors of the engine.
func New(e *engine.Engine, c Config, features int, tasks []encoder.Size, seedValue uint64) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	whole := slices.DeleteFunc(c.BatchedSizes(tasks), func(s encoder.Size) bool { return c.Encoder.Samples(s.Nodes) })
	enc, err := encoder.New(e, c.Encoder, features, encoder.NewBuckets(e, c.Epochs, whole),
		seed.Stream(seedValue, "weights"))
	if err != nil {
		return nil, err
	}
	if err := enc.Freeze(); err != nil {
		return nil, err
	}
	l := &Learner{config: c, seed: seedValue, encoder: enc, buffer: replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}}
	l.State = method.State{Name: "saot", Nets: []*encoder.Net{enc.Net},
		Parts: []any{&l.tasks, &l.buffer.Subgraphs, &l.moments}}
	var err1, err2 error
	adam := train.Optimizer{LearningRate: c.LearningRate}
	l.trainer, err1 = train.New[inputs[*tensors.Tensor]](enc.Net, "train", adam, l.loss)
	l.cost, err2 = engine.NewNamed[costInputs[*tensors.Tensor]](e, "feature cost", nil, featureCost)
	l.watched = encoder.NewGraphs(features, encoder.NewBuckets(e, c.Epochs, tasks))
	return l, errors.Join(err1, err2)
}

// SizesOf returns the sizes of a stream's task graphs. It panics if there are none.
func SizesOf(s *datasets.Stream) []encoder.Size { return method.StreamOf(s).Sizes }

// BatchedSizes returns the sizes of the tasks joined with the replayed subgraphs. Replayed subgraphs are assumed to
// have 1.5 times the task's edge density; on our streams they have less.
func (c Config) BatchedSizes(tasks []encoder.Size) []encoder.Size {
	out := make([]encoder.Size, len(tasks))
	var replayed encoder.Size
	for t, s := range tasks {
		out[t] = s.Plus(replayed, replayed.Nodes, 1)
		replayed = replayed.Plus(s, min(c.Buffer, s.Nodes), 1.5)
	}
	return out
}

// points returns M, the number of nodes aligned in a step on a graph.
func (c Config) points(nodes int) int { return min(c.Points, nodes) }

// Learn trains the encoder on the next task joined with the replayed subgraphs, then freezes it as the next teacher and
// keeps a subgraph of the task. An epoch is one step on the whole graph. If the graph is larger than
// Encoder.WholeGraph, an epoch has N/M steps, rounded down, on sampled neighborhoods, for N nodes. With
// DistillBuffered, a step of a later task draws M/2 of the task's own nodes, so an epoch on samples has up to twice as
// many steps. Patches share nodes, so an epoch on samples aligns about two thirds of the nodes. Learn returns an error
// if a plan misses its marginals by so much that it is not a transport plan. The report has these diagnostics, next to
// those of train.Trainer. For an objective other than transport, it has only setup_seconds:
//
//	marginal_error, graph_marginal_error       largest L1 error of π_Z and π_G over the steps
//	distillation_marginal_error                and of the plans that the distillation makes, such as the teacher's
//	diagonal_mass, graph_diagonal_mass         Σ_i π_ii of π_Z (last step) and π_G (mean); 1/M is uniform, 1 identity
//	entropy                                    of π_Z at the last step, over its maximum
//	structure_seen                             share of the variance of L⊗π_G that is left after centering, last step
//	structure_moved                            L1 distance of π_G from the plan of the features alone, last step
//	gradient_matching, …                       ‖∂L/∂Z‖ of each weighted term of the loss, Z both views' embeddings
//	cosine_matching_structure, …               between the gradients of two terms; all are means over the steps
//	setup_seconds                              batching, upload, the teacher's projection, replay, observers
func (l *Learner) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	start := time.Now()
	if task != l.tasks {
		return nil, l.Fault(task, fmt.Errorf("%d tasks are learned: want task %d next", l.tasks, l.tasks+1))
	}
	batched, err := l.buffer.Union(g)
	if err != nil {
		return nil, l.Fault(task, fmt.Errorf("join replay: %w", err))
	}
	report := &continual.TaskReport{Task: task, Nodes: batched.NumNodes(), Diagnostics: map[string]float64{}}
	if err := l.fit(ctx, batched, plan{Task: task, Report: report, Seen: observe}); err != nil {
		return nil, l.Fault(task, err)
	}
	if err := l.encoder.Freeze(); err != nil {
		return nil, l.Fault(task, err)
	}
	l.buffer.Add(g, l.replayed(task))
	l.tasks = task + 1
	d := report.Diagnostics
	d["setup_seconds"] = time.Since(start).Seconds() - d["wait_seconds"] - d["engine_seconds"]
	return report, nil
}

// fit carries out a task's plan on its batched graph: whole, or by samples.
func (l *Learner) fit(ctx context.Context, batched *graph.Graph, p plan) error {
	graphs, err := l.newGraphPlans(batched)
	if err != nil {
		return err
	}
	defer func() { engine.Release(graphs.rows.tensor) }()
	var draw drawer
	if l.config.Encoder.Samples(batched.NumNodes()) {
		p.Epochs, p.Steps, draw = l.samples(batched, p.Task)
	} else {
		b, err := l.encoder.Graphs.Upload(batched)
		if err != nil {
			return err
		}
		defer b.Release()
		var projected []*tensors.Tensor
		if draw, projected, err = l.whole(b); err != nil {
			return err
		}
		defer engine.Release(projected)
		p.Steps = l.config.Epochs
	}
	figures := make([]planFigures, p.Steps)
	p.Inputs = func(step int) (in inputs[*tensors.Tensor], made any, err error) {
		return l.prepare(draw, graphs, &figures[step], p.Task, step, step == p.Steps-1)
	}
	p.After = func(s *continual.Step, out map[string]float64) error {
		if l.config.Objective == Transport {
			l.record(p.Report, s, out, &figures[s.Done-1])
		}
		return l.config.checkPlans(out, &figures[s.Done-1])
	}
	p.Rate = l.config.rate(p.Steps)
	if l.config.CarryAdam {
		p.Moments = &l.moments
	}
	err = l.trainer.Train(ctx, p)
	for _, name := range append(gradientNames(), "graph_diagonal_mass") {
		if sum, ok := p.Report.Diagnostics[name]; ok {
			p.Report.Diagnostics[name] = sum / float64(p.Steps)
		}
	}
	return err
}

func (l *Learner) record(r *continual.TaskReport, s *continual.Step, out map[string]float64, graph *planFigures) {
	if l.tasks == 0 { // the distillation has no weight, and its teacher is the untrained encoder
		for i := range s.Terms {
			if s.Terms[i].Name == termDistillation {
				s.Terms[i].Value = 0
			}
		}
		out[figureDistillationError] = 0
	}
	s.MarginalError, s.Figures = out[figureMarginalError], stepFigures(out, graph)
	d := r.Diagnostics
	d[figureMarginalError] = max(d[figureMarginalError], s.MarginalError)
	d[figureDistillationError] = max(d[figureDistillationError], out[figureDistillationError])
	d["graph_marginal_error"] = max(d["graph_marginal_error"], graph.marginalError)
	d["graph_diagonal_mass"] += graph.diagonalMass
	d[figureDiagonalMass], d[figureEntropy] = out[figureDiagonalMass], out[figureEntropy]
	d["structure_seen"], d["structure_moved"] = graph.structure.seen, graph.structure.moved
	for _, name := range gradientNames() {
		d[name] += out[name]
	}
}

// replayed are the random numbers that choose what the buffer keeps of a task.
func (l *Learner) replayed(task int) *rand.Rand { return seed.Stream(l.seed, "replay", task) }

// Kept returns the nodes that the buffer holds of a task with graph g, the one it was learned on. It returns none for a
// task that is not learned yet.
func (l *Learner) Kept(task int, g *graph.Graph) []int32 {
	if task >= l.tasks {
		return nil
	}
	return l.buffer.Nodes(g, l.replayed(task))
}

// Embed returns the embeddings of g [nodes, out] from the encoder as it is now, in inference mode. The features of g
// must be scaled as those that the encoder was trained on.
func (l *Learner) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	return train.Embedded(ctx, l.encoder, g)
}

// Load restores a learner of the same configuration.
func (l *Learner) Load(r io.Reader) error {
	if err := l.State.Load(r); err != nil {
		return err
	}
	return l.encoder.Freeze()
}
