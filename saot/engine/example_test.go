package engine_test

import (
	"fmt"
	"log"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/engine"
)

// Open the pure-Go engine and run a graph function on it. It compiles once for each combination of input shapes.
func Example() {
	e, err := engine.Open("go")
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	square, err := e.Func("square", func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Square(in[0])}
	})
	if err != nil {
		log.Panic(err)
	}
	for _, x := range [][]float32{{1, 2, 3}, {4, 5, 6}, {7, 8}} {
		out, err := square.Call(tensors.FromFlatDataAndDimensions(x, len(x)))
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(out[0].Value())
	}
	fmt.Println(e.Info().Name, "compiled", e.Compiled(), "graphs")
	// Output:
	// [1 4 9]
	// [16 25 36]
	// [49 64]
	// go compiled 2 graphs
}
