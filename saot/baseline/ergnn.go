package baseline

import (
	"context"
	"slices"

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
)

// ERGNNSettings are those of experience replay, CGLB's.
type ERGNNSettings struct {
	CGLBSettings
	Budget    int           `json:"budget" range:"[1,)" help:"nodes kept of each class"`
	Selection NodeSelection `json:"selection" help:"nodes kept by coverage maximization (cm) or mean feature (mf)"`
	Distance  float64       `json:"distance" range:"(0,)" help:"distance within which two nodes count as near, for cm"`
}

// ergnnDefaults keep 1000 nodes of each class of Arxiv, Reddit and Products, and 100 elsewhere and at preset fast: on
// CoraFull 1000 would be all of nearly every class. CGLB chooses one of the two on valid.
func ergnnDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &ERGNNSettings{CGLBSettings: cglbDefaults(p), Budget: 100, Distance: 0.5}
	switch recipe {
	case datasets.RecipeArxiv, datasets.RecipeArxivStandIn, datasets.RecipeReddit, datasets.RecipeProducts:
		if p != method.Fast {
			s.Budget = 1000
		}
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "er-gnn", Paper: "ER-GNN", Kind: method.Supervised, Order: 2,
		Summary:  "experience replay of single nodes (Zhou and Cao 2021)",
		Defaults: ergnnDefaults, New: newERGNN})
}

// Validate lists every field out of range.
func (s *ERGNNSettings) Validate() error {
	l := s.check(check.In("baseline: er-gnn").Ranges(s), 2)
	l.That(selectionNames.Has(s.Selection), "selection", s.Selection, "cm or mf")
	return l.Err()
}

// ergnn is experience replay (Zhou and Cao 2021): some train nodes of every class are kept, without edges, and replayed
// next to the train nodes of the current task. The loss (the paper's, as CGLB runs it) is
//
//	L = β·CE_cur + (1−β)·CE_buf,   β = |B| / (|B| + n_cur),
//
// with CE the mean cross-entropy, n_cur the train nodes of the task and |B| the nodes kept, those of the task included,
// as they are chosen before it is trained. The first task has no replay. There is a network for each setting: in
// class-il CE_buf is taken over the whole buffer, with the softmax over all classes seen; in task-il over one past task
// after the other, with the softmax over its own classes, and the combination is nested, L ← β·L + (1−β)·CE_τ for τ =
// 1, …, t−1. Weight decay acts on what CE_cur depends on: under decay of all weights, the heads of old tasks and the
// words that the buffer alone has, whose share of L falls to 1−β, shrink until they tell nothing. docs/methods.md says
// where it departs from CGLB's code.
type ergnn struct {
	ERGNNSettings
	method.State
	seen     int
	seed     uint64
	networks bySetting[*classifier]
	trainers bySetting[*train.Trainer[replayed[*tensors.Tensor]]]
	graphs   *encoder.Graphs // tasks joined with the buffer
	buffer   []experience
}

type replayed[T any] struct {
	Lesson lesson[T]
	Kept   T // 1 on the nodes of the buffer, 0 on those of the task [N, 1]
	Words  T // of the task alone; see wordsRead
}

type replayPlan = train.Plan[replayed[*tensors.Tensor]]

func newERGNN(b method.Build) (continual.Method, error) {
	l := &ergnn{ERGNNSettings: *b.Settings.(*ERGNNSettings), seed: b.Seed}
	l.graphs = encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, l.Epochs,
		replayedSizes(b.Stream, l.Budget)))
	for _, s := range continual.Settings() {
		c, err := newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights", s, 0))
		if err != nil {
			return nil, err
		}
		l.networks[s] = c
		o := train.Optimizer{LearningRate: l.LearningRate}
		l.trainers[s], err = train.New[replayed[*tensors.Tensor]](c.Net, "er-gnn", o,
			func(in replayed[*Node]) train.Loss { return c.replayLoss(in, l.L2) })
		if err != nil {
			return nil, err
		}
	}
	l.State = method.State{Name: "er-gnn", Nets: []*encoder.Net{l.networks[0].Net, l.networks[1].Net},
		Parts: []any{&l.buffer, &l.seen}}
	return l, nil
}

// replayLoss returns L and the weight decay of what CE_cur depends on. The weights of the rows hold the shares β and
// 1−β.
func (c *classifier) replayLoss(in replayed[*Node], l2 float64) train.Loss {
	nodes := encoder.NodesOf(in.Lesson.Graph)
	logits, task, buffer := c.logits(nodes), in.Lesson.Labels, in.Lesson.Labels
	task.Weight, buffer.Weight = Mul(task.Weight, OneMinus(in.Kept)), Mul(buffer.Weight, in.Kept)
	current, replay := crossEntropy(logits, task), crossEntropy(logits, buffer)
	decay := c.decay(l2, Mul(nodes.Words(), in.Words), task)
	return train.Loss{Total: Add(Add(current, replay), decay), Parts: []train.Term{{Name: "current", Node: current},
		{Name: "replay", Node: replay}, {Name: "decay", Node: decay}}}
}

// replayedSizes returns the sizes of the tasks joined with what the buffer holds by then at the most. A node without
// edges needs one chunk, for itself.
func replayedSizes(s method.Stream, budget int) (all []encoder.Size) {
	nodes := 0
	for k, size := range s.Sizes {
		nodes += size.Nodes
		perTask := (s.Classes + len(s.Sizes) - 1) / len(s.Sizes)
		kept := min(nodes, budget*perTask*(k+1))
		union := size.Plus(size, kept, 0)
		if len(union.Chunks) == 0 {
			union.Chunks = []int{0}
		}
		union.Chunks[0] += kept
		all = append(all, union)
	}
	return all
}

