// Package encodertest has SAOT's encoder in float64, written apart from package encoder, for tests to compare with.
package encodertest

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
)

// GCN is Â·PReLU(BN(Â·X·W₁))·W₂ + b₂ by dense matrices in float64, of the weights that encoder.Net's Snapshot returns.
// Its BatchNorm takes the batch's mean and variance in training, and else the running averages.
func GCN(w map[string][]float32, a *graph.Adjacency, x *mat.Dense, training bool) *mat.Dense {
	n, features := x.Dims()
	hidden, out := len(w["norm_scale"]), len(w["output_bias"])
	get := func(name string) []float64 {
		all := make([]float64, len(w[name]))
		for i, v := range w[name] {
			all[i] = float64(v)
		}
		return all
	}
	hat := graphtest.Hat(a)
	var h, z mat.Dense
	h.Product(hat, x, mat.NewDense(features, hidden, get("input_weight")))
	scale, offset, means, variances, slope := get("norm_scale"), get("norm_offset"), get("norm_mean"),
		get("norm_variance"), get("slope")[0]
	for c := range hidden {
		mean, variance := means[c], variances[c]
		if training {
			mean, variance = mat.Sum(h.ColView(c))/float64(n), 0
			for i := range n {
				variance += math.Pow(h.At(i, c)-mean, 2) / float64(n)
			}
		}
		for i := range n {
			v := scale[c]*(h.At(i, c)-mean)/math.Sqrt(variance+1e-5) + offset[c]
			h.Set(i, c, max(v, 0)+slope*min(v, 0))
		}
	}
	z.Product(hat, &h, mat.NewDense(hidden, out, get("output_weight")))
	bias := get("output_bias")
	z.Apply(func(_, c int, v float64) float64 { return v + bias[c] }, &z)
	return &z
}
