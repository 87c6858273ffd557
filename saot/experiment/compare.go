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
	Both       int `json:"both"`        // runs that are in both, with a score in common
	Same       int `json:"same"`        // those of them whose scores are equal
	OnlyFirst  int `json:"only_first"`  // runs of the first that are not compared
	OnlySecond int `json:"only_second"` // and of the second

	Programs [2][]string `json:"programs"` // that made each set, with their numbers of runs
	Machines [2][]string `json:"machines"` // processors, as far as the results record them

	Pairs []*Pair `json:"pairs"` // in the order of Collect
	Apart []Apart `json:"apart"` // why runs of the first are not compared, for methods that the second has too
}

// Apart is runs of the first set whose method is in the second set, on the same dataset, only with other settings.
type Apart struct {
	Dataset string `json:"dataset"`
	Label   string `json:"method"` // Group.Label in the first set
	// Settings are the ones, by their names in Group.Settings, that differ from those of the most similar runs of the
	// second set: the value in the first and in the second, empty if not recorded.
	Settings map[string][2]string `json:"settings"`
}

// Pair is the runs of one method and settings on one dataset that two sets have in common.
type Pair struct {
	Dataset string   `json:"dataset"`
	Label   string   `json:"method"` // Group.Label in the first set
	Seeds   []uint64 `json:"seeds"`
	// Same is how many runs have the same accuracy on each task after each task, in every score that both have.
	Same   int         `json:"same"`
	Scores []ScorePair `json:"scores"`
}

// ScorePair is one score that runs of a Pair have in both sets. First and Second are AP in percent, differences are
// second − first, in points.
type ScorePair struct {
	Setting continual.Setting `json:"setting"`
	Probe   continual.Probe   `json:"probe"`
	Runs    int               `json:"runs"`  // that have it
	First   float64           `json:"first"` // means of AP over these
	Second  float64           `json:"second"`
	AP      float64           `json:"largest_ap_difference"` // of a run, with its sign
	AF      float64           `json:"largest_af_difference"`
}

// Compare finds the runs of two sets that are of one dataset, method, settings, split and seed, and says how far apart
// their scores are. Where several programs made a run of one set, the set is ambiguous: that is an error. So is a pair
// of sets with no run in common.
func Compare(first, second []*Group) (*Comparison, error) {
	c := &Comparison{}
	var sets [2]map[string]*Group
	var ordered [2][]*Group
	for i, groups := range [][]*Group{first, second} {
		merged, programs := Mixed(groups)
		c.Programs[i], c.Machines[i] = programs, slices.Sorted(maps.Keys(machinesOf(groups)))
		sets[i] = map[string]*Group{}
		for _, g := range merged {
			if known := sets[i][g.key()]; known != nil {
				return nil, fmt.Errorf("experiment: %s and %s are one run by several programs: name folders with the "+
					"runs of one program", known.path(), g.path())
			}
			sets[i][g.key()] = g
		}
		ordered[i] = merged
	}
	for _, g := range ordered[0] {
		if p := pairOf(g, sets[1][g.key()]); p != nil {
			c.Pairs = append(c.Pairs, p)
			c.Both, c.Same = c.Both+len(p.Seeds), c.Same+p.Same
		}
	}
	c.OnlyFirst, c.OnlySecond = runsOf(sets[0])-c.Both, runsOf(sets[1])-c.Both
	c.Apart = apart(ordered, sets)
	if c.Both == 0 {
		text := "no run is in both sets: dataset, method, settings, split and seed have to be the same, and a score " +
			"has to be in both"
		if len(c.Apart) > 0 {
			a := c.Apart[0]
			text += fmt.Sprintf("; %s on %s differs in %s", a.Label, a.Dataset, a.List())
		}
		return nil, errors.New("experiment: " + text)
	}
	return c, nil
}

// apart compares each unmatched group of the first set with the most similar unmatched group of the second that has its
// dataset and method.
func apart(ordered [2][]*Group, sets [2]map[string]*Group) []Apart {
	out := []Apart{}
	for _, g := range ordered[0] {
		if sets[1][g.key()] != nil {
			continue
		}
		var nearest map[string][2]string
		for _, other := range ordered[1] {
			if other.Dataset != g.Dataset || other.Method != g.Method || sets[0][other.key()] != nil {
				continue
			}
			if d := differing(g.Settings, other.Settings); nearest == nil || len(d) < len(nearest) {
				nearest = d
			}
		}
		if nearest != nil {
			out = append(out, Apart{Dataset: g.Dataset, Label: g.Label, Settings: nearest})
		}
	}
	return out
}

