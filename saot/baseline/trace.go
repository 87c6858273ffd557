package baseline

import (
	"cmp"
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

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/view"
)

// TRACESettings are those of TRACE.
type TRACESettings struct {
	Encoder      encoder.Kind `json:"encoder" help:"of both systems: gcn or gat"`
	Hidden       int          `json:"hidden" help:"width of the hidden layer; of each head of a gat"`
	Out          int          `json:"out" help:"width of the embeddings"`
	Layers       int          `json:"layers" help:"of a gat; a gcn has two"`
	Heads        int          `json:"heads" help:"of a gat"`
	LearningRate float64      `json:"learning_rate" range:"(0,1)" help:"of AdamW in both systems, at its peak"`
	Decay        float64      `json:"decay" range:"[0,)" help:"weight decay of AdamW"`
	FastEpochs   int          `json:"fast_epochs" range:"[1,)" help:"of the fast encoder per task: steps, or passes over a large graph"`
	Epochs       int          `json:"epochs" range:"[1,)" help:"of the slow encoder per task: steps, or passes over a large graph"`
	WarmUp       int          `json:"warm_up" help:"epochs up to the peak of the learning rate"`
	FeatureMask  float64      `json:"feature_mask" help:"share of feature columns masked in a view"`
	EdgeDrop     float64      `json:"edge_drop" help:"share of edges dropped in a view"`
	Momentum     float64      `json:"momentum" help:"weight of a new batch in BatchNorm's running averages"`
	Beta         float64      `json:"beta" range:"[0,)" help:"β, weight of the distillation"`
	Clusters     int          `json:"clusters" range:"[1,)" help:"K of the first clustering"`
	Variance     float64      `json:"variance" range:"[0,)" help:"of the clusters' compactness, below which clustering stops"`
	Retention    float64      `json:"retention" range:"[0,1]" help:"ρ: a task is replayed where R_τ is outside [ρ, 2−ρ]"`

	Sampling

	// What bounds the memory; the reference has no such bounds.
	Proxies  int `json:"proxies" range:"[1,)" help:"of a task, at most"`
	Buffer   int `json:"buffer" help:"nodes of a task's stored subgraph, at most, the proxies among them"`
	Encoders int `json:"encoders" range:"[0,)" help:"slow encoders kept for spaced replay, at most, next to that of the last task"`
}

// traceDefaults follow the public code, which has a GAT on Reddit and Products, and on CoraFull too: there its first layer
// would take eight times a GCN's operations over 8,710 columns, hours on a CPU, so that the GCN is the default. The GAT's sampled
// steps are smaller than the reference's, batches of 2,048 with 10 neighbours in each of three layers: these may have 2.7 million rows
// of width 1,024, and a step in two views holds dozens of such matrices. 64 proxies are several times what clustering from K = 10
// yields.
func traceDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &TRACESettings{
		Hidden: 256, Out: 128, Layers: 3, Heads: 4, LearningRate: 3e-4, Decay: 1e-5, FastEpochs: 300, Epochs: 300, WarmUp: 20,
		FeatureMask: 0.1, EdgeDrop: 0.2, Momentum: 0.01, Beta: 0.01, Clusters: 10, Variance: 0.1, Retention: 0.8,
		Proxies: 64, Buffer: 1000, Encoders: 40, Sampling: newSampling(2048, 10),
	}
	if p == method.Fast {
		s.FastEpochs, s.Epochs, s.WarmUp, s.LearningRate, s.Momentum, s.Buffer, s.Encoders = 30, 30, 3, 1e-3, 0.1, 200, 8
	} else if recipe == datasets.RecipeReddit || recipe == datasets.RecipeProducts {
		s.Encoder, s.Sampling = encoder.GAT, newSampling(128, 5, 2, 2)
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "trace", Paper: "TRACE", Kind: method.SelfSupervised, Order: 7,
		Summary:  "fast and slow encoders with proxies of past tasks (TRACE, KDD 2025)",
		Defaults: traceDefaults, New: newTRACE})
}

