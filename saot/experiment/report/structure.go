package report

import (
	"fmt"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// curve is a figure of a run over its tasks, from the given task on; false where the run does not have it.
type curve struct {
	from int
	of   func(r *continual.Result, task int) (float64, bool)
}

func (c curve) mean(g *experiment.Group) (s plotting.Series, ok bool) {
	s.Name = label(g)
	runs := results(g)
	for task := c.from; task < runs[0].Dataset.Tasks; task++ {
		sum := 0.0
		for _, r := range runs {
			v, ok := c.of(r, task)
			if !ok {
				return s, false
			}
			sum += v
		}
		s.X, s.Y = append(s.X, float64(task+1)), append(s.Y, sum/float64(len(runs)))
	}
	return s, len(s.Y) > 0
}

func structureOf(r *continual.Result, task int) *continual.Structure {
	if task >= len(r.Evaluations) {
		return nil
	}
	return r.Evaluations[task].Structure
}

// drifted is the mean drift of the tasks before the newest.
func drifted(of func(*continual.Structure) []float64) curve {
	return curve{from: 1, of: func(r *continual.Result, task int) (float64, bool) {
		st := structureOf(r, task)
		if st == nil || len(of(st)) < task {
			return 0, false
		}
		sum := 0.0
		for _, v := range of(st)[:task] {
			sum += v
		}
		return sum / float64(task), true
	}}
}

// unchanged is where a drift is measured from: its axis starts there.
var unchanged = []plotting.Reference{{Name: "no change"}}

func distanceDrift(groups []*experiment.Group) (Picture, error) {
	return overTasks(groups, "drift-distance",
		"Change of the distances between a task's nodes since it was learned, mean over earlier tasks and seeds",
		drifted(func(s *continual.Structure) []float64 { return s.DistanceDrift }),
		plotting.CurveOptions{YLabel: "relative change of distances", References: unchanged})
}

func planDrift(groups []*experiment.Group) (Picture, error) {
	return overTasks(groups, "drift-plan",
		"Change of the transport plan between two halves of a task's nodes since it was learned, mean over earlier "+
			"tasks and seeds",
		drifted(func(s *continual.Structure) []float64 { return s.PlanDrift }),
		plotting.CurveOptions{YLabel: "total variation of plans", References: unchanged})
}

var ranks = curve{of: func(r *continual.Result, task int) (float64, bool) {
	if st := structureOf(r, task); st != nil {
		return st.EffectiveRank, true
	}
	return 0, false
}}

func effectiveRank(groups []*experiment.Group) (Picture, error) {
	return overTasks(groups, "effective-rank", "Effective rank of the embeddings of all tasks seen, mean over seeds",
		ranks, plotting.CurveOptions{YLabel: "effective rank"})
}

func marginalErrors(groups []*experiment.Group) (Picture, error) {
	return overTasks(groups, "marginal-error",
		"Largest L1 error of a plan's marginals while a task was learned, mean over seeds",
		curve{of: func(r *continual.Result, task int) (float64, bool) {
			if task >= len(r.Tasks) {
				return 0, false
			}
			v, ok := r.Tasks[task].Diagnostics["marginal_error"]
			return v, ok
		}}, plotting.CurveOptions{YLabel: "marginal error (L1)", LogY: true, Floor: 1e-16})
}

// overTasks draws a curve for each group that has it, the mean over seeds, as far as there is room.
func overTasks(groups []*experiment.Group, name, caption string, c curve,
	o plotting.CurveOptions) (Picture, error) {
	var able []*experiment.Group
	for _, g := range groups {
		if _, ok := c.mean(g); ok {
			able = append(able, g)
		}
	}
	if len(able) == 0 {
		return Picture{}, nil
	}
	drawn, note := foremost(able, mostCurves)
	var series []plotting.Series
	for _, g := range drawn {
		s, _ := c.mean(g)
		if note := fewer(g, drawn); note != "" {
			s.Name += " (" + note + ")"
		}
		series = append(series, s)
	}
	o.XLabel = "tasks learned"
	f, err := plotting.Curves(series, o)
	dataset := groups[0].Dataset
	return Picture{name + "-" + dataset, fmt.Sprintf("%s: %s.%s", dataset, caption, note),
		f.WithNote(plotting.Runs(results(drawn...)))}, err
}

// losses draws the terms of the first method that has several.
func losses(groups []*experiment.Group) (Picture, error) {
	for _, g := range groups {
		r := g.First()
		if len(r.Tasks) == 0 || len(r.Tasks[0].LastLoss) < 2 {
			continue
		}
		f, err := plotting.LossTerms(r, plotting.CurveOptions{})
		return Picture{"loss-" + g.Dataset, fmt.Sprintf("%s: loss terms of %s, seed %d, at the end of each task.",
			g.Dataset, g.Label, r.Seed), f}, err
	}
	return Picture{}, nil
}
