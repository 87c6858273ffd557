// Package report makes the figures of the paper, and further ones, from finished runs, and puts tables and figures on a
// page.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// Picture is a figure and what it shows.
type Picture struct {
	Name    string // for a file: figure2-uai-class-il-converged
	Caption string
	Figure  plotting.Figure
}

type view struct {
	dataset string
	setting continual.Setting
	probe   continual.Probe
	groups  []*experiment.Group // that have the score
}

func (v *view) name(figure string) string {
	return fmt.Sprintf("%s-%s-%s-%s", figure, v.dataset, v.setting, v.probe)
}

func (v *view) String() string {
	by := v.probe.String() + " probe"
	if v.probe == continual.ProbeHead {
		by = "own classifier"
	}
	return fmt.Sprintf("%s, %s, %s", v.dataset, v.setting, by)
}

// Pictures draws every figure that the groups have the runs for, dataset by dataset:
//
//   - figure2-paper: the performance matrices of TRACE over those of SAOT, a column for each of three datasets that
//     have both, those with the most tasks (the paper's Figure 2, as PaperPictures draws it);
//   - figure2: those of all methods of a dataset side by side;
//   - figure3: AP and AF against a setting that runs of one method differ in, such as α or β (Figure 3); buffer where
//     it is the buffer's size (the two figures of the paper's appendix);
//   - figure4: AP against the time of learning a task (Figure 4);
//   - progress: AP over the tasks learned;
//   - drift of distances and of plans, and effective rank, over the tasks learned; loss and marginal-error, over tasks.
//
// It returns an error if nothing can be drawn, those of experiment.Comparable and those of package plotting.
func Pictures(groups []*experiment.Group) ([]Picture, error) {
	if err := experiment.Comparable(groups); err != nil {
		return nil, err
	}
	var all []Picture
	add := func(p Picture, err error) error {
		if err == nil && p.Name != "" {
			all = append(all, p)
		}
		return err
	}
	for _, s := range continual.Settings() {
		for _, probe := range append(continual.Probes(), continual.ProbeHead) {
			p, lack, err := paperMatrices(mostTasksFirst(groups, s, probe))
			if lack != "" {
				continue
			}
			p.Name = fmt.Sprintf("figure2-paper-%s-%s", s, probe)
			if err := add(p, err); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range views(groups) {
		for _, draw := range []func(*view) (Picture, error){matrices, progress, tradeOff} {
			if err := add(draw(&v)); err != nil {
				return nil, err
			}
		}
		studies, err := sensitivities(&v)
		if err != nil {
			return nil, err
		}
		all = append(all, studies...)
	}
	for _, d := range datasetsOf(groups) {
		for _, draw := range []func([]*experiment.Group) (Picture, error){distanceDrift, planDrift, effectiveRank,
			losses, marginalErrors} {
			if err := add(draw(d)); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("report: the runs have nothing to draw: no scores of two tasks")
	}
	return all, nil
}

func datasetsOf(groups []*experiment.Group) (all [][]*experiment.Group) {
	for _, g := range groups {
		if n := len(all); n > 0 && all[n-1][0].Dataset == g.Dataset {
			all[n-1] = append(all[n-1], g)
		} else {
			all = append(all, []*experiment.Group{g})
		}
	}
	return all
}

func views(groups []*experiment.Group) (all []view) {
	for _, of := range datasetsOf(groups) {
		for _, s := range continual.Settings() {
			for _, p := range append(continual.Probes(), continual.ProbeHead) {
				v := view{dataset: of[0].Dataset, setting: s, probe: p}
				for _, g := range of {
					if scored(g, s, p) {
						v.groups = append(v.groups, g)
					}
				}
				if len(v.groups) > 0 {
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// scored reports whether all runs of a group have a score, of two tasks at least.
func scored(g *experiment.Group, s continual.Setting, p continual.Probe) bool {
	for _, r := range g.Runs {
		if score, ok := r.Score(s, p); !ok || len(score.Matrix) < 2 {
			return false
		}
	}
	return true
}

func results(g *experiment.Group) (runs []*continual.Result) {
	for _, seed := range g.Seeds() {
		runs = append(runs, g.Runs[seed])
	}
	return runs
}

// source names the dataset, the setting, the probe and the seeds below a picture.
func (v *view) source() string {
	var all []*continual.Result
	for _, g := range v.groups {
		all = append(all, results(g)...)
	}
	return plotting.Source(all, v.setting, v.probe)
}

func (v *view) methods(keep func(*experiment.Group) bool) (all []plotting.Method, err error) {
	for _, g := range v.groups {
		if !keep(g) {
			continue
		}
		m, err := plotting.NewMethod(label(g), results(g), v.setting, v.probe)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// label is short enough for a legend: settings without the words before their last point.
func label(g *experiment.Group) string {
	return strings.NewReplacer("learner.", "", "compared.", "", "encoder.", "").Replace(g.Label)
}

func every(*experiment.Group) bool { return true }

// Large numbers of methods are drawn in part: a figure is to be looked at.
const (
	mostPanels = 12
	mostCurves = 7 // there are as many colors
)

// foremost returns as many methods as a picture has room for, and a note if that is not all. SAOT and TRACE are never
// left out.
func foremost(methods []plotting.Method, room int) (some []plotting.Method, note string) {
	if len(methods) <= room {
		return methods, ""
	}
	kept := func(m plotting.Method) bool {
		name, _, _ := strings.Cut(m.Name, ",") // settings follow
		return name == "saot" || name == "trace"
	}
	others := room
	for _, m := range methods {
		if kept(m) {
			others--
		}
	}
	for _, m := range methods {
		if kept(m) {
			some = append(some, m)
		} else if others > 0 {
			some = append(some, m)
			others--
		}
	}
	if len(some) == len(methods) {
		return some, ""
	}
	return some, fmt.Sprintf(" %d of %d methods.", len(some), len(methods))
}

func matrices(v *view) (Picture, error) {
	methods, err := v.methods(every)
	if err != nil {
		return Picture{}, err
	}
	methods, note := foremost(methods, mostPanels)
	f, err := plotting.MethodMatrices(methods, plotting.MatrixOptions{Columns: min(4, len(methods))})
	return Picture{v.name("figure2"),
			fmt.Sprintf("Performance matrices, %s: accuracy on each task after each task, mean over seeds.%s", v, note),
			f.WithNote(v.source())},
		err
}

func progress(v *view) (Picture, error) {
	methods, err := v.methods(every)
	if err != nil || len(methods) < 2 {
		return Picture{}, err
	}
	methods, note := foremost(methods, mostCurves)
	f, err := plotting.OverTasks(methods, plotting.AP, plotting.CurveOptions{})
	return Picture{v.name("progress"),
		fmt.Sprintf("AP over the tasks learned, %s: mean and standard deviation over seeds.%s", v, note),
		f.WithNote(v.source())}, err
}

// tradeOff draws the methods that train.
func tradeOff(v *view) (Picture, error) {
	methods, err := v.methods(func(g *experiment.Group) bool {
		for _, r := range g.Runs {
			if !slices.ContainsFunc(r.Tasks, func(t continual.TaskReport) bool { return t.Seconds > 1e-3 }) {
				return false
			}
		}
		return true
	})
	if err != nil || len(methods) < 2 {
		return Picture{}, err
	}
	f, err := plotting.TradeOff(methods, plotting.TradeOffOptions{Bold: []string{"saot"}, Front: true})
	return Picture{v.name("figure4"),
		fmt.Sprintf("AP against the time of learning a task, %s. Times are comparable only where one machine made "+
			"all runs.", v), f.WithNote(v.source())}, err
}

// sensitivities draws AP and AF against each setting that runs of one method differ in, all else being equal.
func sensitivities(v *view) (all []Picture, err error) {
	byKnob := map[string][]plotting.Study{}
	for _, family := range experiment.Families(v.groups) {
		for _, knob := range knobs(family) {
			study := plotting.Study{Name: family[0].Method}
			for _, g := range line(family, knob) {
				m, err := plotting.NewMethod(g.Label, results(g), v.setting, v.probe)
				if err != nil {
					return nil, fmt.Errorf("report: %w", err)
				}
				value, _ := strconv.ParseFloat(g.Settings[knob], 64)
				study.Points = append(study.Points, plotting.Setpoint{Value: value, Matrices: m.Matrices})
			}
			if len(study.Points) > 1 {
				name := knob[strings.LastIndex(knob, ".")+1:]
				byKnob[name] = append(byKnob[name], study)
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
				name, v), f.WithNote(v.source())})
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
