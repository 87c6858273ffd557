package baseline

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/view"
)

// GBTSettings are those of Graph Barlow Twins.
type GBTSettings struct {
	Hidden       int     `json:"hidden" help:"width of the hidden layer"`
	Out          int     `json:"out" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"of AdamW, at its peak"`
	Decay        float64 `json:"decay" range:"[0,)" help:"weight decay of AdamW"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: full-batch steps, or passes over a large graph"`
	WarmUp       int     `json:"warm_up" help:"epochs up to the peak of the learning rate"`
	FeatureMask  float64 `json:"feature_mask" help:"share of feature columns masked in a view"`
	EdgeDrop     float64 `json:"edge_drop" help:"share of edges dropped in a view"`
	Momentum     float64 `json:"momentum" help:"weight of a new batch in BatchNorm's running averages"`
	Sampling
}

// gbtDefaults have the widths, decay, momentum and, as on Products, batches of the reference; the rest is what TRACE's code takes
// on streams.
func gbtDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &GBTSettings{Hidden: 512, Out: 256, LearningRate: 3e-4, Decay: 1e-5, Epochs: 300, WarmUp: 20, FeatureMask: 0.1,
		EdgeDrop: 0.2, Momentum: 0.01, Sampling: newSampling(512, 10)}
	if p == method.Fast {
		s.Epochs, s.WarmUp, s.LearningRate, s.Momentum = 30, 3, 1e-3, 0.1
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "gbt", Paper: "G-BT", Kind: method.SelfSupervised, Order: 2,
		Summary:  "Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022)",
		Defaults: gbtDefaults, New: newGBT})
}

// Validate lists every field out of range.
func (s *GBTSettings) Validate() error {
	l := s.check(check.In("baseline: gbt").Ranges(s), 2)
	l.That(s.WarmUp >= 0 && s.WarmUp <= s.Epochs, "warm_up", s.WarmUp, "0 to epochs")
	l.Add(view.Config{EdgeDrop: s.EdgeDrop, FeatureMask: s.FeatureMask}.Validate())
	l.Add(s.encoder().Validate())
	return l.Err()
}

func (s *GBTSettings) encoder() encoder.Config {
	return encoder.Config{Hidden: s.Hidden, Out: s.Out, Momentum: s.Momentum,
		WholeGraph: s.WholeGraph, SampleFanOut: perLayer(s.FanOut, 2)}
}

// gbt is Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022), one task after the other, with nothing against forgetting:
// the encoder goes on where the last task left it. The loss is saot.BarlowTwinsLoss (its Eqs. 1 and 2) between two views of the
// whole graph, or of sampled neighbourhoods of a batch of a large one's nodes, as the reference has it there. Departures: the number
// of masked columns is fixed at its mean (see package view), and PReLU's slope is decayed like everything else.
type gbt struct {
	GBTSettings
	seed           uint64
	encoder        *encoder.Encoder
	whole, sampled *nn.Trainer
}