// Validate lists every field out of range.
func (s *TRACESettings) Validate() error {
	l := check.In("baseline: trace").Ranges(s)
	l.That(s.WarmUp >= 0 && s.WarmUp <= min(s.Epochs, s.FastEpochs), "warm_up", s.WarmUp,
		"0 to the lesser of epochs and fast_epochs")
	l.That(s.Buffer >= s.Proxies, "buffer", s.Buffer, fmt.Sprintf("proxies (%d) or more", s.Proxies))
	l.Add(s.view().Validate())
	l.Add(s.encoder().Validate())
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

func (s *TRACESettings) view() view.Config {
	return view.Config{EdgeDrop: s.EdgeDrop, FeatureMask: s.FeatureMask}
}

// trace is TRACE (Peng, Hua, Hao, Lin, Dong and Shen, KDD 2025), after its public code. On each task t
//
//  1. a fast encoder, newly drawn, learns the task alone by Graph Barlow Twins (saot.BarlowTwinsLoss);
//
//  2. progressive clustering of its embeddings chooses node proxies P_t (progressive), and the subgraph of the nodes within
//     as many hops of them as the encoder has layers is stored;
//
//  3. the slow encoder f, which goes on from task to task, learns by
//
//     L = L_G-BT + β·D_{t−1}(f̄_{t−1}) + Σ_{τ<t−1, R_τ∉[ρ, 2−ρ]} β·min(1, R_τ)·D_τ(f̄_τ),
//
// where f̄_τ is the slow encoder as it was after task τ, and D_τ the change in the similarities of the proxies (similarityLoss):
// distillation from the last task, and spaced replay of those whose retention R_τ has changed (meanSimilarity).
//
// The embeddings are the slow encoder's. As in the code, its BatchNorm takes the statistics of each batch, the proxies' subgraphs
// included, and f̄'s the running averages: with BatchNorm, D is not 0 even at the first step.
//
// Departures from the code: weights are those of the last epoch, where the code's running loss, never reset, chooses the first;
// the slow encoder is trained on the first task too, by L_G-BT, where the code evaluates it untrained; AdamW and the learning
// rate's schedule start afresh with every task; replayed tasks are compared with their own encoders, where the code fails to
// load them; graphs up to a bound are whole, where the code has batches of 2,048 with 10 sampled neighbours; and a GCN of two layers in
// place of three on Arxiv; views and weight decay are as gbt has them; R_τ is not rounded to two decimals; the memory is bounded,
// and where an encoder must go, it is that of the task retained best, which is not replayed from then on.
type trace struct {
	TRACESettings
	engine      *engine.Engine
	stream      method.Stream
	seed        uint64
	fast, slow  *encoder.Encoder
	fastTrainer sizedTrainers
	slowTrainer sizedTrainers
	memories    []*traceMemory // of the tasks learned, in order
}

// sizedTrainers train on whole graphs, and on samples of larger ones.
type sizedTrainers struct{ whole, sampled *nn.Trainer }

func newTRACE(b method.Build) (continual.Method, error) {
	l := &trace{TRACESettings: *b.Settings.(*TRACESettings), engine: b.Engine, stream: b.Stream, seed: b.Seed}
	var err1, err2 error
	l.fast, err1 = l.newEncoder(seed.Stream(b.Seed, "fast", 0))
	l.slow, err2 = l.newEncoder(seed.Stream(b.Seed, "weights"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	l.fastTrainer, err1 = l.trainers(l.fast, "trace fast", []string{"total"}, l.fastLoss, l.sampledFastLoss)
	terms := []string{"total", "barlow", "distillation", "replay"}
	l.slowTrainer, err2 = l.trainers(l.slow, "trace slow", terms, l.slowLoss, l.sampledSlowLoss)
	return l, errors.Join(err1, err2)
}

func (l *trace) trainers(e *encoder.Encoder, name string, terms []string,
	whole, sampled func(in []*Node) []*Node) (t sizedTrainers, err error) {
	o := nn.Optimizer{LearningRate: l.LearningRate, Decay: l.Decay}
	var err1, err2 error
	t.whole, err1 = nn.NewTrainer(l.engine, e.Store(), name, o, terms, whole)
	t.sampled, err2 = nn.NewTrainer(l.engine, e.Store(), name+" on samples", o, terms, sampled)
	return t, errors.Join(err1, err2)
}

func (l *trace) newEncoder(rng *rand.Rand) (*encoder.Encoder, error) {
	return encoder.New(l.engine, l.encoder(), l.stream.Features, encoder.NewBuckets(l.stream.Sizes), rng)
}

// fastLoss takes a graph in two views.
func (l *trace) fastLoss(in []*Node) []*Node {
	g := l.takeGraph(in, false)
	z := l.embed(l.fast, encoder.Scope, g, encoder.Training)
	return []*Node{saot.BarlowTwinsLoss(z[0], z[1], g.mask)}
}

// sampledFastLoss takes what viewSampler draws.
func (l *trace) sampledFastLoss(in []*Node) []*Node {
	barlow, _ := l.sampledBarlow(l.fast, in)
	return []*Node{barlow}
}

// sampledBarlow takes what viewSampler draws from the head of the inputs, and returns the rest.
func (l *trace) sampledBarlow(e *encoder.Encoder, in []*Node) (loss *Node, rest []*Node) {
	views, rest := takeSampledViews(e.Config, l.view().MaskedColumns(l.stream.Features) > 0, in)
	var z [2]*Node
	for v := range z {
		z[v] = e.Config.EncodeSample(e.Store().Scope(encoder.Scope), views[v], encoder.Training)
	}
	return saot.BarlowTwinsLoss(z[0], z[1], OnesLike(Slice(z[0], AxisRange(), AxisRange(0, 1)))), rest
}

// slowLoss takes graphs in two views: the task's alone on the first task, and later, after the weights β and β·min(1, R_τ) [1+n],
// the task's, the subgraphs of its proxies and of the last task's, and those of n replayed tasks.
func (l *trace) slowLoss(in []*Node) []*Node {
	var weights *Node
	if in[0].Rank() == 1 {
		weights, in = in[0], in[1:]
	}
	graphs := l.takeGraphs(in)
	z := l.embed(l.slow, encoder.Scope, graphs[0], encoder.Training)
	return l.slowTerms(saot.BarlowTwinsLoss(z[0], z[1], graphs[0].mask), weights, graphs[1:])
}

// sampledSlowLoss takes what viewSampler draws of the task's graph, and, from the second task on, the weights and the subgraphs.
func (l *trace) sampledSlowLoss(in []*Node) []*Node {
	barlow, rest := l.sampledBarlow(l.slow, in)
	if len(rest) == 0 {
		return l.slowTerms(barlow, nil, nil)
	}
	return l.slowTerms(barlow, rest[0], l.takeStored(rest[1:]))
}

// slowTerms returns L and its parts, given the stored subgraphs, that of the current task first.
func (l *trace) slowTerms(barlow, weights *Node, stored []graphViews) []*Node {
	distillation, replay := Scalar(barlow.Graph(), dtypes.Float32, 0), Scalar(barlow.Graph(), dtypes.Float32, 0)
	if weights == nil {
		return []*Node{barlow, barlow, distillation, replay}
	}
	current, weight := stored[0], func(k int) *Node { return Squeeze(SliceAxis(weights, 0, AxisElem(k)), 0) }
	now := l.embed(l.slow, encoder.Scope, current, encoder.Training)
	total := barlow
	for k, past := range stored[1:] {
		frozen := traceScope(k)
		d := similarityLoss(
			proxyViews{now, l.embed(l.slow, encoder.Scope, past, encoder.Training)},
			proxyViews{l.embed(l.slow, frozen, current, encoder.Inference), l.embed(l.slow, frozen, past, encoder.Inference)},
			current.share, past.share)
		d = Mul(weight(k), d)
		if total = Add(total, d); k == 0 {
			distillation = d
		} else {
			replay = Add(replay, d)
		}
	}
	return []*Node{total, barlow, distillation, replay}
}

// traceScope is where the frozen encoder stands in the store that the k-th subgraph of the past is compared with.
func traceScope(k int) string {
	if k == 0 {
		return encoder.TeacherScope
	}
	return fmt.Sprintf("/replay%d", k)
}

// proxyViews are embeddings of the current task's proxies and of a past one's, each in both views.
type proxyViews struct{ current, past [2]*Node }

// similarityLoss returns how far the similarities of proxies are from what they were,
//
//	D_τ = ½ Σ_{views} [ MSE(S(P_t, P_τ), S̄(P_t, P_τ)) + MSE(S(P_τ, P_τ), S̄(P_τ, P_τ)) ],   S_ij = cos(z_i, z_j),
//
// with S̄ of a frozen encoder. A rotation or a scaling of all embeddings changes nothing.
//
// Shapes: embeddings [N, d] whose first rows are proxies, of the current and the past task; shares [P, 1], 1/|P_t| and 1/|P_τ| on
// proxies and 0 on further rows; returns a scalar. The gradient flows to now. O(P²·d).
func similarityLoss(now, then proxyViews, current, past *Node) *Node {
	loss := Scalar(current.Graph(), current.DType(), 0)
	for v := range now.current {
		for _, pair := range [2]struct{ now, then, share *Node }{
			{now.current[v], then.current[v], current},
			{now.past[v], then.past[v], past},
		} {
			p := past.Shape().Dim(0)
			change := Sub(cosines(pair.now, now.past[v], p), StopGradient(cosines(pair.then, then.past[v], p)))
			loss = Add(loss, ReduceAllSum(Mul(Square(change), Mul(pair.share, Transpose(past, 0, 1)))))
		}
	}
	return MulScalar(loss, 0.5)
}

// cosines returns S_ij = cos(a_i, b_j) of the first p rows.
func cosines(a, b *Node, p int) *Node {
	unit := func(z *Node) *Node {
		z = Slice(z, AxisRange(0, p))
		return Div(z, Sqrt(AddScalar(ReduceAndKeep(Square(z), ReduceSum, -1), 1e-12)))
	}
	return Dot(unit(a), unit(b)).General([]int{1}, nil, []int{1}, nil)
}

// graphViews is a graph in two views among a function's inputs.
type graphViews struct {
	featuresT, mask, share *Node // share [P, 1] of a stored subgraph: 1/|P| on its proxies
	masked                 [2]*Node
	hat                    [2]encoder.Propagation
}

// takeGraphs reads the inputs that pair makes for several graphs, all but the first stored subgraphs.
func (l *trace) takeGraphs(in []*Node) []graphViews {
	end := endOfGraph(in)
	return append([]graphViews{l.takeGraph(in[:end], false)}, l.takeStored(in[end:])...)
}

// takeStored is takeGraphs for stored subgraphs alone.
func (l *trace) takeStored(in []*Node) (all []graphViews) {
	for len(in) > 0 {
		end := endOfGraph(in)
		all = append(all, l.takeGraph(in[:end], true))
		in = in[end:]
	}
	return all
}

// endOfGraph returns the number of inputs that belong to the first graph. Each begins with Xᵀ, the only matrix of more than one
// column.
func endOfGraph(in []*Node) int {
	end := 1
	for end < len(in) && (in[end].Rank() != 2 || in[end].Shape().Dim(1) == 1) {
		end++
	}
	return end
}

func (l *trace) takeGraph(in []*Node, stored bool) graphViews {
	g := graphViews{featuresT: in[0], mask: in[1]}
	in = in[2:]
	if stored {
		g.share, in = in[0], in[1:]
	}
	if l.view().MaskedColumns(l.stream.Features) > 0 {
		g.masked, in = [2]*Node{in[0], in[1]}, in[2:]
	}
	half := len(in) / 2
	g.hat = [2]encoder.Propagation{encoder.NewPropagation(in[:half]), encoder.NewPropagation(in[half:])}
	return g
}

// embed returns Z [N, out] of both views by the encoder whose variables stand in the scope.
func (l *trace) embed(e *encoder.Encoder, scopePath string, g graphViews, mode encoder.Mode) (z [2]*Node) {
	c, scope := e.Config, e.Store().Scope(scopePath)
	projected := c.Project(scope, g.featuresT)
	for v := range z {
		x := projected
		if g.masked[v] != nil {
			x = c.MaskColumns(scope, projected, g.featuresT, g.masked[v])
		}
		z[v] = c.Encode(scope, x, g.hat[v], g.mask, mode)
	}
	return z
}

// tracedGraph is a graph on the engine, to be trained on.
type tracedGraph struct {
	*encoder.Batch
	share *tensors.Tensor // nil of a task's graph
}

func (b *tracedGraph) release() {
	b.Finalize()
	nn.Release(b.share)
}

// pair draws two views of a graph as inputs for takeGraph.
func (l *trace) pair(b *tracedGraph, rng *rand.Rand) (in, release []*tensors.Tensor, err error) {
	in = []*tensors.Tensor{b.FeaturesT, b.Mask}
	if b.share != nil {
		in = append(in, b.share)
	}
	v1, v2 := view.Pair(b.Graph, l.view(), rng)
	var operators []*tensors.Tensor
	for _, v := range []view.View{v1, v2} {
		if len(v.Masked) > 0 {
			release = append(release, tensors.FromFlatDataAndDimensions(v.Masked, len(v.Masked)))
		}
		op, err := l.slow.Config.NewOperator(&v.Adjacency, b.Size)
		if err != nil {
			return nil, append(release, operators...), err
		}
		operators = append(operators, op.Tensors()...)
	}
	release = append(release, operators...)
	return append(in, release...), release, nil
}

// Learn lets the fast encoder learn the task, keeps its proxies, and trains the slow encoder on. Diagnostics of the report, whose
// losses are the slow encoder's:
//
//	fast_loss        of the fast encoder's last step
//	proxies          chosen
//	stored_nodes     of their subgraph
//	retention        mean R_τ of the tasks before the last one
//	replayed         how many of these are replayed
//	kept_encoders    how many of these still have their encoder
func (l *trace) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Diagnostics: map[string]float64{}}
	if err := l.learn(ctx, g, report, observe); err != nil {
		return nil, fmt.Errorf("baseline: trace: task %d: %w", task+1, err)
	}
	return report, nil
}

func (l *trace) learn(ctx context.Context, g *graph.Graph, report *continual.TaskReport, observe func(continual.Step)) error {
	replayed, err := l.consolidate(report.Diagnostics)
	if err != nil {
		return err
	}
	on, err := l.taskViews(g)
	if err != nil {
		return err
	}
	defer on.release()
	z, err := l.learnFast(ctx, on, report, observe)
	if err != nil {
		return err
	}
	m := l.keep(report.Task, g, z)
	l.memories = append(l.memories, m)
	report.Diagnostics["proxies"], report.Diagnostics["stored_nodes"] = float64(m.Proxies), float64(m.Graph.NumNodes())
	if err := l.learnSlow(ctx, on, replayed, report, observe); err != nil {
		return err
	}
	m.Similarity, err = l.similarity(m)
	return err
}

// taskViews is what draws two views of a task's graph as inputs of a step: of the whole graph, or of a batch of a larger one's nodes.
type taskViews struct {
	graph    *graph.Graph
	whole    *tracedGraph // nil of a larger graph
	sampler  *viewSampler
	perEpoch int // steps
}

func (l *trace) taskViews(g *graph.Graph) (*taskViews, error) {
	if l.samples(g) {
		return &taskViews{graph: g, sampler: newViewSampler(l.slow.Config, l.view(), g), perEpoch: max(1, g.NumNodes()/l.Batch)}, nil
	}
	b, err := l.slow.Batch(g)
	return &taskViews{graph: g, whole: &tracedGraph{Batch: b}, perEpoch: 1}, err
}

func (v *taskViews) release() {
	if v.whole != nil {
		v.whole.release()
	}
}

// train takes the steps of so many epochs on the task's graph and, with weights, stored subgraphs. name is that of the views'
// randomness.
func (l *trace) train(ctx context.Context, t sizedTrainers, on *taskViews, weights []*tensors.Tensor, stored []*tracedGraph,
	name string, epochs int, p nn.Plan) error {
	p.Rate = nn.WarmUpCosine(l.LearningRate, l.WarmUp*on.perEpoch, epochs*on.perEpoch)
	inputs := func(step int, batch []int32) (in, release []*tensors.Tensor, err error) {
		rng := seed.Stream(l.seed, name, p.Task, step)
		if on.whole != nil {
			in, release, err = l.pair(on.whole, rng)
			in = slices.Concat(weights, in)
		} else {
			release, err = on.sampler.draw(batch, rng)
			in = slices.Concat(release, weights)
		}
		for i := 0; i < len(stored) && err == nil; i++ {
			more, made, failed := l.pair(stored[i], rng)
			in, release, err = append(in, more...), append(release, made...), failed
		}
		return in, release, err
	}
	if on.whole != nil {
		p.Steps = epochs
		p.Inputs = func(step int) (in, release []*tensors.Tensor, err error) { return inputs(step, nil) }
		return t.whole.Train(ctx, p)
	}
	return t.sampled.Train(ctx, l.deal(on.graph.NumNodes(), l.seed, p.Task, name).Plan(p, epochs, inputs))
}

// learnFast trains a new fast encoder and returns its embeddings.
func (l *trace) learnFast(ctx context.Context, on *taskViews, report *continual.TaskReport,
	observe func(continual.Step)) (*continual.Embedding, error) {
	task := report.Task
	drawn, err := l.newEncoder(seed.Stream(l.seed, "fast", task))
	if err != nil {
		return nil, err
	}
	weights, err := snapshotEncoder(drawn)
	if err == nil {
		err = weights.restore(l.fast, encoder.Scope) // into an encoder whose steps are compiled
	}
	if err != nil {
		return nil, err
	}
	fast := &continual.TaskReport{}
	err = l.train(ctx, l.fastTrainer, on, nil, nil, "fast augment", l.FastEpochs,
		nn.Plan{Task: task, Report: fast, Seen: l.counted(observe, 0, on.perEpoch)})
	if err != nil {
		return nil, fmt.Errorf("fast encoder: %w", err)
	}
	report.Diagnostics["fast_loss"] = fast.LastLoss[0].Value
	rows, cols, data, err := l.fast.Embed(ctx, on.graph)
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, err
}

// counted lets an observer count the steps of both encoders, of which those of some epochs were taken before.
func (l *trace) counted(observe func(continual.Step), before, perEpoch int) func(continual.Step) {
	if observe == nil {
		return nil
	}
	return func(s continual.Step) {
		s.Done, s.Steps = before*perEpoch+s.Done, (l.FastEpochs+l.Epochs)*perEpoch
		observe(s)
	}
}

// learnSlow trains the slow encoder on the task, with distillation and replay from the second task on.
func (l *trace) learnSlow(ctx context.Context, on *taskViews, replayed []spaced, report *continual.TaskReport,
	observe func(continual.Step)) error {
	var stored []*tracedGraph
	var weights []*tensors.Tensor
	if n := len(l.memories); n > 1 {
		past, frozen := []*traceMemory{l.memories[n-1], l.memories[n-2]}, []float32{float32(l.Beta)}
		for _, r := range replayed {
			past, frozen = append(past, r.memory), append(frozen, float32(l.Beta*r.weight))
		}
		weights = []*tensors.Tensor{tensors.FromFlatDataAndDimensions(frozen, len(frozen))}
		defer nn.Release(weights...)
		size := l.room()
		for _, m := range past {
			p, err := l.upload(m, size)
			if err != nil {
				return err
			}
			defer p.release()
			stored = append(stored, p)
		}
	}
	return l.train(ctx, l.slowTrainer, on, weights, stored, "augment", l.Epochs,
		nn.Plan{Task: report.Task, Report: report, Seen: l.counted(observe, l.FastEpochs, on.perEpoch)})
}

// Embed returns the slow encoder's embeddings.
func (l *trace) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	rows, cols, data, err := l.slow.Embed(ctx, g)
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, err
}

