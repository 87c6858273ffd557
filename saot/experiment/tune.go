package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Choice is the settings of a method that did best on validation, among those that were tried on a dataset.
type Choice struct {
	Dataset, Method string
	Points          []Point // every one that was tried, the best first; equal ones in the order of Collect
}

// Point is one combination of settings.
type Point struct {
	Settings map[string]string // those that differ between the points, by the names that a Spec's set takes
	Valid    float64           // class-il AP on the valid nodes, the mean over Seeds
	Test     float64           // the same on test; not looked at in the choice
	Seeds    []uint64
}

// Choose finds, for each method and dataset, the settings with the highest class-il AP on the valid nodes, read off the
// converged probe, or a supervised method's own classifier. Methods that were tried with one setting alone are left
// out.
//
// It returns an error if a run has no figure on valid, or if the points of a method were not all run with the same
// seeds.
func Choose(groups []*Group) ([]Choice, error) {
	var choices []Choice
	for _, family := range Families(groups) {
		if len(family) < 2 {
			continue
		}
		c := Choice{Dataset: family[0].Dataset, Method: family[0].Method}
		for _, g := range family {
			p, err := g.point(family)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, p)
		}
		for i, p := range c.Points {
			if !slices.Equal(p.Seeds, c.Points[0].Seeds) {
				return nil,
					fmt.Errorf("experiment: %s and %s were run with the seeds %v and %v: finish the sweep first",
						family[0].path(), family[i].path(), c.Points[0].Seeds, p.Seeds)
			}
		}
		slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(b.Valid, a.Valid) })
		choices = append(choices, c)
	}
	if len(choices) == 0 {
		return nil, fmt.Errorf("experiment: no method was run with more than one setting: there is nothing to choose")
	}
	return choices, nil
}

// Families divides groups by dataset and method, in their order: the settings of one method are next to each other.
func Families(groups []*Group) (all [][]*Group) {
	at := map[string]int{}
	for _, g := range groups {
		key := g.Dataset + "\n" + g.Method
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], g)
	}
	return all
}

func (g *Group) point(family []*Group) (Point, error) {
	p := Point{Settings: map[string]string{}, Seeds: g.Seeds()}
	for name, value := range g.Settings {
		if slices.ContainsFunc(family, func(o *Group) bool { return o.Settings[name] != value }) {
			if !g.own[name] {
				return p,
					fmt.Errorf("experiment: the runs of %s on %s differ in %s, which is no setting of the method: "+
						"choose some with --only %s=%s",
						g.Method, g.Dataset, name, name, value)
			}
			p.Settings[name] = value
		}
	}
	for _, seed := range p.Seeds {
		valid, test, err := validAP(g.Runs[seed])
		if err != nil {
			return p, fmt.Errorf("experiment: %s: %w", g.Paths[seed], err)
		}
		p.Valid += valid / float64(len(p.Seeds))
		p.Test += test / float64(len(p.Seeds))
	}
	return p, nil
}

func validAP(r *continual.Result) (valid, test float64, err error) {
	for _, probe := range []continual.Probe{continual.ProbeConverged, continual.ProbeHead} {
		if s, ok := r.Score(continual.ClassIL, probe); ok {
			if valid, ok := s.ValidAP(); ok {
				return valid, s.AP, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("the run has no figure on valid: it needs the probe %v, and a program that records it",
		continual.ProbeConverged)
}

// WriteChoices prints choices as entries of a Spec, the validation figures as comments.
func WriteChoices(out io.Writer, choices []Choice) error {
	var b strings.Builder
	for _, c := range choices {
		best := c.Points[0]
		fmt.Fprintf(&b, "- datasets: [%s]\n  methods: [%s]\n  seeds: %s\n", c.Dataset, c.Method,
			strings.ReplaceAll(fmt.Sprint(best.Seeds), " ", ", "))
		fmt.Fprintf(&b, "  set: {%s}\n", best.text())
		for _, p := range c.Points {
			fmt.Fprintf(&b, "  # valid %.1f: %s\n", p.Valid, p.text())
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (p Point) text() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		words = append(words, name+": "+p.Settings[name])
	}
	return strings.Join(words, ", ")
}

// SpecOf writes a Spec of the groups' runs, every setting of each spelled out, so that "saot sweep" does them again. It
// returns an error if a group's runs were made by something else than this package.
func SpecOf(about string, groups []*Group) ([]byte, error) {
	var entries []yaml.MapSlice
	for _, g := range groups {
		var s Settings
		if err := json.Unmarshal(g.Runs[g.Seeds()[0]].Config, &s); err != nil {
			return nil, fmt.Errorf("experiment: %s: field config: %w", g.path(), err)
		}
		entry, err := s.entry(g.Seeds())
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: field config: %w", g.path(), err)
		}
		entries = append(entries, entry)
	}
	data, err := yaml.Marshal(yaml.MapSlice{{Key: "about", Value: about}, {Key: "runs", Value: entries}})
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return data, nil
}

// entry is the inverse of reading a Spec.
func (s *Settings) entry(seeds []uint64) (yaml.MapSlice, error) {
	e := yaml.MapSlice{{Key: "datasets", Value: []string{s.Dataset}}, {Key: "methods", Value: []string{s.Method}},
		{Key: "seeds", Value: seeds}}
	add := func(key string, value any) { e = append(e, yaml.MapItem{Key: key, Value: value}) }
	d, err := method.Lookup(s.Method)
	if err != nil {
		return nil, err
	}
	if d.Probed() {
		var probes []string
		for _, p := range s.Probes {
			probes = append(probes, p.String())
		}
		add("probes", probes)
		add("probe_rows", s.ProbeRows)
	}
	add("features", s.Features)
	if s.Direction != datasets.Undirected {
		add("direction", s.Direction.String())
	}
	if cut := s.Cut(); reflect.DeepEqual(s.Stream, datasets.StreamOptions{}) {
		add("stream", yaml.MapSlice{{Key: "split_seed", Value: s.SplitSeed}})
	} else {
		add("stream", leavesOf(&cut))
	}
	if s.Preset != method.Default {
		add("preset", s.Preset.String())
	}
	add("set", leavesOf(s.Of))
	return e, nil
}

// leavesOf lists the fields of the struct that target points to, as a spec's set and stream take them.
func leavesOf(target any) (all yaml.MapSlice) {
	for _, f := range fields.All(target) {
		value := f.Value.Interface()
		if named, ok := value.(fmt.Stringer); ok {
			value = named.String()
		}
		all = append(all, yaml.MapItem{Key: f.Path, Value: value})
	}
	return all
}
