//go:build js && wasm

// Command solver is the module of the transport and graph pages. It sets globalThis.saot to an object of functions;
// each takes one object with numbers and typed arrays, and returns one, which has "error" where something is wrong.
// playground/pages/src/shell/solver.ts has the types.
package main

import (
	"fmt"
	"math"
	"syscall/js"
	"unsafe"

	"github.com/saot-go/saot/playground/solver"
	"github.com/saot-go/saot/saot/transport"
)

func main() {
	js.Global().Set("saot", js.ValueOf(map[string]any{
		"transport":  function(solveClouds),
		"divergence": function(divergence),
		"barycenter": function(barycenter),
		"gromov":     function(solveGraphs),
	}))
	select {}
}

type object map[string]any

// function makes a function of JavaScript. An error, and a panic too, which is a defect, become {error: text}.
func function(f func(in js.Value) (object, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) (out any) {
		defer func() {
			if r := recover(); r != nil {
				out = map[string]any{"error": fmt.Sprint(r)}
			}
		}()
		result, err := f(args[0])
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any(result)
	})
}

func clouds(in js.Value) *solver.Clouds {
	return &solver.Clouds{X: floats(in.Get("x")), Y: floats(in.Get("y")), Mu: floats(in.Get("mu")),
		Nu: floats(in.Get("nu")), Cost: transport.CostKind(in.Get("cost").Int()), Exact: in.Get("exact").Bool(),
		Center: in.Get("center").Float(), Epsilon: in.Get("epsilon").Float(), Rho: in.Get("rho").Float(),
		Sweeps: in.Get("sweeps").Int(), Tolerance: in.Get("tolerance").Float(), Start: floats(in.Get("start"))}
}

func solveClouds(in js.Value) (object, error) {
	plan, err := clouds(in).Solve()
	if err != nil {
		return nil, err
	}
	return planObject(plan), nil
}

func planObject(p *solver.Plan) object {
	trace := make([]float64, len(p.Report.Trace))
	for i, t := range p.Report.Trace {
		trace[i] = t.MarginalError
	}
	return object{"plan": array(p.Plan), "f": array(p.F), "g": array(p.G), "rows": array(p.Rows),
		"columns": array(p.Columns), "trace": array(trace), "linear": p.Value.Linear, "entropic": p.Value.Entropic,
		"primal": p.Value.Primal(), "dual": p.Value.Dual, "sweeps": p.Report.Sweeps, "outer": p.Report.Outer,
		"marginalError": p.Report.MarginalError, "change": p.Report.PlanChange}
}

func divergence(in js.Value) (object, error) {
	d, err := clouds(in).Divergence()
	return object{"divergence": d}, err
}

func barycenter(in js.Value) (object, error) {
	z, err := clouds(in).Barycenter(floats(in.Get("z")), in.Get("t").Float(), in.Get("steps").Int())
	if err != nil {
		return nil, err
	}
	return object{"z": array(z)}, nil
}

func solveGraphs(in js.Value) (object, error) {
	cfg := transport.DefaultFGW()
	cfg.Epsilon, cfg.Sigma, cfg.Factor = in.Get("epsilon").Float(), in.Get("sigma").Float(), in.Get("factor").Float()
	cfg.Outer, cfg.Sweeps, cfg.Tolerance = in.Get("outer").Int(), in.Get("sweeps").Int(), in.Get("tolerance").Float()
	cfg.Loop = transport.OuterLoop(in.Get("loop").Int())
	p := solver.Graphs{A: graph(in.Get("a")), B: graph(in.Get("b")),
		Structure: solver.Structure(in.Get("structure").Int()), Config: cfg, Truth: integers(in.Get("truth"))}
	s, err := p.Solve()
	if err != nil {
		return nil, err
	}
	out := planObject(&s.Plan)
	out["features"], out["structures"] = s.Features, s.Structures
	if !math.IsNaN(s.TruthStructures) {
		out["truthStructures"] = s.TruthStructures
	}
	return out, nil
}

func graph(in js.Value) solver.Graph {
	return solver.Graph{Points: floats(in.Get("points")), Edges: integers(in.Get("edges")),
		Colors: integers(in.Get("colors"))}
}

// bytes is the memory of a slice of numbers.
func bytes[T float64 | int32](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// view is the Uint8Array of a typed array's memory.
func view(v js.Value) js.Value {
	return js.Global().Get("Uint8Array").New(v.Get("buffer"), v.Get("byteOffset"), v.Get("byteLength"))
}

// floats copies a Float64Array; undefined and null are nil.
func floats(v js.Value) []float64 {
	if !v.Truthy() {
		return nil
	}
	x := make([]float64, v.Length())
	js.CopyBytesToGo(bytes(x), view(v))
	return x
}

// integers copies an Int32Array; undefined and null are nil.
func integers(v js.Value) []int32 {
	if !v.Truthy() {
		return nil
	}
	x := make([]int32, v.Length())
	js.CopyBytesToGo(bytes(x), view(v))
	return x
}

// array makes a Float64Array.
func array(x []float64) js.Value {
	v := js.Global().Get("Float64Array").New(len(x))
	js.CopyBytesToJS(view(v), bytes(x))
	return v
}
