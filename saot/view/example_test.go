package view_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/view"
)

// complete returns the graph in which n nodes are all neighbors, with four features per node.
func complete(n int) (*graph.Graph, error) {
	var from, to []int32
	for i := range int32(n) {
		for j := range i {
			from, to = append(from, i), append(to, j)
		}
	}
	a, err := graph.NewAdjacency(n, from, to)
	features := graph.Features{Rows: n, Cols: 4, Dense: make([]float32, 4*n)}
	return &graph.Graph{Adjacency: a, Features: features}, err
}

func ExamplePair() {
	g, err := complete(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := view.Pair(g, view.Config{EdgeDrop: 0.4, FeatureMask: 0.25}, rand.New(rand.NewPCG(2, 0)))
	for _, v := range []view.View{a, b} {
		fmt.Printf("%d of %d edges, column %d masked\n", v.Adjacency.NumEdges(), g.Adjacency.NumEdges(), v.Masked)
	}
	// Output:
	// 6 of 10 edges, column [1] masked
	// 7 of 10 edges, column [2] masked
}

// A lazy view answers for one node at a time, the same each time.
func ExampleLazyPair() {
	g, err := complete(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := view.LazyPair(g.Features.Cols, false, view.Config{EdgeDrop: 0.4}, rand.New(rand.NewPCG(2, 0)))
	fmt.Println(a.Edges.Keep(nil, 2, g.Adjacency.Neighborhood(2)))
	fmt.Println(a.Edges.Keep(nil, 2, g.Adjacency.Neighborhood(2)))
	// Output:
	// [3 4]
	// [3 4]
}
