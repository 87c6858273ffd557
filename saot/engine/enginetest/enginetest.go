// Package enginetest runs a test on every compute engine that is present on the machine, and a graph function on one.
package enginetest

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/engine"
)

// EnginesEnv narrows the engines of Each to a comma-separated list of names, as engine.Open takes them, but with a +
// where a name has a comma: go,xla:cpu+float64. An engine that is named so and cannot be opened fails the test.
const EnginesEnv = "SAOT_TEST_ENGINES"

// opened keeps the engines of this test process by name, since opening one is expensive.
var opened sync.Map

// Each runs f as a subtest on each engine present: pure Go, XLA on the CPU and on CUDA, or those that
// EnginesEnv names. A missing engine skips its subtest. Engines are shared by all tests of the process: f must neither
// close its engine nor count on Compiled starting at zero.
func Each(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	each(t, "", f)
}

// EachDouble is Each for the same engines in float64.
func EachDouble(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	each(t, double, f)
}

const double = ",float64"

func each(t *testing.T, option string, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	names, narrowed := []string{"go", "xla:cpu", "xla:cuda"}, false
	if list := os.Getenv(EnginesEnv); list != "" {
		names, narrowed = strings.Split(list, ","), true
	}
	for _, name := range names {
		name = strings.TrimSuffix(strings.ReplaceAll(name, "+", ","), option) + option
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			e, err := open(name)
			switch {
			case err != nil && narrowed:
				t.Fatalf("engine %s, named by %s, is not present: %v", name, EnginesEnv, err)
			case err != nil:
				t.Skipf("engine %s is not present: %v", name, err)
			}
			f(t, e)
		})
	}
}

// Go opens an engine of pure Go, which is always there, for what is the same on any engine. The test closes it.
func Go(t testing.TB) *engine.Engine {
	t.Helper()
	return opens(t, "go")
}

// GoDouble is Go in float64.
func GoDouble(t testing.TB) *engine.Engine {
	t.Helper()
	return opens(t, "go"+double)
}

func opens(t testing.TB, name string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func open(name string) (*engine.Engine, error) {
	once, _ := opened.LoadOrStore(name, sync.OnceValues(func() (*engine.Engine, error) { return engine.Open(name) }))
	return once.(func() (*engine.Engine, error))()
}

// Evaluate runs a graph function once on matrices, in float32, and returns each output row major.
func Evaluate(t testing.TB, e *engine.Engine, build func(in []*graph.Node) []*graph.Node,
	inputs ...*mat.Dense) [][]float64 {
	t.Helper()
	out, err := Run(t, e, build, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	flat := make([][]float64, len(out))
	for i, x := range out {
		for _, v := range tensors.MustCopyFlatData[float32](x) {
			flat[i] = append(flat[i], float64(v))
		}
	}
	return flat
}

// Run runs a graph function once on matrices, in float32.
func Run(t testing.TB, e *engine.Engine, build func(in []*graph.Node) []*graph.Node,
	inputs ...*mat.Dense) ([]*tensors.Tensor, error) {
	f, err := e.Func(t.Name(), build)
	if err != nil {
		return nil, err
	}
	args := make([]*tensors.Tensor, len(inputs))
	for i, x := range inputs {
		args[i] = Tensor(x)
	}
	return f.Call(args...)
}

// Tensor returns a matrix in float32.
func Tensor(x *mat.Dense) *tensors.Tensor {
	rows, cols := x.Dims()
	flat := make([]float32, rows*cols)
	for i, v := range x.RawMatrix().Data {
		flat[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(flat, rows, cols)
}
