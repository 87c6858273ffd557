// Package enginetest runs a test on every compute engine that is present on the machine.
package enginetest

import (
	"testing"

	"github.com/saot-go/saot/saot/engine"
)

// Each runs f as a subtest on each engine present.
func Each(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	for _, spec := range []string{"go", "onnx"} {
		t.Run(spec, func(t *testing.T) {
			e, err := engine.Open(spec)
			if err != nil {
				t.Skipf("engine %s is not present: %v", spec, err)
			}
			f(t, e)
		})
	}
}
