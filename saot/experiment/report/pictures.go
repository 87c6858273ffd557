// Package report makes the figures of the paper, and more, from finished runs, and puts tables and figures on a page.
package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	return fmt.Sprintf("%s, %s, %s", v.dataset, v.setting, v.probe.Label())
}

// Pictures draws every figure that the groups have the runs for, dataset by dataset:
//
//   - figure2-paper: the performance matrices of TRACE over those of SAOT, a column for each of three datasets that
//     have both, those with the most tasks (the paper's Figure 2, as PaperPictures draws it);
//   - figure2: those of all methods of a dataset side by side;
//   - figure3: AP and AF against a setting that runs of one method differ in, such as α or β (Figure 3); buffer where
//     it is the buffer's size (the two figures of the paper's appendix);
//   - figure4: AP against the time of learning a task (Figure 4);
//   - progress: AP over the tasks learned; left out, as is figure4, for runs of one method that differ only in numeric
//     settings;
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
		for _, probe := range continual.AllProbes() {
			p, _, err := paperMatrices(mostTasksFirst(groups, s, probe))
			if p.Name != "" {
				p.Name = fmt.Sprintf("figure2-paper-%s-%s", s, probe)
			}
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
	for _, d := range experiment.ByDataset(groups) {
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
	for i := range all {
		all[i].Name = experiment.FileName(all[i].Name)
	}
	return all, nil
}

func views(groups []*experiment.Group) (all []view) {
	for _, of := range experiment.ByDataset(groups) {
		for _, s := range continual.Settings() {
			for _, p := range continual.AllProbes() {
				v := view{dataset: of[0].Dataset, setting: s, probe: p}
				for _, g := range of {
					if g := scored(g, s, p); len(g.Runs) > 0 {
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

// scored returns a group with those of its runs that have a score, of two tasks at least.
func scored(g *experiment.Group, s continual.Setting, p continual.Probe) *experiment.Group {
	some := *g
	some.Runs = maps.Clone(g.Runs)
	maps.DeleteFunc(some.Runs, func(_ uint64, r *continual.Result) bool {
		score, ok := r.Score(s, p)
		return !ok || len(score.Matrix) < 2
	})
	return &some
}

func results(groups ...*experiment.Group) (runs []*continual.Result) {
	for _, g := range groups {
		for _, seed := range g.Seeds() {
			runs = append(runs, g.Runs[seed])
		}
	}
	return runs
}

// source names the dataset, the setting, the probe and the seeds of the groups of a picture, for below it.
func (v *view) source(drawn []*experiment.Group) string {
	return plotting.Source(results(drawn...), v.setting, v.probe)
}

func (v *view) methods(drawn []*experiment.Group) (all []plotting.Method, err error) {
	for _, g := range drawn {
		m, err := plotting.NewMethod(label(g), results(g), v.setting, v.probe)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		m.Note = fewer(g, drawn)
		all = append(all, m)
	}
	return all, nil
}

// fewer says how many seeds a group has if its picture has more: the note below a picture names the seeds of all groups
// together. If no group has all of them, fewer also says which the group has.
func fewer(g *experiment.Group, drawn []*experiment.Group) string {
	all := map[uint64]bool{}
	for _, o := range drawn {
		for seed := range o.Runs {
			all[seed] = true
		}
	}
	note := fmt.Sprintf("n = %d", len(g.Runs))
	switch {
	case len(g.Runs) == len(all):
		return ""
	case slices.ContainsFunc(drawn, func(o *experiment.Group) bool { return len(o.Runs) == len(all) }):
		return note
	}
	return note + ", seeds " + g.SeedList()
}

// label is short enough for a legend: it leaves out the prefix "encoder." of settings.
func label(g *experiment.Group) string {
	return strings.ReplaceAll(g.Label, "encoder.", "")
}

// Large numbers of methods are drawn in part: a figure is to be looked at.
const (
	mostPanels = 12
	mostPoints = 15 // labels of more crowd out one another
	mostCurves = 7  // there are as many colors
)

// foremost returns as many groups as a picture has room for, and a note if that is not all. One of SAOT and one of
// TRACE are never left out: the one without settings in its label, else the first.
func foremost(groups []*experiment.Group, room int) (some []*experiment.Group, note string) {
	if len(groups) <= room {
		return groups, ""
	}
	kept := map[*experiment.Group]bool{}
	for _, method := range []string{"saot", "trace"} {
		i := slices.IndexFunc(groups, func(g *experiment.Group) bool { return g.Label == method })
		if i < 0 {
			i = slices.IndexFunc(groups, func(g *experiment.Group) bool { return g.Method == method })
		}
		if i >= 0 {
			kept[groups[i]] = true
		}
	}
	others := room - len(kept)
	for _, g := range groups {
		if kept[g] {
			some = append(some, g)
		} else if others > 0 {
			some = append(some, g)
			others--
		}
	}
	return some, fmt.Sprintf(" %d of %d methods.", len(some), len(groups))
}

// swept reports whether there are several groups, all of one method that differs in numeric settings of its own alone:
// figure3 draws those.
func (v *view) swept() bool {
	if len(v.groups) < 2 || len(experiment.Families(v.groups)) > 1 {
		return false
	}
	varied := knobs(v.groups)
	rest := func(g *experiment.Group) map[string]string {
		all := maps.Clone(g.Settings)
		for _, knob := range varied {
			delete(all, knob)
		}
		return all
	}
	return !slices.ContainsFunc(v.groups, func(g *experiment.Group) bool {
		return !maps.Equal(rest(g), rest(v.groups[0]))
	})
}

func matrices(v *view) (Picture, error) {
	drawn, note := foremost(v.groups, mostPanels)
	methods, err := v.methods(drawn)
	if err != nil {
		return Picture{}, err
	}
	f, err := plotting.MethodMatrices(methods, plotting.MatrixOptions{Columns: min(4, len(methods))})
	return Picture{v.name("figure2"),
			fmt.Sprintf("Performance matrices, %s: accuracy on each task after each task, mean over seeds.%s", v, note),
			f.WithNote(v.source(drawn))},
		err
}

func progress(v *view) (Picture, error) {
	if v.swept() {
		return Picture{}, nil
	}
	drawn, note := foremost(v.groups, mostCurves)
	methods, err := v.methods(drawn)
	if err != nil {
		return Picture{}, err
	}
	f, err := plotting.OverTasks(methods, plotting.AP, plotting.CurveOptions{Direct: true})
	return Picture{v.name("progress"),
		fmt.Sprintf("AP over the tasks learned, %s: mean and standard deviation over seeds.%s", v, note),
		f.WithNote(v.source(drawn))}, err
}

// leastLearning is the seconds of one task above which a method trains. In the committed results drawing the weights of
// an untrained encoder takes 0.013 at most, and what learns 0.1 or more.
const leastLearning = 0.05

// trains reports whether a method takes time to learn.
func trains(g *experiment.Group) bool {
	for _, r := range g.Runs {
		if !slices.ContainsFunc(r.Tasks, func(t continual.TaskReport) bool { return t.Seconds > leastLearning }) {
			return false
		}
	}
	return true
}

// tradeOff draws the methods that train.
func tradeOff(v *view) (Picture, error) {
	var timed []*experiment.Group
	for _, g := range v.groups {
		if trains(g) {
			timed = append(timed, g)
		}
	}
	if len(timed) < 2 || v.swept() {
		return Picture{}, nil
	}
	drawn, note := foremost(timed, mostPoints)
	methods, err := v.methods(drawn)
	if err != nil {
		return Picture{}, err
	}
	f, err := plotting.TradeOff(methods, plotting.TradeOffOptions{Bold: []string{"saot"}, Front: true})
	return Picture{v.name("figure4"),
		fmt.Sprintf("AP against the time of learning a task, %s: mean and standard deviation over seeds. %s%s", v,
			tradeOffKey, note), f.WithNote(v.source(drawn))}, err
}
