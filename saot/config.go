package saot

import (
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/view"
)

// Objective is what is learned within a task.
type Objective int

// The objectives: the paper's, and the one that its ablation "w/o Optimal Transport" puts in its place.
const (
	Transport   Objective = iota // L_mat + α·L_str (Eq. 11)
	BarlowTwins                  // Graph Barlow Twins on the same views and replay; no transport plan is solved
)

var objectives = enum.Of[Objective]("objective", "transport", "barlow-twins")

// String returns the name used in flags and files.
func (o Objective) String() string                   { return objectives.Name(o) }
func (o Objective) MarshalText() ([]byte, error)     { return objectives.Marshal(o) }
func (o *Objective) UnmarshalText(text []byte) error { return objectives.Unmarshal(o, text) }

// Distillation is what the frozen teacher of the previous task hands on (Eq. 12 and the ablations of Table 4).
type Distillation int

// The kinds of distillation.
const (
	DistillPlan   Distillation = iota // Θ(π_Z^{t−1}, π_Z^t), the paper's L_skd
	DistillNone                       // "w/o Cross-task Distill."
	DistillCosine                     // "w/ Cosine": 1 − cos of each node's old and new embedding
	DistillMSE                        // "w/ MSE": squared distance of each node's old and new embedding
)

var distillations = enum.Of[Distillation]("distillation", "plan", "none", "cosine", "mse")

// String returns the name used in flags and files.
func (d Distillation) String() string                   { return distillations.Name(d) }
func (d Distillation) MarshalText() ([]byte, error)     { return distillations.Marshal(d) }
func (d *Distillation) UnmarshalText(text []byte) error { return distillations.Unmarshal(d, text) }

// Divergence is Θ, the discrepancy between two transport plans (Eqs. 9 and 12).
type Divergence int

// The divergences that the paper names.
const (
	KL        Divergence = iota // KL(π_T ‖ π), with its exact gradient (π_T − π)/ε
	Frobenius                   // M²·‖π_T − π‖²_F, differentiated implicitly through the converged plan
)

var divergences = enum.Of[Divergence]("divergence", "kl", "frobenius")

// String returns the name used in flags and files.
func (d Divergence) String() string                   { return divergences.Name(d) }
func (d Divergence) MarshalText() ([]byte, error)     { return divergences.Marshal(d) }
func (d *Divergence) UnmarshalText(text []byte) error { return divergences.Unmarshal(d, text) }

// Scaling fixes the units of the three loss terms, which the paper leaves open.
type Scaling int

// The scalings. Norms of gradients are those with respect to the embeddings, the mean over the last task of cora-ml at
// the defaults: saot run --dataset cora-ml, field diagnostics of result.json.
const (
	// Balanced makes the terms between plans independent of ε: ε·KL (or M·‖π_T − π‖²_F). L_str is (1/M)·‖C* − R‖²_F,
	// which is M times the mean over entries: α weighs more where M is larger. It does not balance the gradients: the
	// norm for α·L_str is 370 times that for L_mat, which is 3 times that for β·L_skd. L_str then dominates the
	// training.
	Balanced Scaling = iota
	// Literal takes KL unscaled, with 1/ε in its gradient, Frobenius with a factor M², and L_str as the mean over
	// entries. The paper has no formula for KL and no unit of L_str. With KL the gradients of L_mat, α·L_str and
	// β·L_skd are then of one order: α and β in [0, 1] weigh terms against each other. On corafull-topology they are
	// about 1 to 1 to 0.3, medians over the tasks of results/sensitivity.jsonl.gz at α = 1 and β = 0.5
	// (diagnostics gradient_matching and so on).
	Literal
)

var scalings = enum.Of[Scaling]("scaling", "balanced", "literal")

// String returns the name used in flags and files.
func (s Scaling) String() string                   { return scalings.Name(s) }
func (s Scaling) MarshalText() ([]byte, error)     { return scalings.Marshal(s) }
func (s *Scaling) UnmarshalText(text []byte) error { return scalings.Unmarshal(s, text) }

// FeatureCost is what K in Eq. 7 compares.
type FeatureCost int

// The feature costs.
const (
	ViewFeatures       FeatureCost = iota // the masked features of the two views, as in the paper
	PropagatedFeatures                    // Â²X of the clean graph in both views: not in the paper
)

var featureCosts = enum.Of[FeatureCost]("feature cost", "views", "propagated")

// String returns the name used in flags and files.
func (f FeatureCost) String() string                   { return featureCosts.Name(f) }
func (f FeatureCost) MarshalText() ([]byte, error)     { return featureCosts.Marshal(f) }
func (f *FeatureCost) UnmarshalText(text []byte) error { return featureCosts.Unmarshal(f, text) }

// PointChoice is how the aligned nodes of a step on a whole graph are drawn. Sampled steps align patches.
type PointChoice int

// The choices.
const (
	UniformPoints PointChoice = iota // every set of M nodes is equally likely
	PatchPoints                      // nodes in a random order, each with some of its neighbors
)

