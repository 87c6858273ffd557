package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/view"
)

// TRACESettings are those of TRACE.
type TRACESettings struct {
	Encoder      encoder.Kind `json:"encoder" help:"encoder of both systems: gcn or gat"`
	Hidden       int          `json:"hidden" help:"width of the hidden layer; of each head of a gat"`
	Out          int          `json:"out" help:"width of the embeddings"`
	Layers       int          `json:"layers" help:"layers of a gat; a gcn has two"`
	Heads        int          `json:"heads" help:"attention heads of a gat"`
	LearningRate float64      `json:"learning_rate" range:"(0,1)" help:"peak learning rate of AdamW in both systems"`
	Decay        float64      `json:"decay" range:"[0,)" help:"weight decay of AdamW"`
	FastEpochs   int          `json:"fast_epochs" range:"[1,)" help:"fast encoder's epochs per task: steps or passes"`
	Epochs       int          `json:"epochs" range:"[1,)" help:"slow encoder's epochs per task: steps or passes"`
	WarmUp       int          `json:"warm_up" range:"[0,)" help:"epochs up to the peak of the learning rate"`
	FeatureMask  float64      `json:"feature_mask" range:"[0,1)" help:"share of feature columns masked in a view"`
	EdgeDrop     float64      `json:"edge_drop" range:"[0,1)" help:"share of edges dropped in a view"`
	Momentum     float64      `json:"momentum" help:"weight of a new batch in BatchNorm's running averages"`
	Beta         float64      `json:"beta" range:"[0,)" help:"β, weight of the distillation"`
	Clusters     int          `json:"clusters" range:"[1,)" help:"K of the first clustering"`
	Variance     float64      `json:"variance" range:"[0,)" help:"cluster variance below which clustering stops"`
	Retention    float64      `json:"retention" range:"[0,1]" help:"ρ: a task is replayed if R_τ is outside [ρ, 2−ρ]"`

	Sampling

	// What bounds the memory; the reference has no such bounds.
	Proxies  int `json:"proxies" range:"[1,)" help:"largest number of proxies per task"`
	Buffer   int `json:"buffer" help:"nodes of a task's stored subgraph, at most, the proxies among them"`
	Encoders int `json:"encoders" range:"[0,)" help:"slow encoders kept for spaced replay, at most"`
	Replay   int `json:"replay" range:"[0,)" help:"tasks of spaced replay in a step, drawn at random; 0 is all of them"`
}

// traceDefaults follow the public code, except for the GAT's sampling (docs/methods.md). 64 proxies are several times
// what clustering from K = 10 yields. CoraFull's GAT has 20 million weights: 8 GB hold eight encoders and a step that
// replays two tasks.
func traceDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &TRACESettings{
		Hidden: 256, Out: 128, Layers: 3, Heads: 4, LearningRate: 3e-4, Decay: 1e-5, FastEpochs: 300, Epochs: 300,
		WarmUp:      20,
		FeatureMask: 0.1, EdgeDrop: 0.2, Momentum: 0.01, Beta: 0.01, Clusters: 10, Variance: 0.1, Retention: 0.8,
		Proxies: 64, Buffer: 1000, Encoders: 40, Sampling: newSampling(2048, 10),
	}
	if p == method.Fast {
		s.FastEpochs, s.Epochs, s.WarmUp, s.LearningRate, s.Momentum, s.Buffer, s.Encoders = 30, 30, 3, 1e-3, 0.1, 200,
			8
		return s
	}
	switch recipe {
	case datasets.RecipeCoraFull:
		s.Encoder = encoder.GAT
		if p == method.Default {
			s.Encoders, s.Replay = 8, 2
		}
	case datasets.RecipeReddit, datasets.RecipeProducts:
		s.Encoder, s.Sampling = encoder.GAT, newSampling(128, 5, 2, 2)
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "trace", Paper: "TRACE", Kind: method.SelfSupervised, Order: 7,
		Summary:  "fast and slow encoders with proxies of past tasks (TRACE, KDD 2025)",
		Defaults: traceDefaults, New: newTRACE,
		Load: func(s method.Settings) method.Load { return s.(*TRACESettings).load() }})
}

