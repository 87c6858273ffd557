package kit

import (
	"log"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all" // names the methods of results
)

// Results reads the committed runs of methods on a dataset from results/FILE.jsonl.gz of the repository. It returns the
// first group of seeds of each method, in the order of the names. Without names it returns all groups.
func Results(file, dataset string, methods ...string) []*experiment.Group {
	all := Must(experiment.Collect([]string{repository("results", file+".jsonl.gz")}))
	all = slices.DeleteFunc(all, func(g *experiment.Group) bool { return g.Dataset != dataset })
	if len(methods) == 0 {
		return all
	}
	var chosen []*experiment.Group
	for _, name := range methods {
		i := slices.IndexFunc(all, func(g *experiment.Group) bool { return g.Method == name })
		if i < 0 {
			log.Fatalf("kit: results/%s.jsonl.gz has no run of %s on %s", file, name, dataset)
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// With returns the first group that has all the given settings, such as "buffer=20".
func With(groups []*experiment.Group, settings ...string) *experiment.Group {
	for _, g := range groups {
		if !slices.ContainsFunc(settings, func(s string) bool {
			name, value, _ := strings.Cut(s, "=")
			return g.Settings[name] != value
		}) {
			return g
		}
	}
	log.Fatalf("kit: no group with %s", strings.Join(settings, ", "))
	return nil
}

// MatrixOf returns the matrix of a run under the converged probe, or that of a supervised method's own classifier.
func MatrixOf(r *continual.Result, s continual.Setting) continual.Matrix {
	score, ok := r.Score(s, continual.ProbeConverged)
	if !ok {
		score, ok = r.Score(s, continual.ProbeHead)
	}
	if !ok {
		log.Fatalf("kit: the run of %s with seed %d has no score for %s", r.Method, r.Seed, s)
	}
	return score.Matrix
}

// AP returns a function of a run: its average performance in percent, see MatrixOf.
func AP(s continual.Setting) func(r *continual.Result) float64 {
	return func(r *continual.Result) float64 { return MatrixOf(r, s).AveragePerformance() }
}

// AF returns a function of a run: its average forgetting in points, see MatrixOf.
func AF(s continual.Setting) func(r *continual.Result) float64 {
	return func(r *continual.Result) float64 { return MatrixOf(r, s).AverageForgetting() }
}

// DistanceDrift is the mean drift, after the last task, of the tasks before it.
func DistanceDrift(r *continual.Result) float64 {
	drifts := r.Evaluations[len(r.Evaluations)-1].Structure.DistanceDrift
	return stat.Mean(drifts[:len(drifts)-1], nil)
}

// OverSeeds returns a number of each run of a group, in the order of the seeds.
func OverSeeds(g *experiment.Group, of func(r *continual.Result) float64) []float64 {
	var values []float64
	for _, seed := range g.Seeds() {
		values = append(values, of(g.Runs[seed]))
	}
	return values
}

// Mean is the mean over the seeds.
func Mean(g *experiment.Group, of func(r *continual.Result) float64) float64 {
	return stat.Mean(OverSeeds(g, of), nil)
}

// BarsOf returns a bar for each group: the mean over seeds, and the sample standard deviation where there are two or
// more.
func BarsOf(name string, groups []*experiment.Group, of func(r *continual.Result) float64) plotting.BarSeries {
	bars := plotting.BarSeries{Name: name}
	for _, g := range groups {
		values, spread := OverSeeds(g, of), 0.0
		if len(values) > 1 {
			spread = stat.StdDev(values, nil)
		}
		bars.Values, bars.Spread = append(bars.Values, stat.Mean(values, nil)), append(bars.Spread, spread)
	}
	return bars
}

// Names are the names of the methods.
func Names(groups []*experiment.Group) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Method)
	}
	return names
}

// ChangeOnTasks is, after a number of tasks, by how many points the accuracy on each has changed since it was learned:
// the mean over seeds.
func ChangeOnTasks(g *experiment.Group, s continual.Setting, tasks int) plotting.Series {
	series := plotting.Series{Name: g.Method}
	for j := range tasks {
		series.Y = append(series.Y, Mean(g, func(r *continual.Result) float64 {
			m := MatrixOf(r, s)
			return m[tasks-1][j] - m[j][j]
		}))
	}
	return series
}

// OnTask is the accuracy on a task, counted from 1, after it and after each later task: the mean over seeds.
func OnTask(g *experiment.Group, s continual.Setting, task int) plotting.Series {
	series := plotting.Series{Name: g.Method}
	for after := task - 1; after < g.Info().Tasks; after++ {
		series.X = append(series.X, float64(after+1))
		series.Y = append(series.Y, Mean(g, func(r *continual.Result) float64 { return MatrixOf(r, s)[after][task-1] }))
	}
	return series
}
