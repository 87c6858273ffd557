package baseline

import (
	"context"
	"math"
	"slices"

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
)

// TWPSettings are those of topology-aware weight preserving, CGLB's.
type TWPSettings struct {
	CGLBSettings
	LambdaL float64 `json:"lambda_l" range:"[0,)" help:"λ_l, weight of what matters to the loss"`
	LambdaT float64 `json:"lambda_t" range:"[0,)" help:"λ_t, weight of what matters to the topology"`
}

func twpDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	return &TWPSettings{CGLBSettings: cglbDefaults(p), LambdaL: 1e4, LambdaT: 1e4}
}

func init() {
	method.Register(method.Definition{Name: "twp", Paper: "TWP", Kind: method.Supervised, Order: 1,
		Summary:  "topology-aware weight preserving (Liu, Yang and Wang 2021)",
		Defaults: twpDefaults, New: newTWP})
}

// Validate lists every field out of range.
func (s *TWPSettings) Validate() error { return s.check(check.In("baseline: twp").Ranges(s), 2).Err() }

// twp is topology-aware weight preserving (Liu, Yang and Wang 2021): the weights that mattered to past tasks, to their
// loss or to the attention among their nodes, are held where they were. The loss of task t (the paper's, as CGLB runs
// it) is
//
//	L_t = CE_t + Σ_{τ<t} Σ_p Ω_τp·(p − p*_τ)²,   Ω_τ = λ_l·(∂CE_τ/∂p)² + λ_t·(∂‖e_τ‖₂/∂p)²   at p*_τ,
//
// where CE_t is the mean over the train nodes, or over their classes if Balanced. The softmax is over all classes seen
// in class-il and over the task's own in task-il, with a network for each. p*_τ are the weights after task τ, and e_τ
// are the attention coefficients of the first layer on the edges and self-loops of the task's graph (see
// attentionNorm). docs/methods.md says where it departs from CGLB's code.
type twp struct {
	TWPSettings
	method.State
	seed     uint64
	seen     int
	networks bySetting[*anchored]
}

// shapeCost is how many times as long a shape takes to compile as the training step alone: twp compiles five graphs of
// it for each network.
const shapeCost = 3

func newTWP(b method.Build) (continual.Method, error) {
	l := &twp{TWPSettings: *b.Settings.(*TWPSettings), seed: b.Seed}
	l.State = method.State{Name: "twp", Parts: []any{&l.seen}}
	for _, s := range continual.Settings() {
		c, err := newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights", s, 0))
		if err != nil {
			return nil, err
		}
		c.graphs = encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, max(1, l.Epochs/shapeCost),
			b.Stream.Sizes))
		if l.networks[s], err = newAnchored(c, l.LearningRate, l.L2); err != nil {
			return nil, err
		}
		l.Nets, l.Parts = append(l.Nets, c.Net), append(l.Parts, &l.networks[s].anchor)
	}
	return l, nil
}

// Learn continues the training of both networks, and then notes what mattered.
func (l *twp) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: t.Graph.NumNodes()}
	l.seen = t.End
	err := eachSetting(report, func(s continual.Setting) error {
		return l.learn(ctx, s, t, twpPlan{Task: task, Steps: l.Epochs, Report: report, Seen: observe})
	})
	return report, l.Fault(task, err)
}

func (l *twp) learn(ctx context.Context, s continual.Setting, t *continual.Labeled, p twpPlan) error {
	c := l.networks[s]
	rows := trainRows(t, 0, l.seen, s)
	if l.Balanced {
		balance(rows)
	}
	in := twpInputs[*tensors.Tensor]{Held: c.held(), Words: c.wordsRead(t)}
	defer engine.Release(in)
	var importance map[string][]float64
	var err error
	if l.samples(t.Graph) {
		importance, err = l.trainSampled(ctx, c, in, p, batches{l.Sampling, t.Graph, rows, l.seed, s})
	} else {
		importance, err = l.train(ctx, c, in, p, t.Graph, rows)
	}
	if err != nil {
		return err
	}
	at, err := c.Snapshot()
	if err != nil {
		return err
	}
	c.anchor.add(importance, at)
	return c.Restore(at) // the anchor is in float32: weights in float64 would differ from it
}

