package baseline

import (
	"context"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
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
// where CE_t is the mean over the train nodes, with the softmax over all classes seen in class-il and over the task's
// own in task-il, a network for each, p*_τ are the weights after task τ, and e_τ holds the attention coefficients of
// the first layer on the edges and self-loops of the task's graph (see attentionNorm).
//
// Departures from CGLB's code: the gradients of CE and ‖e‖₂ are kept apart, where it squares their sum for the second;
// CE's gradient counts once, where a second backward pass doubles it. The paper's β‖Ω_t‖₁ is left out: CGLB adds ‖∇CE‖₁
// as a constant without a gradient, which changes nothing. The network is that of joint, graphs are whole up to a
// bound, and Adam starts afresh with every task, for which weight decay spares what a task's loss does not depend on
// (see coupledDecay). In a task too large for a step, ∂CE/∂p is the mean over an epoch of batches, and ∂‖e‖₂/∂p is that
// of the whole graph, where CGLB's variant in batches stores the former in place of the latter.
type twp struct {
	TWPSettings
	method.State
	seed     uint64
	seen     int
	networks bySetting[*anchored]
}

func newTWP(b method.Build) (continual.Method, error) {
	l := &twp{TWPSettings: *b.Settings.(*TWPSettings), seed: b.Seed}
	l.State = method.State{Name: "twp", Parts: []any{&l.seen}}
	for _, s := range continual.Settings() {
		c, err := newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights", s, 0))
		if err != nil {
			return nil, err
		}
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
	for _, s := range continual.Settings() {
		if err := l.learn(ctx, s, t, twpPlan{Task: task, Steps: l.Epochs, Report: report, Seen: observe}); err != nil {
			return nil, l.Fault(task, err)
		}
	}
	return report, nil
}

// learn is Learn for the network of a setting.
func (l *twp) learn(ctx context.Context, s continual.Setting, t *continual.Labeled, p twpPlan) error {
	c := l.networks[s]
	rows := trainRows(t, 0, l.seen, s)
	if l.Balanced {
		balance(rows)
	}
	held := c.held()
	defer engine.Release(held)
	var importance map[string][]float64
	var err error
	if l.samples(t.Graph) {
		importance, err = l.trainSampled(ctx, c, held, p, batches{l.Sampling, t.Graph, rows, l.seed, s})
	} else {
		importance, err = l.train(ctx, c, held, p, t.Graph, rows)
	}
	if err != nil {
		return err
	}
	at, err := c.Snapshot()
	if err != nil {
		return err
	}
	c.anchor.add(importance, at)
	return nil
}

// train carries a plan out on a whole graph and returns the importance of the weights.
func (l *twp) train(ctx context.Context, c *anchored, held heldInputs[*tensors.Tensor], p twpPlan, g *graph.Graph,
	rows []labelled) (map[string][]float64, error) {
	on, err := c.graphs.UploadInput(g)
	if err != nil {
		return nil, err
	}
	defer on.Release()
	all := twpInputs[*tensors.Tensor]{Held: held, Lesson: lesson[*tensors.Tensor]{
		Labels: newSupervision(rows, on.Rows(), c.classes()), Graph: on.Input}}
	defer engine.Release(all.Lesson.Labels)
	p.Inputs = func(int) (twpInputs[*tensors.Tensor], any, error) { return all, nil, nil }
	if err := c.trainer.Train(ctx, p); err != nil {
		return nil, err
	}
	return c.importance(on, all.Lesson, l.LambdaL, l.LambdaT)
}

// trainSampled is train for a graph too large for a step.
func (l *twp) trainSampled(ctx context.Context, c *anchored, held heldInputs[*tensors.Tensor], p twpPlan,
	b batches) (map[string][]float64, error) {
	deal, next, err := c.lessons(b, p.Task)
	if err != nil {
		return nil, err
	}
	err = c.trainer.Train(ctx, train.OverBatches(p, deal, l.Epochs,
		func(step int, batch []int32) (in twpInputs[*tensors.Tensor], made any, err error) {
			in.Lesson, _, err = next(step, batch)
			in.Held = held
			return in, in.Lesson, err
		}))
	if err != nil {
		return nil, err
	}
	b.name = [2]any{"importance", b.name}
	return c.sampledImportance(ctx, b, p.Task, l.LambdaL, l.LambdaT)
}

// Logits scores nodes by the network of the setting.
func (l *twp) Logits(ctx context.Context, s continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.networks[s].scores(ctx, g, l.seen)
}
