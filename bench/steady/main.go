// Command steady says by how much SAOT's AP moves when its initial weights move by their last bits, as they do between
// engines, which round sums in different order:
//
//	go run ./bench/steady bench/steady/defaults.yaml
//
// It does each run of a spec several times, each time with weights that another random relative change of the given
// size has moved, and prints the class-il AP of each, their standard deviation and their range. It writes no files, and
// is no part of saot.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all"
)

func main() {
	log.SetFlags(0)
	name, times := flag.String("engine", "", "what computes"), flag.Int("times", 5, "runs of each run")
	size := flag.Float64("size", 1e-6, "standard deviation of a weight's relative change")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: steady [flags] SPEC")
	}
	if err := steady(context.Background(), *name, flag.Arg(0), *times, *size); err != nil {
		log.Fatal(err)
	}
}

func steady(ctx context.Context, engineName, spec string, times int, size float64) error {
	s, err := experiment.OpenSpec(spec)
	if err != nil {
		return err
	}
	e, err := engine.Open(engineName)
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Println("| run | AP | standard deviation | range |")
	fmt.Println("|---|---|---|---|")
	for i := range s.Runs {
		var all []float64
		for k := range times {
			ap, err := perturbed(ctx, e, &s.Runs[i], size, seed.Stream(uint64(k), "perturbed"))
			if err != nil {
				return fmt.Errorf("run %d: %w", i, err)
			}
			all = append(all, ap)
		}
		fmt.Printf("| %s | %s | %.2f | %.2f |\n", title(&s.Runs[i]), strings.Trim(fmt.Sprintf("%.2f", all), "[]"),
			stat.StdDev(all, nil), slices.Max(all)-slices.Min(all))
	}
	return nil
}

// title names a run by what tells apart the runs of a spec.
func title(r *experiment.Run) string {
	return fmt.Sprintf("%s, %s, seed %d", r.Dataset, r.Method, r.Seed)
}

func multiply[T float32 | float64](all []T, by float64, rng *rand.Rand) {
	for i := range all {
		all[i] *= T(1 + by*rng.NormFloat64())
	}
}

// perturbed does a run from weights that rng has moved, and returns its class-il AP under the first of its probes.
func perturbed(ctx context.Context, e *engine.Engine, r *experiment.Run, by float64, rng *rand.Rand) (float64, error) {
	stream, err := r.OpenStream()
	if err != nil {
		return 0, err
	}
	m, err := r.NewLearner(e, stream)
	if err != nil {
		return 0, err
	}
	l, ok := m.(*saot.Learner)
	if !ok {
		return 0, fmt.Errorf("%s is none of SAOT's variants", r.Method)
	}
	for _, net := range l.Nets {
		for _, name := range net.Names() {
			weights, err := net.Values(name)
			if err != nil {
				return 0, err
			}
			multiply(weights.Data, by, rng)
			multiply(weights.Double, by, rng)
			if err := net.SetValues(name, weights); err != nil {
				return 0, err
			}
		}
	}
	o, err := r.Options()
	if err != nil {
		return 0, err
	}
	o.Engine, o.Dir, o.Resume = e, "", false
	result, err := continual.Run(ctx, stream, l, o)
	if err != nil {
		return 0, err
	}
	return result.Scores[0].AP, nil
}
