package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// PretextSettings are those that the three pretext methods of SS-GCNs share.
type PretextSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	L2           float64 `json:"l2" range:"[0,)" help:"coupled weight decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: steps, or passes over a large graph"`
	Dropout      float64 `json:"dropout" range:"[0,1)" help:"share of the hidden layer dropped in training"`
	Sampling
}

// load is the work of a task: the probes read the hidden layer.
func (s *PretextSettings) load() method.Load {
	return method.Load{Epochs: s.Epochs, Hidden: s.Hidden, WholeGraph: s.WholeGraph, Batch: s.Batch, Width: s.Hidden}
}

// pretextDefaults are the reference code's constants, with those for Cora on graphs of that family. Exceptions are the
// hidden layer, which is as wide as SAOT's (reference: 16), and the batches (the reference takes whole graphs alone).
func pretextDefaults(recipe datasets.Recipe, epochs int, p method.Preset) PretextSettings {
	s := PretextSettings{Hidden: 512, LearningRate: 0.01, L2: 5e-4, Epochs: epochs, Dropout: 0.5,
		Sampling: newSampling(2048, 10)}
	if ofCora(recipe) {
		s.LearningRate, s.L2 = 0.008, 8e-5
	}
	if p == method.Fast {
		s.Epochs = 50
	}
	return s
}

func ofCora(recipe datasets.Recipe) bool {
	return recipe == datasets.RecipeCora || recipe == datasets.RecipeCoraFull
}

// pretext is what the three methods of SS-GCNs share (You et al. 2020, "When Does Self-Supervision Help Graph
// Convolutional Networks?"): a graph convolutional network without biases, trained by a task that the graph sets
// itself. A head predicts for each node what can be made of the graph without labels (the paper's multi-task objective
// with one term alone; net.py of its code),
//
//	min_{W,Θ} L_ss( Ã·dropout(ReLU(Ã·X·W))·Θ , targets ),   Ã the propagation of the task, Â except for completion.
//
// The embedding is what the head acts on: the hidden layer after its second propagation,
//
//	Z = Â·ReLU(Â·X·W).
//
// Weight decay spares the rows of W of words that a task lacks. In the reference, decay is the whole gradient of such
// rows, and an Adam that starts again turns it into full steps: they would be 0 before the task ends. W continues from
// task to task; Θ is newly drawn, as the targets of two tasks have nothing to do with each other. On a graph too large
// for a step, the loss is the mean over a batch; the targets are still made of the whole graph.
type pretext struct {
	PretextSettings
	puzzle
	layered
	trainer *train.Trainer[pretextInputs[*tensors.Tensor]]
}

// puzzle is a task that a graph sets itself.
type puzzle interface {
	// width is that of the head.
	width() int
	// solve makes what is to be predicted of a graph, and figures for the report.
	solve(ctx context.Context, g *graph.Graph, rng *rand.Rand) (solution, map[string]float64, error)
	// loops reports whether a node itself has a share in its row of Ã·h; Ã is Â if it has.
	loops() bool
	// propagate returns Ã·h of a whole graph. Shapes: h [N, d]; returns [N, d].
	propagate(t targets[*Node], hat encoder.Propagation, h *Node) *Node
	// loss returns a scalar for predictions [N, width].
	loss(prediction *Node, t targets[*Node]) *Node
}

// solution lays out what the loss and propagate read for some nodes, as rows with padding after them.
type solution func(nodes []int32, rows int) targets[*tensors.Tensor]

type targets[T any] struct {
	Groups   *supervision[T] // of sorting
	Features *completed[T]   // of completion
}

type pretextInputs[T any] struct {
	Targets targets[T]
	Dropout T // factors of H [N, hidden]
	Graph   encoder.Input[T]
}

// Names of the variables.
const (
	pretextWeight = "weight" // W [F, hidden]
	pretextHead   = "head"   // Θ [hidden, width]
)

