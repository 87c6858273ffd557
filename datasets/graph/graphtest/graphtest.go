// Package graphtest has matrices of graphs by their definitions, dense and in float64, for tests to compare with.
package graphtest

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
)

// Hat is Â = D^{−1/2}(A + I)D^{−1/2} [n, n], D with the row sums of A + I.
func Hat(a *graph.Adjacency) *mat.Dense { return normalized(a, 1) }

// WithoutLoops is D^{−1/2}AD^{−1/2} [n, n], D with the row sums of A. Rows of isolated nodes are 0.
func WithoutLoops(a *graph.Adjacency) *mat.Dense { return normalized(a, 0) }

func normalized(a *graph.Adjacency, loop float64) *mat.Dense {
	n := a.NumNodes()
	sum, out := make([]float64, n), mat.NewDense(n, n, nil)
	for i := range n {
		out.Set(i, i, loop)
		for _, j := range a.Neighborhood(i) {
			out.Set(i, int(j), 1)
		}
		sum[i] = max(1, mat.Sum(out.RowView(i)))
	}
	out.Apply(func(i, j int, v float64) float64 { return v / math.Sqrt(sum[i]*sum[j]) }, out)
	return out
}
