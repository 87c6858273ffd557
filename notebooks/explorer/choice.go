package explorer

import (
	"fmt"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/notebooks/kit"
	"github.com/saot-go/saot/plotting/nb"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all" // the methods to choose from
)

// Choice is what the knobs say.
type Choice struct {
	Dir                         string // of real datasets
	Dataset                     string
	Task                        int // that the pictures show, from 0
	Method, Other               string
	Seed                        uint64
	Epsilon, Sigma, Alpha, Beta float64
	Points                      int // M
}

// Alone is the choice of no second method.
const Alone = "none"

// Small is a generated graph in three tasks of about 60 nodes.
const Small = "synthetic,nodes=180,classes=6,imbalance=1.5,degree=3.5,vocabulary=64"

// The values of the knobs.
var (
	methods  = []string{"saot", "saot-no-distill", "saot-barlow", "gbt", "dgi", "gae", "random"}
	tasks    = []int{1, 2, 3, 4, 5, 6, 7, 8, 9} // as many as UAI has; a stream with fewer shows its last one
	seeds    = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	epsilons = []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}
	sigmas   = []float64{0, 0.25, 0.5, 0.75, 1}
	weights  = []float64{0, 0.25, 0.5, 1, 2, 5} // α and β
	points   = []int{20, 30, 40, 50}            // M
)

func knobs(datasets []string) []nb.Knob {
	shown := append([]string{"small"}, datasets[1:]...)
	return []nb.Knob{
		{Name: "dataset", Values: shown, Menu: true},
		{Name: "task", Values: texts(tasks), Menu: true},
		{Name: "method", Values: methods, Menu: true},
		{Name: "next to it", Values: append([]string{Alone}, methods[1:]...), Menu: true},
		{Name: "seed", Values: texts(seeds)},
		{Name: "ε", Values: texts(epsilons), At: 3},
		{Name: "σ", Values: texts(sigmas), At: 2},
		{Name: "α", Values: texts(weights), At: 3},
		{Name: "β", Values: texts(weights), At: 2},
		{Name: "M", Values: texts(points), At: 2},
	}
}

// choiceAt is the choice with the knobs at these places.
func (x *Explorer) choiceAt(at []int) Choice {
	return Choice{Dir: x.choice.Dir, Dataset: x.names[at[0]], Task: at[1],
		Method: methods[at[2]], Other: x.knobs[3].Values[at[3]], Seed: seeds[at[4]],
		Epsilon: epsilons[at[5]], Sigma: sigmas[at[6]], Alpha: weights[at[7]], Beta: weights[at[8]],
		Points: points[at[9]]}
}

func texts[T any](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// available names the datasets that can be opened, the smallest first.
func available(dir string) ([]string, error) {
	names := []string{Small, "synthetic"}
	if dir == "" {
		return names, nil
	}
	store := datasets.Store{Dir: dir}
	for _, name := range []string{"cora-ml", "uai", "wikics"} {
		entry, err := datasets.Lookup(name)
		if err != nil {
			return nil, err
		}
		if files, _ := store.Present(entry); files > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

func open(dataset, dir string) (*datasets.Stream, error) {
	d, err := datasets.Open(dataset, dir, datasets.Options{})
	if err != nil {
		return nil, err
	}
	return datasets.NewStream(d, datasets.DefaultStreamOptions())
}

// settings are all that a run depends on, apart from its stream. The knobs from ε on are those of SAOT. A knob without
// effect on the method is left out or stays at its default, so that moving it replays no run.
type settings struct {
	method string
	seed   uint64
	saot   saotKnobs
}

type saotKnobs struct {
	epsilon, sigma, alpha, beta float64
	points                      int
}

func (c Choice) settings(name string) settings {
	s := settings{method: name, seed: c.Seed}
	if d, err := method.Lookup(name); err == nil && d.Kind == method.Ours {
		s.saot = saotKnobs{c.Epsilon, c.Sigma, c.Alpha, c.Beta, c.Points}
	}
	byDefault := saot.DefaultConfig()
	switch name {
	case "saot-barlow": // solves no plan
		s.saot = saotKnobs{byDefault.Epsilon, byDefault.Sigma, byDefault.Alpha, byDefault.Beta, c.Points}
	case "saot-no-distill":
		s.saot.beta = byDefault.Beta
	}
	return s
}

// learner makes the learner of a stream, small and quick.
func (s settings) learner(e *engine.Engine, stream *datasets.Stream) (continual.Learner, error) {
	d, err := method.Lookup(s.method)
	if err != nil {
		return nil, err
	}
	chosen := d.Defaults(datasets.RecipeSynthetic, method.Fast)
	if d.Trains() {
		if err := d.Set(chosen, "epochs", fmt.Sprint(Epochs)); err != nil {
			return nil, err
		}
	}
	c, ok := chosen.(*saot.Config)
	if ok { // also of controls, which stand next to SAOT with its width
		c.Encoder.Hidden, c.Encoder.Out, c.Buffer = 64, 32, 20
	}
	if ok && d.Kind == method.Ours {
		c.Epsilon, c.Sigma, c.Alpha, c.Beta = s.saot.epsilon, s.saot.sigma, s.saot.alpha, s.saot.beta
		c.Points = s.saot.points
	}
	return kit.NewLearner(s.method, e, stream, chosen, s.seed)
}

// teaches reports whether the method's teacher hands on a plan.
func (s settings) teaches() bool { return s.method == "saot" && s.saot.beta > 0 }
