package engine

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Named is a graph function whose inputs have names: T is a struct of tensors, and the function sees the same struct
// with nodes for tensors. Structs may hold structs, pointers to structs, slices and arrays of them; a nil tensor,
// pointer or slice is absent in the graph too. A Split holds what differs by device. So a struct type is written once,
// with a type parameter,
//
//	type inputs[T any] struct{ Features, Mask T; Levels []T }
//
// and made twice, of *tensors.Tensor for the caller and of *graph.Node for the graph.
//
// Calls of one function from several goroutines are safe.
type Named[T any] struct {
	compile func(skeleton T, devices int) (*Func, error)

	mu    sync.Mutex
	funcs map[string]*Func // by skeleton: which leaves are there, and how long slices are
}

var (
	tensorType = reflect.TypeFor[*tensors.Tensor]()
	nodeType   = reflect.TypeFor[*graph.Node]()
)

// NewNamed wraps a graph-building function (which may panic). With a store the function reads and updates its
// variables, as ModelFunc's does. It returns an error if the engine is nil, or if T and N differ in more than tensors
// and nodes.
func NewNamed[T, N any](e *Engine, name string, store *model.Store, build func(in N) []*graph.Node) (*Named[T], error) {
	if err := e.check(name); err != nil {
		return nil, err
	}
	if err := alike(reflect.TypeFor[T](), reflect.TypeFor[N](), "inputs"); err != nil {
		return nil, fmt.Errorf("engine: %s: %w", name, err)
	}
	compile := func(skeleton T, devices int) (*Func, error) {
		like := reflect.ValueOf(skeleton)
		named := func(nodes []*graph.Node) []*graph.Node {
			var in N
			rest := fill(reflect.ValueOf(&in).Elem(), like, nodes)
			if len(rest) > 0 {
				panic(fmt.Errorf("engine: %s: %d inputs are left over", name, len(rest)))
			}
			return build(in)
		}
		if store == nil {
			return e.function(name, devices, named)
		}
		return e.modelFunction(name, store, devices,
			func(_ *model.Scope, nodes []*graph.Node) []*graph.Node { return named(nodes) })
	}
	return &Named[T]{compile: compile, funcs: map[string]*Func{}}, nil
}

// Call runs the function. It compiles first where the input shapes, or what is absent, are new. Where a Split has
// several parts, the function runs on as many devices, and the outputs are those of the first.
func (f *Named[T]) Call(in T) ([]*tensors.Tensor, error) {
	first := gather(in, 0)
	fn, err := f.of(first, in)
	if err != nil {
		return nil, err
	}
	if first.devices == 1 {
		return fn.Call(first.list...)
	}
	return callSplit(fn, in, first)
}

func (f *Named[T]) of(first *gathered, in T) (*Func, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	skeleton := first.skeleton.String()
	if known := f.funcs[skeleton]; known != nil {
		return known, nil
	}
	fn, err := f.compile(in, first.devices)
	if err == nil {
		f.funcs[skeleton] = fn
	}
	return fn, err
}

// Tensors returns the tensors that a struct, slice or tensor holds, in the order of its fields. Nil ones are left out,
// and so is what maps hold. It panics if an unexported field holds a tensor.
func Tensors(in any) []*tensors.Tensor {
	return gather(in, allDevices).list
}

// Release frees tensors, and the tensors that structs and slices hold, now rather than at the next garbage collection.
// See Tensors for what it finds.
func Release(all ...any) {
	for _, in := range all {
		for _, t := range Tensors(in) {
			_ = t.FinalizeAll()
		}
	}
}

// alike returns an error unless two types differ in tensors and nodes alone.
func alike(t, n reflect.Type, path string) error {
	switch {
	case t == tensorType && n == nodeType:
		return nil
	case t.Kind() != n.Kind():
		return fmt.Errorf("%s is %v for tensors and %v for nodes: want one struct for both", path, t, n)
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.NumField() != n.NumField() {
			return fmt.Errorf("%s has %d fields for tensors and %d for nodes", path, t.NumField(), n.NumField())
		}
		for i := range t.NumField() {
			a, b := t.Field(i), n.Field(i)
			if a.Name != b.Name || !a.IsExported() {
				return fmt.Errorf("%s has the fields %s and %s: want one exported name", path, a.Name, b.Name)
			}
			if err := alike(a.Type, b.Type, path+"."+a.Name); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		if t.Len() != n.Len() {
			return fmt.Errorf("%s is of %d for tensors and of %d for nodes", path, t.Len(), n.Len())
		}
		return alike(t.Elem(), n.Elem(), path+"[]")
	case reflect.Slice, reflect.Pointer:
		return alike(t.Elem(), n.Elem(), path+"[]")
	}
	return fmt.Errorf("%s is %v: want tensors, or structs, pointers, slices and arrays of them", path, t)
}

// gathered is what a device reads of a value: its tensors, and the skeleton that they stand in.
type gathered struct {
	device   int
	devices  int // that the value is split over
	skeleton strings.Builder
	list     []*tensors.Tensor
	shared   []int // places in the list of tensors that all devices read
	inSplit  bool
}

// allDevices stands for every device: all parts of a Split are gathered.
const allDevices = -1

func gather(in any, device int) *gathered {
	g := &gathered{device: device, devices: 1}
	g.walk(reflect.ValueOf(in))
	return g
}

func (g *gathered) walk(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if v.Type() == tensorType {
		if v.IsNil() {
			g.skeleton.WriteByte('-')
			return
		}
		g.skeleton.WriteByte('t')
		if !g.inSplit {
			g.shared = append(g.shared, len(g.list))
		}
		g.list = append(g.list, v.Interface().(*tensors.Tensor))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			g.walk(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		g.skeleton.WriteString("[" + strconv.Itoa(v.Len()) + "]")
		if isSplit(v.Type()) && v.Len() > 0 && g.device != allDevices {
			g.devices, g.inSplit = max(g.devices, v.Len()), true
			g.walk(v.Index(min(g.device, v.Len()-1)))
			g.inSplit = false
			return
		}
		for i := range v.Len() {
			g.walk(v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			g.skeleton.WriteByte('-')
			return
		}
		g.skeleton.WriteByte('*')
		g.walk(v.Elem())
	}
}

// fill sets the nodes of dst from the head of a list, in the skeleton of like, and returns the rest.
func fill(dst, like reflect.Value, nodes []*graph.Node) []*graph.Node {
	if like.Type() == tensorType {
		if like.IsNil() {
			return nodes
		}
		dst.Set(reflect.ValueOf(nodes[0]))
		return nodes[1:]
	}
	switch like.Kind() {
	case reflect.Struct:
		for i := range like.NumField() {
			nodes = fill(dst.Field(i), like.Field(i), nodes)
		}
	case reflect.Slice:
		n := like.Len()
		if isSplit(like.Type()) {
			n = min(n, 1)
		}
		if !like.IsNil() {
			dst.Set(reflect.MakeSlice(dst.Type(), n, n))
		}
		for i := range n {
			nodes = fill(dst.Index(i), like.Index(i), nodes)
		}
	case reflect.Array:
		for i := range like.Len() {
			nodes = fill(dst.Index(i), like.Index(i), nodes)
		}
	case reflect.Pointer:
		if !like.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
			nodes = fill(dst.Elem(), like.Elem(), nodes)
		}
	}
	return nodes
}
