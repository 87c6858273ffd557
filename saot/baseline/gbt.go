package baseline

import (
	"context"
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
	"github.com/saot-go/saot/saot/view"
)

// GBTSettings are those of Graph Barlow Twins.
type GBTSettings struct {
	Hidden       int     `json:"hidden" help:"width of the hidden layer"`
	Out          int     `json:"out" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"peak learning rate of AdamW"`
	Decay        float64 `json:"decay" range:"[0,)" help:"weight decay of AdamW"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: full-batch steps, or passes over a large graph"`
	WarmUp       int     `json:"warm_up" range:"[0,)" help:"epochs up to the peak of the learning rate"`
	FeatureMask  float64 `json:"feature_mask" range:"[0,1)" help:"share of feature columns masked in a view"`
	EdgeDrop     float64 `json:"edge_drop" range:"[0,1)" help:"share of edges dropped in a view"`
	Momentum     float64 `json:"momentum" help:"weight of a new batch in BatchNorm's running averages"`
	Sampling
}

// gbtDefaults have the widths, decay, momentum and, as on Products, batches of the reference; the rest is what TRACE's
// code takes on streams.
func gbtDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &GBTSettings{Hidden: 512, Out: 256, LearningRate: 3e-4, Decay: 1e-5, Epochs: 300, WarmUp: 20, FeatureMask: 0.1,
		EdgeDrop: 0.2, Momentum: 0.01, Sampling: newSampling(512, 10)}
	if p == method.Fast {
		s.Epochs, s.WarmUp, s.LearningRate, s.Momentum = 30, 3, 1e-3, 0.1
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "gbt", Paper: "G-BT", Kind: method.SelfSupervised, Order: 2, Splits: true,
		Summary:  "Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022)",
		Defaults: gbtDefaults, New: newGBT})
}

// Validate lists every field out of range.
func (s *GBTSettings) Validate() error {
	l := s.check(check.In("baseline: gbt").Ranges(s), 2)
	l.AtMost("warm_up", s.WarmUp, "epochs", s.Epochs)
	l.Add(unsampled(s.encoder()).Validate())
	return l.Err()
}

func (s *GBTSettings) encoder() encoder.Config {
	return encoder.Config{Hidden: s.Hidden, Out: s.Out, Momentum: s.Momentum,
		WholeGraph: s.WholeGraph, SampleFanOut: perLayer(s.FanOut, 2)}
}

// gbt is Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022), one task after the other, with nothing against
// forgetting: the encoder continues where the last task left it. The loss is train.BarlowTwinsLoss (its Eqs. 1 and 2)
// between two views of the whole graph, or of sampled neighborhoods of a batch of a large one's nodes.
type gbt struct {
	GBTSettings
	method.State
	seed    uint64
	encoder *encoder.Encoder
	trainer *train.Trainer[train.Views[*tensors.Tensor]]
}

func newGBT(b method.Build) (continual.Method, error) {
	l := &gbt{GBTSettings: *b.Settings.(*GBTSettings), seed: b.Seed}
	var err error
	l.encoder, err = encoder.New(b.Engine, l.GBTSettings.encoder(), b.Stream.Features,
		encoder.NewBuckets(b.Engine, l.Epochs, b.Stream.Sizes), seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	l.State = method.State{Name: "gbt", Nets: []*encoder.Net{l.encoder.Net}}
	l.trainer, err = train.New[train.Views[*tensors.Tensor]](l.encoder.Net, "gbt",
		train.Optimizer{LearningRate: l.LearningRate, Decay: l.Decay},
		func(in train.Views[*Node]) train.Loss { return train.Loss{Total: barlow(l.encoder, in)} })
	return l, err
}

func barlow(e *encoder.Encoder, in train.Views[*Node]) *Node {
	z := train.Embed(e, encoder.Scope, in, nil, encoder.Training)
	return train.BarlowTwinsLoss(z[0], z[1], train.RealRows(in, z[0]))
}

func (l *gbt) view() view.Config {
	return view.Config{EdgeDrop: l.EdgeDrop, FeatureMask: l.FeatureMask}
}

func (l *gbt) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	return report, l.Fault(task, l.learn(ctx, g, viewPlan{Task: task, Report: report, Seen: observe}))
}

// viewPlan trains on two views in each step.
type viewPlan = train.Plan[train.Views[*tensors.Tensor]]

func (l *gbt) learn(ctx context.Context, g *graph.Graph, p viewPlan) error {
	on, err := l.views(l.encoder, l.view(), g)
	if err != nil {
		return err
	}
	defer on.release()
	p.Rate = train.WarmUpCosine(l.LearningRate, l.WarmUp*on.perEpoch, l.Epochs*on.perEpoch)
	return l.trainer.Train(ctx, overViews(p, on, l.deal(g.NumNodes(), l.seed, p.Task), l.Epochs,
		func(step int, batch []int32) (in train.Views[*tensors.Tensor], made any, err error) {
			pair, err := on.draw(batch, seed.Stream(l.seed, "augment", p.Task, step))
			if err != nil {
				return in, nil, err
			}
			return pair.Views, pair.Made(), nil
		}))
}

// taskViews is what draws two views of a task's graph for a step: of the whole graph, or of a batch of a larger one's
// nodes.
type taskViews struct {
	encoder  *encoder.Encoder
	view     view.Config
	graph    *graph.Graph
	whole    *encoder.Batch // nil of a larger graph
	sampler  *encoder.Sampler
	perEpoch int // steps
}

func (s *Sampling) views(e *encoder.Encoder, v view.Config, g *graph.Graph) (on *taskViews, err error) {
	on = &taskViews{encoder: e, view: v, graph: g, perEpoch: 1}
	if s.samples(g) {
		on.sampler, on.perEpoch = e.Graphs.Sampler(g, e.Config.SampleFanOut), max(1, g.NumNodes()/s.Batch)
		return on, nil
	}
	on.whole, err = e.Graphs.Upload(g)
	return on, err
}

func (v *taskViews) release() {
	if v.whole != nil {
		v.whole.Release()
	}
}

func (v *taskViews) draw(batch []int32, rng *rand.Rand) (*train.Pair, error) {
	if v.whole != nil {
		return train.WholePair(v.whole, v.encoder.Config, v.view, rng)
	}
	return train.SampledPair(v.sampler, batch, v.encoder.Config, v.view, v.encoder.Engine().Devices(), rng)
}

// overViews completes a plan by a number of epochs: a step each on a whole graph, or one for each batch of the deal.
func overViews[T any](p train.Plan[T], on *taskViews, deal *train.Deal, epochs int,
	inputs func(step int, batch []int32) (in T, made any, err error)) train.Plan[T] {
	if on.whole == nil {
		return train.OverBatches(p, deal, epochs, inputs)
	}
	p.Steps = epochs
	p.Inputs = func(step int) (T, any, error) { return inputs(step, nil) }
	return p
}

func (l *gbt) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	return train.Embedded(ctx, l.encoder, g)
}
