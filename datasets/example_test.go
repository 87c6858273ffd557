package datasets_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
)

// A dataset by its name, cut into tasks of two classes, each with train, valid and test nodes.
func Example() {
	dataset, err := datasets.Open("synthetic", "", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	stream, err := datasets.NewStream(dataset, datasets.DefaultStreamOptions())
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range stream.Tasks {
		nodes, train := task.Graph.NumNodes(), len(task.Split.Train)
		fmt.Println("classes", task.Classes, "of", nodes, "nodes,", train, "for training")
	}
	// Output:
	// classes [0 1] of 198 nodes, 118 for training
	// classes [2 3] of 88 nodes, 52 for training
	// classes [4 5] of 169 nodes, 101 for training
	// classes [6 7] of 145 nodes, 86 for training
}

// A graph of one's own as three small files in a folder: edges, the class of each node, and its features.
func ExampleOpen_folder() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{"edges.csv": "0,1\n1,2\n2,3\n", "labels.csv": "0\n0\n1\n1\n",
		"features.csv": "1,0\n1,2\n0,1\n3,1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	dataset, err := datasets.Open(dir, "", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	g := &dataset.Graph
	fmt.Println(g.NumNodes(), "nodes,", g.Adjacency.NumEdges(), "edges,", dataset.NumClasses, "classes")
	fmt.Println(dataset.Notes[0])
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4 nodes, 3 edges, 2 classes
	// 3 of 3 stored adjacency entries: edges stored in one direction only were mirrored
}

// A graph of one's own in memory: a ring of 40 nodes in four classes. Its split, as a file holds it, gives the same
// tasks.
func ExampleNewStream_ownGraph() {
	const nodes, columns = 40, 3
	var src, dst, labels []int32
	for i := range int32(nodes) {
		src, dst, labels = append(src, i), append(dst, (i+4)%nodes), append(labels, i%4)
	}
	adjacency, err := graph.NewAdjacency(nodes, src, dst)
	if err != nil {
		log.Fatal(err)
	}
	features := graph.Features{Rows: nodes, Cols: columns, Dense: make([]float32, nodes*columns)}
	for i, c := range labels {
		features.Dense[i*columns] = float32(c)
	}
	dataset := &datasets.Dataset{Name: "ring", Graph: graph.Graph{Adjacency: adjacency, Features: features},
		Labels: labels, NumClasses: 4}
	stream, err := datasets.NewStream(dataset, datasets.DefaultStreamOptions())
	if err != nil {
		log.Fatal(err)
	}
	again, err := datasets.NewSplitFile(dataset, stream).Stream(dataset)
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range again.Tasks {
		fmt.Println("classes", task.Classes, "of", task.Graph.NumNodes(), "nodes,", len(task.Split.Test), "for testing")
	}
	// Output:
	// classes [0 1] of 20 nodes, 4 for testing
	// classes [2 3] of 20 nodes, 4 for testing
}

// The recipe says whose constants methods take: one graph under two names has one set of defaults.
func ExampleRecipeOf() {
	fmt.Println(datasets.RecipeOf("cora"), datasets.RecipeOf("cora-full"))
	// Output: cora-full cora-full
}
