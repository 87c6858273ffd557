// Package sinkhorn has the rules that costs and Sinkhorn's solvers share, on the host and in graphs: what a zero row
// is, the bound of the kernel form, how ε is annealed, and what a relaxed marginal is. It imports the standard library
// alone.
package sinkhorn

import (
	"fmt"
	"math"
)

// ZeroNorm is the largest squared norm of a row that counts as zero: its reciprocal square root and the cube of that
// still fit float32.
const ZeroNorm = 1e-24

// KernelBound is the bound on range(C)/ε for the kernel form in float64. A scaling factor spans up to e^(range/ε). The
// bound keeps products of two of them within the exponent of the number format: e^200 ≈ 1e87 of 1e308.
const KernelBound = 200

// Stage is one ε of an annealed solve.
type Stage struct {
	Epsilon float64
	Last    bool
}

// Annealing returns the stages from a large ε to epsilon, the last. Both are in one unit.
func Annealing(from, epsilon float64) (stages []Stage) {
	const factor = 0.25
	for e := from; e > epsilon*(1+1e-12); e *= factor {
		stages = append(stages, Stage{Epsilon: e})
	}
	return append(stages, Stage{Epsilon: epsilon, Last: true})
}

// annealTolerance is the marginal error at which a stage hands over to the next.
const annealTolerance = 1e-2

// Limits returns how many of the sweeps left a stage may take, and its tolerance. A stage before the last makes only a
// good start for the next, and leaves sweeps for it.
func (s Stage) Limits(left int, tolerance float64) (int, float64) {
	if s.Last {
		return left, tolerance
	}
	return left / 2, max(tolerance, annealTolerance)
}

// Rhos returns both ρ, 0 instead of an infinite one: either means an exact marginal. It refuses a negative ρ by name.
func Rhos(rhoMu, rhoNu float64) (mu, nu float64, err error) {
	rho := [2]float64{rhoMu, rhoNu}
	for i, name := range []string{"rho_mu", "rho_nu"} {
		if !(rho[i] >= 0) {
			return 0, 0, fmt.Errorf("%s is %v: it must be positive, or 0 for an exact marginal", name, rho[i])
		}
		if math.IsInf(rho[i], 1) {
			rho[i] = 0
		}
	}
	return rho[0], rho[1], nil
}

// Unbounded is ρ, infinite for an exact marginal.
func Unbounded(rho float64) float64 {
	if rho == 0 {
		return math.Inf(1)
	}
	return rho
}
