package datasets_test

import (
	"fmt"
	"log"

	"github.com/saot-go/saot/datasets"
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

// The recipe says whose constants methods take: one graph under two names has one set of defaults.
func ExampleRecipeOf() {
	fmt.Println(datasets.RecipeOf("cora"), datasets.RecipeOf("cora-full"))
	// Output: cora-full cora-full
}
