package encoder

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

func TestEmbedAgainstDenseFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, seed := range []uint64{1, 2} {
			g := randomGraph(t, 40, 5, seed)
			enc := small(t, e, 5, SizeOf(g))
			want := read(t, enc).forward(graphtest.Hat(&g.Adjacency), g.Features.Matrix(), Inference)
			requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-5)
		}
	})
}

// Two passes in training mode: the embeddings use the batch's statistics, and the running ones follow PyTorch's rule.
func TestTrainingModeAgainstDenseFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 1)
		enc := small(t, e, 5, SizeOf(g))
		ref := read(t, enc)
		a, x := graphtest.Hat(&g.Adjacency), g.Features.Matrix()
		for range 2 {
			want := ref.forward(a, x, Training)
			got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
				z, _ := enc.forward(in, Training)
				return []*Node{z}
			})
			requireClose(t, want.RawMatrix().Data, got[0][:len(want.RawMatrix().Data)], 1e-5)
		}
		now := read(t, enc)
		requireClose(t, ref.mean, now.mean, 1e-6)
		requireClose(t, ref.variance, now.variance, 1e-6)
		require.Equal(t, ref.gamma, now.gamma, "only the running averages move")
		require.Equal(t, ref.w1, now.w1)
	})
}

func TestCalibrateMovesOnlyTheAverages(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 2)
		enc := small(t, e, 5, SizeOf(g))
		ref := read(t, enc)
		require.NoError(t, enc.Calibrate(g))
		ref.forward(graphtest.Hat(&g.Adjacency), g.Features.Matrix(), Training)
		now := read(t, enc)
		requireClose(t, ref.mean, now.mean, 1e-6)
		requireClose(t, ref.variance, now.variance, 1e-6)
		ref.mean, ref.variance, now.mean, now.variance = nil, nil, nil, nil
		require.Equal(t, ref, now)
	})
}

// Room for more nodes, more chunks and more levels than the graph needs changes nothing.
func TestPaddingChangesNothing(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 1)
		tight := small(t, e, 5, SizeOf(g))
		wideSize := SizeOf(randomGraph(t, 200, 5, 1))
		padded := small(t, e, 5, wideSize)
		require.Greater(t, len(wideSize.Chunks), len(SizeOf(g).Chunks), "the larger graph should be deeper")
		requireClose(t, wide(embed(t, tight, g)), wide(embed(t, padded, g)), 1e-6)
		require.NoError(t, tight.Calibrate(g))
		require.NoError(t, padded.Calibrate(g))
		a, b := read(t, tight), read(t, padded)
		requireClose(t, a.mean, b.mean, 1e-6)
		requireClose(t, a.variance, b.variance, 1e-6)
		requireClose(t, wide(embed(t, tight, g)), wide(embed(t, padded, g)), 1e-6)
	})
}

func TestMaskedViewsAreViewsOfMaskedFeatures(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 20, 5, 2)
		enc := small(t, e, 5, SizeOf(g))
		for _, masked := range [][]int32{{3}, {0, 2, 4}, {0, 1, 2, 3, 4}} {
			x := g.Features.Matrix()
			for _, c := range masked {
				x.SetCol(int(c), make([]float64, g.NumNodes()))
			}
			var want mat.Dense
			want.Mul(x, read(t, enc).w1)
			got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
				return firstView(enc, in, masked)
			})
			requireClose(t, want.RawMatrix().Data, got[0][:want.RawMatrix().Rows*want.RawMatrix().Cols], 1e-5,
				"masked %v", masked)
		}
	})
}

// firstView returns the products of a view of dense features that masks some columns.
func firstView(enc *Encoder, in Input[*Node], masked []int32) (products []*Node) {
	columns := Masked[*Node]{Columns: [2]*Node{Const(in.Mask.Graph(), masked)}}
	for _, both := range enc.Config.ProjectViews(enc.store.Scope(Scope), in.X, nil, columns) {
		products = append(products, head(both, both.Shape().Dim(0)/2))
	}
	return products
}