// Validate lists every field out of range.
func (s *TRACESettings) Validate() error {
	l := check.In("baseline: trace").Ranges(s)
	l.AtMost("warm_up", s.WarmUp, "epochs", s.Epochs)
	l.AtMost("warm_up", s.WarmUp, "fast_epochs", s.FastEpochs)
	l.That(s.Buffer >= s.Proxies, "buffer", s.Buffer, fmt.Sprintf("proxies (%d) or more", s.Proxies))
	l.That(s.Encoder == encoder.GCN || s.Encoder == encoder.GAT, "encoder", s.Encoder, "gcn or gat")
	l.Add(unsampled(s.encoder()).Validate())
	return s.check(l, s.encoder().Depth()).Err()
}

func (s *TRACESettings) encoder() encoder.Config {
	c := encoder.Config{Kind: s.Encoder, Hidden: s.Hidden, Out: s.Out, Momentum: s.Momentum,
		WholeGraph: s.WholeGraph}
	if c.Kind == encoder.GAT {
		c.Layers, c.Heads = s.Layers, s.Heads
	}
	c.SampleFanOut = perLayer(s.FanOut, c.Depth())
	return c
}

// compilingGAT is what XLA takes to compile a step of the GAT with its replay, measured on corafull-topology.
const compilingGAT = 4 << 30

// load is the work of a task: the epochs of both encoders. A slow step also takes the last task and those replayed.
// Only the run shows which these are: all count.
func (s *TRACESettings) load() method.Load {
	l := method.Load{Epochs: s.FastEpochs + s.Epochs, Hidden: s.Hidden, Out: s.Out, WholeGraph: s.WholeGraph,
		Batch: s.Batch, Snapshots: s.Encoders + 1, PastTasks: min(s.Encoders, cmp.Or(s.Replay, s.Encoders)) + 1,
		PastNodes: s.Buffer, PastEpochs: s.Epochs, ColumnWeights: s.Hidden, OtherWeights: s.Hidden * s.Out,
		Width: s.Out}
	if c := s.encoder(); c.Kind == encoder.GAT {
		l.Hidden, l.Out = c.GATWidths()
		l.Spread = c.Spread()
		l.Bytes = compilingGAT
		l.ColumnWeights, l.OtherWeights = c.GATWeights()
	}
	return l
}

func (s *TRACESettings) view() view.Config {
	return view.Config{EdgeDrop: s.EdgeDrop, FeatureMask: s.FeatureMask}
}

// trace is TRACE (Peng, Hua, Hao, Lin, Dong and Shen, KDD 2025), after its public code. On each task t
//
//  1. a fast encoder, newly drawn, learns the task alone by Graph Barlow Twins (train.BarlowTwinsLoss);
//  2. progressive clustering of its embeddings chooses node proxies P_t (progressive), and the subgraph of the nodes
//     within as many hops of them as the encoder has layers is stored;
//  3. the slow encoder f, which continues from task to task, learns by
//     L = L_G-BT + β·D_{t−1}(f̄_{t−1}) + Σ_{τ<t−1, R_τ∉[ρ, 2−ρ]} β·min(1, R_τ)·D_τ(f̄_τ),
//
// where f̄_τ is the slow encoder as it was after task τ, and D_τ the change in the similarities of the proxies
// (similarityLoss): distillation from the last task, and spaced replay of those whose retention R_τ has changed
// (meanSimilarity).
//
// Of the replayed tasks a step takes Replay, drawn at random and weighted so that the expected loss is that of all.
//
// The embeddings are the slow encoder's. As in the code, its BatchNorm takes the statistics of each batch, the proxies'
// subgraphs included, and f̄'s the running averages: with BatchNorm, D is not 0 even at the first step.
type trace struct {
	TRACESettings
	method.State
	engine      *engine.Engine
	stream      method.Stream
	seed        uint64
	fast, slow  *encoder.Encoder
	fastTrainer *traceTrainer
	slowTrainer *traceTrainer
	memories    []*traceMemory // of the tasks learned, in order
	stored      *encoder.Buckets
}

type (
	traceTrainer = train.Trainer[traceInputs[*tensors.Tensor]]
	tracePlan    = train.Plan[traceInputs[*tensors.Tensor]]
)

