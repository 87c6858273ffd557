package baseline

import (
	"context"
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

// CaTSettings are those of CaT.
type CaTSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the hidden layer"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	L2           float64 `json:"l2" range:"[0,)" help:"coupled weight decay"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"steps on the memory after each task"`
	CondensationSettings
}

// catDefaults are the reference's: its budgets, and 5,000 encoders for CoraFull and 3,000 for others.
func catDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &CaTSettings{Hidden: 256, LearningRate: 0.005, L2: 5e-4, Epochs: 500,
		CondensationSettings: CondensationSettings{
			Budget: condensedBudget(recipe), Encoders: 3000, Width: 512, FeatureRate: 1e-3, WholeGraph: wholeGraph}}
	if recipe == datasets.RecipeCoraFull {
		s.Encoders = 5000
	}
	if p == method.Fast { // fewer steps and no longer ones: at a rate of 0.01 Adam's noise outgrows rows of length 1
		s.Epochs, s.Encoders = 100, 300
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "cat", Paper: "CaT", Kind: method.Supervised, Order: 3,
		Summary:  "condense each task to a few nodes and train in that memory (Liu, Qiu and Huang 2023)",
		Defaults: catDefaults, New: newCaT,
		Load: func(s method.Settings) method.Load { c := s.(*CaTSettings); return c.load(c.Epochs, 1, 1) }})
}

// Validate lists every field out of range.
func (s *CaTSettings) Validate() error { return check.In("baseline: cat").Ranges(s).Err() }

// cat is CaT, condense and train (Liu, Qiu and Huang 2023): every task is condensed to a few labeled nodes without
// edges (see condenser), and one network continues its training on those of all tasks seen, the current one included.
// Loss: the mean cross-entropy over the memory M_1 ∪ … ∪ M_k,
//
//	L = 1/|M| Σ_{j∈M} CE(softmax(logits_j), ỹ_j),
//
// with the softmax over all classes seen. A memory has no edges, so that Â = I there; tasks are classified with their
// edges. In task-il the same scores are compared within a task. docs/methods.md says where it departs.
type cat struct {
	CaTSettings
	method.State
	seed      uint64
	condenser *condenser
	network   *memoryTrainer
	bank      memoryBank
	oneHead
}

func newCaT(b method.Build) (continual.Method, error) {
	l := &cat{CaTSettings: *b.Settings.(*CaTSettings), seed: b.Seed}
	var err error
	if l.condenser, err = newCondenser(b, l.CondensationSettings, 0, 0.6); err != nil {
		return nil, err
	}
	o := train.Optimizer{LearningRate: l.LearningRate, L2: l.L2}
	if l.network, err = newMemoryTrainer(b, "cat", []int{l.Hidden}, l.Epochs, l.CondensationSettings, o); err != nil {
		return nil, err
	}
	l.head = l.network.classifier
	l.State = method.State{Name: "cat", Nets: []*encoder.Net{l.network.Net}, Parts: []any{&l.bank, &l.seen}}
	return l, nil
}

// Learn condenses the task and trains on the memory. Diagnostics of the report: those of condenser.condense.
func (l *cat) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Diagnostics: map[string]float64{}}
	set, err := l.condenser.condense(ctx, condensation{task: task, labeled: t, members: trainByClass(t),
		observe: observe,
		stream: func(name ...any) *rand.Rand {
			return seed.Stream(l.seed, slices.Concat([]any{"condense", task}, name)...)
		}}, "", report.Diagnostics)
	if err == nil {
		l.bank, l.seen = append(l.bank, set), t.End
		err = l.network.train(ctx, l.bank, l.seen, lessonPlan{Task: task, Report: report, Seen: observe})
	}
	return report, l.Fault(task, err)
}