// Two views below one another are encoded, and move the running averages, as one after the other.
func TestViewsAreEncodedByThemselves(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, kind := range []Kind{GCN, GAT} {
			g := randomGraph(t, 20, 5, 2)
			views := [2]graph.Adjacency{g.Adjacency, randomGraph(t, 20, 5, 3).Adjacency}
			made := func() *Encoder {
				if kind == GAT {
					return smallGAT(t, e, 5, 3, SizeOf(g))
				}
				return small(t, e, 5, SizeOf(g))
			}
			joint, apart := made(), made()
			size := joint.Graphs.buckets.Fit(SizeOf(g)).Max(Size{Chunks: []int{40, 10, 5}})
			b, err := NewBatch(g, size)
			require.NoError(t, err)
			embedded := func(enc *Encoder, over ...*graph.Adjacency) []float32 {
				op, err := enc.Config.NewOperator(size, over...)
				require.NoError(t, err)
				encode := func(in Input[*Node]) []*Node {
					scope, mask := enc.store.Scope(Scope), in.Mask
					products := enc.Config.Project(scope, in.X)
					if len(over) == 2 {
						products = enc.Config.ProjectViews(scope, in.X, nil, Masked[*Node]{})
						mask = Stack([]*Node{mask, mask}, 0)
					}
					return []*Node{enc.Config.Encode(scope, products, NewPropagation(*in.Operator), mask, Training)}
				}
				f, err := engine.NewNamed[Input[*tensors.Tensor]](e, t.Name(), enc.store, encode)
				require.NoError(t, err)
				out, err := f.Call(Input[*tensors.Tensor]{X: b.X, Mask: b.Mask, Operator: &op})
				require.NoError(t, err)
				return tensors.MustCopyFlatData[float32](out[0])
			}
			both, n := embedded(joint, &views[0], &views[1]), g.NumNodes()*joint.Config.Out
			for i := range views {
				want := embedded(apart, &views[i])
				require.InDeltaSlice(t, want[:n], both[i*len(want):i*len(want)+n], 1e-5, "%v, view %d", kind, i)
			}
			got, err := joint.Snapshot()
			require.NoError(t, err)
			want, err := apart.Snapshot()
			require.NoError(t, err)
			for name, data := range want {
				require.InDeltaSlice(t, data, got[name], 1e-6, "%v, %s", kind, name)
			}
		}
	})
}

// The gradient of Σ C⊙Z, C some weights, in training mode with masked columns, against central differences.
func TestGradientsAgainstCentralDifferences(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 2)
		enc := small(t, e, 5, SizeOf(g))
		weight := make([]float32, enc.Graphs.buckets.Fit(SizeOf(g)).Nodes*enc.Config.Out)
		for i := range weight {
			weight[i] = float32(i%7) - 3
		}
		masked := []int32{1, 4}
		names := []string{inputWeight, outputWeight, normScale, normOffset, slope, outputBias}
		got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
			scope, graph := enc.store.Scope(Scope), in.Mask.Graph()
			z := enc.Config.Encode(scope, firstView(enc, in, masked), NewPropagation(*in.Operator), in.Mask, Training)
			cotangent := Mul(ConstTensor(graph, tensors.FromFlatDataAndDimensions(weight, z.Shape().Dimensions...)),
				in.Mask)
			variables := make([]*Node, len(names))
			for i, name := range names {
				variables[i] = valueOf(scope, graph, name)
			}
			return Gradient(ReduceAllSum(Mul(cotangent, z)), variables...)
		})

		ref := read(t, small(t, e, 5, SizeOf(g))) // as it was before the pass
		a, x := graphtest.Hat(&g.Adjacency), g.Features.Matrix()
		for _, c := range masked {
			x.SetCol(int(c), make([]float64, g.NumNodes()))
		}
		loss := func() (sum float64) {
			for i, v := range ref.forward(a, x, Training).RawMatrix().Data {
				sum += v * float64(weight[i])
			}
			return sum
		}
		for i, values := range [][]float64{ref.w1.RawMatrix().Data, ref.w2.RawMatrix().Data, ref.gamma, ref.beta,
			ref.slope, ref.bias} {
			want := numeric.Gradient(values, 1e-5, loss)
			requireClose(t, want, got[i], 2e-4, names[i])
		}
	})
}

// Â of a view against the dense one: entry by entry, its rows and columns alike, and its gradient the transpose.
func TestPropagationAgainstDense(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, n := range []int{10, 30, 150} { // 1, 2 and 3 levels: the hub has n/2 neighbors
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				g := randomGraph(t, n, 2, 1)
				kept, dropped := halved(t, &g.Adjacency)
				for name, a := range map[string]*graph.Adjacency{"clean": &g.Adjacency, "view": kept, "rest": dropped} {
					got, gradient := operatorMatrix(t, e, g, a)
					want := graphtest.Hat(a)
					requireClose(t, want.RawMatrix().Data, got.RawMatrix().Data, 1e-6, name)
					requireClose(t, want.RawMatrix().Data, gradient.RawMatrix().Data, 1e-6, name)
				}
			})
		}
	})
}