type traceInputs[T any] struct {
	Task    train.Views[T]
	Current *storedViews[T]  // the subgraph of the task's proxies; absent of the fast encoder and on the first task
	Past    []storedViews[T] // those of the last task and of the replayed ones
}

type storedViews[T any] struct {
	Views  train.Views[T]
	Share  T // 1/|P| on the proxies, which are its first rows, and 0 after [P, 1]
	Weight T // β or β·min(1, R_τ); absent of the current task's
}

func newTRACE(b method.Build) (continual.Method, error) {
	l := &trace{TRACESettings: *b.Settings.(*TRACESettings), engine: b.Engine, stream: b.Stream, seed: b.Seed}
	l.stored = l.newStored()
	var err1, err2 error
	l.fast, err1 = l.newEncoder(seed.Stream(b.Seed, "fast", 0))
	l.slow, err2 = l.newEncoder(seed.Stream(b.Seed, "weights"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	// a fast encoder is of use to one task only
	l.State = method.State{Name: "trace", Nets: []*encoder.Net{l.slow.Net}, Parts: []any{&l.memories}}
	adam := train.Optimizer{LearningRate: l.LearningRate, Decay: l.Decay}
	l.fastTrainer, err1 = train.New[traceInputs[*tensors.Tensor]](l.fast.Net, "trace fast", adam,
		func(in traceInputs[*Node]) train.Loss { return train.Loss{Total: barlow(l.fast, in.Task)} })
	l.slowTrainer, err2 = train.New[traceInputs[*tensors.Tensor]](l.slow.Net, "trace slow", adam, l.slowLoss)
	return l, errors.Join(err1, err2)
}

// gatCompiling is how many times as many rows of a step XLA computes while it compiles one of a GAT, compared with one
// of a GCN: 15 s and 0.17 ms, and 1.6 s and 50 µs.
const gatCompiling = 3

func (l *trace) newEncoder(rng *rand.Rand) (*encoder.Encoder, error) {
	steps := l.Epochs
	if l.Encoder == encoder.GAT {
		steps = max(1, steps/gatCompiling)
	}
	return encoder.New(l.engine, l.encoder(), l.stream.Features, encoder.NewBuckets(l.engine, steps, l.stream.Sizes),
		rng)
}

func (l *trace) slowLoss(in traceInputs[*Node]) train.Loss {
	total := barlow(l.slow, in.Task)
	zero := ScalarZero(total.Graph(), total.DType())
	parts := []train.Term{{Name: "barlow", Node: total}, {Name: "distillation", Node: zero},
		{Name: "replay", Node: zero}}
	if in.Current == nil {
		return train.Loss{Total: total, Parts: parts}
	}
	now := l.embed(encoder.Scope, in.Current, encoder.Training)
	for k := range in.Past {
		past, frozen := &in.Past[k], traceScope(k)
		d := similarityLoss(
			proxyViews{now, l.embed(encoder.Scope, past, encoder.Training)},
			proxyViews{l.embed(frozen, in.Current, encoder.Inference), l.embed(frozen, past, encoder.Inference)},
			in.Current.Share, past.Share)
		d = Mul(past.Weight, d)
		if total = Add(total, d); k == 0 {
			parts[1].Node = d
		} else {
			parts[2].Node = Add(parts[2].Node, d)
		}
	}
	return train.Loss{Total: total, Parts: parts}
}

// embed returns Z [N, out] of both views by the slow encoder whose variables stand in the scope.
func (l *trace) embed(scopePath string, s *storedViews[*Node], mode encoder.Mode) [2]*Node {
	return train.Embed(l.slow, scopePath, s.Views, nil, mode)
}

// traceScope is the scope of the frozen encoder with which the k-th subgraph of the past is compared.
func traceScope(k int) string {
	if k == 0 {
		return encoder.TeacherScope
	}
	return fmt.Sprintf("/replay%d", k)
}

// Learn lets the fast encoder learn the task, keeps its proxies, and continues the slow encoder's training. Diagnostics
// of the report, whose losses are the slow encoder's:
//
//	fast_loss        of the fast encoder's last step
//	proxies          chosen
//	stored_nodes     of their subgraph
//	retention        mean R_τ of the tasks before the last one
//	replayed         how many of these are replayed; a step takes Replay of them
//	kept_encoders    how many of these still have their encoder
func (l *trace) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Diagnostics: map[string]float64{}}
	return report, l.Fault(task, l.learn(ctx, g, report, observe))
}

