package baseline

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/internal/nn"
	"github.com/saot-go/saot/saot/internal/seed"
)

// PretextSettings are those that the three pretext methods of SS-GCNs share. "Reference" is their public code.
type PretextSettings struct {
	Hidden       int     `json:"hidden"`        // width of the embedding; 512 as SAOT's hidden layer (reference: 16)
	LearningRate float64 `json:"learning_rate"` // of Adam; reference: 0.008 on Cora, 0.01 on Citeseer and PubMed
	L2           float64 `json:"l2"`            // coupled weight decay; reference: 8e-5 on Cora, 5e-4 on the others
	Epochs       int     `json:"epochs"`        // full-batch steps per task; reference: at most 1000, for completion 500
	Dropout      float64 `json:"dropout"`       // share of the hidden layer dropped in training; reference: 0.5
}

func pretextDefaults(dataset string, epochs int, p Preset) PretextSettings {
	s := PretextSettings{Hidden: 512, LearningRate: 0.01, L2: 5e-4, Epochs: epochs, Dropout: 0.5}
	if strings.HasPrefix(dataset, "cora") {
		s.LearningRate, s.L2 = 0.008, 8e-5
	}
	if p == FastPreset {
		s.Epochs = 50
	}
	return s
}

func (s *PretextSettings) validate(method string) ranges {
	r := ranges{method: method}
	r.common(s.LearningRate, s.Epochs)
	r.check(s.Hidden >= 1, "hidden", s.Hidden, "1 or more")
	r.check(s.L2 >= 0, "l2", s.L2, "0 or more")
	r.check(s.Dropout >= 0 && s.Dropout < 1, "dropout", s.Dropout, "a value in [0, 1)")
	return r
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
// divides the rows of X by their sums, which is left to the stream.
type pretext struct {
	PretextSettings
	puzzle
	name    string
	seed    uint64
	net     *nn.Net
	graphs  *nn.Graphs
	trainer *nn.Trainer
	embed   *engine.Func
}

// puzzle is a task that a graph sets itself.
type puzzle interface {
	// width is that of the head.
	width() int
	// targets makes what the loss and propagate read of a graph, in a fixed number of tensors for rows of nodes, padding included,
	// and figures for the report.
	targets(ctx context.Context, g *datasets.Graph, rows int, rng *rand.Rand) ([]*tensors.Tensor, map[string]float64, error)
	// inputs is the number of these tensors.
	inputs() int
	// propagate returns Ã·h. Shapes: h [N, d]; returns [N, d].
	propagate(targets []*Node, hat encoder.Propagation, h *Node) *Node
	// loss returns a scalar for predictions [N, width].
	loss(prediction *Node, targets []*Node) *Node
}

// Names of the variables.
const (
	pretextWeight = "weight" // W [F, hidden]
	pretextHead   = "head"   // Θ [hidden, width]
)

func newPretext(b Build, name string, s PretextSettings, p puzzle) (*pretext, error) {
	l := &pretext{PretextSettings: s, puzzle: p, name: name, seed: b.Seed, net: nn.New(b.Engine)}
	l.graphs = nn.NewGraphs(b.Stream.Features, b.Stream.Sizes)
	weight := linear(b.Stream.Features, s.Hidden, seed.Stream(b.Seed, "weights"))
	err := l.net.AddAll(nn.Named{Name: pretextWeight, Value: weight}, nn.Named{Name: pretextHead, Value: nn.Filled(0, s.Hidden, p.width())})
	if err != nil {
		return nil, err
	}
	l.embed, err = l.net.Func(name+" embed", func(in []*Node) []*Node {
		n := nn.Take(in)
		return []*Node{l.hidden(n, n.Hat.Apply)}
	})
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

// hidden returns H [N, hidden].
func (l *pretext) hidden(n nn.Nodes, propagate func(h *Node) *Node) *Node {
	return nn.ReLU(propagate(n.Times(l.net.Node(n.Mask.Graph(), pretextWeight))))
}

// predict returns the head's predictions [N, width]. Inputs are the puzzle's targets, the factors of dropout [N, hidden] and the
// graph.
func (l *pretext) predict(in []*Node) *Node {
	targets, dropout, n := in[:l.inputs()], in[l.inputs()], nn.Take(in[l.inputs()+1:])
	propagate := func(h *Node) *Node { return l.propagate(targets, n.Hat, h) }
	h := Mul(l.hidden(n, propagate), dropout)
	return propagate(MatMul(h, l.net.Node(h.Graph(), pretextHead))) // (Ã·H)·Θ, of which the narrower product goes first
}

// Learn sets the head anew and trains on.
func (l *pretext) Learn(ctx context.Context, task int, g *datasets.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	if err := l.train(ctx, g, report, observe); err != nil {
		return nil, fmt.Errorf("baseline: %s: task %d: %w", l.name, task+1, err)
	}
	return report, nil
}

func (l *pretext) train(ctx context.Context, g *datasets.Graph, report *continual.TaskReport, observe func(continual.Step)) error {
	if err := l.newHead(report.Task); err != nil {
		return err
	}
	in, err := l.graphs.Upload(g, nil)
	if err != nil {
		return err
	}
	defer in.Release()
	targets, figures, err := l.targets(ctx, g, in.Rows, seed.Stream(l.seed, "targets", report.Task))
	defer nn.Release(targets...)
	if err != nil {
		return err
	}
	report.Diagnostics = figures
	return l.trainer.Train(ctx, nn.Plan{Task: report.Task, Steps: l.Epochs, Report: report, Seen: observe,
		Inputs: func(step int) ([]*tensors.Tensor, []*tensors.Tensor, error) {
			kept := dropoutMask(g.NumNodes(), in.Rows, l.Hidden, l.Dropout, seed.Stream(l.seed, "dropout", report.Task, step))
			return slices.Concat(targets, []*tensors.Tensor{kept}, in.Tensors()), []*tensors.Tensor{kept}, nil
		}})
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
func (l *pretext) Embed(ctx context.Context, g *datasets.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in, err := l.graphs.Upload(g, nil)
	if err != nil {
		return nil, fmt.Errorf("baseline: %s: %w", l.name, err)
	}
	defer in.Release()
	data, cols, err := nn.Rows(l.embed, in)
	if err != nil {
		return nil, fmt.Errorf("baseline: %s: %w", l.name, err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: data}, nil
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
	sort   func(g *datasets.Graph, rng *rand.Rand) (group []int, figures map[string]float64)
}

func (s sorting) width() int  { return s.groups }
func (s sorting) inputs() int { return 3 }

func (s sorting) targets(ctx context.Context, g *datasets.Graph, rows int, rng *rand.Rand) ([]*tensors.Tensor, map[string]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	group, figures := s.sort(g, rng)
	end := slices.Max(append(group, 0)) + 1 // a small graph may have fewer groups
	labels := make([]labelled, len(group))
	for i, c := range group {
		labels[i] = labelled{row: i, column: c, end: end, weight: 1}
	}
	return newSupervision(labels, rows, s.groups).tensors(), figures, nil
}

func (s sorting) propagate(_ []*Node, hat encoder.Propagation, h *Node) *Node { return hat.Apply(h) }

func (s sorting) loss(prediction *Node, t []*Node) *Node {
	return crossEntropy(prediction, t[0], t[1], t[2])
}