// At a size that engines share out among threads, value and gradient repeat bit for bit.
func TestPropagationRepeatsBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		const n, width = 1000, 128
		g := randomGraph(t, n, width, 2)
		b, err := NewBatch(g, NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g)))
		require.NoError(t, err)
		operator, err := Config{}.NewOperator(b.Size, &g.Adjacency)
		require.NoError(t, err)
		f, err := engine.NewNamed[propagated[*tensors.Tensor]](e, t.Name(), nil, func(in propagated[*Node]) []*Node {
			y := NewPropagation(in.Operator).Apply(in.Rows)
			return []*Node{y, Gradient(ReduceAllSum(Square(y)), in.Rows)[0]}
		})
		require.NoError(t, err)
		h := tensors.FromFlatDataAndDimensions(append(slices.Clone(g.Features.Dense), make([]float32, width)...), n+1,
			width)
		inputs := propagated[*tensors.Tensor]{h, operator}
		var first [2][]float32
		for call := range 20 {
			out, err := f.Call(inputs)
			require.NoError(t, err)
			for i, x := range out {
				flat := tensors.MustCopyFlatData[float32](x)
				if call == 0 {
					first[i] = flat
				}
				require.True(t, slices.Equal(first[i], flat), "call %d, output %d", call, i)
			}
		}
	})
}

// propagated is what a propagation takes.
type propagated[T any] struct {
	Rows     T
	Operator Operator[T]
}

// halved splits the edges in two.
func halved(t *testing.T, a *graph.Adjacency) (even, odd *graph.Adjacency) {
	t.Helper()
	var src, dst [2][]int32
	for i := range int32(a.NumNodes()) {
		for _, j := range a.Neighborhood(int(i)) {
			src[(i+j)%2], dst[(i+j)%2] = append(src[(i+j)%2], i), append(dst[(i+j)%2], j)
		}
	}
	first, err := graph.NewAdjacency(a.NumNodes(), src[0], dst[0])
	require.NoError(t, err)
	second, err := graph.NewAdjacency(a.NumNodes(), src[1], dst[1])
	require.NoError(t, err)
	return &first, &second
}

// operatorMatrix applies a view's Â to the identity, and returns that with the matrix of its gradient: entry (i, j) of
// the latter is ∂(Â·h)_i/∂h_j, read from the gradient of Σ_ic h'_ic (Â·h)_ic with h' the identity.
func operatorMatrix(t *testing.T, e *engine.Engine, g *graph.Graph,
	view *graph.Adjacency) (value, gradient *mat.Dense) {
	t.Helper()
	n := g.NumNodes()
	b, err := NewBatch(g, NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g)))
	require.NoError(t, err)
	operator, err := Config{}.NewOperator(b.Size, view)
	require.NoError(t, err)
	identity := make([]float32, (n+1)*n) // its last row belongs to the padding node
	for i := range n {
		identity[i*n+i] = 1
	}
	out := call(t, e, func(in propagated[*Node]) []*Node {
		y := NewPropagation(in.Operator).Apply(in.Rows)
		return []*Node{y, Gradient(ReduceAllSum(Mul(StopGradient(in.Rows), y)), in.Rows)[0]}
	}, propagated[*tensors.Tensor]{tensors.FromFlatDataAndDimensions(identity, n+1, n), operator})
	gradient = mat.DenseCopyOf(mat.NewDense(n, n, out[1][:n*n]).T())
	return mat.NewDense(n, n, out[0][:n*n]), gradient
}

// run calls a graph function over the encoder's variables with the inputs of a clean graph, once.
func run(t *testing.T, e *engine.Engine, enc *Encoder, g *graph.Graph,
	build func(in Input[*Node]) []*Node) [][]float64 {
	t.Helper()
	f, err := engine.NewNamed[Input[*tensors.Tensor]](e, t.Name(), enc.store, build)
	require.NoError(t, err)
	b, err := enc.Graphs.Upload(g)
	require.NoError(t, err)
	defer b.Release()
	out, err := enc.run(f, b)
	require.NoError(t, err)
	return flats(out)
}
