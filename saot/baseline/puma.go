package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// PUMASettings are those of PUMA.
type PUMASettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of both hidden layers"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	L2           float64 `json:"l2" range:"[0,)" help:"coupled weight decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"steps on the memory, twice a task"`
	Threshold    float64 `json:"threshold" range:"[0,1]" help:"least probability of a pseudo-label that is used"`
	InnerSteps   int     `json:"inner_steps" range:"[1,)" help:"steps for each encoder, for which Adam starts again"`
	CondensationSettings
}

func pumaDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &PUMASettings{Hidden: 512, LearningRate: 1e-3, L2: 5e-4, Epochs: 500, InnerSteps: 10,
		CondensationSettings: CondensationSettings{Budget: condensedBudget(recipe), Encoders: 100, Width: 4096,
			FeatureRate: 1e-3, WholeGraph: wholeGraph}}
	if p == method.Fast { // a fifth of the steps, each longer
		s.Epochs, s.Encoders, s.FeatureRate = 100, 20, 0.01
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "puma", Paper: "PUMA", Kind: method.Supervised, Order: 5,
		Summary:  "cat with wide random encoders and pseudo-labels (Liu, Qiu and Huang 2024)",
		Defaults: pumaDefaults, New: newPUMA,
		Load: func(s method.Settings) method.Load {
			p := s.(*PUMASettings)
			return p.load(p.Epochs, p.InnerSteps, 2)
		}})
}

// Validate lists every field out of range.
func (s *PUMASettings) Validate() error { return check.In("baseline: puma").Ranges(s).Err() }

// puma is PUMA, the pseudo-label guided memory bank (Liu, Qiu and Huang 2024): CaT with three changes. A task is
// condensed twice, first as in CaT. A network trained on these memories then predicts the classes of the nodes without
// a label. The nodes predicted to be of class c join the train nodes of c in the mean that the second condensation
// matches,
//
//	c = { i ∈ train : y_i = c } ∪ { i ∉ train ∪ valid : argmax p_i = c and max p_i ≥ threshold }.
//
// The random encoders are few and wide, with several steps for each and X propagated once. And the network, a GCN of
// three layers, starts from new weights after every task and is trained as if it had neither edges nor biases,
//
//	logits = ReLU(ReLU(X̃·W₁)·W₂)·W₃,
//
// which is exact on memories; tasks are classified with their edges. In task-il the same scores are compared within a
// task.
type puma struct {
	PUMASettings
	method.State
	seed        uint64
	condenser   *condenser
	network     *memoryTrainer
	plain, bank memoryBank // condensed by train nodes alone, and with pseudo-labels
	oneHead
}

func newPUMA(b method.Build) (continual.Method, error) {
	l := &puma{PUMASettings: *b.Settings.(*PUMASettings), seed: b.Seed}
	var err error
	if l.condenser, err = newCondenser(b, l.CondensationSettings, l.InnerSteps, 0.8); err != nil {
		return nil, err
	}
	o := train.Optimizer{LearningRate: l.LearningRate, L2: l.L2}
	if l.network, err = newMemoryTrainer(b, "puma", []int{l.Hidden, l.Hidden}, l.Epochs, l.CondensationSettings,
		o); err != nil {
		return nil, err
	}
	l.head = l.network.classifier
	l.State = method.State{Name: "puma", Nets: []*encoder.Net{l.network.Net}, Parts: []any{&l.plain, &l.bank, &l.seen}}
	return l, nil
}

// Learn condenses the task, labels its nodes, condenses it again and trains on the memory. Diagnostics of the report:
// those of condenser.condense, of the first condensation with "plain_" before them, and "pseudo_labels", how many nodes
// were given one.
func (l *puma) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	l.seen = t.End
	report := &continual.TaskReport{Task: task, Diagnostics: map[string]float64{}}
	plain := &continual.TaskReport{Task: task, Diagnostics: report.Diagnostics}
	first := pumaPass{name: "plain_", bank: &l.plain, members: trainByClass(t), report: plain}
	err := l.pass(ctx, t, first, observe)
	if err != nil {
		return nil, l.Fault(task, err)
	}
	second := pumaPass{bank: &l.bank, report: report}
	if second.members, err = l.withPseudoLabels(ctx, t, first.members, report.Diagnostics); err == nil {
		err = l.pass(ctx, t, second, observe)
	}
	return report, l.Fault(task, err)
}

// pumaPass is one of a task's two condensations.
type pumaPass struct {
	name    string      // before the names of its diagnostics
	bank    *memoryBank // what it is kept in
	members [][]int32   // nodes of each class
	report  *continual.TaskReport
}

func (l *puma) pass(ctx context.Context, t *continual.Labeled, p pumaPass, observe func(continual.Step)) error {
	task := p.report.Task
	set, err := l.condenser.condense(ctx, condensation{task: task, labeled: t, members: p.members, observe: observe,
		stream: func(part ...any) *rand.Rand {
			return seed.Stream(l.seed, slices.Concat([]any{"condense", p.name, task}, part)...)
		}}, p.name, p.report.Diagnostics)
	if err != nil {
		return err
	}
	*p.bank = append(*p.bank, set)
	if err := l.network.redraw(seed.Stream(l.seed, "weights", p.name, task)); err != nil {
		return err
	}
	return l.network.train(ctx, *p.bank, l.seen, lessonPlan{Task: task, Report: p.report, Seen: observe})
}

func (l *puma) withPseudoLabels(ctx context.Context, t *continual.Labeled, train [][]int32,
	diagnostics map[string]float64) ([][]int32, error) {
	logits, err := l.network.scores(ctx, t.Graph, t.End)
	if err != nil {
		return nil, fmt.Errorf("pseudo-labels: %w", err)
	}
	pseudo := pseudoLabels(t, logits, l.Threshold)
	members := make([][]int32, len(train))
	for class := range train {
		members[class] = slices.Concat(train[class], pseudo[class])
		diagnostics["pseudo_labels"] += float64(len(pseudo[class]))
	}
	return members, nil
}

// pseudoLabels returns the nodes that logits take to be of each class of a task, with a probability of at least the
// threshold; train and valid nodes are left out, and nodes taken to be of an earlier task's class count for none.
func pseudoLabels(t *continual.Labeled, logits *continual.Embedding, threshold float64) [][]int32 {
	all := make([][]int32, t.End-t.First)
	labeled := make([]bool, logits.Rows)
	for _, node := range slices.Concat(t.Train, t.Valid) {
		labeled[node] = true
	}
	for i := range logits.Rows {
		row := logits.Data[i*logits.Cols : (i+1)*logits.Cols]
		best, sum := winner(row), 0.0
		for _, v := range row {
			sum += math.Exp(float64(v - row[best]))
		}
		if !labeled[i] && best >= t.First && 1/sum >= threshold {
			all[best-t.First] = append(all[best-t.First], int32(i))
		}
	}
	return all
}
