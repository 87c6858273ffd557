// Package engine decides which compute backend runs: XLA (CUDA or CPU), ONNX Runtime or pure Go.
package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	_ "github.com/gomlx/compute-onnx"
	_ "github.com/gomlx/compute/gobackend"
)

// Info describes the engine of a run; it is recorded in the Result.
type Info struct {
	Name    string `json:"name"`    // "onnx", "xla:cuda", "xla:cpu" or "go"
	Version string `json:"version"` // of the library or of the Go module
	Device  string `json:"device"`
	Library string `json:"library,omitempty"` // file name of the shared library, if any
	Reason  string `json:"reason"`            // why it was chosen
}

// Engine is an open compute backend. It counts the graphs compiled on it.
type Engine struct {
	backend  compute.Backend
	info     Info
	compiled atomic.Int64
}

// Open opens the engine that spec names: "onnx", "xla", "xla:cuda", "go", … or "" to choose (see the package doc).
func Open(spec string) (*Engine, error) {
	b, err := compute.NewWithConfig(spec)
	if err != nil {
		return nil, fmt.Errorf("engine: open %q: %w", spec, err)
	}
	return &Engine{backend: b, info: Info{Name: b.Name(), Device: b.Description()}}, nil
}

// Backend returns the backend, for building executors directly.
func (e *Engine) Backend() compute.Backend { return e.backend }

// Info returns what runs and why.
func (e *Engine) Info() Info { return e.info }

// Compiled returns the number of graphs compiled so far through Func and ModelFunc.
func (e *Engine) Compiled() int { return int(e.compiled.Load()) }

// Close releases the backend.
func (e *Engine) Close() { e.backend.Finalize() }

// Func is a graph function on an engine, compiled once per combination of input shapes.
type Func struct {
	call func(args ...any) ([]*tensors.Tensor, error)
}

// Call runs the function; it compiles first where the input shapes are new. Panics of graph building come back as errors.
func (f *Func) Call(inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	args := make([]any, len(inputs))
	for i, t := range inputs {
		args[i] = t
	}
	return f.call(args...)
}

// Func wraps a graph-building function (which may panic) for execution on the engine.
func (e *Engine) Func(name string, build func(inputs []*graph.Node) []*graph.Node) (*Func, error) {
	exec, err := graph.NewExec(e.backend, func(inputs []*graph.Node) []*graph.Node {
		e.compiled.Add(1)
		return build(inputs)
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	exec.WithName(name).SetMaxCache(-1)
	return &Func{call: exec.Call}, nil
}

// ModelFunc wraps a graph-building function that reads and updates the variables of a store. The graph is marked as
// training, without which ONNX Runtime would freeze variables that no gradient reaches into constants.
func (e *Engine) ModelFunc(name string, store *model.Store, build func(scope *model.Scope, inputs []*graph.Node) []*graph.Node) (*Func, error) {
	exec, err := model.NewExec(e.backend, store, func(scope *model.Scope, inputs []*graph.Node) []*graph.Node {
		e.compiled.Add(1)
		store.SetTraining(inputs[0].Graph(), true)
		return build(scope, inputs)
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	exec.WithName(name).SetMaxCache(-1)
	return &Func{call: exec.Call}, nil
}