var pointChoices = enum.Of[PointChoice]("choice of points", "uniform", "patches")

// String returns the name used in flags and files.
func (p PointChoice) String() string                   { return pointChoices.Name(p) }
func (p PointChoice) MarshalText() ([]byte, error)     { return pointChoices.Marshal(p) }
func (p *PointChoice) UnmarshalText(text []byte) error { return pointChoices.Unmarshal(p, text) }

// Relation is what A in Eq. 7 says of two nodes of a view.
type Relation int

// The relations.
const (
	Edges     Relation = iota // whether an edge joins them, as in the paper
	Walks                     // their entry of Â²: how much two hops of propagation bring from one to the other
	Unrelated                 // nothing: the control, in which features keep the weight σ
)

var relations = enum.Of[Relation]("relation", "edges", "walks", "none")

// String returns the name used in flags and files.
func (r Relation) String() string                   { return relations.Name(r) }
func (r Relation) MarshalText() ([]byte, error)     { return relations.Marshal(r) }
func (r *Relation) UnmarshalText(text []byte) error { return relations.Unmarshal(r, text) }

// Schedule is how the learning rate goes within a task, after its warm-up.
type Schedule int

// The schedules.
const (
	Constant Schedule = iota
	Cosine            // falls to 0 as a cosine
)

var schedules = enum.Of[Schedule]("schedule", "constant", "cosine")

// String returns the name used in flags and files.
func (s Schedule) String() string                   { return schedules.Name(s) }
func (s Schedule) MarshalText() ([]byte, error)     { return schedules.Marshal(s) }
func (s *Schedule) UnmarshalText(text []byte) error { return schedules.Unmarshal(s, text) }

