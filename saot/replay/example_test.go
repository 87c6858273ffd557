package replay_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/replay"
)

// ring returns a cycle of n nodes, each with its number as its only feature.
func ring(n int) (*graph.Graph, error) {
	var from, to []int32
	features := graph.Features{Rows: n, Cols: 1, Dense: make([]float32, n)}
	for i := range int32(n) {
		from, to = append(from, i), append(to, (i+1)%int32(n))
		features.Dense[i] = float32(i)
	}
	a, err := graph.NewAdjacency(n, from, to)
	return &graph.Graph{Adjacency: a, Features: features}, err
}

// A memory of four nodes per task, drawn around their seeds along the edges.
func ExampleBuffer() {
	past, err := ring(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := replay.Buffer{Budget: 4, FanOut: []int{1, 1}}
	memory.Add(past, rand.New(rand.NewPCG(1, 0)))
	kept := memory.Subgraphs[0]
	fmt.Println("kept nodes:", kept.Features.Dense, "edges:", kept.Adjacency.NumEdges())

	current, err := ring(6)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := memory.Union(current)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nodes of the batch:", batch.NumNodes())
	// Output:
	// kept nodes: [58 59 60 95] edges: 2
	// nodes of the batch: 10
}
