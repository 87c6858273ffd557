package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// DGISettings are those of Deep Graph Infomax.
type DGISettings struct {
	Out          int     `json:"out" range:"[1,)" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam, without decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task, at most: steps, or passes over a large graph"`
	Patience     int     `json:"patience" range:"[1,)" help:"epochs without a lower loss after which a task ends"`
	Sampling
}

// dgiDefaults are the reference code's constants for Cora; the batches are the paper's on Reddit, with the neighbors of
// its first hop there.
func dgiDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &DGISettings{Out: 512, LearningRate: 0.001, Epochs: 10_000, Patience: 20, Sampling: newSampling(256, 10)}
	if p == method.Fast {
		s.Epochs = 50
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "dgi", Paper: "DGI", Kind: method.SelfSupervised, Order: 1,
		Summary:  "Deep Graph Infomax (Veličković et al. 2019)",
		Defaults: dgiDefaults, New: newDGI,
		Load: func(s method.Settings) method.Load { return s.(*DGISettings).load() }})
}

// dgiPatiences is the estimate of a task's epochs in units of its patience. At the default learning rate, tasks take 4
// to 14 (results/chosen.jsonl.gz), and 7 to 38 on arxiv-topology (results/unfinished).
const dgiPatiences = 15

func (s *DGISettings) load() method.Load {
	return method.Load{Epochs: min(s.Epochs, dgiPatiences*s.Patience), Out: s.Out, WholeGraph: s.WholeGraph,
		Batch: s.Batch}
}

// Validate lists every field out of range.
func (s *DGISettings) Validate() error { return s.check(check.In("baseline: dgi").Ranges(s), 1).Err() }

// dgi is Deep Graph Infomax (Veličković et al. 2019), one task after the other, with nothing against forgetting:
// encoder and discriminator continue where the last task left them. A discriminator tells the nodes of a graph from
// those of a corrupted one, whose features are dealt out to the nodes at random, by a summary of the graph,
//
//	H = PReLU(Â·X·Θ + b),   H̃ = PReLU(Â·(PX)·Θ + b),   P a permutation          (§4.2),
//	s = σ(1/N·Σ_i h_i),   D(h, s) = hᵀWs + c                                      (§4.2; their code has c),
//	L = −1/2N·(Σ_i log σ(D(h_i, s)) + Σ_j log(1−σ(D(h̃_j, s))))                    (Eq. 1, to be minimized).
//
// A task ends when the loss has not fallen for a number of epochs (patience). The weights of the lowest loss are kept.
type dgi struct {
	DGISettings
	layered
	trainer *train.Trainer[corrupted[*tensors.Tensor]]
}

// corrupted is a graph and what its features are permuted by.
type corrupted[T any] struct {
	Graph          encoder.Input[T]
	Order, Inverse T                 // of the nodes of a whole graph [N, 1]
	Permuted       *encoder.Input[T] // the same sample with the features permuted
}

// The variables of dgi.
const (
	dgiWeight        = "weight"        // Θ [F, out]
	dgiBias          = "bias"          // b [out]
	dgiSlope         = "slope"         // PReLU's, shared [1]
	dgiDiscriminator = "discriminator" // W [out, out]
	dgiOffset        = "offset"        // c [1]
)

// newDGI draws initial weights as PyTorch does for the reference: Glorot's, for W with the fan of a tensor [1, out,
// out].
func newDGI(b method.Build) (continual.Method, error) {
	s, rng := *b.Settings.(*DGISettings), seed.Stream(b.Seed, "weights")
	bilinear := math.Sqrt(6 / float64(s.Out*s.Out+s.Out))
	base, err := newLayered(b, "dgi", s.Sampling,
		encoder.Variable{Name: dgiWeight, Value: encoder.Glorot(b.Stream.Features, s.Out, rng)},
		encoder.Variable{Name: dgiBias, Value: encoder.Filled(0, s.Out)},
		encoder.Variable{Name: dgiSlope, Value: encoder.Filled(0.25, 1)},
		encoder.Variable{Name: dgiDiscriminator, Value: encoder.Uniform(bilinear, rng, s.Out, s.Out)},
		encoder.Variable{Name: dgiOffset, Value: encoder.Filled(0, 1)})
	if err != nil {
		return nil, err
	}
	l := &dgi{DGISettings: s, layered: base}
	var err1, err2 error
	l.layers, err1 = l.net.Layers("embed", dgiWeight, l.activate)
	l.trainer, err2 = train.New[corrupted[*tensors.Tensor]](l.net, "dgi", train.Optimizer{LearningRate: l.LearningRate},
		l.loss)
	return l, errors.Join(err1, err2)
}

