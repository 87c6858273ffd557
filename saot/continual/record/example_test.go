package record_test

import (
	"fmt"
	"os"

	"github.com/saot-go/saot/saot/continual/record"
)

// A recording of one task, written and read. continual.Run writes them by Options.Record.
func Example() {
	dir, err := os.MkdirTemp("", "run")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()

	w, err := record.Create(dir, record.Head{Method: "toy", Dataset: "pair", Every: 10, Tasks: 1})
	check(err)
	check(w.Begin(record.Task{Nodes: []int32{4, 7}, Classes: []int32{0, 1}, Edges: []record.Edge{{0, 1}},
		Terms: []string{"total"}}))
	plan, err := record.Quantize([]float32{0.375, 0.125, 0.125, 0.375})
	check(err)
	check(w.Add(record.Frame{Step: 10, Terms: []record.Number{0.5}, Plan: &record.Plan{Values: *plan}}))
	check(w.End([]record.Score{{Setting: "class-il", Probe: "paper", Accuracy: []record.Number{75}}}))

	r, err := record.Read(dir)
	check(err)
	task := r.Tasks[0]
	frame := task.Frames[0]
	values, err := frame.Plan.Values.Values(4)
	check(err)
	fmt.Printf("step %d: %s %g, π_Z of nodes %v %.3f\n", frame.Step, task.Terms[0], frame.Terms[0], task.Nodes, values)
	// Output: step 10: total 0.5, π_Z of nodes [4 7] [0.375 0.125 0.125 0.375]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
