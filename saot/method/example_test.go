package method_test

import (
	"context"
	"fmt"
	"log"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all"
)

// A method by its name, with a setting changed as --set changes it, on the generated stream.
func Example() {
	dataset, err := datasets.Open("synthetic", "", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	stream, err := datasets.NewStream(dataset, datasets.DefaultStreamOptions())
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open("go")
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	d, err := method.Lookup("propagated-random")
	if err != nil {
		log.Panic(err)
	}
	settings := d.Defaults(datasets.RecipeSynthetic, method.Fast)
	if err := d.Set(settings, "encoder.out", "32"); err != nil {
		log.Panic(err)
	}
	learner, err := method.New(d.Name, method.Build{Engine: e, Stream: method.StreamOf(stream), Settings: settings,
		Seed: 1})
	if err != nil {
		log.Panic(err)
	}
	result, err := continual.Run(context.Background(), stream, learner,
		continual.Options{Engine: e, Probes: []continual.Probe{continual.ProbeConverged}, Seed: 1})
	if err != nil {
		log.Panic(err)
	}
	score, _ := result.Score(continual.ClassIL, continual.ProbeConverged)
	fmt.Println(d.Kind, "method, scored on", len(score.Matrix), "tasks: it forgets", score.AF <= 0)
	// Output: control method, scored on 4 tasks: it forgets true
}

// The groups that a spec may name.
func ExampleGroup() {
	for _, name := range method.Groups() {
		group, err := method.Group(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, len(group))
	}
	// Output:
	// ours 6
	// controls 8
	// self-supervised 8
	// supervised 6
	// paper 19
	// all 28
}
