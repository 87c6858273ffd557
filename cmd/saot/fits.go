package main

import (
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

// fits refuses a run that the machine's memory cannot hold, before a long report of Go's does. Accelerators have their
// own memory.
func fits(r *experiment.Run, stream *stream, e *engine.Engine) error {
	if !e.Info().OnHost() {
		return nil
	}
	return r.Fits(stream, memory.Total())
}
