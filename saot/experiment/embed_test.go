package experiment_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all"
)

// embedRun returns the embeddings of the nodes of a run, by their ids in the dataset.
func embedRun(ctx context.Context, dir string) map[int32][]float32 {
	run, err := experiment.ReadRun(dir)
	check(err)
	stream, err := run.OpenStream() // with features scaled as in training
	check(err)
	compute, err := run.OpenEngine()
	check(err)
	defer compute.Close()
	learner, err := run.NewLearner(compute, stream)
	check(err)
	check(continual.LoadKept(dir, learner))
	embeddings := map[int32][]float32{}
	for _, task := range stream.Tasks {
		z, err := learner.(continual.Learner).Embed(ctx, task.Graph)
		check(err)
		for k, node := range task.Nodes { // node k of the task's graph
			if task.Labels[k] >= 0 { // else it is of an earlier task
				embeddings[node] = z.Data[k*z.Cols : (k+1)*z.Cols]
			}
		}
	}
	return embeddings
}

// embedNew embeds nodes that no run has seen. x holds their features, row after row; edges join from[i] and
// to[i], or, in a run with directed edges, lead from one to the other.
func embedNew(ctx context.Context, dir string, x []float32, columns int, from, to []int32) *continual.Embedding {
	run, err := experiment.ReadRun(dir)
	check(err)
	compute, err := run.OpenEngine()
	check(err)
	defer compute.Close()
	learner, err := saot.New(compute, *run.Of.(*saot.Config), columns, nil, 0)
	check(err)
	check(continual.LoadKept(dir, learner)) // a service does all this once, the rest for each request
	g := &graph.Graph{Features: graph.Features{Rows: len(x) / columns, Cols: columns, Dense: x}}
	newAdjacency := graph.NewAdjacency
	if run.Direction == datasets.Directed {
		newAdjacency = graph.NewDirected
	}
	g.Adjacency, err = newAdjacency(g.Features.Rows, from, to)
	check(err)
	check(g.Features.Normalize(run.Features)) // Embed cannot tell whether this is missing
	z, err := learner.Embed(ctx, g)
	check(err)
	return z
}

// learnNext takes the learner that a run kept through a further task, and writes it to a file. Load reads that file
// into a learner that New made in the same way.
func learnNext(ctx context.Context, dir string, next *graph.Graph, path string) *continual.TaskReport {
	run, err := experiment.ReadRun(dir)
	check(err)
	result, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
	check(err)
	compute, err := run.OpenEngine()
	check(err)
	defer compute.Close()
	learner, err := saot.New(compute, *run.Of.(*saot.Config), next.Features.Cols, nil, run.Seed)
	check(err)
	check(continual.LoadKept(dir, learner))
	report, err := learner.Learn(ctx, result.Dataset.Tasks, next, nil) // with replay and the teacher
	check(err)
	var state bytes.Buffer
	check(learner.Save(&state))
	check(os.WriteFile(path, state.Bytes(), 0o600))
	return report
}

// The embeddings of a run's nodes, and of a graph whose features are not scaled yet: here that of the first task. Then
// that graph is learned as a third task.
func ExampleReadRun_embeddings() {
	parent, err := os.MkdirTemp("", "saot-*")
	check(err)
	defer func() { check(os.RemoveAll(parent)) }()
	settings, err := experiment.DefaultSettings("synthetic,nodes=200,classes=4,vocabulary=64", "saot", method.Default)
	check(err)
	config := settings.Of.(*saot.Config)
	config.Encoder.Hidden, config.Encoder.Out, config.Epochs = 16, 8, 2
	run := experiment.Run{Settings: settings, Place: experiment.Place{Engine: "go", Keep: true}}
	folder, err := experiment.NewFolder(filepath.Join(parent, "run"), &run)
	check(err)
	do(run, folder.Path)
	folder.Release()

	ctx := context.Background()
	embeddings := embedRun(ctx, folder.Path)
	fmt.Println(len(embeddings), "nodes")

	run.Features = graph.Raw
	stream, err := run.OpenStream()
	check(err)
	task := stream.Tasks[0]
	g := task.Graph
	x, from, to := make([]float32, g.NumNodes()*g.Features.Cols), []int32(nil), []int32(nil)
	for i := range g.NumNodes() {
		g.Features.CopyRow(i, x[i*g.Features.Cols:(i+1)*g.Features.Cols])
		for _, j := range g.Adjacency.Neighborhood(i) {
			from, to = append(from, int32(i)), append(to, j)
		}
	}
	z := embedNew(ctx, folder.Path, x, g.Features.Cols, from, to)
	largest := 0.0
	for k, node := range task.Nodes {
		for c, v := range embeddings[node] {
			largest = max(largest, math.Abs(float64(v-z.Data[k*z.Cols+c])))
		}
	}
	fmt.Println(z.Cols, "columns, the same:", z.Rows == len(task.Nodes) && largest < 1e-5)

	check(g.Features.Normalize(graph.L2))
	report := learnNext(ctx, folder.Path, g, filepath.Join(folder.Path, "learner"))
	fmt.Println("learned with replay:", report.Nodes > g.NumNodes())
	// Output:
	// 200 nodes
	// 8 columns, the same: true
	// learned with replay: true
}
