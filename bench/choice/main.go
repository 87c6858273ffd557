// Command choice compares rules by which the converged probe chooses its strength, on the embeddings of kept learners:
//
//	saot run --keep-model --out runs/cora --dataset cora-ml --probe converged
//	go run ./bench/choice runs/cora …
//
// A run that kept no learner, such as one that was stopped at its start, is learned here. For each run, setting, rule
// and grid of strengths it prints the test AP at the strength that the rule chooses, its spread over bootstraps of the
// valid nodes, and the bias: how far the mean over the bootstraps is below the test AP of the best strength. It is no
// part of saot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all"
)

func main() {
	log.SetFlags(0)
	name, bootstraps := flag.String("engine", "", "what computes"), flag.Int("bootstraps", 500, "of the valid nodes")
	halves := flag.Bool("halves", true, "strengths at half decades too")
	decades := flag.Int("decades", 5, "strengths from 0.1 down, a decade apart")
	flag.Parse()
	if err := compare(*name, flag.Args(), *bootstraps, gridsOf(*decades, *halves)); err != nil {
		log.Fatal(err)
	}
}

func compare(engineName string, dirs []string, bootstraps int, grids []grid) error {
	e, err := engine.Open(engineName)
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Println("| run | setting | rule | strength | test AP | spread | bias | path, s |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, dir := range dirs {
		if err := study(context.Background(), e, dir, bootstraps, grids); err != nil {
			return err
		}
	}
	return nil
}

// grid is strengths from strong to weak.
type grid struct {
	name      string
	strengths []float64
}

// gridsOf returns decades, and half decades too if they are wanted.
func gridsOf(decades int, halves bool) []grid {
	var all []float64
	for k := range 2*decades - 1 {
		all = append(all, math.Pow(10, -1-float64(k)/2))
	}
	grids := []grid{{"decades", every(all, 2)}}
	if halves {
		grids = append(grids, grid{"half decades", all})
	}
	return grids
}

func study(ctx context.Context, e *engine.Engine, dir string, bootstraps int, grids []grid) error {
	r, err := experiment.ReadRun(dir)
	if err != nil {
		return err
	}
	stream, err := r.OpenStream()
	if err != nil {
		return err
	}
	m, err := r.NewLearner(e, stream)
	if err != nil {
		return err
	}
	l, ok := m.(continual.Learner)
	if !ok {
		return fmt.Errorf("%s: %s is its own classifier", dir, r.Method)
	}
	err = continual.LoadKept(dir, m)
	if errors.Is(err, fs.ErrNotExist) {
		err = learn(ctx, l, stream)
	}
	if err != nil {
		return err
	}
	var embed []*continual.Embedding
	for i := range stream.Tasks {
		z, err := l.Embed(ctx, stream.Tasks[i].Graph)
		if err != nil {
			return err
		}
		embed = append(embed, z)
	}
	for _, s := range continual.Settings() {
		for _, g := range grids {
			start := time.Now()
			points, err := continual.Path(ctx, e, stream.Tasks, embed, s, g.strengths)
			if err != nil {
				return err
			}
			seconds := time.Since(start).Seconds()
			for _, rule := range rules {
				report(subject{dir, s, len(stream.Tasks), bootstraps}, rule, g.name, points, seconds)
			}
		}
	}
	return nil
}

func learn(ctx context.Context, l continual.Learner, s *datasets.Stream) error {
	for i := range s.Tasks {
		if _, err := l.Learn(ctx, i, s.Tasks[i].Graph, nil); err != nil {
			return err
		}
	}
	return nil
}

func every[T any](all []T, n int) (some []T) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// rule chooses a point for some tasks from what is known of weighted valid nodes.
type rule struct {
	name   string
	choose func(stats []stat) int
}

// stat is what valid nodes say of a strength: means over tasks.
type stat struct{ accuracy, logLoss, se float64 }

func best(less func(a, b stat) bool) func(stats []stat) int {
	return func(stats []stat) (at int) {
		for i := range stats {
			if less(stats[i], stats[at]) {
				at = i
			}
		}
		return at
	}
}

var (
	byAccuracy = best(func(a, b stat) bool { return a.accuracy > b.accuracy })
	byLogLoss  = best(func(a, b stat) bool { return a.logLoss < b.logLoss })
	rules      = []rule{
		{"accuracy", byAccuracy}, {"log-loss", byLogLoss}, {"one standard error", oneStandardError},
	}
)

