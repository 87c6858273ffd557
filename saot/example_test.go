package saot_test

import (
	"context"
	"fmt"
	"log"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// Take SAOT through a stream: open a dataset, cut it into tasks, learn them one after the other, score by linear
// probes.
func Example() {
	dataset, err := datasets.Open("synthetic", "", datasets.Options{})
	check(err)
	stream, err := datasets.NewStream(dataset, datasets.DefaultStreamOptions())
	check(err)
	compute, err := engine.Open("go") // "" takes the fastest that is present
	check(err)
	defer compute.Close()

	config := saot.DefaultConfig()
	config.Encoder.Hidden, config.Encoder.Out = 32, 16 // small, for pure Go
	config.Points, config.Epochs, config.Buffer = 48, 5, 30
	learner, err := saot.New(compute, config, dataset.Graph.Features.Cols, saot.SizesOf(stream), 0)
	check(err)
	result, err := continual.Run(context.Background(), stream, learner, continual.Options{Engine: compute})
	check(err)

	score, _ := result.Score(continual.ClassIL, continual.ProbeConverged)
	fmt.Printf("%d tasks, class-il: AP above chance: %t\n", len(score.Matrix), score.AP > 100./8)
	// Output: 4 tasks, class-il: AP above chance: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