func newPretext(b method.Build, name string, s PretextSettings, p puzzle) (*pretext, error) {
	base, err := newLayered(b, name, s.Sampling,
		encoder.Variable{Name: pretextWeight, Value: linear(b.Stream.Features, s.Hidden,
			seed.Stream(b.Seed, "weights"))},
		encoder.Variable{Name: pretextHead, Value: encoder.Filled(0, s.Hidden, p.width())})
	if err != nil {
		return nil, err
	}
	l := &pretext{PretextSettings: s, puzzle: p, layered: base}
	var err1, err2 error
	l.layers, err1 = l.net.Layers(name+" embed", pretextWeight, encoder.ReLU, nil)
	o := train.Optimizer{LearningRate: s.LearningRate}
	l.trainer, err2 = train.New[pretextInputs[*tensors.Tensor]](l.net, name, o, l.terms)
	return l, errors.Join(err1, err2)
}

// terms is L_ss and the decay of W, which spares the words that no node of the task has.
func (l *pretext) terms(in pretextInputs[*Node]) train.Loss {
	puzzle := l.loss(l.predict(in), in.Targets)
	decay := coupledDecay(l.L2, decayed{l.node(puzzle, pretextWeight), encoder.NodesOf(in.Graph).Words()},
		decayed{l.node(puzzle, pretextHead), ScalarOne(puzzle.Graph(), puzzle.DType())})
	return train.Loss{Total: Add(puzzle, decay), Parts: []train.Term{{Name: "puzzle", Node: puzzle},
		{Name: "decay", Node: decay}}}
}

// linear draws weights [in, out] as PyTorch's Linear does: uniformly from ±1/√in.
func linear(in, out int, rng *rand.Rand) *tensors.Tensor {
	return encoder.Uniform(1/math.Sqrt(float64(in)), rng, in, out)
}

// hidden returns H [N, hidden] of a whole graph.
func (l *pretext) hidden(n encoder.Nodes, propagate func(h *Node) *Node) *Node {
	return encoder.ReLU(propagate(n.Times(l.node(n.Mask, pretextWeight))))
}

// predict returns the head's predictions [N, width].
func (l *pretext) predict(in pretextInputs[*Node]) *Node {
	n := encoder.NodesOf(in.Graph)
	propagate := func(h *Node) *Node { return l.propagate(in.Targets, n.Hat, h) }
	var h *Node
	if n.Sample != nil { // its Â is Ã: see sample
		h = encoder.ReLU(n.First(l.node(n.Mask, pretextWeight)))
		propagate = n.Propagation(2).Apply
		if !l.loops() {
			propagate = n.Propagation(2).ApplyNeighbors
		}
	} else {
		h = l.hidden(n, propagate)
	}
	h = Mul(h, in.Dropout)
	return propagate(MatMul(h, l.node(h, pretextHead))) // (Ã·H)·Θ, of which the narrower product goes first
}

// Learn draws a new head and continues the training.
func (l *pretext) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	return report, l.Fault(task, l.train(ctx, g, pretextPlan{Task: task, Steps: l.Epochs, Report: report,
		Seen: observe}))
}

type pretextPlan = train.Plan[pretextInputs[*tensors.Tensor]]

func (l *pretext) train(ctx context.Context, g *graph.Graph, p pretextPlan) (err error) {
	if err := l.newHead(p.Task); err != nil {
		return err
	}
	var find solution
	if find, p.Report.Diagnostics, err = l.solve(ctx, g, seed.Stream(l.seed, "targets", p.Task)); err != nil {
		return err
	}
	if l.samples(g) {
		return l.trainSampled(ctx, g, find, p)
	}
	on, err := l.graphs.UploadInput(g)
	if err != nil {
		return err
	}
	defer on.Release()
	all := pretextInputs[*tensors.Tensor]{Targets: find(consecutive(g.NumNodes()), on.Rows()), Graph: on.Input}
	defer engine.Release(all.Targets)
	p.Inputs = func(step int) (in pretextInputs[*tensors.Tensor], made any, err error) {
		in = all
		in.Dropout = dropoutMask(g.NumNodes(), on.Rows(), l.Hidden, l.Dropout, seed.Stream(l.seed, "dropout", p.Task,
			step))
		return in, in.Dropout, nil
	}
	return l.trainer.Train(ctx, p)
}

