package continual_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// degrees is a learner that learns nothing: it embeds a node as its degree.
type degrees struct{}

func (degrees) Learn(_ context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	return &continual.TaskReport{Task: task, Nodes: g.NumNodes()}, nil
}

func (degrees) Embed(_ context.Context, g *graph.Graph) (*continual.Embedding, error) {
	e := &continual.Embedding{Rows: g.NumNodes(), Cols: 1}
	for i := range g.NumNodes() {
		e.Data = append(e.Data, float32(len(g.Adjacency.Neighborhood(i))))
	}
	return e, nil
}

func (degrees) Save(io.Writer) error { return nil }
func (degrees) Load(io.Reader) error { return nil }

// A learner implements four methods. Run takes it through a stream and returns the performance matrices.
func ExampleRun() {
	dataset, err := datasets.Synthetic(datasets.SyntheticOptions{})
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
	result, err := continual.Run(context.Background(), stream, degrees{},
		continual.Options{Engine: e, Probes: []continual.Probe{continual.ProbeConverged}})
	if err != nil {
		log.Panic(err)
	}
	score, _ := result.Score(continual.TaskIL, continual.ProbeConverged)
	for _, row := range score.Matrix {
		fmt.Println(len(row), "tasks seen and scored")
	}
	fmt.Printf("AF %.1f: an embedding that never changes forgets nothing\n", score.AF)
	// Output:
	// 1 tasks seen and scored
	// 2 tasks seen and scored
	// 3 tasks seen and scored
	// 4 tasks seen and scored
	// AF 0.0: an embedding that never changes forgets nothing
}
