package baseline

import (
	"fmt"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Method is a method by name: SAOT, one of its ablations, or a control.
type Method int

// The methods, in the order of the tables.
const (
	SAOT             Method = iota // the method as its Config says
	SAOTNoDistill                  // Table 4, "w/o Cross-task Distill.": SAOT without a teacher
	SAOTCosine                     // Table 4, "w/ Cosine": cosine distillation of each node in place of plans
	SAOTMSE                        // Table 4, "w/ MSE": squared-error distillation of each node in place of plans
	SAOTBarlow                     // Table 4, "w/o Optimal Transport": Graph Barlow Twins with the same replay
	SAOTLinear                     // SAOT with a linear encoder, costs of propagated features, centred L_str and no teacher: not in the paper
	Majority                       // class frequencies alone
	Features                       // raw features X
	Propagated                     // Â²X at full width
	PropagatedRandom               // Â²X on the encoder's width by a random orthogonal projection
	PropagatedPCA                  // Â²X on the encoder's width by PCA on the current task and a replay buffer
	Random                         // the encoder before training
	RandomCalibrated               // the same with BatchNorm's statistics of the tasks seen

	GAE      // graph auto-encoder (Kipf and Welling 2016)
	DGI      // Deep Graph Infomax (Veličković et al. 2019)
	GBT      // Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022)
	GCNClu   // SS-GCNs' clustering pretext (You et al. 2020)
	GCNPar   // SS-GCNs' partitioning pretext
	GCNComp  // SS-GCNs' completion pretext
	RieGrace // RieGrace (Sun et al. 2023)
	TRACE    // TRACE (KDD 2025)

	Joint // one network for all tasks seen, trained anew on all of them
	TWP   // topology-aware weight preserving (Liu, Yang and Wang 2021)
	ERGNN // experience replay (Zhou and Cao 2021)
	CaT   // condense and train (Liu, Qiu and Huang 2023)
	TACO  // topology-aware coarsening (Han, Feng and Ning 2024)
	PUMA  // pseudo-label guided memory bank (Liu, Qiu and Huang 2024)
)

var methodNames = enum.Of[Method]("method",
	"saot", "saot-no-distill", "saot-cosine", "saot-mse", "saot-barlow", "saot-l", "majority", "features",
	"propagated", "propagated-random", "propagated-pca", "random", "random-calibrated",
	"gae", "dgi", "gbt", "gcn-clu", "gcn-par", "gcn-comp", "riegrace", "trace",
	"joint", "twp", "er-gnn", "cat", "taco", "puma",
)

var descriptions = []string{"self-supervised continual graph learning by optimal transport, as its settings say",
	"saot without a teacher (Table 4, w/o Cross-task Distill.)",
	"saot with cosine distillation of each node in place of plans (Table 4)",
	"saot with squared-error distillation of each node in place of plans (Table 4)",
	"Graph Barlow Twins with saot's replay (Table 4, w/o Optimal Transport)",
	"saot with a linear encoder, costs of propagated features and centred structure loss (not in the paper)",
	"control: class frequencies alone",
	"control: raw features X",
	"control: features after two hops of propagation, full width",
	"control: the same, on the encoder's width by a random projection",
	"control: the same, on the encoder's width by PCA of the current task and a buffer",
	"control: saot's encoder before training",
	"control: the same with BatchNorm's statistics of the tasks seen",
	"graph auto-encoder (Kipf and Welling 2016)",
	"Deep Graph Infomax (Veličković et al. 2019)",
	"Graph Barlow Twins (Bielak, Kajdanowicz and Chawla 2022)",
	"SS-GCNs' node clustering pretext (You et al. 2020)",
	"SS-GCNs' graph partitioning pretext (You et al. 2020)",
	"SS-GCNs' graph completion pretext (You et al. 2020)",
	"hyperbolic embeddings with Lorentz distillation (Sun et al. 2023)",
	"fast and slow encoders with proxies of past tasks (TRACE, KDD 2025)",
	"one network trained anew on all tasks seen: what a method that may not keep them can hope for",
	"topology-aware weight preserving (Liu, Yang and Wang 2021)",
	"experience replay of single nodes (Zhou and Cao 2021)",
	"condense each task to a few nodes and train in that memory (Liu, Qiu and Huang 2023)",
	"topology-aware coarsening of past graphs (Han, Feng and Ning 2024)",
	"cat with wide random encoders and pseudo-labels (Liu, Qiu and Huang 2024)",
}

// Description returns what the method is, in a line.
func (m Method) Description() string { return enum.Of[Method]("method", descriptions...).Name(m) }

// Methods returns every method, in the order of the tables.
func Methods() []Method {
	var all []Method
	for i := range methodNames.Names() {
		if m := Method(i); m <= RandomCalibrated || m.Compared() {
			all = append(all, m)
		}
	}
	return all
}

// String returns the name used in flags and files.
func (m Method) String() string { return methodNames.Name(m) }

// ParseMethod is the inverse of String; its error lists the methods.
func ParseMethod(name string) (Method, error) { return methodNames.Parse(name) }

func (m Method) MarshalText() ([]byte, error)     { return methodNames.Marshal(m) }
func (m *Method) UnmarshalText(text []byte) error { return methodNames.Unmarshal(m, text) }

// Trains reports whether the method takes gradient steps.
func (m Method) Trains() bool { return m <= SAOTLinear || m.Compared() }

// Settings returns the configuration under which the method runs: an ablation sets the fields that define it, and all
// else stays as it is.
func (m Method) Settings(c saot.Config) saot.Config {
	switch m {
	case SAOTNoDistill:
		c.Distillation = saot.DistillNone
	case SAOTCosine:
		c.Distillation = saot.DistillCosine
	case SAOTMSE:
		c.Distillation = saot.DistillMSE
	case SAOTBarlow:
		c.Objective = saot.BarlowTwins
	case SAOTLinear:
		c.Encoder.Kind, c.Encoder.Layers, c.Encoder.Heads = encoder.Linear, 0, 0
		c.FeatureCost, c.Centred, c.Distillation = saot.PropagatedFeatures, true, saot.DistillNone
	}
	return c
}

// New returns the learner of SAOT, an ablation or a control, for graphs with the given number of feature columns and the given sizes; see
// saot.New. All that is random in it follows from seed, and Random starts from SAOT's own initial weights. A control
// takes from c what it shares with SAOT: the encoder, the buffer and, for the calibration, the number of epochs.
//
// It returns an error if c is not valid or does not fit the graphs.
func New(m Method, e *engine.Engine, c saot.Config, features int, tasks []encoder.Size, seed uint64) (continual.Learner, error) {
	c = m.Settings(c)
	if m <= SAOTLinear {
		return saot.New(e, c, features, tasks, seed)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if features < 1 && m != Majority {
		return nil, fmt.Errorf("baseline: %s needs node features and the graphs have none: use majority, or a dataset with features", m)
	}
	switch m {
	case Majority:
		return newMajority(), nil
	case Features:
		return newFeatures(), nil
	case Propagated:
		return newPropagated(), nil
	case PropagatedRandom:
		return newProjected(features, c.Encoder.Out, seed), nil
	case PropagatedPCA:
		return newPrincipal(features, c, seed), nil
	case Random, RandomCalibrated:
		return newRandom(e, c, m == RandomCalibrated, features, tasks, seed)
	}
	if m.Compared() {
		return nil, fmt.Errorf("baseline: %s has settings of its own: use NewCompared or NewSupervised", m)
	}
	_, err := ParseMethod(m.String())
	return nil, err
}
