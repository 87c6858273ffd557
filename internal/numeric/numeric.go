// Package numeric differentiates functions by differences, for tests to compare gradients with.
package numeric

import (
	"slices"

	"gonum.org/v1/gonum/diff/fd"
)

// Gradient returns the gradient of f at x by (f(x+h) − f(x−h)) / 2h. f reads x, which is moved and put back.
func Gradient(x []float64, h float64, f func() float64) []float64 {
	at := slices.Clone(x)
	defer copy(x, at)
	moved := func(to []float64) float64 {
		copy(x, to)
		return f()
	}
	return fd.Gradient(nil, moved, at, &fd.Settings{Formula: fd.Central, Step: h})
}
