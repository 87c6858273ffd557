// Package drift measures how embeddings and plans change while a stream is learned. It knows nothing of learners or
// figures. It imports nothing of this module.
package drift

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ErrEqualRows is the error of Distance for points that all lie in one place.
var ErrEqualRows = errors.New("drift: all rows of the first embedding are equal: there is no distance to compare with")

// Distance measures how much the pairwise distances between the same nodes changed from one embedding to another,
//
//	‖J(D′ − D)J‖_F / ‖JDJ‖_F,   D_ij = ‖z_i − z_j‖₂,   J = I − 11ᵀ/n,
//
// the relative Frobenius change of the doubly centered distance matrix (centered as in distance covariance: Székely,
// Rizzo, Bakirov 2007). It is 0 if all distances stayed, however the embedding was moved, turned or mirrored; an
// embedding scaled by s gives ||s| − 1|.
//
// before, after: [n, d], row major, n ≥ 2; columns of after may differ from d: it is [n, len(after)/n]. O(n²d) time,
// O(n²) memory. It returns an error for shapes that do not match and an entry that is not finite or above 1e100, and
// ErrEqualRows if all rows of the first embedding are equal, or differ only by the rounding of float32.
func Distance(before, after []float64, n, d int) (float64, error) {
	if err := checkRows(before, n, d); err != nil {
		return 0, fmt.Errorf("drift: before: %w", err)
	}
	e := len(after) / n
	if err := checkRows(after, n, e); err != nil {
		return 0, fmt.Errorf("drift: after: %w", err)
	}
	base := distances(before, n, d)
	if slices.Max(base[:n]) <= sameRows*longest(before, n, d) {
		return 0, ErrEqualRows
	}
	change := distances(after, n, e)
	floats.Sub(change, base)
	return centeredNorm(n, change) / centeredNorm(n, base), nil
}

// sameRows is the largest distance between rows that count as equal, as a share of the longest row. The rounding of
// float32 is 6e-8 of a number.
const sameRows = 1e-6

// longest returns the length of the longest row of [n, d].
func longest(rows []float64, n, d int) (most float64) {
	for i := range n {
		most = max(most, mat.Norm(mat.NewVecDense(d, rows[i*d:(i+1)*d]), 2))
	}
	return most
}

// distances returns the distances between the rows of [n, d], [n, n].
func distances(rows []float64, n, d int) []float64 {
	out := make([]float64, n*n)
	for i := range n {
		for j := range i {
			var sum float64
			for k := range d {
				off := rows[i*d+k] - rows[j*d+k]
				sum += off * off
			}
			out[i*n+j] = math.Sqrt(sum)
			out[j*n+i] = out[i*n+j]
		}
	}
	return out
}

// centeredNorm returns ‖JAJ‖_F of a symmetric matrix A [n, n].
func centeredNorm(n int, a []float64) float64 {
	means := make([]float64, n)
	var total float64
	for i := range n {
		for j := range n {
			means[i] += a[i*n+j] / float64(n)
		}
		total += means[i] / float64(n)
	}
	var norm float64
	for i := range n {
		for j := range n {
			centered := a[i*n+j] - means[i] - means[j] + total
			norm += centered * centered
		}
	}
	return math.Sqrt(norm)
}

// Plan returns the total variation between two transport plans, each divided by its mass: ½ Σ_ij |π_ij − π′_ij|. It
// is 0 for equal plans and 1 for plans that share no entry.
//
// before, after: of one shape, mass not negative. It returns an error for lengths that differ, and for plans that are
// not valid.
func Plan(before, after []float64) (float64, error) {
	for i, plan := range [][]float64{before, after} {
		if err := checkPlan(plan); err != nil {
			return 0, fmt.Errorf("drift: plans: %s: %w", []string{"before", "after"}[i], err)
		}
	}
	if len(before) != len(after) {
		return 0, fmt.Errorf("drift: plans: %d entries before, %d after: want equal counts", len(before), len(after))
	}
	var a, b float64
	for k := range before {
		a, b = a+before[k], b+after[k]
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return 0, errors.New("drift: plans: the mass is infinite")
	}
	var sum float64
	for k := range before {
		sum += math.Abs(before[k]/a - after[k]/b)
	}
	return sum / 2, nil
}

// EffectiveRank returns the effective rank of an embedding matrix,
//
//	exp(−Σ_k p_k ln p_k),   p_k = σ_k / Σ_l σ_l,
//
// of its singular values σ (Roy, Vetterli, "The effective rank", EUSIPCO 2007). It lies between 1, when all rows are
// multiples of one another, and min(n, d). A fall means that the embedding collapses onto few directions.
//
// z: [n, d], row major, not centered. O(n d min(n, d)) time.
// It returns an error for another shape, an entry that is not finite or above 1e100, and for a matrix of zeros.
func EffectiveRank(z []float64, n, d int) (float64, error) {
	if err := checkRows(z, n, d); err != nil {
		return 0, fmt.Errorf("drift: effective rank: %w", err)
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(n, d, slices.Clone(z)), mat.SVDNone) {
		return 0, errors.New("drift: effective rank: the singular value decomposition did not converge")
	}
	values := svd.Values(nil)
	var total float64
	for _, v := range values {
		total += v
	}
	if total == 0 {
		return 0, errors.New("drift: effective rank: all entries are zero")
	}
	var entropy float64
	for _, v := range values {
		if p := v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy), nil
}

// largest bounds entries: their squares must be finite.
const largest = 1e100

func checkRows(z []float64, n, d int) error {
	if n < 1 || d < 1 || len(z) != n*d {
		return fmt.Errorf("%d entries for shape [%d, %d]: want a positive shape and one for each cell", len(z), n, d)
	}
	for k, v := range z {
		if !(math.Abs(v) <= largest) {
			return fmt.Errorf("row %d, column %d is %g: want a finite number, at most %g", k/d, k%d, v, largest)
		}
	}
	return nil
}

func checkPlan(plan []float64) error {
	if len(plan) == 0 {
		return errors.New("0 entries: there is no plan")
	}
	mass := 0.0
	for k, v := range plan {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("entry %d is %g: want a finite mass, not negative", k, v)
		}
		mass += v
	}
	if mass == 0 {
		return errors.New("all entries are zero: there is no mass")
	}
	return nil
}