// Save writes the slow encoder and the memory. A fast encoder is of use to one task only.
func (l *trace) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	if err := l.slow.Save(out); err != nil {
		return err
	}
	if err := out.Encode(l.memories); err != nil {
		return fmt.Errorf("baseline: trace: save the memory: %w", err)
	}
	return nil
}

// Load restores them.
func (l *trace) Load(r io.Reader) error {
	in := gob.NewDecoder(r)
	if err := l.slow.Load(in); err != nil {
		return err
	}
	l.memories = nil
	if err := in.Decode(&l.memories); err != nil {
		return fmt.Errorf("baseline: trace: load the memory: %w", err)
	}
	return nil
}

// spaced is a task to be replayed.
type spaced struct {
	memory *traceMemory
	weight float64 // min(1, R_τ)
}

// consolidate ends the last task and prepares the next: it freezes the slow encoder as f̄_{t−1}, measures the retention of the
// tasks before it, and returns those to be replayed, whose encoders it puts in place.
func (l *trace) consolidate(d map[string]float64) ([]spaced, error) {
	if len(l.memories) == 0 {
		return nil, nil
	}
	last := len(l.memories) - 1
	err := l.slow.Freeze()
	if err == nil {
		l.memories[last].Encoder, err = snapshotEncoder(l.slow)
	}
	if err != nil {
		return nil, err
	}
	retention := make([]float64, last)
	for i, m := range l.memories[:last] {
		now, err := l.similarity(m)
		if err != nil {
			return nil, err
		}
		retention[i] = now / math.Max(m.Similarity, math.SmallestNonzeroFloat32)
		d["retention"] += retention[i] / float64(last)
	}
	d["kept_encoders"] = float64(l.forget(retention))
	replayed := l.replayed(retention)
	d["replayed"] = float64(len(replayed))
	for k, r := range replayed {
		if err := r.memory.Encoder.restore(l.slow, traceScope(k+1)); err != nil {
			return nil, err
		}
	}
	return replayed, nil
}

// replayed returns the tasks to be replayed, given the retention of all before the last: those whose similarities have changed
// by more than 1 − ρ either way, and whose encoders are kept.
func (l *trace) replayed(retention []float64) (all []spaced) {
	for i, r := range retention {
		if l.memories[i].Encoder != nil && (r < l.Retention || r > 2-l.Retention) {
			all = append(all, spaced{l.memories[i], math.Min(1, r)})
		}
	}
	return all
}

// forget drops encoders of tasks before the last until no more than Encoders are left, those of the tasks retained best first, and
// returns how many are left.
func (l *trace) forget(retention []float64) int {
	var kept []int
	for i := range retention {
		if l.memories[i].Encoder != nil {
			kept = append(kept, i)
		}
	}
	slices.SortStableFunc(kept, func(i, j int) int { // least retained first
		return cmp.Compare(math.Abs(retention[j]-1), math.Abs(retention[i]-1))
	})
	for _, i := range kept[min(l.Encoders, len(kept)):] {
		l.memories[i].Encoder = nil
	}
	return min(l.Encoders, len(kept))
}
