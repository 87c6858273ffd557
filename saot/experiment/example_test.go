package experiment_test

import (
	"fmt"

	"github.com/saot-go/saot/saot/experiment"

	_ "github.com/saot-go/saot/saot/baseline" // registers the methods of the comparison
)

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