func newGBT(b method.Build) (continual.Method, error) {
	l := &gbt{GBTSettings: *b.Settings.(*GBTSettings), seed: b.Seed}
	var err error
	l.encoder, err = encoder.New(b.Engine, l.GBTSettings.encoder(), b.Stream.Features, encoder.NewBuckets(b.Stream.Sizes), seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	o := nn.Optimizer{LearningRate: l.LearningRate, Decay: l.Decay}
	var err1, err2 error
	l.whole, err1 = nn.NewTrainer(b.Engine, l.encoder.Store(), "gbt", o, []string{"total"}, l.loss)
	l.sampled, err2 = nn.NewTrainer(b.Engine, l.encoder.Store(), "gbt on samples", o, []string{"total"}, l.sampledLoss)
	return l, errors.Join(err1, err2)
}

// loss takes the masked columns of both views, unless there are none, Xᵀ, mask, and Â of both views.
func (l *gbt) loss(in []*Node) []*Node {
	var masked [2]*Node
	if l.view().MaskedColumns(l.encoder.Features) > 0 {
		masked, in = [2]*Node{in[0], in[1]}, in[2:]
	}
	featuresT, mask, operators := in[0], in[1], in[2:]
	scope, c := l.encoder.Store().Scope(encoder.Scope), l.encoder.Config
	projected := c.Project(scope, featuresT)
	var z [2]*Node
	for i := range z {
		x := projected
		if masked[i] != nil {
			x = c.MaskColumns(scope, projected, featuresT, masked[i])
		}
		half := len(operators) / 2
		z[i] = c.Encode(scope, x, encoder.NewPropagation(operators[i*half:(i+1)*half]), mask, encoder.Training)
	}
	return []*Node{saot.BarlowTwinsLoss(z[0], z[1], mask)}
}

// sampledLoss takes what viewSampler draws.
func (l *gbt) sampledLoss(in []*Node) []*Node {
	scope, c := l.encoder.Store().Scope(encoder.Scope), l.encoder.Config
	views, _ := takeSampledViews(c, l.view().MaskedColumns(l.encoder.Features) > 0, in)
	var z [2]*Node
	for i := range z {
		z[i] = c.EncodeSample(scope, views[i], encoder.Training)
	}
	return []*Node{saot.BarlowTwinsLoss(z[0], z[1], OnesLike(Slice(z[0], AxisRange(), AxisRange(0, 1))))}
}

func (l *gbt) view() view.Config {
	return view.Config{EdgeDrop: l.EdgeDrop, FeatureMask: l.FeatureMask}
}

// Learn trains the encoder on.
func (l *gbt) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	train := l.train
	if l.samples(g) {
		train = l.trainSampled
	}
	if err := train(ctx, g, nn.Plan{Task: task, Report: report, Seen: observe}); err != nil {
		return nil, fmt.Errorf("baseline: gbt: task %d: %w", task+1, err)
	}
	return report, nil
}

// train carries a plan out on a whole graph.
func (l *gbt) train(ctx context.Context, g *graph.Graph, p nn.Plan) error {
	b, err := l.encoder.Batch(g)
	if err != nil {
		return err
	}
	defer b.Finalize()
	p.Steps, p.Rate = l.Epochs, nn.WarmUpCosine(l.LearningRate, l.WarmUp, l.Epochs)
	p.Inputs = func(step int) (in, release []*tensors.Tensor, err error) {
		v1, v2 := view.Pair(g, l.view(), seed.Stream(l.seed, "augment", p.Task, step))
		var operators []*tensors.Tensor
		for _, v := range []view.View{v1, v2} {
			if len(v.Masked) > 0 {
				release = append(release, tensors.FromFlatDataAndDimensions(v.Masked, len(v.Masked)))
			}
			op, err := l.encoder.Config.NewOperator(&v.Adjacency, b.Size)
			if err != nil {
				return nil, release, err
			}
			operators = append(operators, op.Tensors()...)
		}
		in = append(append(append(in, release...), b.FeaturesT, b.Mask), operators...)
		return in, append(release, operators...), nil
	}
	return l.whole.Train(ctx, p)
}

// trainSampled carries a plan out on a graph too large for a step.
func (l *gbt) trainSampled(ctx context.Context, g *graph.Graph, p nn.Plan) error {
	views, deal := newViewSampler(l.encoder.Config, l.view(), g), l.deal(g.NumNodes(), l.seed, p.Task)
	p.Rate = nn.WarmUpCosine(l.LearningRate, l.WarmUp*deal.PerEpoch(), l.Epochs*deal.PerEpoch())
	return l.sampled.Train(ctx, deal.Plan(p, l.Epochs, func(step int, batch []int32) (in, release []*tensors.Tensor, err error) {
		in, err = views.draw(batch, seed.Stream(l.seed, "augment", p.Task, step))
		return in, in, err
	}))
}

// Embed returns the encoder's embeddings.
func (l *gbt) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	rows, cols, data, err := l.encoder.Embed(ctx, g)
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, err
}

// Save writes the encoder.
func (l *gbt) Save(w io.Writer) error { return l.encoder.Save(gob.NewEncoder(w)) }

// Load restores it.
func (l *gbt) Load(r io.Reader) error { return l.encoder.Load(gob.NewDecoder(r)) }