// differing returns the values of settings that are not the same in both.
func differing(a, b map[string]string) map[string][2]string {
	out := map[string][2]string{}
	for _, m := range []map[string]string{a, b} {
		for name := range m {
			if a[name] != b[name] {
				out[name] = [2]string{a[name], b[name]}
			}
		}
	}
	return out
}

// List writes the settings and their values, as "epochs (100 and 30)".
func (a Apart) List() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a.Settings)) {
		values := a.Settings[name]
		parts = append(parts, fmt.Sprintf("%s (%s and %s)", name, orNone(values[0]), orNone(values[1])))
	}
	return strings.Join(parts, ", ")
}

func runsOf(set map[string]*Group) (n int) {
	for _, g := range set {
		n += len(g.Runs)
	}
	return n
}

// pairOf compares the runs that two groups share; nil where there are none.
func pairOf(first, second *Group) *Pair {
	if second == nil {
		return nil
	}
	p := &Pair{Dataset: first.Dataset, Label: first.Label}
	for _, seed := range first.Seeds() {
		if shared, same := agree(first.Runs[seed], second.Runs[seed]); shared {
			p.Seeds = append(p.Seeds, seed)
			if same {
				p.Same++
			}
		}
	}
	if len(p.Seeds) == 0 {
		return nil
	}
	for _, setting := range continual.Settings() {
		for _, probe := range []continual.Probe{continual.ProbePaper, continual.ProbeConverged, continual.ProbeHead} {
			if s := p.score(first, second, ScorePair{Setting: setting, Probe: probe}); s.Runs > 0 {
				p.Scores = append(p.Scores, s)
			}
		}
	}
	return p
}

// agree reports whether two runs have a score in common, and whether all such scores are the same. A nil b is a run
// that the second set lacks.
func agree(a, b *continual.Result) (shared, same bool) {
	if b == nil {
		return false, false
	}
	same = true
	for i := range a.Scores {
		s := &a.Scores[i]
		if other, ok := b.Score(s.Setting, s.Probe); ok {
			shared, same = true, same && reflect.DeepEqual(s.Matrix, other.Matrix)
		}
	}
	return shared, same
}

// score fills in what the runs of the pair say of a score.
func (p *Pair) score(first, second *Group, s ScorePair) ScorePair {
	for _, seed := range p.Seeds {
		a, in1 := first.Runs[seed].Score(s.Setting, s.Probe)
		b, in2 := second.Runs[seed].Score(s.Setting, s.Probe)
		if !in1 || !in2 {
			continue
		}
		s.Runs++
		s.First += (a.AP - s.First) / float64(s.Runs) // the mean of those so far
		s.Second += (b.AP - s.Second) / float64(s.Runs)
		s.AP, s.AF = larger(s.AP, b.AP-a.AP), larger(s.AF, b.AF-a.AF)
	}
	return s
}

func larger(a, b float64) float64 {
	if math.Abs(b) > math.Abs(a) {
		return b
	}
	return a
}

// Equal reports whether every run of the pair has the same scores in both sets.
func (p *Pair) Equal() bool { return p.Same == len(p.Seeds) }

// SeedList writes the seeds as Group.SeedList does.
func (p *Pair) SeedList() string { return seedList(p.Seeds) }

// Summary says in a few sentences how much of the sets is the same.
func (c *Comparison) Summary() string {
	var largest float64
	for _, p := range c.Pairs {
		for _, s := range p.Scores {
			largest = max(largest, math.Abs(s.AP))
		}
	}
	text := fmt.Sprintf("Runs in both sets: %d, with the same scores: %d.", c.Both, c.Same)
	if c.Same < c.Both {
		text += fmt.Sprintf(" AP of the others differs by %.2f points at most.", largest)
	}
	if c.OnlyFirst > 0 || c.OnlySecond > 0 {
		text += fmt.Sprintf(" Not compared: %d of the first, %d of the second.", c.OnlyFirst, c.OnlySecond)
	}
	return text
}
