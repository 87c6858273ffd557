package baseline

import (
	"context"
	"math"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// CGLBSettings are those that CGLB's methods share.
type CGLBSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the hidden layer"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	L2           float64 `json:"l2" range:"[0,)" help:"coupled weight decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: steps, or passes over a large graph's labels"`
	Balanced     bool    `json:"balanced" help:"every class counts alike in the loss"`
	Sampling
}

func cglbDefaults(p method.Preset) CGLBSettings {
	s := CGLBSettings{Hidden: 256, LearningRate: 0.005, L2: 5e-4, Epochs: 200, Balanced: true,
		Sampling: newSampling(2000, 25, 10)}
	if p == method.Fast {
		s.Epochs = 50
	}
	return s
}

// JointSettings are those of joint training.
type JointSettings struct{ CGLBSettings }

func jointDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	return &JointSettings{cglbDefaults(p)}
}

func init() {
	method.Register(method.Definition{Name: "joint", Paper: "Joint", Kind: method.Supervised, Order: 0,
		Summary:  "a new network trained on all tasks seen, after each task",
		Defaults: jointDefaults, New: newJoint,
		Load: func(s method.Settings) method.Load { return s.(*JointSettings).load() }})
}

// load is the work of a task: a step takes all tasks seen.
func (s *JointSettings) load() method.Load {
	return method.Load{Epochs: s.Epochs, Hidden: s.Hidden, WholeGraph: s.WholeGraph, Batch: s.Batch,
		Replayed: math.MaxInt}
}

// Validate lists every field out of range.
func (s *JointSettings) Validate() error {
	return s.check(check.In("baseline: joint").Ranges(s), 2).Err()
}

// joint keeps every task and trains a fresh network on all of them: what a method that may not keep them can hope for.
// Loss (CGLB's of class-il): the mean cross-entropy over the train nodes of all tasks seen,
//
//	L = Σ_{τ≤t} Σ_{i∈train_τ} w_i · CE(softmax(logits_i), y_i),
//
// with weights w_i that sum to 1, equal or, if Balanced, of equal sum for every class. The softmax is over all classes
// seen in class-il and over the task's own in task-il, with a network for each.
type joint struct {
	JointSettings
	method.State
	seed     uint64
	networks bySetting[*classifier]
	trainers bySetting[*lessonTrainer]
	unions   *encoder.Graphs // all tasks seen
	tasks    []*continual.Labeled
}

func newJoint(b method.Build) (continual.Method, error) {
	l := &joint{JointSettings: *b.Settings.(*JointSettings), seed: b.Seed}
	l.unions = encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, l.Epochs, unions(b.Stream.Sizes)))
	for _, s := range continual.Settings() {
		c, err := newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights", s, 0))
		if err != nil {
			return nil, err
		}
		l.networks[s] = c
		l.trainers[s], err = c.trainer("joint", train.Optimizer{LearningRate: l.LearningRate, L2: l.L2})
		if err != nil {
			return nil, err
		}
	}
	l.State = method.State{Name: "joint", Nets: []*encoder.Net{l.networks[0].Net, l.networks[1].Net},
		Parts: []any{&l.tasks}}
	return l, nil
}

// unions returns the sizes of the first tasks joined.
func unions(sizes []encoder.Size) (all []encoder.Size) {
	var union encoder.Size
	for _, s := range sizes {
		union = union.Plus(s, s.Nodes, 1)
		all = append(all, union)
	}
	return all
}

// Learn keeps the task and trains two new networks on all tasks.
func (l *joint) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	l.tasks = append(l.tasks, t)
	graphs := make([]*graph.Graph, len(l.tasks))
	for i := range l.tasks {
		graphs[i] = l.tasks[i].Graph
	}
	all, err := graph.DisjointUnion(graphs...)
	if err != nil {
		return nil, l.Fault(task, err)
	}
	report := &continual.TaskReport{Task: task, Nodes: all.NumNodes()}
	err = eachSetting(report, func(s continual.Setting) error { return l.train(ctx, task, s, all, report, observe) })
	return report, l.Fault(task, err)
}

func (l *joint) train(ctx context.Context, task int, s continual.Setting, all *graph.Graph,
	report *continual.TaskReport, observe func(continual.Step)) error {
	c := l.networks[s]
	if err := c.redraw(seed.Stream(l.seed, "weights", s, task)); err != nil {
		return err
	}
	var rows []labeled
	offset := 0
	for _, t := range l.tasks {
		rows = append(rows, trainRows(t, offset, l.seen(), s)...)
		offset += t.Graph.NumNodes()
	}
	if l.Balanced {
		balance(rows)
	}
	p := lessonPlan{Task: task, Steps: l.Epochs, Report: report, Seen: observe}
	if l.samples(all) {
		return c.teachBatches(ctx, l.trainers[s], p, l.Epochs, batches{l.Sampling, all, rows, l.seed, s})
	}
	in, err := l.unions.UploadInput(all)
	if err != nil {
		return err
	}
	defer in.Release()
	return c.teach(ctx, l.trainers[s], p, in, rows)
}

func (l *joint) seen() int { return l.tasks[len(l.tasks)-1].End }

func (l *joint) Logits(ctx context.Context, s continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.networks[s].scores(ctx, g, l.seen())
}
