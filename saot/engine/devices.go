package engine

import (
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Split is an input that differs by device, in the inputs of a Named function: one part for each. The other inputs and
// the variables of a store are the same on all devices. A graph is built once for all devices, and sees one part.
type Split[T any] []T

func (Split[T]) split() {}

func isSplit(t reflect.Type) bool { return t.Implements(reflect.TypeFor[interface{ split() }]()) }

// Devices returns the number of devices that a step may be split over.
func (e *Engine) Devices() int { return e.devices }

// spread tells an executor, by its method SPMD, to run on the first devices of the engine.
func spread[E any](e *Engine, devices int, spmd func(*distributed.DeviceMesh) E) error {
	if devices == 1 {
		return nil
	}
	if devices > e.devices {
		return fmt.Errorf("the inputs are split over %d devices, the engine was opened with %d", devices, e.devices)
	}
	mesh, err := distributed.NewDeviceMesh([]int{devices}, []string{"data"})
	if err == nil {
		spmd(mesh)
	}
	return err
}

// replicated keeps GoMLX's sharding specifications away from the variables of a store while a graph for several devices
// is built: GoMLX v0.28.8 refuses them there ("mesh not found"), and without one a variable is the same on all devices.
type replicated struct {
	engine *Engine
	exec   *model.Exec
}

// building prepares the store for a graph of the executor, and returns what is to be done when the graph is built. It
// does nothing for an executor of one device.
func (r replicated) building(store *model.Store) (built func()) {
	if r.exec.NumDevices() <= 1 {
		return func() {}
	}
	check := func(err error) {
		if err != nil {
			panic(fmt.Errorf("variables on %d devices: %w", r.exec.NumDevices(), err))
		}
	}
	for v := range store.IterVariables() {
		if v.ShardingSpec() == nil {
			continue
		}
		if v.HasValue() { // a value on several devices holds the specification too
			value, err := v.Value()
			check(err)
			clone, err := value.LocalClone()
			check(err)
			check(v.SetValue(clone))
		}
		check(v.SetShardingSpec(nil))
	}
	one, err := model.NewExec(r.engine.backend, store, func(_ *model.Scope, x *graph.Node) *graph.Node { return x })
	check(err)
	check(one.SetDefaultShardingSpec(nil))
	return func() { check(r.exec.SetDefaultShardingSpec(nil)) } // of an executor of several devices: the same on all
}

// callSplit calls a function on several devices, and returns the outputs of the first. A tensor lies on one device:
// those that all read are copied for the others.
func callSplit(f *Func, in any, first *gathered) ([]*tensors.Tensor, error) {
	var copies []*tensors.Tensor
	defer func() { Release(copies) }()
	list := first.list
	for device := 1; device < first.devices; device++ {
		own := gather(in, device)
		for _, i := range own.shared {
			clone, err := own.list[i].LocalClone()
			if err != nil {
				return nil, fmt.Errorf("engine: %s: copy an input for device %d: %w", f.name, device, err)
			}
			own.list[i], copies = clone, append(copies, clone)
		}
		list = append(list, own.list...)
	}
	out, err := f.Call(list...)
	if err != nil {
		return nil, err
	}
	own := len(out) / first.devices
	Release(out[own:])
	return out[:own], nil
}

// Total returns the sum of x over the devices that its graph runs on: x itself on one. The gradient with respect to
// each device's x is the sum of the incoming ones.
func Total(x *graph.Node) *graph.Node {
	if x.Graph().NumDevices() <= 1 {
		return x
	}
	sum := func(x *graph.Node) *graph.Node {
		return x.Graph().Distributed().AllReduceOne(x, compute.ReduceOpSum)
	}
	through := graph.IdentityWithCustomGradient(x, func(_, v *graph.Node) *graph.Node { return sum(v) })
	// The difference is exactly 0: it carries the gradient, and the sum carries the value.
	return graph.Add(graph.StopGradient(sum(x)), graph.Sub(through, graph.StopGradient(x)))
}
