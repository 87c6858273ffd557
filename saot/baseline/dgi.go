package baseline

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// DGISettings are those of Deep Graph Infomax.
type DGISettings struct {
	Out          int     `json:"out" range:"[1,)" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"of Adam, without decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"at most, per task: full-batch steps, or passes over a large graph"`
	Patience     int     `json:"patience" range:"[1,)" help:"epochs without a lower loss after which a task ends"`
	Sampling
}

// dgiDefaults are the reference code's constants for Cora; the batches are the paper's on Reddit, with the neighbors of its first
// hop there.
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
		Defaults: dgiDefaults, New: newDGI})
}

// Validate lists every field out of range.
func (s *DGISettings) Validate() error { return s.check(check.In("baseline: dgi").Ranges(s), 1).Err() }

// dgi is Deep Graph Infomax (Veličković et al. 2019), one task after the other, with nothing against forgetting: encoder and
// discriminator go on where the last task left them. A discriminator tells the nodes of a graph from those of a corrupted one, whose
// features are dealt out to the nodes anew, by a summary of the graph,
//
//	H = PReLU(Â·X·Θ + b),   H̃ = PReLU(Â·(PX)·Θ + b),   P a permutation          (§4.2),
//	s = σ(1/N·Σ_i h_i),   D(h, s) = hᵀWs + c                                      (§4.2; their code has c),
//	L = −1/2N·(Σ_i log σ(D(h_i, s)) + Σ_j log(1−σ(D(h̃_j, s))))                    (Eq. 1, to be minimised).
//
// A task ends when the loss has not fallen for so many steps, with the weights that had the lowest. X is what the dataset says: the
// reference divides its rows by their sums.
//
// On a graph too large for a step, nodes, summary and P are those of a batch with sampled neighbours, as in the paper's inductive
// form (§4.2), and the loss that ends a task is an epoch's mean, taken for that of the weights at its end.
type dgi struct {
	DGISettings
	seed    uint64
	net     *nn.Net
	graphs  *nn.Graphs
	layers  *nn.Layers
	trainer *nn.Trainer
}

// The variables of dgi.
const (
	dgiWeight        = "weight"        // Θ [F, out]
	dgiBias          = "bias"          // b [out]
	dgiSlope         = "slope"         // PReLU's, shared [1]
	dgiDiscriminator = "discriminator" // W [out, out]
	dgiOffset        = "offset"        // c [1]
)

// newDGI draws initial weights as PyTorch does for the reference: Glorot's, for W with the fan of a tensor [1, out, out].
func newDGI(b method.Build) (continual.Method, error) {
	l := &dgi{DGISettings: *b.Settings.(*DGISettings), seed: b.Seed, net: nn.New(b.Engine)}
	l.graphs = nn.NewGraphs(b.Stream.Features, b.Stream.Sizes)
	rng := seed.Stream(b.Seed, "weights")
	bilinear := math.Sqrt(6 / float64(l.Out*l.Out+l.Out))
	err := l.net.AddAll(
		nn.Named{Name: dgiWeight, Value: nn.Glorot(b.Stream.Features, l.Out, rng)},
		nn.Named{Name: dgiBias, Value: nn.Filled(0, l.Out)},
		nn.Named{Name: dgiSlope, Value: nn.Filled(0.25, 1)},
		nn.Named{Name: dgiDiscriminator, Value: nn.Uniform(bilinear, rng, l.Out, l.Out)},
		nn.Named{Name: dgiOffset, Value: nn.Filled(0, 1)})
	if err != nil {
		return nil, err
	}
	var err1, err2 error
	l.layers, err1 = l.net.Layers("embed", dgiWeight, l.activate)
	l.trainer, err2 = l.net.Trainer("dgi", nn.Optimizer{LearningRate: l.LearningRate}, []string{"total"}, l.loss)
	return l, errors.Join(err1, err2)
}

// activate returns PReLU(h + b). Padded rows mean nothing.
func (l *dgi) activate(h *Node) *Node {
	g := h.Graph()
	h = Add(h, InsertAxes(l.net.Node(g, dgiBias), 0))
	return Add(nn.ReLU(h), Mul(InsertAxes(l.net.Node(g, dgiSlope), 0), Min(h, ZerosLike(h))))
}

// loss takes a permutation and its inverse, and the graph, or two samples: one and the same, with the features permuted.
func (l *dgi) loss(in []*Node) []*Node {
	nodes := nn.Take(in[2:])
	var h, corrupted *Node
	if nodes.Sample != nil {
		h, corrupted = l.layers.Forward(nodes), l.layers.Forward(nn.Take(in[:2]))
	} else {
		projected := nodes.Times(l.net.Node(nodes.Mask.Graph(), dgiWeight))
		h = l.activate(nodes.Hat.Apply(projected))
		corrupted = l.activate(nodes.Hat.Apply(permuted(projected, in[0], in[1]))) // (PX)·Θ = P·(X·Θ): one product does for both
	}
	count := ReduceAllSum(nodes.Mask)
	summary := Sigmoid(Div(ReduceSum(Mul(h, nodes.Mask), 0), count))
	share := DivScalar(Div(nodes.Mask, count), 2)
	real, made := logisticLoss(l.discriminate(h, summary), share), logisticLoss(l.discriminate(corrupted, summary), Neg(share))
	return []*Node{Add(real, made)}
}

