package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// attended is what attention takes.
type attended[T any] struct {
	Rows     [3]T // h, s and t of Attend
	Operator Operator[T]
}

// attentionInputs are h, s and t for a graph's nodes and one of padding, and the operator.
func attentionInputs(t testing.TB, g *graph.Graph, heads, d int) attended[*tensors.Tensor] {
	t.Helper()
	size := NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g))
	operator, err := Config{Kind: GAT}.NewOperator(size, &g.Adjacency)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 3))
	normal := func(dims ...int) *tensors.Tensor {
		x := tensors.FromScalarAndDimensions(float32(0), dims...)
		require.NoError(t, tensors.MutableFlatData(x, func(flat []float32) {
			for i := range flat {
				flat[i] = float32(rng.NormFloat64())
			}
		}))
		return x
	}
	n := size.Nodes
	rows := [3]*tensors.Tensor{normal(n, heads, d), normal(n, heads), normal(n, heads)}
	return attended[*tensors.Tensor]{rows, operator}
}

// attentionGradients is the squared norm of what real nodes attend to, and its gradients.
func attentionGradients(in attended[*Node]) []*Node {
	y := attend(in)
	y = head(y, y.Shape().Dim(0)-1)
	return append([]*Node{y}, Gradient(ReduceAllSum(Square(y)), in.Rows[:]...)...)
}

func attend(in attended[*Node]) *Node {
	return NewPropagation(in.Operator).Attend(in.Rows[0], in.Rows[1], in.Rows[2])
}

// Attention on trees of 1, 2 and 3 levels against the formula in float64, and its gradients against central
// differences.
func TestAttendAgainstFloat64(t *testing.T) {
	const heads, d = 2, 3
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, n := range []int{10, 30, 150} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				g := randomGraph(t, n, 1, 1)
				in := attentionInputs(t, g, heads, d)
				got := call(t, e, attentionGradients, in)
				var x [3][]float64
				for i := range x {
					x[i] = wide(tensors.MustCopyFlatData[float32](in.Rows[i]))
				}
				forward := func() []float64 {
					y := make([]float64, n*heads*d)
					for i := range n {
						for k := range heads {
							attendOne(y[(i*heads+k)*d:][:d], g.Adjacency.Neighborhood(i), i, k, heads, x)
						}
					}
					return y
				}
				requireClose(t, forward(), got[0], 1e-5)
				square := func() (sum float64) {
					for _, v := range forward() {
						sum += v * v
					}
					return sum
				}
				for i := range x {
					if n < 100 {
						requireClose(t, numeric.Gradient(x[i], 1e-5, square), got[1+i], 1e-4, "input %d", i)
					}
				}
			})
		}
	})
}

// attendOne writes what head k of node i attends to; x is h, s and t.
func attendOne(dst []float64, near []int32, i, k, heads int, x [3][]float64) {
	var total float64
	for _, j := range append([]int32{int32(i)}, near...) {
		e := x[1][i*heads+k] + x[2][int(j)*heads+k]
		w := math.Exp(max(e, 0.2*e))
		total += w
		for c := range dst {
			dst[c] += w * x[0][(int(j)*heads+k)*len(dst)+c]
		}
	}
	for c := range dst {
		dst[c] /= total
	}
}

// At a size that engines share out among threads, value and gradients repeat bit for bit.
func TestAttendRepeatsBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := engine.NewNamed[attended[*tensors.Tensor]](e, t.Name(), nil, attentionGradients)
		require.NoError(t, err)
		in := attentionInputs(t, randomGraph(t, 1000, 1, 1), 2, 32)
		var first [4][]float32
		for repeat := range 10 {
			out, err := f.Call(in)
			require.NoError(t, err)
			for i, x := range out {
				flat := tensors.MustCopyFlatData[float32](x)
				if repeat == 0 {
					first[i] = flat
				}
				require.True(t, slices.Equal(first[i], flat), "call %d, output %d", repeat, i)
			}
		}
	})
}

// Absent neighbors have no weight at all: a row of huge numbers in their place changes no bit.
func TestAbsentNeighborsHaveNoWeight(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		in := attentionInputs(t, randomGraph(t, 30, 1, 1), 2, 3)
		want := call(t, e, attentionGradients, in)
		for i, x := range in.Rows {
			require.NoError(t, tensors.MutableFlatData(x, func(flat []float32) {
				for at := len(flat) - len(flat)/31; at < len(flat); at++ {
					flat[at] = 1e6 * float32(i+1)
				}
			}))
		}
		got := call(t, e, attentionGradients, in)
		for i := range want {
			require.Equal(t, want[i], got[i], "output %d", i)
		}
	})
}

// call evaluates a graph function once.
func call[T, N any](t testing.TB, e *engine.Engine, build func(in N) []*Node, in T) [][]float64 {
	t.Helper()
	f, err := engine.NewNamed[T](e, t.Name(), nil, build)
	require.NoError(t, err)
	out, err := f.Call(in)
	require.NoError(t, err)
	return flats(out)
}

// flats copies tensors.
func flats(out []*tensors.Tensor) [][]float64 {
	flat := make([][]float64, len(out))
	for i, x := range out {
		flat[i] = wide(tensors.MustCopyFlatData[float32](x))
	}
	return flat
}

// BenchmarkAttend compares value and gradients of attention with those of Â at the same width: 4 heads of 64 on 5,000
// nodes of degree 16 or so.
func BenchmarkAttend(b *testing.B) {
	const n, heads, d = 5000, 4, 64
	rng := rand.New(rand.NewPCG(1, 1))
	src, dst := make([]int32, 8*n), make([]int32, 8*n)
	for k := range src {
		src[k], dst[k] = int32(rng.IntN(n)), int32(rng.IntN(n))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(b, err)
	g := &graph.Graph{Adjacency: a}
	propagate := func(in attended[*Node]) *Node {
		return NewPropagation(in.Operator).Apply(Reshape(in.Rows[0], -1, heads*d))
	}
	for _, name := range []string{"go", "xla:cpu", "xla:cuda"} {
		e, err := engine.Open(name)
		if err != nil {
			continue
		}
		in := attentionInputs(b, g, heads, d)
		operator, err := Config{}.NewOperator(NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g)), &a)
		require.NoError(b, err)
		ofGCN := attended[*tensors.Tensor]{in.Rows, operator}
		b.Run("attention/value/"+name, func(b *testing.B) { timeGraph(b, e, in, attend, 0) })
		b.Run("attention/gradients/"+name, func(b *testing.B) { timeGraph(b, e, in, attend, 3) })
		b.Run("gcn/value/"+name, func(b *testing.B) { timeGraph(b, e, ofGCN, propagate, 0) })
		b.Run("gcn/gradients/"+name, func(b *testing.B) { timeGraph(b, e, ofGCN, propagate, 1) })
	}
}

// timeGraph times y = build(in), or the gradients of its squared norm for the first inputs.
func timeGraph(b *testing.B, e *engine.Engine, in attended[*tensors.Tensor], build func(in attended[*Node]) *Node,
	gradients int) {
	f, err := engine.NewNamed[attended[*tensors.Tensor]](e, b.Name(), nil, func(in attended[*Node]) []*Node {
		if gradients == 0 {
			return []*Node{build(in)}
		}
		return Gradient(ReduceAllSum(Square(build(in))), in.Rows[:gradients]...)
	})
	require.NoError(b, err)
	run := func() {
		out, err := f.Call(in)
		require.NoError(b, err)
		engine.Release(out)
	}
	run() // compiles
	for b.Loop() {
		run()
	}
}
