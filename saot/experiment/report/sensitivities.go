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
	byKnob, drawn := map[string][]plotting.Study{}, map[string][]*experiment.Group{}
	for _, family := range experiment.Families(v.groups) {
		for _, knob := range knobs(family) {
			on := line(family, knob)
			study, err := v.points(on, knob)
			if err != nil {
				return nil, err
			}
			if study.Name = family[0].Method; len(on) > 1 {
				name := knob[strings.LastIndex(knob, ".")+1:]
				byKnob[name], drawn[name] = append(byKnob[name], study), append(drawn[name], on...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byKnob)) {
		figure, o := "figure3-"+name, plotting.SensitivityOptions{Knob: knobLabel(name)}
		draw := plotting.Sensitivity
		if name == "buffer" || name == "budget" {
			figure, draw, o.Knob = name, plotting.BufferSizes, ""
		}
		f, err := draw(byKnob[name], o)
		if err != nil {
			return nil, err
		}
		all = append(all,
			Picture{v.name(figure), fmt.Sprintf("AP and AF against %s, %s: mean and standard deviation over seeds.",
				name, v), f.WithNote(v.source(drawn[name]))})
	}
	return all, nil
}

// knobLabel writes a setting that is a Greek letter as that letter.
func knobLabel(name string) string {
	switch name {
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