// activate returns PReLU(h + b). Padded rows mean nothing.
func (l *dgi) activate(h *Node) *Node {
	h = Add(h, InsertAxes(l.node(h, dgiBias), 0))
	return encoder.PReLU(h, l.node(h, dgiSlope))
}

func (l *dgi) loss(in corrupted[*Node]) train.Loss {
	nodes := encoder.NodesOf(in.Graph)
	var h, fake *Node
	if in.Permuted != nil {
		h, fake = l.layers.Forward(nodes), l.layers.Forward(encoder.NodesOf(*in.Permuted))
	} else {
		projected := nodes.Times(l.node(nodes.Mask, dgiWeight))
		h = l.activate(nodes.Hat.Apply(projected))
		// (PX)·Θ = P·(X·Θ): one product for both
		fake = l.activate(nodes.Hat.Apply(permuted(projected, in.Order, in.Inverse)))
	}
	count := ReduceAllSum(nodes.Mask)
	summary := Sigmoid(Div(ReduceSum(Mul(h, nodes.Mask), 0), count))
	share := DivScalar(Div(nodes.Mask, count), 2)
	real := logisticLoss(l.discriminate(h, summary), share)
	made := logisticLoss(l.discriminate(fake, summary), Neg(share))
	return train.Loss{Total: Add(real, made)}
}

// discriminate returns D(h_i, s) [N, 1] for h [N, out] and s [out].
func (l *dgi) discriminate(h, summary *Node) *Node {
	direction := MatMul(l.node(h, dgiDiscriminator), InsertAxes(summary, -1))
	return Add(MatMul(h, direction), InsertAxes(l.node(h, dgiOffset), 0))
}

// permuted returns the rows of h in another order: row i is h's row order_i.
//
// Shapes: h [N, d], order and its inverse [N, 1] int32; returns [N, d]. The gradient is put back in order by the
// inverse, since that of a gather would be a scatter.
func permuted(h, order, inverse *Node) *Node {
	through := IdentityWithCustomGradient(h, func(_, v *Node) *Node { return Gather(v, inverse) })
	// The difference is exactly 0: it carries the gradient, and the gather carries the value.
	return Add(Gather(StopGradient(h), order), Sub(through, StopGradient(h)))
}

// corruption draws an order of the first n of a number of rows, and returns it with its inverse, [rows, 1] both.
// Padding stays in place.
func corruption(n, rows int, rng *rand.Rand) (order, inverse *tensors.Tensor) {
	to, from := make([]int32, rows), make([]int32, rows)
	for i := range rows {
		to[i] = int32(i)
	}
	rng.Shuffle(n, func(i, j int) { to[i], to[j] = to[j], to[i] })
	for i, row := range to {
		from[row] = int32(i)
	}
	return tensors.FromFlatDataAndDimensions(to, rows, 1), tensors.FromFlatDataAndDimensions(from, rows, 1)
}

// Learn continues the training of encoder and discriminator until the loss stops falling. The report's diagnostics are
// best_step, the epoch, from 1, and best_loss: those of the weights that are kept.
func (l *dgi) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	return report, l.Fault(task, l.train(ctx, g, dgiPlan{Task: task, Steps: l.Epochs, Report: report, Seen: observe}))
}

type dgiPlan = train.Plan[corrupted[*tensors.Tensor]]

