package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// Comparison is what two sets of runs have in common, whatever programs, engines and machines made them.
type Comparison struct {
	Both       int `json:"both"`        // runs that are in both
	Same       int `json:"same"`        // those of them whose scores are equal
	OnlyFirst  int `json:"only_first"`  // runs that are in the first alone
	OnlySecond int `json:"only_second"` // and in the second

	Programs [2][]string `json:"programs"` // that made each set, with their numbers of runs
	Machines [2][]string `json:"machines"` // processors, as far as the results record them

	Pairs []*Pair `json:"pairs"` // in the order of Collect
}

// Pair is the runs of one method and settings on one dataset that two sets have in common.
type Pair struct {
	Dataset string   `json:"dataset"`
	Label   string   `json:"method"` // Group.Label in the first set
	Seeds   []uint64 `json:"seeds"`
	// Same is how many runs have the same accuracy on each task after each task, in every score of Scores.
	Same   int         `json:"same"`
	Scores []ScorePair `json:"scores"`
}

// ScorePair is one score that all runs of a Pair have in both sets. First and Second are AP in percent, differences are
// second − first, in points.
type ScorePair struct {
	Setting continual.Setting `json:"setting"`
	Probe   continual.Probe   `json:"probe"`
	First   float64           `json:"first"` // means of AP over the runs
	Second  float64           `json:"second"`
	AP      float64           `json:"ap_by"` // the largest difference of a run, with its sign
	AF      float64           `json:"af_by"`
}

// Compare finds the runs of two sets that are of one dataset, method, settings, split and seed, and says how far apart
// their scores are. Where several programs made a run of one set, the set is ambiguous: that is an error. So is a pair
// of sets with no run in common.
func Compare(first, second []*Group) (*Comparison, error) {
	c := &Comparison{}
	var sets [2]map[string]*Group
	var ordered []*Group
	for i, groups := range [][]*Group{first, second} {
		merged, programs := Mixed(groups)
		c.Programs[i], c.Machines[i], sets[i] = programs, machinesOf(groups), map[string]*Group{}
		for _, g := range merged {
			if known := sets[i][g.key()]; known != nil {
				return nil, fmt.Errorf("experiment: %s and %s are runs of one seed by several programs: choose one "+
					"with --only version=… or --only engine=…", known.path(), g.path())
			}
			sets[i][g.key()] = g
		}
		if i == 0 {
			ordered = merged
		}
	}
	for _, g := range ordered {
		if p := pairOf(g, sets[1][g.key()]); p != nil {
			c.Pairs = append(c.Pairs, p)
			c.Both, c.Same = c.Both+len(p.Seeds), c.Same+p.Same
		}
	}
	c.OnlyFirst, c.OnlySecond = runsOf(sets[0])-c.Both, runsOf(sets[1])-c.Both
	if c.Both == 0 {
		return nil, errors.New("experiment: no run is in both sets: dataset, method, settings, split and seed have " +
			"to be the same")
	}
	return c, nil
}

// machinesOf names the machines that made runs, as far as these record them, without the number of threads.
func machinesOf(groups []*Group) []string {
	names := map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Runs {
			if m := r.Machine; m.Processor != "" {
				names[m.Processor] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func runsOf(set map[string]*Group) (n int) {
	for _, g := range set {
		n += len(g.Runs)
	}
	return n
}

// pairOf compares the seeds that two groups share; nil where there are none.
func pairOf(first, second *Group) *Pair {
	if second == nil || !first.shares(second) {
		return nil
	}
	p := &Pair{Dataset: first.Dataset, Label: first.Label}
	for _, seed := range first.Seeds() {
		if second.Runs[seed] != nil {
			p.Seeds = append(p.Seeds, seed)
		}
	}
	for _, setting := range continual.Settings() {
		for _, probe := range []continual.Probe{continual.ProbePaper, continual.ProbeConverged, continual.ProbeHead} {
			p.score(first, second, ScorePair{Setting: setting, Probe: probe})
		}
	}
	for _, seed := range p.Seeds {
		if p.same(first.Runs[seed], second.Runs[seed]) {
			p.Same++
		}
	}
	return p
}

// score adds a score, if all runs of both groups have it.
func (p *Pair) score(first, second *Group, s ScorePair) {
	for _, seed := range p.Seeds {
		a, in1 := first.Runs[seed].Score(s.Setting, s.Probe)
		b, in2 := second.Runs[seed].Score(s.Setting, s.Probe)
		if !in1 || !in2 {
			return
		}
		s.First += a.AP / float64(len(p.Seeds))
		s.Second += b.AP / float64(len(p.Seeds))
		s.AP, s.AF = larger(s.AP, b.AP-a.AP), larger(s.AF, b.AF-a.AF)
	}
	p.Scores = append(p.Scores, s)
}

// same reports whether two runs agree in every score of the pair.
func (p *Pair) same(first, second *continual.Result) bool {
	return !slices.ContainsFunc(p.Scores, func(s ScorePair) bool {
		a, _ := first.Score(s.Setting, s.Probe)
		b, _ := second.Score(s.Setting, s.Probe)
		return !reflect.DeepEqual(a.Matrix, b.Matrix)
	})
}

func larger(a, b float64) float64 {
	if math.Abs(b) > math.Abs(a) {
		return b
	}
	return a
}

// Equal reports whether every run of the pair has the same scores in both sets.
func (p *Pair) Equal() bool { return p.Same == len(p.Seeds) }

// Summary says in a sentence or two how much of the sets is the same.
func (c *Comparison) Summary() string {
	var largest float64
	for _, p := range c.Pairs {
		for _, s := range p.Scores {
			largest = max(largest, math.Abs(s.AP))
		}
	}
	text := fmt.Sprintf("Of %d runs in both sets, %d have the same scores", c.Both, c.Same)
	if c.Same < c.Both {
		text += fmt.Sprintf(". AP of the others differs by %.2f points at most", largest)
	}
	var alone []string
	for i, n := range []int{c.OnlyFirst, c.OnlySecond} {
		if n > 0 {
			alone = append(alone, fmt.Sprintf("%d only in the %s", n, []string{"first", "second"}[i]))
		}
	}
	if len(alone) > 0 {
		text += ". Not compared: " + strings.Join(alone, ", ")
	}
	return text + "."
}
