// Package enginetest runs a test on every compute engine that is present on the machine.
package enginetest

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/saot-go/saot/saot/engine"
)

// EnginesEnv narrows the engines of Each to a comma-separated list of names, as engine.Open takes them. A plugin's path
// is a name too; options after a comma are not. An engine that is named so and cannot be opened fails the test.
const EnginesEnv = "SAOT_TEST_ENGINES"

// opened keeps the engines of this test process by name, since opening one is expensive.
var opened sync.Map

// Each runs f as a subtest on each engine present: pure Go, XLA on the CPU and on CUDA, or those that
// EnginesEnv names. A missing engine skips its subtest. Engines are shared by all tests of the process: f must neither
// close its engine nor count on Compiled starting at zero.
func Each(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	names, narrowed := []string{"go", "xla:cpu", "xla:cuda"}, false
	if list := os.Getenv(EnginesEnv); list != "" {
		names, narrowed = strings.Split(list, ","), true
	}
	for _, name := range names {
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
	e, err := engine.Open("go")
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
