package encoder

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// reference is the encoder once more, dense and in float64.
type reference struct {
	w1, w2                                   *mat.Dense
	gamma, beta, mean, variance, bias, slope []float64
	momentum                                 float64
}

// read copies an encoder's variables.
func read(t testing.TB, enc *Encoder) *reference {
	t.Helper()
	get := func(name string) []float64 {
		value, err := enc.store.Scope(Scope).GetVariable(name).Value()
		require.NoError(t, err)
		return wide(tensors.MustCopyFlatData[float32](value))
	}
	return &reference{
		w1:    mat.NewDense(enc.Features, enc.Config.Hidden, get(inputWeight)),
		w2:    mat.NewDense(enc.Config.Hidden, enc.Config.Out, get(outputWeight)),
		gamma: get(normScale), beta: get(normOffset), mean: get(normMean), variance: get(normVariance),
		bias: get(outputBias), slope: get(slope), momentum: enc.Config.Momentum,
	}
}

// forward returns Â·PReLU(BatchNorm(Â·X·W₁))·W₂ + b₂; training mode takes the batch's statistics and moves the running
// ones as PyTorch does: mean and unbiased variance, weighted with the momentum.
func (r *reference) forward(a, x *mat.Dense, mode Mode) *mat.Dense { return r.layered(a, a, x, mode) }

// layered is forward with a propagation of its own for each layer.
func (r *reference) layered(a1, a2, x *mat.Dense, mode Mode) *mat.Dense {
	var xw, h, hw, z mat.Dense
	xw.Mul(x, r.w1)
	h.Mul(a1, &xw)
	n, hidden := h.Dims()
	for c := range hidden {
		column := mat.Col(nil, c, &h)
		mean, variance := r.mean[c], r.variance[c]
		if mode == Training {
			var sum, squares float64
			for _, v := range column {
				sum += v
			}
			mean = sum / float64(n)
			for _, v := range column {
				squares += (v - mean) * (v - mean)
			}
			variance = squares / float64(n)
			r.mean[c] += r.momentum * (mean - r.mean[c])
			r.variance[c] += r.momentum * (squares/float64(n-1) - r.variance[c])
		}
		for i, v := range column {
			v = r.gamma[c]*(v-mean)/math.Sqrt(variance+1e-5) + r.beta[c]
			if v < 0 {
				v *= r.slope[0]
			}
			h.Set(i, c, v)
		}
	}
	hw.Mul(&h, r.w2)
	z.Mul(a2, &hw)
	z.Apply(func(_, j int, v float64) float64 { return v + r.bias[j] }, &z)
	return &z
}

// randomGraph has a hub joined to every second node, whose sum needs more than one chunk where n is large, random
// edges, and its last two nodes isolated. Its features are sparse for an odd seed and dense for an even one.
func randomGraph(t testing.TB, n, cols int, seed uint64) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var src, dst []int32
	for i := 2; i < n-2; i += 2 {
		src, dst = append(src, 0), append(dst, int32(i))
	}
	for range n {
		src, dst = append(src, int32(rng.IntN(n-2))), append(dst, int32(rng.IntN(n-2)))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	f := graph.Features{Rows: n, Cols: cols}
	if seed%2 == 0 {
		f.Dense = make([]float32, n*cols)
		for i := range f.Dense {
			f.Dense[i] = float32(rng.NormFloat64())
		}
		return &graph.Graph{Adjacency: a, Features: f}
	}
	f.Offsets = []int64{0}
	for range n {
		for c := range int32(cols) {
			if rng.IntN(3) == 0 {
				f.Columns, f.Values = append(f.Columns, c), append(f.Values, rng.Float32())
			}
		}
		f.Offsets = append(f.Offsets, int64(len(f.Values)))
	}
	return &graph.Graph{Adjacency: a, Features: f}
}

// small is an encoder whose variables are all away from their initial values, so that none can be forgotten.
func small(t testing.TB, e *engine.Engine, features int, sizes ...Size) *Encoder {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	enc, err := New(e, Config{Hidden: 6, Out: 3, Momentum: 0.1}, features, NewBuckets(nil, 200, sizes), rng)
	require.NoError(t, err)
	for _, name := range []string{normScale, normOffset, normMean, normVariance, slope, outputBias} {
		v := enc.store.Scope(Scope).GetVariable(name)
		values := make([]float32, v.Shape().Size())
		for i := range values {
			values[i] = 0.3 + rng.Float32()
		}
		require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
	}
	return enc
}

// embed returns the embeddings of an encoder.
func embed(t testing.TB, enc *Encoder, g *graph.Graph) []float32 {
	t.Helper()
	data, rows, cols, err := enc.Embed(context.Background(), g)
	require.NoError(t, err)
	require.Equal(t, []int{g.NumNodes(), enc.Config.Out}, []int{rows, cols})
	return data
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// requireClose compares entry by entry; tol is relative to the entry or 1, whichever is larger.
func requireClose(t testing.TB, want, got []float64, tol float64, msg ...any) {
	t.Helper()
	require.Len(t, got, len(want), msg...)
	for i := range want {
		require.InDelta(t, want[i], got[i], tol*max(1, math.Abs(want[i])), msg...)
	}
}
