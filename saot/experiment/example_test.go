package experiment_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all"
)

// From settings to a table: two controls on a small generated graph, each in a run folder of its own.
func Example() {
	dir, err := os.MkdirTemp("", "saot-*")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	for _, name := range []string{"majority", "propagated"} {
		settings, err := experiment.DefaultSettings("synthetic,nodes=200,classes=4,vocabulary=64", name, method.Default)
		check(err)
		settings.Probes = []continual.Probe{continual.ProbePaper}
		run := experiment.Run{Settings: settings, Place: experiment.Place{Engine: "go"}}
		do(run, filepath.Join(dir, run.Name()))
	}
	groups, err := experiment.Collect([]string{dir})
	check(err)
	tables, err := experiment.Tables(groups)
	check(err)
	file, err := os.Create(filepath.Join(dir, "tables.md"))
	check(err)
	check(experiment.Markdown.Write(file, tables))
	check(file.Close())
	for _, row := range tables[0].Rows {
		fmt.Printf("%s, seeds %v: best %s %s: %t\n", row.Method, row.Seeds, tables[0].Columns[0].Setting,
			tables[0].Columns[0].Title, row.Cells[0].Rank == experiment.Best)
	}
	// Output:
	// majority, seeds [0]: best class-il AP: false
	// propagated, seeds [0]: best class-il AP: true
}

// do takes the method of a run through its stream; the folder then holds the result.
func do(run experiment.Run, dir string) {
	stream, err := run.OpenStream()
	check(err)
	compute, err := run.OpenEngine()
	check(err)
	defer compute.Close()
	learner, err := run.NewLearner(compute, stream)
	check(err)
	options, err := run.Options()
	check(err)
	options.Engine, options.Dir, options.Keep = compute, dir, run.Keep
	_, err = continual.Run(context.Background(), stream, learner, options)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A spec lists runs: every seed of every dataset and method, with the settings of each.
func ExampleParseSpec() {
	spec, err := experiment.ParseSpec("compare.yaml", []byte(`
about: two weights of the structure loss next to the graph auto-encoder
runs:
- datasets: [synthetic]
  methods: [saot]
  seeds: [0, 1]
  preset: fast
  grid: {alpha: [0.5, 1]}
- {datasets: [synthetic], methods: [gae], seeds: [0, 1], preset: fast}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Name, len(spec.Runs), "runs")
	for _, run := range spec.Runs {
		fmt.Println(run.Dataset, run.Method, "seed", run.Seed)
	}
	// Output:
	// compare 6 runs
	// synthetic saot seed 0
	// synthetic saot seed 0
	// synthetic saot seed 1
	// synthetic saot seed 1
	// synthetic gae seed 0
	// synthetic gae seed 1
}
