// Package engine decides which compute backend runs: XLA (on CUDA or the CPU) or pure Go. It is the only package that
// imports backends. It imports no other package of this module.
//
// Open takes a name (go, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so), or chooses where the name is empty:
//
//  1. the environment variable GOMLX_BACKEND, if set;
//  2. XLA on CUDA, where an NVIDIA GPU and a PJRT plugin are present;
//  3. XLA on the CPU, where its PJRT plugin is installed: in the user's cache (see package install), else where go-xla
//     looks for it; only in the folders of PJRT_PLUGIN_LIBRARY_PATH, if that is set;
//  4. pure Go, always.
//
// Plain xla is xla:cuda where an NVIDIA GPU and a plugin are found, else xla:cpu. With ,float64 after its name, as
// in xla:cpu,float64, an engine computes in float64. That takes longer, and engines that sum in different orders
// then agree to the precision of float32. GoMLX's options may follow a name of XLA, as in xla:cuda,tf32=true: on
// CUDA, products keep float32's precision unless TF32 is asked for.
//
// A named engine that cannot be used is an error. A found but unusable library is passed over when the choice is
// automatic, and Info.Reason says so. Nothing is ever downloaded by Open. A build without cgo holds only pure Go.
package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Info describes the engine of a run; it is recorded in the Result.
//
// The name of an engine that was asked for TF32 or for float64 ends in ",tf32=true" or ",float64".
type Info struct {
	Name    string `json:"name"`    // "xla:cuda", "xla:cpu", "go", or "xla" for a plugin of another device
	Version string `json:"version"` // of the Go module, and of the plugin's PJRT interface; not of the library itself
	Device  string `json:"device"`
	Library string `json:"library,omitempty"` // file name of the shared library, if any
	Reason  string `json:"reason"`            // why it was chosen, and what was passed over; one line
}

// String returns the line that a command prints before a run: name, version, device and reason.
func (i Info) String() string {
	return fmt.Sprintf("%s %s on %s: %s", i.Name, i.Version, i.Device, i.Reason)
}

// OnHost reports whether the engine computes on the CPU, in the machine's memory.
func (i Info) OnHost() bool {
	name, _, _ := strings.Cut(i.Name, ",")
	return name == nameGo || name == nameCPU
}

// Engine is an open compute backend. It counts the graphs compiled on it.
type Engine struct {
	backend  compute.Backend
	info     Info
	devices  int
	double   bool // computes in float64
	compiled atomic.Int64
}

// Backend returns the backend, for building executors directly.
func (e *Engine) Backend() compute.Backend { return e.backend }

// Info returns what runs and why.
func (e *Engine) Info() Info { return e.info }

// Compiled returns the number of graphs built so far through Func and ModelFunc: one for each combination of input
// shapes.
func (e *Engine) Compiled() int { return int(e.compiled.Load()) }

// Fuses reports whether the engine compiles chains of operations into one loop: XLA does, and is slow to compile. A nil
// engine fuses nothing.
func (e *Engine) Fuses() bool { return e != nil && strings.HasPrefix(e.info.Name, "xla") }

// ShapePrice says how much padding another compiled shape must save to be worth it, as a multiple of that on XLA's CPU
// plugin: 60 on CUDA, and 1 on all other engines. A training step takes 6 s to compile for an H200, and 0.9 s for two
// cores; a row of it takes the H200 a tenth of the time at most.
func (e *Engine) ShapePrice() int {
	if e != nil && strings.HasPrefix(e.info.Name, nameCUDA) {
		return 60
	}
	return 1
}

// Close releases the backend. Neither the engine nor anything made with it may be used afterward.
func (e *Engine) Close() { e.backend.Finalize() }

// Func is a graph function on an engine, compiled once per combination of input shapes.
type Func struct {
	name   string
	engine *Engine
	call   func(args ...any) ([]*tensors.Tensor, error)
}

// Call runs the function; it compiles first where the input shapes are new. Panics of graph building come back as
// errors, if they are of type error, as GoMLX's are.
func (f *Func) Call(inputs ...*tensors.Tensor) (outputs []*tensors.Tensor, err error) {
	args := make([]any, len(inputs))
	for i, t := range inputs {
		args[i] = t
	}
	compiled := f.engine.Compiled()
	caught := exceptions.TryCatch[error](func() { outputs, err = f.call(args...) })
	if caught != nil {
		err = caught
	}
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", f.name, f.engine.advise(err))
	}
	if f.engine.Compiled() > compiled {
		giveBackMemory()
	}
	return outputs, nil
}

