package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/experiment"
)

// sensitivities draws AP and AF against each setting that runs of one method differ in, all else being equal.
func sensitivities(v *view) (all []Picture, err error) {
	byKnob, drawn, shares := map[string][]plotting.Study{}, map[string][]*experiment.Group{}, map[string]string{}
	for _, family := range experiment.Families(v.groups) {
		for _, knob := range knobs(family) {
			on := line(family, knob)
			if len(on) < 2 {
				continue
			}
			study, err := v.points(on, knob)
			if err != nil {
				return nil, err
			}
			study.Name = strings.Join(append([]string{family[0].Method}, v.held(on, knob)...), ", ")
			name := knob[strings.LastIndex(knob, ".")+1:]
			byKnob[name], drawn[name] = append(byKnob[name], study), append(drawn[name], on...)
			if share := v.share(on, knob); share != "" {
				shares[name] += " Drawn are " + share + "."
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byKnob)) {
		figure := "figure3-" + name
		if name == "buffer" {
			figure = name
		}
		f, err := plotting.Sensitivity(byKnob[name], plotting.SensitivityOptions{Knob: knobLabel(name)})
		if err != nil {
			return nil, err
		}
		all = append(all,
			Picture{v.name(figure), fmt.Sprintf("AP and AF against %s, %s: mean and standard deviation over seeds.%s",
				name, v, shares[name]), f.WithNote(v.source(drawn[name]))})
	}
	return all, nil
}

// family returns the groups of a method.
func (v *view) family(method string) []*experiment.Group {
	return slices.DeleteFunc(slices.Clone(v.groups), func(g *experiment.Group) bool { return g.Method != method })
}

// held names the method's own settings of a line that are not at their defaults, and others that further runs vary.
func (v *view) held(on []*experiment.Group, knob string) (words []string) {
	first := on[0]
	changed, _ := first.Changed()
	for _, name := range slices.Sorted(maps.Keys(first.Settings)) {
		value := first.Settings[name]
		varied := slices.ContainsFunc(v.family(first.Method), func(g *experiment.Group) bool {
			return g.Settings[name] != value
		})
		if _, ok := changed[name]; name != knob && (ok || varied && !first.Own(name)) {
			words = append(words, strings.TrimPrefix(name, "encoder.")+" "+value)
		}
	}
	return words
}

// share says how many of a method's runs a line has, and their settings; "" where it has all.
func (v *view) share(on []*experiment.Group, knob string) string {
	mine, all := len(results(on...)), len(results(v.family(on[0].Method)...))
	if mine == all {
		return ""
	}
	some := fmt.Sprintf("%d of the %d runs of %s", mine, all, on[0].Method)
	return strings.Join(append([]string{some}, v.held(on, knob)...), ", ")
}

// knobLabel writes a setting that is a Greek letter as that letter. Methods count the nodes of their buffers by task or
// by stream.
func knobLabel(name string) string {
	switch name {
	case "buffer":
		return "buffer (nodes)"
	case "alpha", "beta", "gamma", "epsilon", "sigma", "tau":
		return `$\` + name + `$`
	}
	return strings.ReplaceAll(name, "_", " ")
}

// knobs returns the numeric settings of the method in which groups differ.
func knobs(family []*experiment.Group) (names []string) {
	for name, first := range family[0].Settings {
		if !family[0].Own(name) {
			continue
		}
		differs := false
		for _, g := range family {
			_, err := strconv.ParseFloat(g.Settings[name], 64)
			differs = differs || g.Settings[name] != first
			if err != nil {
				differs = false
				break
			}
		}
		if differs {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// line returns the largest set of groups that differ in one setting alone, by its value. A grid over two settings has
// several such lines: the first is as good as the others.
func line(family []*experiment.Group, knob string) (best []*experiment.Group) {
	for _, origin := range family {
		var on []*experiment.Group
		for _, g := range family {
			rest := maps.Clone(g.Settings)
			rest[knob] = origin.Settings[knob]
			if maps.Equal(rest, origin.Settings) {
				on = append(on, g)
			}
		}
		if len(on) > len(best) {
			best = on
		}
	}
	slices.SortFunc(best, func(a, b *experiment.Group) int {
		x, _ := strconv.ParseFloat(a.Settings[knob], 64)
		y, _ := strconv.ParseFloat(b.Settings[knob], 64)
		return cmp.Compare(x, y)
	})
	return best
}
