// Package cluster divides points into groups.
//
// It is our own because no Go library was found that is maintained, takes a generator and has no further dependencies.
package cluster

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
)

// rounds is the largest number of iterations of Lloyd's algorithm.
const rounds = 100

// KMeans divides the rows of x [N, F] into k clusters with a small sum of squares
//
//	Σ_i ‖x_i − center_{assign(i)}‖²,
//
// by Lloyd's algorithm (Lloyd 1982) from a k-means++ start (Arthur and Vassilvitskii 2007). It stops when no row
// changes its cluster, or after 100 iterations. It returns the cluster of each row and the means of the clusters [k,
// F]. No cluster is empty: k is at most the number of rows, and an empty cluster takes the row that is farthest from
// its own center. The result is a local optimum that depends on x and rng alone. O(N·k·F) time per iteration.
// It returns ctx.Err() when canceled.
func KMeans(ctx context.Context, x *mat.Dense, k int, rng *rand.Rand) (assign []int, centers *mat.Dense, err error) {
	raw := x.RawMatrix()
	n := raw.Rows
	k = min(k, n)
	assign = make([]int, n)
	if k < 1 {
		return assign, linalg.New(0, raw.Cols), nil
	}
	centers = start(x, k, rng)
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		distance, changed := nearest(x, centers, assign)
		if fillEmpty(assign, distance, k) {
			changed = true
		}
		clusterMeans(x, assign, centers)
		if !changed {
			break
		}
	}
	return assign, centers, nil
}

// start draws rows as the first centers, each with a probability proportional to its squared distance from the nearest
// center drawn before it.
func start(x *mat.Dense, k int, rng *rand.Rand) *mat.Dense {
	raw := x.RawMatrix()
	centers := linalg.New(k, raw.Cols)
	distance := make([]float64, raw.Rows) // squared, from the nearest center
	for c := range k {
		next := rng.IntN(raw.Rows) // also where all rows coincide with centers
		if total := floats.Sum(distance); total > 0 {
			next = draw(distance, rng.Float64()*total)
		}
		copy(centers.RawRowView(c), x.RawRowView(next))
		for i := range distance {
			if d := SquaredDistance(x.RawRowView(i), centers.RawRowView(c)); c == 0 || d < distance[i] {
				distance[i] = d
			}
		}
	}
	return centers
}

// draw returns the index at which the running sum of weights passes a value, never one without weight.
func draw(weights []float64, value float64) int {
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if value -= w; value < 0 {
			break
		}
	}
	return last
}

// SquaredDistance returns ‖a − b‖² of two vectors of one length.
func SquaredDistance(a, b []float64) (d float64) {
	for i, v := range a {
		d += (v - b[i]) * (v - b[i])
	}
	return d
}

// nearest moves every row to its nearest center, if that is nearer than the row's own. It returns the squared distances
// of the rows from their centers, and whether a row moved.
func nearest(x, centers *mat.Dense, assign []int) (distance []float64, changed bool) {
	product := linalg.New(len(assign), centers.RawMatrix().Rows) // x·c; the distance is ‖x‖² + ‖c‖² − 2x·c
	product.Mul(x, centers.T())
	norms := make([]float64, centers.RawMatrix().Rows)
	for c := range norms {
		norms[c] = floats.Dot(centers.RawRowView(c), centers.RawRowView(c))
	}
	distance = make([]float64, len(assign))
	for i, own := range assign {
		row := product.RawRowView(i)
		best := own
		for c, norm := range norms {
			if norm-2*row[c] < norms[best]-2*row[best] {
				best = c
			}
		}
		changed = changed || best != own
		assign[i] = best
		distance[i] = floats.Dot(x.RawRowView(i), x.RawRowView(i)) + norms[best] - 2*row[best]
	}
	return distance, changed
}

// fillEmpty gives every empty cluster the row farthest from its center among those that are not alone in theirs. It
// reports whether there was an empty one.
func fillEmpty(assign []int, distance []float64, k int) (filled bool) {
	count := make([]int, k)
	for _, c := range assign {
		count[c]++
	}
	for c := range k {
		if count[c] > 0 {
			continue
		}
		far := -1
		for i, own := range assign {
			if count[own] > 1 && (far < 0 || distance[i] > distance[far]) {
				far = i
			}
		}
		count[assign[far]]--
		assign[far], count[c], distance[far], filled = c, 1, 0, true
	}
	return filled
}

func clusterMeans(x *mat.Dense, assign []int, centers *mat.Dense) {
	centers.Zero()
	count := make([]float64, centers.RawMatrix().Rows)
	for i, c := range assign {
		floats.Add(centers.RawRowView(c), x.RawRowView(i))
		count[c]++
	}
	for c, n := range count {
		floats.Scale(1/n, centers.RawRowView(c))
	}
}
