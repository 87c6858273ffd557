package train_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
)

// target is what a step takes: tensors on the host, nodes in a graph.
type target[T any] struct{ Y T }

// Move a number to 3 by the squared difference.
func Example() {
	compute, err := engine.Open("go")
	check(err)
	defer compute.Close()
	net := encoder.NewNet(compute)
	check(net.Add(encoder.Variable{Name: "x", Value: tensors.FromScalar(float32(0))}))

	adam := train.Optimizer{LearningRate: 0.1}
	trainer, err := train.New[target[*tensors.Tensor]](net, "step", adam, func(in target[*Node]) train.Loss {
		return train.Loss{Total: Square(Sub(net.Node(in.Y.Graph(), "x"), in.Y))}
	})
	check(err)
	var report continual.TaskReport
	check(trainer.Train(context.Background(), train.Plan[target[*tensors.Tensor]]{
		Steps:  200,
		Report: &report,
		Inputs: func(int) (in target[*tensors.Tensor], made any, err error) {
			in.Y = tensors.FromScalar(float32(3))
			return in, in, nil // released after the step
		},
	}))
	x, err := net.Value("x")
	check(err)
	fmt.Printf("after %d steps x is %.2f\n", report.Steps, x[0])
	// Output: after 200 steps x is 3.00
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
