package baseline

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// PretextSettings are those that the three pretext methods of SS-GCNs share.
type PretextSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"of Adam"`
	L2           float64 `json:"l2" range:"[0,)" help:"coupled weight decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: steps on a whole graph, or passes over a larger one"`
	Dropout      float64 `json:"dropout" range:"[0,1)" help:"share of the hidden layer dropped in training"`
	Sampling
}

// pretextDefaults are the reference code's constants, with those for Cora on graphs of that family, but for the hidden layer, which
// is as wide as SAOT's (reference: 16), and the batches (the reference takes whole graphs alone).
func pretextDefaults(recipe datasets.Recipe, epochs int, p method.Preset) PretextSettings {
	s := PretextSettings{Hidden: 512, LearningRate: 0.01, L2: 5e-4, Epochs: epochs, Dropout: 0.5, Sampling: newSampling(2048, 10)}
	if ofCora(recipe) {
		s.LearningRate, s.L2 = 0.008, 8e-5
	}
	if p == method.Fast {
		s.Epochs = 50
	}
	return s
}

// ofCora reports whether SS-GCNs' constants for Cora apply.
func ofCora(recipe datasets.Recipe) bool {
	return recipe == datasets.RecipeCora || recipe == datasets.RecipeCoraFull
}

// pretext is what the three methods of SS-GCNs share (You et al. 2020, "When Does Self-Supervision Help Graph Convolutional
// Networks?"): a graph convolutional network without biases whose hidden layer
//
//	H = ReLU(Â·X·W)
//
// is the embedding, and is trained by a task that the graph sets itself: a head predicts for each node what can be made of the
// graph without labels (the paper's multi-task objective with the self-supervised term alone; the network is net.py of its code),
//
//	min_{W,Θ} L_ss( Ã·dropout(ReLU(Ã·X·W))·Θ , targets ),   Ã the propagation of the pretext task, Â but for completion.
//
// W goes on from task to task; Θ is drawn anew, as the targets of two tasks have nothing to do with each other. Departures: the
// reference trains beside a labelled loss, whose validation also ends the training early: here all epochs are taken. It also
// divides the rows of X by their sums, which is left to the stream. On a graph too large for a step, the loss is the mean over a
// batch of nodes with sampled neighbourhoods; what is to be predicted is still made of the whole graph.
type pretext struct {
	PretextSettings
	puzzle
	name    string
	seed    uint64
	net     *nn.Net
	graphs  *nn.Graphs
	trainer *nn.Trainer
	layers  *nn.Layers // to the embedding
}

// puzzle is a task that a graph sets itself.
type puzzle interface {
	// width is that of the head.
	width() int
	// solve makes what is to be predicted of a graph, and figures for the report. The solution lays out what the loss and propagate
	// read for some nodes, as rows with padding after them, in a fixed number of tensors.
	solve(ctx context.Context, g *graph.Graph, rng *rand.Rand) (solution, map[string]float64, error)
	// inputs is the number of these tensors.
	inputs() int
	// loops reports whether a node itself has a share in its row of Ã·h; Ã is Â if it has.
	loops() bool
	// propagate returns Ã·h of a whole graph. Shapes: h [N, d]; returns [N, d].
	propagate(targets []*Node, hat encoder.Propagation, h *Node) *Node
	// loss returns a scalar for predictions [N, width].
	loss(prediction *Node, targets []*Node) *Node
}

type solution func(nodes []int32, rows int) []*tensors.Tensor

// Names of the variables.
const (
	pretextWeight = "weight" // W [F, hidden]
	pretextHead   = "head"   // Θ [hidden, width]
)

func newPretext(b method.Build, name string, s PretextSettings, p puzzle) (*pretext, error) {
	l := &pretext{PretextSettings: s, puzzle: p, name: name, seed: b.Seed, net: nn.New(b.Engine)}
	l.graphs = nn.NewGraphs(b.Stream.Features, b.Stream.Sizes)
	weight := linear(b.Stream.Features, s.Hidden, seed.Stream(b.Seed, "weights"))
	err := l.net.AddAll(nn.Named{Name: pretextWeight, Value: weight}, nn.Named{Name: pretextHead, Value: nn.Filled(0, s.Hidden, p.width())})
	if err != nil {
		return nil, err
	}
	l.layers, err = l.net.Layers(name+" embed", pretextWeight, nn.ReLU)
	if err != nil {
		return nil, err
	}
	o := nn.Optimizer{LearningRate: s.LearningRate, L2: s.L2}
	l.trainer, err = l.net.Trainer(name, o, []string{"total"}, func(in []*Node) []*Node {
		return []*Node{l.loss(l.predict(in), in[:l.inputs()])}
	})
	return l, err
}

// linear draws weights [in, out] as PyTorch's Linear does: uniformly from ±1/√in.
func linear(in, out int, rng *rand.Rand) *tensors.Tensor {
	return nn.Uniform(1/math.Sqrt(float64(in)), rng, in, out)
}

// hidden returns H [N, hidden] of a whole graph.
func (l *pretext) hidden(n nn.Nodes, propagate func(h *Node) *Node) *Node {
	return nn.ReLU(propagate(n.Times(l.net.Node(n.Mask.Graph(), pretextWeight))))
}

// predict returns the head's predictions [N, width]. Inputs are the puzzle's targets, the factors of dropout [N, hidden] and the
// graph or the sample, in which N is what H has rows.
func (l *pretext) predict(in []*Node) *Node {
	targets, dropout, n := in[:l.inputs()], in[l.inputs()], nn.Take(in[l.inputs()+1:])
	propagate := func(h *Node) *Node { return l.propagate(targets, n.Hat, h) }
	var h *Node
	if n.Sample != nil { // its Â is Ã: see sample
		h = l.layers.Forward(n)
		propagate = n.Propagation(2).Apply
		if !l.loops() {
			propagate = n.Propagation(2).ApplyNeighbors
		}
	} else {
		h = l.hidden(n, propagate)
	}
	h = Mul(h, dropout)
	return propagate(MatMul(h, l.net.Node(h.Graph(), pretextHead))) // (Ã·H)·Θ, of which the narrower product goes first
}

// Learn sets the head anew and trains on.
func (l *pretext) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	if err := l.train(ctx, g, report, observe); err != nil {
		return nil, fmt.Errorf("baseline: %s: task %d: %w", l.name, task+1, err)
	}
	return report, nil
}

func (l *pretext) train(ctx context.Context, g *graph.Graph, report *continual.TaskReport, observe func(continual.Step)) error {
	if err := l.newHead(report.Task); err != nil {
		return err
	}
	find, figures, err := l.solve(ctx, g, seed.Stream(l.seed, "targets", report.Task))
	if err != nil {
		return err
	}
	report.Diagnostics = figures
	p := nn.Plan{Task: report.Task, Steps: l.Epochs, Report: report, Seen: observe}
	if l.samples(g) {
		return l.trainSampled(ctx, g, find, p)
	}
	in, err := l.graphs.Upload(g, nil)
	if err != nil {
		return err
	}
	defer in.Release()
	targets := find(consecutive(g.NumNodes()), in.Rows)
	defer nn.Release(targets...)
	p.Inputs = func(step int) ([]*tensors.Tensor, []*tensors.Tensor, error) {
		kept := dropoutMask(g.NumNodes(), in.Rows, l.Hidden, l.Dropout, seed.Stream(l.seed, "dropout", p.Task, step))
		return slices.Concat(targets, []*tensors.Tensor{kept}, in.Tensors()), []*tensors.Tensor{kept}, nil
	}
	return l.trainer.Train(ctx, p)
}

// trainSampled carries a plan out on a graph too large for a step.
func (l *pretext) trainSampled(ctx context.Context, g *graph.Graph, find solution, p nn.Plan) error {
	samples, err := l.graphs.Samples(g, encoder.GCN, perLayer(l.FanOut, 2))
	if err != nil {
		return err
	}
	return l.trainer.Train(ctx, l.deal(g.NumNodes(), l.seed, p.Task).Plan(p, l.Epochs,
		func(step int, batch []int32) (in, release []*tensors.Tensor, err error) {
			return l.sample(samples, batch, find, seed.Stream(l.seed, "dropout", p.Task, step))
		}))
}

// sample makes the inputs of a step on sampled neighbourhoods of a batch.
func (l *pretext) sample(samples *nn.Samples, batch []int32, find solution,
	rng *rand.Rand) (in, release []*tensors.Tensor, err error) {
	n := samples.Draw(batch, rng)
	if !l.loops() {
		n = n.WithoutLoops()
	}
	sample, err := samples.Inputs(n)
	if err != nil {
		return nil, nil, err
	}
	rows := sample[1].Shape().Dim(0) // of Â·X, and so of H
	in = slices.Concat(find(batch, len(batch)), []*tensors.Tensor{dropoutMask(rows, rows, l.Hidden, l.Dropout, rng)}, sample)
	return in, in, nil
}

// newHead draws the head of a task.
func (l *pretext) newHead(task int) error {
	head, err := tensors.CopyFlatData[float32](linear(l.Hidden, l.width(), seed.Stream(l.seed, "head", task)))
	if err != nil {
		return err
	}
	return l.net.SetValue(pretextHead, head)
}

// dropoutMask returns the factors [rows, cols] of dropout: 0 for the share dropped, 1/(1 − share) for what is kept. Rows beyond
// the nodes are 0.
func dropoutMask(nodes, rows, cols int, share float64, rng *rand.Rand) *tensors.Tensor {
	mask := make([]float32, rows*cols)
	keep := float32(1 / (1 - share))
	for i := range mask[:nodes*cols] {
		if rng.Float64() >= share {
			mask[i] = keep
		}
	}
	return tensors.FromFlatDataAndDimensions(mask, rows, cols)
}

// Embed returns the hidden layer, without dropout.
func (l *pretext) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	e, err := embedding(ctx, l.layers, l.graphs, g, l.samples(g))
	if err != nil {
		return nil, fmt.Errorf("baseline: %s: %w", l.name, err)
	}
	return e, nil
}

// Save writes the network.
func (l *pretext) Save(w io.Writer) error { return l.net.Save(gob.NewEncoder(w)) }

// Load restores it.
func (l *pretext) Load(r io.Reader) error { return l.net.Load(gob.NewDecoder(r)) }

// sorting is the puzzle of telling nodes' groups apart, of which there are at most so many:
//
//	L_ss = (1/N) Σ_i CE(softmax(prediction_i), group_i).
type sorting struct {
	groups int
	sort   func(g *graph.Graph, rng *rand.Rand) (group []int, figures map[string]float64)
}

func (s sorting) width() int  { return s.groups }
func (s sorting) inputs() int { return 3 }

func (s sorting) loops() bool { return true }

func (s sorting) solve(ctx context.Context, g *graph.Graph, rng *rand.Rand) (solution, map[string]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	group, figures := s.sort(g, rng)
	end := slices.Max(append(group, 0)) + 1 // a small graph may have fewer groups
	return func(nodes []int32, rows int) []*tensors.Tensor {
		labels := make([]labelled, len(nodes))
		for i, v := range nodes {
			labels[i] = labelled{row: i, column: group[v], end: end, weight: 1}
		}
		return newSupervision(labels, rows, s.groups).tensors()
	}, figures, nil
}

func (s sorting) propagate(_ []*Node, hat encoder.Propagation, h *Node) *Node { return hat.Apply(h) }

func (s sorting) loss(prediction *Node, t []*Node) *Node {
	return crossEntropy(prediction, t[0], t[1], t[2])
}