// oneStandardError takes the strongest penalty within a standard error of the best accuracy.
func oneStandardError(stats []stat) int {
	top := stats[byAccuracy(stats)]
	for i, s := range stats {
		if s.accuracy >= top.accuracy-top.se {
			return i
		}
	}
	return len(stats) - 1
}

// subject is what a row is about.
type subject struct {
	dir               string
	setting           continual.Setting
	tasks, bootstraps int
}

// report prints the row of a rule. In class-il one strength serves all tasks, in task-il each task has its own.
func report(of subject, r rule, grid string, path []continual.PathPoint, seconds float64) {
	s, tasks, bootstraps := of.setting, of.tasks, of.bootstraps
	heads := [][]int{{}}
	if s == continual.TaskIL {
		heads = nil
	}
	for j := range tasks {
		if s == continual.TaskIL {
			heads = append(heads, []int{j})
		} else {
			heads[0] = append(heads[0], j)
		}
	}
	test := testAccuracies(path, tasks)
	apply := func(weights []float64) (ap, strength float64) {
		for _, head := range heads {
			k := r.choose(statistics(path, head, weights))
			strength = path[k].Strength
			for _, j := range head {
				ap += test[k][j] / float64(tasks)
			}
		}
		return ap, strength
	}
	top := highest(test, heads) / float64(tasks)
	ap, strength := apply(nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var mean, square float64
	for range bootstraps {
		x, _ := apply(resample(path[0].Held, tasks, rng))
		mean, square = mean+x/float64(bootstraps), square+x*x/float64(bootstraps)
	}
	chosen := fmt.Sprintf("%.0e", strength)
	if s == continual.TaskIL {
		chosen = "–"
	}
	fmt.Printf("| %s | %v | %s, %s | %s | %.2f | %.2f | %.2f | %.1f |\n", of.dir, s, r.name, grid, chosen, ap,
		math.Sqrt(max(0, square-mean*mean)), top-mean, seconds)
}

// highest returns the sum over tasks of the test accuracies, each head at its best strength for test.
func highest(test [][]float64, heads [][]int) (total float64) {
	for _, head := range heads {
		top := 0.0
		for _, row := range test {
			sum := 0.0
			for _, j := range head {
				sum += row[j]
			}
			top = max(top, sum)
		}
		total += top
	}
	return total
}

// resample returns how often each valid node is drawn, with replacement within its task.
func resample(held []continual.HeldNode, tasks int, rng *rand.Rand) []float64 {
	of, weights := make([][]int, tasks), make([]float64, len(held))
	for i, n := range held {
		if !n.Test {
			of[n.Task] = append(of[n.Task], i)
		}
	}
	for _, nodes := range of {
		for range nodes {
			weights[nodes[rng.IntN(len(nodes))]]++
		}
	}
	return weights
}

// statistics are the means over tasks of the weighted means over their valid nodes; nil weights are 1.
func statistics(path []continual.PathPoint, tasks []int, weights []float64) []stat {
	place := map[int]int{}
	for k, j := range tasks {
		place[j] = k
	}
	out := make([]stat, len(path))
	for k, point := range path {
		count, right, loss := make([]float64, len(tasks)), make([]float64, len(tasks)), make([]float64, len(tasks))
		for i, n := range point.Held {
			at, ok := place[n.Task]
			if !ok || n.Test {
				continue
			}
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			count[at] += w
			loss[at] += w * n.LogLoss
			if n.Right {
				right[at] += w
			}
		}
		variance := 0.0
		for at, n := range count {
			p := right[at] / n
			out[k].accuracy += p / float64(len(tasks))
			out[k].logLoss += loss[at] / n / float64(len(tasks))
			variance += p * (1 - p) / n
		}
		out[k].se = math.Sqrt(variance) / float64(len(tasks))
	}
	return out
}

// testAccuracies returns the test accuracy in percent of each task at each point.
func testAccuracies(path []continual.PathPoint, tasks int) (all [][]float64) {
	for _, point := range path {
		right, count := make([]float64, tasks), make([]float64, tasks)
		for _, n := range point.Held {
			if n.Test {
				count[n.Task]++
				if n.Right {
					right[n.Task]++
				}
			}
		}
		for j := range right {
			right[j] *= 100 / count[j]
		}
		all = append(all, right)
	}
	return all
}