// Config holds every setting of the method. Its tags are the flags' help, the ranges that Validate holds fields to, and
// the names in files and in the Result's record.
type Config struct {
	Encoder encoder.Config `json:"encoder"`

	LearningRate float64  `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	WarmUp       int      `json:"warm_up" range:"[0,)" help:"steps of each task in which the learning rate rises"`
	Schedule     Schedule `json:"schedule" help:"learning-rate schedule within each task: constant or cosine"`
	CarryAdam    bool     `json:"carry_adam" help:"Adam's moments continue from task to task, instead of starting at 0"`
	Epochs       int      `json:"epochs" range:"[1,)" help:"epochs per task: one step each, many on a sampled graph"`
	EdgeDrop     float64  `json:"edge_drop" range:"[0,1)" help:"share of edges dropped in a view"`
	FeatureMask  float64  `json:"feature_mask" range:"[0,1)" help:"share of feature columns masked in a view"`

	Points       int     `json:"points" range:"[2,)" help:"M, nodes aligned per step; all of a smaller graph"`
	Epsilon      float64 `json:"epsilon" range:"(0,100]" help:"ε, weight of both plans' entropy, in units of the cost"`
	Sweeps       int     `json:"sweeps" range:"[1,)" help:"K, Sinkhorn sweeps for the plan between embeddings"`
	Sigma        float64 `json:"sigma" range:"[0,1]" help:"σ, weight of features against edges in the graph plan"`
	GromovOuter  int     `json:"gromov_outer" range:"[1,)" help:"outer steps for the graph plan"`
	GromovSweeps int     `json:"gromov_sweeps" range:"[1,)" help:"Sinkhorn sweeps per outer step"`
	// GromovFactor multiplies L⊗π, scaled by StructureUnit, in the cost of an outer step. The default, 2, is the factor
	// in the gradient of Eq. 7. The term as printed has the factor 1.
	GromovFactor float64 `json:"gromov_factor" range:"(0,)" help:"factor of L⊗π: 2 is Eq. 7's gradient, 1 as printed"`

	// MaxNormalization divides L⊗π by its maximum; PaperNormalization leaves its raw scale.
	StructureUnit transport.Normalization `json:"structure_unit" help:"scale of the structure cost: max or paper"`
	// PointChoice and Relation decide what the structure term sees: docs/methods.md compares them.
	PointChoice PointChoice `json:"point_choice" help:"how a whole graph's aligned nodes are drawn: uniform or patches"`
	Relation    Relation    `json:"relation" help:"relation between nodes in the graph plan: edges, walks or none"`
	// FeatureCost is K in Eq. 7.
	FeatureCost FeatureCost `json:"feature_cost" help:"features in the graph plan: views or propagated (clean, 2 hops)"`

	Objective  Objective  `json:"objective" help:"loss within a task: transport or barlow-twins"`
	Divergence Divergence `json:"divergence" help:"Θ between plans: kl or frobenius"`
	Scaling    Scaling    `json:"scaling" help:"units of the loss terms: balanced or literal"`
	Alpha      float64    `json:"alpha" range:"[0,)" help:"α, weight of the structure loss"`
	// Centering removes what each row and each column adds to a cost. The paper does not center.
	Centered     bool         `json:"centered" help:"the structure loss compares double-centered costs"`
	Distillation Distillation `json:"distillation" help:"what the teacher passes on: plan, none, cosine or mse"`
	Beta         float64      `json:"beta" range:"[0,)" help:"β, weight of the distillation"`
	// DistillBuffered draws half of a step's nodes from the buffer, and distills between these alone: the teacher was
	// trained on their tasks. The paper's steps distill between all aligned nodes. On samples an epoch of a later task
	// is up to twice as many steps.
	DistillBuffered bool `json:"distill_buffered" help:"distill only on a step's buffered half; samples: ≤ 2× steps"`

	Buffer int   `json:"buffer" range:"[0,)" help:"nodes kept of each past task"`
	FanOut []int `json:"fan_out" range:"[1,)" help:"neighbors drawn per hop when the buffer is filled"`
}

// DefaultConfig returns the settings that a prototype of the method was tuned to on small real streams: the encoder's
// defaults, learning rate 1e-3 after a warm-up of 10 steps, 30 epochs, edge drop 0.2, feature mask 0.1; 256 points,
// ε 0.2, 50 sweeps, σ 0.5, two outer steps of 30 sweeps, factor 2, structure unit max; objective transport, divergence
// kl, balanced scaling, α 1, distillation of the plan with β 0.5; a buffer of 200 nodes a task, fan-out 10, 10.
func DefaultConfig() Config {
	return Config{
		Encoder:      encoder.DefaultConfig(),
		LearningRate: 1e-3, WarmUp: 10, Epochs: 30, EdgeDrop: 0.2, FeatureMask: 0.1,
		Points: 256, Epsilon: 0.2, Sweeps: 50, Sigma: 0.5, GromovOuter: 2, GromovSweeps: 30, GromovFactor: 2,
		StructureUnit: transport.MaxNormalization,
		Objective:     Transport, Divergence: KL, Scaling: Balanced, Alpha: 1, Distillation: DistillPlan, Beta: 0.5,
		Buffer: 200, FanOut: []int{10, 10},
	}
}

// Validate lists every field out of range.
func (c Config) Validate() error {
	l := check.In("saot").Ranges(&c)
	l.Add(c.Encoder.Validate())
	scaled := c.StructureUnit == transport.MaxNormalization || c.StructureUnit == transport.PaperNormalization
	l.That(scaled, "structure_unit", c.StructureUnit, "max or paper")
	l.That(pointChoices.Has(c.PointChoice), "point_choice", c.PointChoice, "one of "+pointChoices.Choices())
	l.That(relations.Has(c.Relation), "relation", c.Relation, "one of "+relations.Choices())
	l.That(featureCosts.Has(c.FeatureCost), "feature_cost", c.FeatureCost, "one of "+featureCosts.Choices())
	l.That(schedules.Has(c.Schedule), "schedule", c.Schedule, "one of "+schedules.Choices())
	l.That(objectives.Has(c.Objective), "objective", c.Objective, "one of "+objectives.Choices())
	l.That(divergences.Has(c.Divergence), "divergence", c.Divergence, "one of "+divergences.Choices())
	l.That(scalings.Has(c.Scaling), "scaling", c.Scaling, "one of "+scalings.Choices())
	l.That(!c.DistillBuffered || c.Buffer > 0, "buffer", c.Buffer, "1 or more where distill_buffered is set")
	l.That(distillations.Has(c.Distillation), "distillation", c.Distillation, "one of "+distillations.Choices())
	return l.Err()
}

func (c Config) view() view.Config {
	return view.Config{EdgeDrop: c.EdgeDrop, FeatureMask: c.FeatureMask}
}

// rate returns the learning rate of each of a task's steps.
func (c Config) rate(steps int) func(step int) float64 {
	if c.Schedule == Cosine {
		return train.WarmUpCosine(c.LearningRate, c.WarmUp, steps)
	}
	return func(step int) float64 {
		return c.LearningRate * min(1, float64(step+1)/float64(max(1, c.WarmUp)))
	}
}

// distills reports whether a teacher takes part. Without transport there is no plan to distill: the paper's variant
// "w/o Optimal Transport" keeps replay alone.
func (c Config) distills() bool {
	return c.Objective == Transport && c.Distillation != DistillNone && c.Beta > 0
}

// gromov returns the settings of π_G, which has the ε of π_Z: with another the encoder would have to stretch cosines
// that cannot leave [−1, 1].
func (c Config) gromov() transport.FGWConfig {
	f := transport.DefaultFGW()
	f.Epsilon, f.Sigma, f.Normalization = c.Epsilon, c.Sigma, c.StructureUnit
	f.Outer, f.Sweeps, f.Factor = c.GromovOuter, c.GromovSweeps, c.GromovFactor
	return f
}

// sinkhorn returns the settings of π_Z. The KL divergence has its gradient in closed form; Frobenius goes through the
// plan.
func (c Config) sinkhorn() transport.SinkhornConfig {
	s := transport.DefaultSinkhorn()
	s.Epsilon, s.Sweeps, s.CostRange = c.Epsilon, c.Sweeps, 2 // of a cosine cost
	if c.Divergence == Frobenius {
		s.Gradient = transport.Implicit
	}
	return s
}