// discriminate returns D(h_i, s) [N, 1] for h [N, out] and s [out].
func (l *dgi) discriminate(h, summary *Node) *Node {
	g := h.Graph()
	direction := MatMul(l.net.Node(g, dgiDiscriminator), InsertAxes(summary, -1))
	return Add(MatMul(h, direction), InsertAxes(l.net.Node(g, dgiOffset), 0))
}

// permuted returns the rows of h in another order: row i is h's row order_i.
//
// Shapes: h [N, d], order and its inverse [N, 1] int32; returns [N, d]. The gradient is put back in order by the inverse, since that
// of a gather would be a scatter.
func permuted(h, order, inverse *Node) *Node {
	through := IdentityWithCustomGradient(h, func(_, v *Node) *Node { return Gather(v, inverse) })
	// The difference is exactly 0: it carries the gradient, and the gather carries the value.
	return Add(Gather(StopGradient(h), order), Sub(through, StopGradient(h)))
}

// corruption draws an order of the first n of so many rows, and returns it with its inverse, [rows, 1] both. Padding stays in place.
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

// Learn trains encoder and discriminator on until the loss stops falling. The report's diagnostics are best_step, the epoch,
// from 1, and best_loss: those of the weights that are kept.
func (l *dgi) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	if err := l.train(ctx, g, nn.Plan{Task: task, Steps: l.Epochs, Report: report, Seen: observe}); err != nil {
		return nil, fmt.Errorf("baseline: dgi: task %d: %w", task+1, err)
	}
	return report, nil
}

// train carries a plan out, and leaves the weights of the lowest loss.
func (l *dgi) train(ctx context.Context, g *graph.Graph, p nn.Plan) error {
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
	p.Report.Diagnostics = map[string]float64{"best_step": float64(best.step + 1), "best_loss": best.loss}
	return l.net.Restore(best.weights)
}

func (l *dgi) trainWhole(ctx context.Context, g *graph.Graph, p nn.Plan, best *bestWeights) error {
	in, err := l.graphs.Upload(g, nil)
	if err != nil {
		return err
	}
	defer in.Release()
	p.After = func(step int, terms []float64) error { return best.after(step, terms[0]) }
	p.Inputs = func(step int) (all, drawn []*tensors.Tensor, err error) {
		order, inverse := corruption(g.NumNodes(), in.Rows, seed.Stream(l.seed, "corruption", p.Task, step))
		drawn = []*tensors.Tensor{order, inverse}
		return slices.Concat(drawn, in.Tensors()), drawn, nil
	}
	return l.trainer.Train(ctx, p)
}

func (l *dgi) trainSampled(ctx context.Context, g *graph.Graph, p nn.Plan, best *bestWeights) error {
	samples, err := l.graphs.Samples(g, encoder.GCN, l.FanOut)
	if err != nil {
		return err
	}
	deal, sum := l.deal(g.NumNodes(), l.seed, p.Task), 0.0
	p.After = func(step int, terms []float64) (err error) {
		sum += terms[0]
		if (step+1)%deal.PerEpoch() > 0 {
			return nil
		}
		mean := sum / float64(deal.PerEpoch())
		sum = 0
		if best.current, err = l.net.Snapshot(); err != nil {
			return err
		}
		return best.after(step/deal.PerEpoch(), mean)
	}
	return l.trainer.Train(ctx, deal.Plan(p, l.Epochs, func(step int, batch []int32) (all, drawn []*tensors.Tensor, err error) {
		rng := seed.Stream(l.seed, "corruption", p.Task, step)
		n := samples.Draw(batch, rng)
		corrupted, err := samples.Inputs(n.Shuffled(rng))
		if err != nil {
			return nil, nil, err
		}
		clean, err := samples.Inputs(n)
		all = slices.Concat(corrupted, clean)
		return all, all, err
	}))
}

// bestWeights remembers the weights of a net that had the lowest loss of a training.
type bestWeights struct {
	net      *nn.Net
	patience int                  // epochs without a lower loss, after which the training ends
	current  map[string][]float32 // the weights that the next loss is that of
	weights  map[string][]float32 // those of the lowest loss
	loss     float64
	step     int
}

func newBestWeights(net *nn.Net, patience int) (*bestWeights, error) {
	current, err := net.Snapshot()
	return &bestWeights{net: net, patience: patience, current: current, loss: math.Inf(1)}, err
}

// after sees the loss of each epoch, which is that of the current weights: on a whole graph an epoch is a step, and its loss that of
// the weights which it began with, before the optimiser moved them.
func (b *bestWeights) after(step int, loss float64) (err error) {
	if loss < b.loss {
		b.loss, b.step, b.weights = loss, step, b.current
	} else if step-b.step >= b.patience {
		return nn.ErrStop
	}
	b.current, err = b.net.Snapshot()
	return err
}

// Embed returns H.
func (l *dgi) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	e, err := embedding(ctx, l.layers, l.graphs, g, l.samples(g))
	if err != nil {
		return nil, fmt.Errorf("baseline: dgi: %w", err)
	}
	return e, nil
}

// Save writes encoder and discriminator.
func (l *dgi) Save(w io.Writer) error { return l.net.Save(gob.NewEncoder(w)) }

// Load restores them.
func (l *dgi) Load(r io.Reader) error { return l.net.Load(gob.NewDecoder(r)) }
