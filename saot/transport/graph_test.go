package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// evaluate runs a graph function once and returns its outputs as flat float32 slices.
func evaluate(t testing.TB, e *engine.Engine, build func(in []*graph.Node) []*graph.Node, inputs ...*tensors.Tensor) [][]float32 {
	t.Helper()
	f, err := e.Func(t.Name(), build)
	require.NoError(t, err)
	out, err := f.Call(inputs...)
	require.NoError(t, err)
	flat := make([][]float32, len(out))
	for i, x := range out {
		flat[i] = tensors.MustCopyFlatData[float32](x)
	}
	return flat
}

// uniformTensor draws a float32 matrix with entries in [0, 2).
func uniformTensor(seed uint64, n, m int) *tensors.Tensor {
	rng := rand.New(rand.NewPCG(seed, 0))
	flat := make([]float32, n*m)
	for i := range flat {
		flat[i] = 2 * rng.Float32()
	}
	return tensors.FromFlatDataAndDimensions(flat, n, m)
}

func TestSinkhornMarginals(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cost := uniformTensor(1, 7, 5)
		for _, domain := range []Domain{KernelDomain, LogDomain} {
			cfg := DefaultSinkhorn()
			cfg.Domain = domain
			out := evaluate(t, e, func(in []*graph.Node) []*graph.Node {
				plan, merr := Sinkhorn(in[0], cfg)
				return []*graph.Node{graph.ReduceSum(plan, 1), graph.ReduceSum(plan, 0), merr}
			}, cost)
			for _, x := range out[0] {
				require.InDelta(t, 1.0/7, x, 1e-6)
			}
			for _, x := range out[1] {
				require.InDelta(t, 1.0/5, x, 1e-6)
			}
			require.Less(t, out[2][0], float32(1e-5))
		}
	})
}