// advise adds advice to XLA's error that memory ran out: how to use less memory, or give XLA more.
func (e *Engine) advise(err error) error {
	text := err.Error() // go-xla has no error of its own for it, and leaves the name out
	if !strings.Contains(text, "PJRT error (code=8)") && !strings.Contains(text, "RESOURCE_EXHAUSTED") {
		return err
	}
	advice := "the device is out of memory: lower whole_graph, batch, points, hidden or out (saot methods NAME lists " +
		"those of a method), or --probe-rows"
	if strings.HasPrefix(e.info.Name, nameCUDA) {
		advice += "; XLA takes at most 75 % of a GPU's memory, and more with --engine xla:cuda,memory_fraction=0.9"
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// check returns an error if there is no engine for a function.
func (e *Engine) check(name string) error {
	if e == nil {
		return fmt.Errorf("engine: %s: there is no engine: open one with engine.Open", name)
	}
	return nil
}

// Func wraps a graph-building function (which may panic) for execution on the engine. It returns an error if the engine
// is nil or GoMLX refuses the function.
func (e *Engine) Func(name string, build func(inputs []*graph.Node) []*graph.Node) (*Func, error) {
	return e.function(name, 1, build)
}

func (e *Engine) function(name string, devices int, build func(inputs []*graph.Node) []*graph.Node) (*Func, error) {
	if err := e.check(name); err != nil {
		return nil, err
	}
	exec, err := graph.NewExec(e.backend, func(inputs []*graph.Node) []*graph.Node {
		e.compiled.Add(1)
		return e.inDType(inputs, build)
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	if err := spread(e, devices, exec.SPMD); err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	exec.WithName(name).SetMaxCache(-1)
	return &Func{name: name, engine: e, call: exec.Call}, nil
}

// ModelFunc wraps a graph-building function that reads and updates the variables of a store; it must take at least one
// input. The graph is marked as training. It returns an error if the engine is nil or GoMLX refuses the function.
func (e *Engine) ModelFunc(name string, store *model.Store, build func(scope *model.Scope,
	inputs []*graph.Node) []*graph.Node) (*Func, error) {
	return e.modelFunction(name, store, 1, build)
}

func (e *Engine) modelFunction(name string, store *model.Store, devices int, build func(scope *model.Scope,
	inputs []*graph.Node) []*graph.Node) (*Func, error) {
	if err := e.check(name); err != nil {
		return nil, err
	}
	variables := replicated{engine: e}
	exec, err := model.NewExec(e.backend, store, func(scope *model.Scope, inputs []*graph.Node) []*graph.Node {
		if len(inputs) == 0 {
			exceptions.Panicf("a model function needs at least one input")
		}
		e.compiled.Add(1)
		store.SetTraining(inputs[0].Graph(), true)
		defer variables.building(store)()
		return e.inDType(inputs, func(inputs []*graph.Node) []*graph.Node { return build(scope, inputs) })
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	variables.exec = exec
	if err := spread(e, devices, exec.SPMD); err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	exec.WithName(name).SetMaxCache(-1)
	return &Func{name: name, engine: e, call: exec.Call}, nil
}

// Names of the engines, as Candidate.Spec and Info.Name hold them.
const (
	nameGo   = "go"
	nameXLA  = "xla" // a plugin whose file name tells no device
	nameCPU  = "xla:cpu"
	nameCUDA = "xla:cuda"
)

const knownSpecs = "go, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so; each may end in ,float64"

// ErrUnknown marks an engine name that Open does not know, as opposed to a missing library.
var ErrUnknown = errors.New("unknown engine")

// ErrUnavailable marks an engine that Open knows and cannot use on this machine, such as xla:cuda without a GPU.
var ErrUnavailable = errors.New("cannot be used")

// spec is a parsed engine name: family[:target][,options]. Options other than float64 are GoMLX's and are passed on as
// they stand.
type spec struct {
	family  string // go or xla
	target  string // "", cpu, cuda or the absolute path of a library
	options string // what follows the first comma
}

func parseSpec(text string) (spec, error) {
	head, options, _ := strings.Cut(text, ",")
	family, target, _ := strings.Cut(head, ":")
	s := spec{family: family, target: target, options: options}
	unknown := fmt.Errorf("engine: %w %q: choose one of %s", ErrUnknown, text, knownSpecs)
	switch {
	case family == "go" && target == "" && (head == text || options == optionDouble),
		family == "xla" && (target == "" || target == "cpu" || target == "cuda"):
		return s, nil
	case family == "xla":
		if !strings.ContainsAny(target, `/\`) && filepath.Ext(target) == "" {
			return spec{}, unknown
		}
		if strings.ContainsAny(options, `/\`) || slices.Contains([]string{".so", ".dylib"}, filepath.Ext(options)) {
			return spec{}, fmt.Errorf("engine: %w %q: what follows a comma are options: move the plugin to a path "+
				"without one", ErrUnknown, text)
		}
		path, err := filepath.Abs(target)
		if err != nil {
			return spec{}, fmt.Errorf("engine: %s: %w", text, err)
		}
		s.target = path
		return s, nil
	}
	return spec{}, unknown
}

// CheckName returns ErrUnknown, listing the known names, for a name that Open does not know. It does not try whether
// the engine works on this machine. The empty name means the fastest engine.
func CheckName(name string) error {
	if name == "" {
		return nil
	}
	_, err := parseSpec(name)
	return err
}

// IsPath reports whether the name of an engine is the path of a plugin. Opening such an engine runs the plugin's code.
func IsPath(name string) bool {
	s, err := parseSpec(name)
	return err == nil && filepath.IsAbs(s.target)
}

func (s spec) find() Candidate {
	switch {
	case s.family == "go":
		return findGo()
	case s.target == "cpu":
		return findXLA(nameCPU)
	case s.target == "cuda":
		return findXLA(nameCUDA)
	case s.target == "":
		if cuda := findXLA(nameCUDA); cuda.Missing == "" {
			return cuda
		}
		return findXLA(nameCPU)
	default:
		return xlaAt(pluginDevice(s.target), s.target)
	}
}
