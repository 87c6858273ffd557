package encoder_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Embed a path of three nodes with two features each by an untrained GCN.
func Example() {
	compute, err := engine.Open("go")
	check(err)
	defer compute.Close()
	edges, err := graph.NewAdjacency(3, []int32{0, 1}, []int32{1, 2})
	check(err)
	g := &graph.Graph{
		Adjacency: edges,
		Features:  graph.Features{Rows: 3, Cols: 2, Dense: []float32{1, 0, 0, 1, 1, 1}},
	}

	config := encoder.DefaultConfig()
	config.Hidden, config.Out = 8, 4
	shapes := encoder.NewBuckets(nil, 200, []encoder.Size{encoder.SizeOf(g)})
	gcn, err := encoder.New(compute, config, g.Features.Cols, shapes, rand.New(rand.NewPCG(1, 2)))
	check(err)
	data, rows, cols, err := gcn.Embed(context.Background(), g)
	check(err)
	fmt.Printf("%d nodes × %d columns = %d values\n", rows, cols, len(data))
	// Output: 3 nodes × 4 columns = 12 values
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
