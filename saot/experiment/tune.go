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
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Choice is the settings of a method that did best on validation, among those that were tried on a dataset.
type Choice struct {
	Dataset, Method string
	Points          []Point // every one that was tried, the best first; of equal ones the first as text

	preset     method.Preset
	first      float64  // share of the stream's tasks that the runs saw; 0 is all
	conditions []string // lines of a spec's entry: how data and probes were not the default
	refused    error    // why a spec cannot describe the runs
}

// Point is one combination of settings.
type Point struct {
	Settings map[string]string // those that differ between the points, by the names that a Spec's set takes
	Valid    float64           // class-il AP on the valid nodes, the mean over Seeds
	Test     float64           // the same on test; not looked at in the choice
	Seeds    []uint64
	Seconds  float64 // that the runs took together

	changed map[string]string // settings that are not the preset's, as YAML
}

// Choose finds, for each method and dataset, the settings with the highest class-il AP on the valid nodes, read off the
// converged probe, or a supervised method's own classifier. Methods that were tried with only one setting are left out.
//
// It returns an error if no method was tried with several settings, if the runs of a method differ in more than its
// settings, if a run has no figure on valid, or if the points of a method were not all run with the same seeds.
func Choose(groups []*Group) ([]Choice, error) {
	var choices []Choice
	for _, family := range Families(groups) {
		if len(family) < 2 {
			continue
		}
		c := Choice{Method: family[0].Method}
		if err := c.describe(family[0]); err != nil {
			return nil, err
		}
		for _, g := range family {
			p, err := g.point(family)
			if err == nil {
				p.changed, err = g.changedAsYAML()
			}
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
		// Of equals the first as text is taken, as the specs chosen/… have it.
		slices.SortStableFunc(c.Points, func(a, b Point) int {
			return cmp.Or(cmp.Compare(b.Valid, a.Valid), strings.Compare(fmt.Sprintf("%q", a.Settings),
				fmt.Sprintf("%q", b.Settings)))
		})
		choices = append(choices, c)
	}
	if len(choices) == 0 {
		return nil, fmt.Errorf("experiment: no method was run with more than one setting: there is nothing to choose")
	}
	return choices, nil
}

// Cost is the time that all runs of a choice took, one after the other, in whole seconds.
func (c Choice) Cost() time.Duration {
	var seconds float64
	for _, p := range c.Points {
		seconds += p.Seconds
	}
	return time.Duration(seconds+0.5) * time.Second
}

// Families divides groups by dataset and method, in their order: the settings of one method are next to each other.
func Families(groups []*Group) [][]*Group {
	return divided(groups, func(g *Group) string { return g.Dataset + "\n" + g.Method })
}

func (g *Group) point(family []*Group) (Point, error) {
	p := Point{Settings: map[string]string{}, Seeds: g.Seeds()}
	for name, value := range g.Settings {
		if slices.ContainsFunc(family, func(o *Group) bool { return o.Settings[name] != value }) {
			if !g.own[name] {
				return p, fmt.Errorf("experiment: the runs of %s on %s differ in %s, which is not a setting of the "+
					"method: choose some with %s%s", g.Method, g.Dataset, name, g.only(name), mixing[name])
			}
			p.Settings[name] = value
		}
	}
	for _, seed := range p.Seeds {
		r := g.Runs[seed]
		p.Seconds += r.Seconds
		valid, test, err := validAP(r)
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

// WriteChoices prints choices as a Spec, on whole streams, with the validation figures and the time of the runs as
// comments. The settings of an entry are those that were tried, and those in which the runs differ from the method's
// preset. Features, direction, tasks, split and probe rows are those of the runs; the probes are the default. Its seeds
// are those given, or, if there are none, those of the choice.
//
// It returns an error, and writes nothing, if runs took their split from a file: a Spec cannot name one.
func WriteChoices(out io.Writer, choices []Choice, seeds []uint64) error {
	var b strings.Builder
	b.WriteString("about: settings that did best on validation, as saot tune chose them\nruns:\n")
	for _, c := range choices {
		if c.refused != nil {
			return fmt.Errorf("experiment: %s on %s: %w", c.Method, c.Dataset, c.refused)
		}
		best, seeds := c.Points[0], seeds
		if len(seeds) == 0 {
			seeds = best.Seeds
		}
		fmt.Fprintf(&b, "- datasets: [%q]\n  methods: [%s]\n  seeds: %s\n", c.Dataset, c.Method,
			strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "))
		if c.preset != method.Default {
			fmt.Fprintf(&b, "  preset: %v\n", c.preset)
		}
		for _, line := range c.conditions {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		set := map[string]string{}
		maps.Copy(set, best.changed)
		maps.Copy(set, best.Settings)
		fmt.Fprintf(&b, "  set: {%s}\n", textOf(set))
		on := ""
		if c.first > 0 {
			on = fmt.Sprintf(" on the first %.2g of the tasks", c.first)
		}
		fmt.Fprintf(&b, "  # chosen of %d%s, which took %v\n", len(c.Points), on, c.Cost())
		for _, p := range c.Points {
			fmt.Fprintf(&b, "  # valid %.1f: %s\n", p.Valid, p.text())
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// WriteChoiceTable prints a table in Markdown for each dataset, with a row for each method: the chosen settings, their
// class-il AP on the valid nodes in percent, the median and the lowest AP of all settings that were tried, and the time
// of their runs.
func WriteChoiceTable(out io.Writer, choices []Choice) error {
	var b strings.Builder
	for _, of := range divided(choices, func(c Choice) string { return c.Dataset }) {
		fmt.Fprintf(&b, "| %s | chosen | valid | median | worst | cost |\n|---|---|---|---|---|---|\n",
			untrusted.Markdown(of[0].Dataset))
		for _, c := range of {
			n, settings := len(c.Points), strings.ReplaceAll(c.Points[0].text(), ": ", " ")
			median := (c.Points[(n-1)/2].Valid + c.Points[n/2].Valid) / 2
			fmt.Fprintf(&b, "| %s | %s | %.1f | %.1f | %.1f | %v |\n", c.Method, untrusted.Markdown(settings),
				c.Points[0].Valid, median, c.Points[n-1].Valid, c.Cost())
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// describe notes what a choice's runs have in common.
func (c *Choice) describe(g *Group) error {
	s, d, err := g.settings()
	if err != nil {
		return err
	}
	c.Dataset = s.Dataset // what a spec finds it by: the stream's name may be another
	c.preset, c.first = s.Preset, s.Stream.First
	c.conditions, c.refused = s.conditions(d, g.drawn), s.checkSpec()
	return nil
}

func (g *Group) settings() (*Settings, *method.Definition, error) {
	var s Settings
	if err := json.Unmarshal(g.First().Config, &s); err != nil {
		return nil, nil, fmt.Errorf("experiment: %s: field config: %w", g.path(), err)
	}
	d, err := method.Lookup(s.Method)
	if err != nil {
		return nil, nil, fmt.Errorf("experiment: %s: %w", g.path(), err)
	}
	return &s, d, nil
}

func (g *Group) changedAsYAML() (map[string]string, error) {
	s, d, err := g.settings()
	if err != nil {
		return nil, err
	}
	changed := s.changed(d)
	for name, text := range changed {
		changed[name] = yamlText(text)
	}
	return changed, nil
}

// changed returns the method's own settings that are not the defaults of the preset, and those that a change of others
// would reset to another value.
func (s *Settings) changed(d *method.Definition) map[string]string {
	like := d.Defaults(datasets.RecipeOf(s.Dataset), s.Preset)
	changed := s.differing(like)
	var changes []method.Change
	for name, text := range changed {
		changes = append(changes, method.Change{Path: name, Value: method.Value{Text: text}})
	}
	_ = d.Change(like, changes...) // what cannot be set is what it was
	maps.Copy(changed, s.differing(like))
	return changed
}

// differing returns the settings of the method that are others than those of like.
func (s *Settings) differing(like method.Settings) map[string]string {
	usual, differing := map[string]string{}, map[string]string{}
	for _, f := range fields.All(like) {
		usual[f.Path] = f.Text()
	}
	for _, f := range fields.All(s.Of) {
		if f.Text() != usual[f.Path] {
			differing[f.Path] = f.Text()
		}
	}
	return differing
}

// checkSpec returns an error if a Spec cannot describe the settings: of a split that comes from a file they have the
// hash alone, and a Spec has no key for either.
func (s *Settings) checkSpec() error {
	if s.SplitHash == "" {
		return nil
	}
	return fmt.Errorf("the split (hash %.8s) comes from a file, which a spec cannot name: "+
		"make the runs again with saot run --split", s.SplitHash)
}

// conditions returns the lines of a spec's entry that say how data and probes differ from the default. The share of the
// tasks is none of them. The seeds of the stream that drawn names are those of the runs.
func (s *Settings) conditions(d *method.Definition, drawn []string) (lines []string) {
	usual, err := DefaultSettings(s.Dataset, s.Method, s.Preset)
	if err != nil {
		return nil
	}
	if s.Features != usual.Features {
		lines = append(lines, "features: "+s.Features.String())
	}
	if s.Direction != usual.Direction {
		lines = append(lines, "direction: "+s.Direction.String())
	}
	if d.Probed() && s.ProbeRows != usual.ProbeRows {
		lines = append(lines, fmt.Sprint("probe_rows: ", s.ProbeRows))
	}
	cut, standard := s.Cut(), datasets.DefaultStreamOptions()
	if reflect.DeepEqual(s.Stream, datasets.StreamOptions{}) { // the defaults
		standard = datasets.StreamOptions{SplitSeed: standard.SplitSeed}
	}
	cut.First = 0
	changed := map[string]string{}
	of := fields.All(&standard)
	for i, f := range fields.All(&cut) {
		if f.Text() != of[i].Text() {
			changed[f.Path] = yamlText(f.Text())
		}
	}
	for _, name := range drawn {
		changed[name] = bySeed
	}
	if len(changed) > 0 {
		lines = append(lines, "stream: {"+textOf(changed)+"}")
	}
	return lines
}

// yamlText is the text of a field as a value in YAML: lists have brackets.
func yamlText(text string) string {
	if strings.Contains(text, ",") && !strings.HasPrefix(text, "[") {
		return "[" + text + "]"
	}
	return text
}

func (p Point) text() string { return textOf(p.Settings) }

func textOf(settings map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		words = append(words, name+": "+settings[name])
	}
	return strings.Join(words, ", ")
}