// train carries a plan out, and leaves the weights of the lowest loss.
func (l *dgi) train(ctx context.Context, g *graph.Graph, p dgiPlan) error {
	best, err := newBestWeights(l.net, l.Patience)
	if err != nil {
		return err
	}
	if l.samples(g) {
		err = l.trainSampled(ctx, g, p, best)
	} else {
		err = l.trainWhole(ctx, g, p, best)
	}
	if err != nil {
		return err
	}
	p.Report.Diagnostics["best_step"], p.Report.Diagnostics["best_loss"] = float64(best.step+1), best.loss
	return l.net.Restore(best.weights)
}

func (l *dgi) trainWhole(ctx context.Context, g *graph.Graph, p dgiPlan, best *bestWeights) error {
	in, err := l.graphs.UploadInput(g)
	if err != nil {
		return err
	}
	defer in.Release()
	p.After = func(s *continual.Step, _ map[string]float64) error { return best.after(s.Done-1, s.Terms[0].Value) }
	p.Inputs = func(step int) (all corrupted[*tensors.Tensor], made any, err error) {
		all.Order, all.Inverse = corruption(g.NumNodes(), in.Rows(), seed.Stream(l.seed, "corruption", p.Task, step))
		made = all
		all.Graph = in.Input
		return all, made, nil
	}
	return l.trainer.Train(ctx, p)
}

func (l *dgi) trainSampled(ctx context.Context, g *graph.Graph, p dgiPlan, best *bestWeights) error {
	samples, err := l.graphs.Samples(g, encoder.GCN, l.FanOut)
	if err != nil {
		return err
	}
	deal := l.deal(g.NumNodes(), l.seed, p.Task)
	p.After = best.afterEpochs(deal.PerEpoch())
	return l.trainer.Train(ctx, train.OverBatches(p, deal, l.Epochs,
		func(step int, batch []int32) (all corrupted[*tensors.Tensor], made any, err error) {
			rng := seed.Stream(l.seed, "corruption", p.Task, step)
			n := samples.Draw(batch, rng)
			fake, err := samples.Input(n.Shuffled(rng))
			if err != nil {
				return all, nil, err
			}
			all.Permuted = &fake
			all.Graph, err = samples.Input(n)
			return all, all, err
		}))
}

type bestWeights struct {
	net      *encoder.Net
	patience int                  // epochs without a lower loss, after which the training ends
	current  map[string][]float32 // the weights that the next loss is that of
	weights  map[string][]float32 // those of the lowest loss
	loss     float64
	step     int
}

func newBestWeights(net *encoder.Net, patience int) (*bestWeights, error) {
	current, err := net.Snapshot()
	return &bestWeights{net: net, patience: patience, current: current, loss: math.Inf(1)}, err
}

// after sees the loss of each epoch, which is that of the current weights: on a whole graph an epoch is a step, and its
// loss that of the weights which it began with, before the optimizer moved them.
func (b *bestWeights) after(step int, loss float64) error {
	err := b.compare(step, loss)
	if err == nil {
		b.current, err = b.net.Snapshot()
	}
	return err
}

// compare keeps the current weights if their loss is the lowest, and returns train.ErrStop where patience ends.
func (b *bestWeights) compare(step int, loss float64) error {
	if loss < b.loss {
		b.loss, b.step, b.weights = loss, step, b.current
	} else if step-b.step >= b.patience {
		return train.ErrStop
	}
	return nil
}

// afterEpochs returns what sees the steps of epochs of batches: the mean loss of an epoch counts as that of the weights
// at its end.
func (b *bestWeights) afterEpochs(batches int) func(s *continual.Step, _ map[string]float64) error {
	sum := 0.0
	return func(s *continual.Step, _ map[string]float64) (err error) {
		sum += s.Terms[0].Value
		if s.Done%batches > 0 {
			return nil
		}
		mean := sum / float64(batches)
		sum = 0
		if b.current, err = b.net.Snapshot(); err != nil {
			return err
		}
		return b.compare((s.Done-1)/batches, mean)
	}
}
