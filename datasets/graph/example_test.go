package graph_test

import (
	"fmt"

	"github.com/saot-go/saot/datasets/graph"
)

// A citation graph of four papers with two words, cut down to the first three, and joined with itself.
func Example() {
	papers, err := graph.NewAdjacency(4, []int32{0, 1, 2, 2}, []int32{1, 0, 3, 1}) // 1 → 0 repeats 0 → 1
	if err != nil {
		fmt.Println(err)
		return
	}
	g := &graph.Graph{
		Adjacency: papers,
		Features:  graph.Features{Rows: 4, Cols: 2, Dense: []float32{3, 4, 0, 1, 2, 0, 1, 1}},
	}
	if err := g.Features.Normalize(graph.L2); err != nil {
		fmt.Println(err)
		return
	}
	first := g.Induced([]int32{0, 1, 2})
	twice, err := graph.DisjointUnion(first, first)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Adjacency.NumEdges(), first.Adjacency.NumEdges(), twice.Adjacency.NumEdges())
	fmt.Println(twice.Adjacency.Neighborhood(4), twice.Features.Dense[6:8])
	// Output:
	// 3 2 4
	// [3 5] [0.6 0.8]
}

// Build reports what it repaired in a file's list of edges.
func ExampleBuild() {
	_, repairs := graph.Build(3, graph.PairList{0, 1, 0, 1, 1, 2, 2, 2}, false)
	for _, note := range repairs.Notes() {
		fmt.Println(note)
	}
	// Output:
	// 2 of 4 stored adjacency entries: edges stored in one direction only were mirrored
	// 1 of 4 stored adjacency entries: duplicate edge entries were dropped
	// 1 of 4 stored adjacency entries: self-loops were dropped
}