// train carries a plan out on a whole graph and returns the importance of the weights.
func (l *twp) train(ctx context.Context, c *anchored, in twpInputs[*tensors.Tensor], p twpPlan, g *graph.Graph,
	rows []labeled) (map[string][]float64, error) {
	on, err := c.graphs.UploadInput(g)
	if err != nil {
		return nil, err
	}
	defer on.Release()
	in.Lesson = lesson[*tensors.Tensor]{Labels: newSupervision(rows, on.Rows(), c.classes()), Graph: on.Input}
	defer engine.Release(in.Lesson.Labels)
	p.Inputs = func(int) (twpInputs[*tensors.Tensor], any, error) { return in, nil, nil }
	if err := c.trainer.Train(ctx, p); err != nil {
		return nil, err
	}
	return c.importance(ctx, on, in.Lesson, l.LambdaL, l.LambdaT)
}

func (l *twp) trainSampled(ctx context.Context, c *anchored, all twpInputs[*tensors.Tensor], p twpPlan,
	b batches) (map[string][]float64, error) {
	deal, next, err := c.lessons(b, p.Task)
	if err != nil {
		return nil, err
	}
	err = c.trainer.Train(ctx, train.OverBatches(p, deal, l.Epochs,
		func(step int, batch []int32) (in twpInputs[*tensors.Tensor], made any, err error) {
			in = all
			in.Lesson, _, err = next(step, batch)
			return in, in.Lesson, err
		}))
	if err != nil {
		return nil, err
	}
	b.name = [2]any{"importance", b.name}
	return c.sampledImportance(ctx, b, p.Task, l.LambdaL, l.LambdaT)
}

func (l *twp) Logits(ctx context.Context, s continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.networks[s].scores(ctx, g, l.seen)
}

// attentionNorm returns ‖e‖₂ over all edges and self-loops, and its gradient in the rows h_v of d columns each. TWP's
// attention for networks that have none of their own (the paper's, with CGLB's LeakyReLU of slope 0.2) is
//
//	e_uv = exp(z_uv) / Σ_{w ∈ N(v)∪{v}} exp(z_wv),   z_uv = LeakyReLU(Σ_k h_uk·tanh(h_vk)),   u ∈ N(v)∪{v}.
//
// It is exact for graphs of any size, in double precision on the host, as it is needed once a task. O((E+N)·d) time. It
// returns ctx.Err() when canceled.
func attentionNorm(ctx context.Context, a *graph.Adjacency, h []float32, d int) (norm float64, gradient []float64,
	err error) {
	at := attentionSum{h: h, d: d, gradient: make([]float64, len(h)), tanh: make([]float64, d)}
	for v := range a.NumNodes() {
		if v%1024 == 0 && ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		at.attended = append(append(at.attended[:0], a.Neighborhood(v)...), int32(v))
		at.attend(v)
	}
	norm = math.Sqrt(at.square)
	for i := range at.gradient {
		at.gradient[i] /= norm // ∂‖e‖₂ = ∂(½‖e‖₂²) / ‖e‖₂
	}
	return norm, at.gradient, nil
}

// attentionSum sums ‖e‖₂² and the gradient of its half, node by node.
type attentionSum struct {
	h        []float32
	d        int
	square   float64
	gradient []float64

	attended  []int32   // N(v) ∪ {v} of the current node
	tanh      []float64 // tanh(h_v)
	e, slopes []float64 // of the nodes attended to
}

func (at *attentionSum) attend(v int) {
	for k, x := range at.row(v) {
		at.tanh[k] = math.Tanh(float64(x))
	}
	at.softmax()
	var square float64
	for _, e := range at.e {
		square += e * e
	}
	at.square += square
	own := at.gradient[v*at.d:][:at.d]
	for i, u := range at.attended {
		dot := at.slopes[i] * at.e[i] * (at.e[i] - square) // ∂(½‖e‖₂²) / ∂(Σ_k h_uk·tanh(h_vk))
		other := at.gradient[int(u)*at.d:][:at.d]
		for k, x := range at.row(int(u)) {
			other[k] += dot * at.tanh[k]
			own[k] += dot * float64(x) * (1 - at.tanh[k]*at.tanh[k])
		}
	}
}

// softmax sets e_uv and the slopes of LeakyReLU for all u that v attends to.
func (at *attentionSum) softmax() {
	at.e, at.slopes = at.e[:0], at.slopes[:0]
	for _, u := range at.attended {
		var dot float64
		for k, x := range at.row(int(u)) {
			dot += float64(x) * at.tanh[k]
		}
		slope := 1.0
		if dot < 0 {
			slope = 0.2
		}
		at.e, at.slopes = append(at.e, slope*dot), append(at.slopes, slope)
	}
	highest, sum := slices.Max(at.e), 0.0
	for i, z := range at.e {
		at.e[i] = math.Exp(z - highest)
		sum += at.e[i]
	}
	for i := range at.e {
		at.e[i] /= sum
	}
}

func (at *attentionSum) row(u int) []float32 { return at.h[u*at.d:][:at.d] }
