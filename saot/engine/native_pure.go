//go:build !cgo || !(linux || darwin)

package engine

import (
	"errors"

	"github.com/gomlx/compute"
)

// hasNative tells whether XLA is part of this binary.
const hasNative = false

// openNative cannot be reached through Open: without cgo every native candidate is missing.
func openNative(Candidate, string, int) (compute.Backend, string, error) {
	return nil, "", errors.New(NoCgo)
}