// Learn chooses what to keep of the task and continues the training of both networks.
func (l *ergnn) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	l.seen = t.End
	l.buffer = append(l.buffer, l.choose(t, seed.Stream(l.seed, "experience", task)))
	report := &continual.TaskReport{Task: task}
	return report, l.Fault(task, l.train(ctx, t, replayPlan{Task: task, Steps: l.Epochs, Report: report,
		Seen: observe}))
}

func (l *ergnn) train(ctx context.Context, t *continual.Labeled, p replayPlan) error {
	g, err := l.union(t.Graph)
	if err != nil {
		return err
	}
	p.Report.Nodes = g.NumNodes()
	if l.samples(g) {
		return l.trainSampled(ctx, t, g, p)
	}
	in, err := l.graphs.UploadInput(g)
	if err != nil {
		return err
	}
	defer in.Release()
	kept := indicator(t.Graph.NumNodes(), g.NumNodes(), in.Rows())
	words := l.networks[0].wordsRead(t)
	defer engine.Release(kept, words)
	return eachSetting(p.Report, func(s continual.Setting) error {
		labels := newSupervision(l.rows(t, s), in.Rows(), l.networks[s].classes())
		defer engine.Release(labels)
		all := replayed[*tensors.Tensor]{Lesson: lesson[*tensors.Tensor]{Labels: labels, Graph: in.Input}, Kept: kept,
			Words: words}
		p.Inputs = func(int) (replayed[*tensors.Tensor], any, error) { return all, nil, nil }
		return l.trainers[s].Train(ctx, p)
	})
}

func (l *ergnn) trainSampled(ctx context.Context, t *continual.Labeled, g *graph.Graph, p replayPlan) error {
	words := l.networks[0].wordsRead(t)
	defer engine.Release(words)
	return eachSetting(p.Report, func(s continual.Setting) error {
		deal, next, err := l.networks[s].lessons(batches{l.Sampling, g, l.rows(t, s), l.seed, s}, p.Task)
		if err != nil {
			return err
		}
		return l.trainers[s].Train(ctx, train.OverBatches(p, deal, l.Epochs,
			func(step int, batch []int32) (in replayed[*tensors.Tensor], made any, err error) {
				var rows []labeled
				in.Lesson, rows, err = next(step, batch)
				in.Kept = keptRows(rows, t.Graph.NumNodes())
				own := in
				in.Words = words
				return in, own, err
			}))
	})
}

// keptRows is 1 for rows from first on [len(rows), 1].
func keptRows(rows []labeled, first int) *tensors.Tensor {
	kept := make([]float32, len(rows))
	for i, r := range rows {
		if r.row >= first {
			kept[i] = 1
		}
	}
	return tensors.FromFlatDataAndDimensions(kept, len(rows), 1)
}

// indicator is 1 in rows first to end of n [n, 1].
func indicator(first, end, n int) *tensors.Tensor {
	x := make([]float32, n)
	for i := first; i < end; i++ {
		x[i] = 1
	}
	return tensors.FromFlatDataAndDimensions(x, n, 1)
}

// union returns the task's graph, then all nodes kept, without edges.
func (l *ergnn) union(g *graph.Graph) (*graph.Graph, error) {
	all := []*graph.Graph{g}
	for _, x := range l.buffer {
		if x.Features.Rows > 0 {
			lone := graph.Adjacency{Offsets: make([]int64, x.Features.Rows+1), Directed: g.Adjacency.Directed}
			all = append(all, &graph.Graph{Adjacency: lone, Features: x.Features})
		}
	}
	return graph.DisjointUnion(all...)
}

// rows returns the labeled rows of the union, their weights summing to 1: L as a weighted sum of single
// cross-entropies.
func (l *ergnn) rows(t *continual.Labeled, s continual.Setting) []labeled {
	rows := l.mean(trainRows(t, 0, l.seen, s))
	past := len(l.buffer) - 1
	if past == 0 {
		return rows
	}
	kept, offset := 0, t.Graph.NumNodes()
	parts := make([][]labeled, len(l.buffer)) // by task
	for k, x := range l.buffer {
		parts[k] = x.rows(offset+kept, l.seen, s)
		kept += len(x.Columns)
	}
	if s == continual.ClassIL {
		parts = [][]labeled{slices.Concat(parts...)}
	} else {
		parts = parts[:past]
	}
	beta := float64(kept) / float64(kept+len(t.Train))
	for _, part := range parts {
		rows = append(shareWeight(rows, beta), shareWeight(l.mean(part), 1-beta)...)
	}
	return rows
}

// mean weighs rows as CE does, with a sum of 1.
func (l *ergnn) mean(rows []labeled) []labeled {
	if l.Balanced {
		balance(rows)
	}
	return shareWeight(rows, 1)
}

// shareWeight scales the weights of rows to a sum.
func shareWeight(rows []labeled, sum float64) []labeled {
	total := 0.0
	for _, r := range rows {
		total += r.weight
	}
	for i := range rows {
		rows[i].weight *= sum / total
	}
	return rows
}

func (l *ergnn) Logits(ctx context.Context, s continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.networks[s].scores(ctx, g, l.seen)
}
