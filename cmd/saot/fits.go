package main

import (
	"slices"

	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

// fits refuses a run that the machine's memory cannot hold, before a long report of Go's does. Accelerators have their
// own memory.
func fits(r *experiment.Run, stream *stream, e *engine.Engine) error {
	if !slices.Contains([]string{"go", "xla:cpu"}, e.Info().Name) {
		return nil
	}
	return r.Fits(stream, memory.Total())
}