func (l *trace) learn(ctx context.Context, g *graph.Graph, report *continual.TaskReport,
	observe func(continual.Step)) error {
	replayed, err := l.consolidate(report.Diagnostics)
	if err != nil {
		return err
	}
	on, err := l.views(l.slow, l.view(), g)
	if err != nil {
		return err
	}
	defer on.release()
	z, err := l.learnFast(ctx, on, report, observe)
	if err != nil {
		return err
	}
	m, err := l.keep(ctx, report.Task, g, z)
	if err != nil {
		return err
	}
	l.memories = append(l.memories, m)
	report.Diagnostics["proxies"], report.Diagnostics["stored_nodes"] = float64(m.Proxies), float64(m.Graph.NumNodes())
	if err := l.learnSlow(ctx, on, replayed, report, observe); err != nil {
		return err
	}
	m.Similarity, err = l.similarity(m)
	return err
}

type traceRun struct {
	on     *taskViews
	stored *traceStored
	epochs int
	name   string // of the randomness of views
}

func (l *trace) train(ctx context.Context, t *traceTrainer, p tracePlan, r traceRun) error {
	on, epochs := r.on, r.epochs
	p.Before = func(step int) error { return l.placeEncoders(r.stored, p.Task, step) }
	p.Rate = train.WarmUpCosine(l.LearningRate, l.WarmUp*on.perEpoch, epochs*on.perEpoch)
	inputs := func(step int, batch []int32) (in traceInputs[*tensors.Tensor], made any, err error) {
		rng := seed.Stream(l.seed, r.name, p.Task, step)
		pair, err := on.draw(batch, rng)
		if err != nil {
			return in, nil, err
		}
		in.Task = pair.Views
		drawn, err := l.drawStored(&in, r.stored, l.chosen(r.stored, p.Task, step), rng)
		return in, append(drawn, pair.Made()), err
	}
	deal := l.deal(on.graph.NumNodes(), l.seed, p.Task, r.name)
	return t.Train(ctx, overViews(p, on, deal, epochs, inputs))
}

func (l *trace) learnFast(ctx context.Context, on *taskViews, report *continual.TaskReport,
	observe func(continual.Step)) (*continual.Embedding, error) {
	task := report.Task
	drawn, err := l.newEncoder(seed.Stream(l.seed, "fast", task))
	if err != nil {
		return nil, err
	}
	weights, err := drawn.Snapshot()
	if err == nil {
		err = l.fast.Restore(weights) // into an encoder whose steps are compiled
	}
	if err != nil {
		return nil, err
	}
	fast := &continual.TaskReport{}
	err = l.train(ctx, l.fastTrainer, tracePlan{Task: task, Report: fast, Seen: l.counted(observe, 0, on)},
		traceRun{on: on, epochs: l.FastEpochs, name: "fast augment"})
	if err != nil {
		return nil, fmt.Errorf("fast encoder: %w", err)
	}
	report.Diagnostics["fast_loss"] = fast.LastLoss[0].Value
	return train.Embedded(ctx, l.fast, on.graph)
}

// counted lets an observer count the steps of both encoders, of which those of some epochs were taken before.
func (l *trace) counted(observe func(continual.Step), before int, on *taskViews) func(continual.Step) {
	return shifted(observe, before*on.perEpoch, (l.FastEpochs+l.Epochs)*on.perEpoch)
}

// learnSlow trains the slow encoder on the task, with distillation and replay from the second task on.
func (l *trace) learnSlow(ctx context.Context, on *taskViews, replayed []spaced, report *continual.TaskReport,
	observe func(continual.Step)) error {
	stored, err := l.uploadStored(replayed)
	if err != nil {
		return err
	}
	defer stored.release()
	return l.train(ctx, l.slowTrainer,
		tracePlan{Task: report.Task, Report: report, Seen: l.counted(observe, l.FastEpochs, on)},
		traceRun{on: on, stored: stored, epochs: l.Epochs, name: "augment"})
}

func (l *trace) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	return train.Embedded(ctx, l.slow, g)
}