func (l *pretext) trainSampled(ctx context.Context, g *graph.Graph, find solution, p pretextPlan) error {
	samples, err := l.graphs.Samples(g, encoder.GCN, perLayer(l.FanOut, 2))
	if err != nil {
		return err
	}
	return l.trainer.Train(ctx, train.OverBatches(p, l.deal(g.NumNodes(), l.seed, p.Task), l.Epochs,
		func(step int, batch []int32) (in pretextInputs[*tensors.Tensor], made any, err error) {
			in, err = l.sample(samples, batch, find, seed.Stream(l.seed, "dropout", p.Task, step))
			return in, in, err
		}))
}

func (l *pretext) sample(samples *encoder.Samples, batch []int32, find solution,
	rng *rand.Rand) (in pretextInputs[*tensors.Tensor], err error) {
	n := samples.Draw(batch, rng)
	if !l.loops() {
		n = n.WithoutLoops()
	}
	if in.Graph, err = samples.Input(n); err != nil {
		return in, err
	}
	rows := in.Graph.Sample.NumRows() // of Â·X, and so of H
	in.Targets, in.Dropout = find(batch, len(batch)), dropoutMask(rows, rows, l.Hidden, l.Dropout, rng)
	return in, nil
}

func (l *pretext) newHead(task int) error {
	head, err := tensors.CopyFlatData[float32](linear(l.Hidden, l.width(), seed.Stream(l.seed, "head", task)))
	if err != nil {
		return err
	}
	return l.net.SetValue(pretextHead, head)
}

// dropoutMask returns the factors [rows, cols] of dropout: 0 for the share dropped, 1/(1 − share) for what is kept.
// Rows beyond the nodes are 0.
func dropoutMask(nodes, rows, cols int, share float64, rng *rand.Rand) *tensors.Tensor {
	factors := [2]float32{float32(1 / (1 - share)), 0}
	return engine.Fill(func(mask []float32) {
		for i := range mask[:nodes*cols] {
			mask[i] = factors[math.Float64bits(rng.Float64()-share)>>63] // by the sign: a branch is often mispredicted
		}
	}, rows, cols)
}

// sorting is the puzzle of telling nodes' groups apart, of which there are groups at most:
//
//	L_ss = (1/N) Σ_i CE(softmax(prediction_i), group_i).
type sorting struct {
	groups int
	sort   func(ctx context.Context, g *graph.Graph, rng *rand.Rand) (group []int, figures map[string]float64,
		err error)
}

func (s sorting) width() int { return s.groups }

func (s sorting) loops() bool { return true }

func (s sorting) solve(ctx context.Context, g *graph.Graph, rng *rand.Rand) (solution, map[string]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	group, figures, err := s.sort(ctx, g, rng)
	if err != nil {
		return nil, nil, err
	}
	end := slices.Max(append(group, 0)) + 1 // a small graph may have fewer groups
	return func(nodes []int32, rows int) targets[*tensors.Tensor] {
		labels := make([]labeled, len(nodes))
		for i, v := range nodes {
			labels[i] = labeled{row: i, column: group[v], end: end, weight: 1}
		}
		of := newSupervision(labels, rows, s.groups)
		return targets[*tensors.Tensor]{Groups: &of}
	}, figures, nil
}

func (s sorting) propagate(_ targets[*Node], hat encoder.Propagation, h *Node) *Node {
	return hat.Apply(h)
}

func (s sorting) loss(prediction *Node, t targets[*Node]) *Node {
	return crossEntropy(prediction, *t.Groups)
}
