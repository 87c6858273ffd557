package encoder_test

import (
	"context"
	"fmt"
	"log"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// A path of three nodes, embedded by a graph convolutional network as it is drawn.
func Example() {
	path, err := graph.NewAdjacency(3, []int32{0, 1}, []int32{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	g := &graph.Graph{Adjacency: path, Features: graph.Features{Rows: 3, Cols: 2, Dense: []float32{1, 0, 0, 1, 1, 1}}}
	e, err := engine.Open("go")
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	c := encoder.DefaultConfig()
	c.Hidden, c.Out = 8, 4
	shapes := encoder.NewBuckets([]encoder.Size{encoder.SizeOf(g)})
	enc, err := encoder.New(e, c, g.Features.Cols, shapes, seed.Stream(1, "weights"))
	if err != nil {
		log.Panic(err)
	}
	rows, cols, z, err := enc.Embed(context.Background(), g)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(rows, "nodes,", cols, "columns,", len(z), "numbers")
	// Output: 3 nodes, 4 columns, 12 numbers
}
