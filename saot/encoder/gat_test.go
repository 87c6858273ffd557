package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// gatReference is a GAT once more, in float64 and by the formulas of its parts.
type gatReference struct {
	gat
	features  int
	variables map[string][]float64
}

// readGAT copies an encoder's variables.
func readGAT(t testing.TB, enc *Encoder) *gatReference {
	t.Helper()
	r := &gatReference{gat: gat{enc.Config}, features: enc.Features, variables: map[string][]float64{}}
	for _, name := range enc.names {
		value, err := enc.Value(name)
		require.NoError(t, err)
		r.variables[name] = wide(value)
	}
	return r
}

// forward returns the embeddings of the targets of the last of some layers of neighbor lists, x being all nodes'
// features.
func (r *gatReference) forward(layers []lists, x *mat.Dense, mode Mode) *mat.Dense {
	for layer, near := range layers {
		get := func(name string) []float64 { return r.variables[layerName(layer, name)] }
		in, d, width, targets := x.RawMatrix().Cols, r.headWidth(layer), r.width(layer), near.targets()
		var h, y mat.Dense
		h.Mul(x, mat.NewDense(in, r.Heads*d, get(layerWeight)))
		y.Mul(x.Slice(0, targets, 0, in), mat.NewDense(in, width, get(skipWeight)))
		for i := range targets {
			attended := make([]float64, r.Heads*d)
			for k := range r.Heads {
				along := func(name string, node int) (sum float64) {
					for c, a := range get(name)[k*d : (k+1)*d] {
						sum += a * h.At(node, k*d+c)
					}
					return sum
				}
				all := append([]int32{int32(i)}, near.of(i)...)
				logit := make([]float64, len(all))
				for at, j := range all {
					e := along(attentionTarget, i) + along(attentionSource, int(j))
					logit[at] = max(e, 0.2*e)
				}
				total, highest := 0.0, slices.Max(logit)
				for _, e := range logit {
					total += math.Exp(e - highest)
				}
				for at, j := range all {
					for c := k * d; c < (k+1)*d; c++ {
						attended[c] += math.Exp(logit[at]-highest) / total * h.At(int(j), c)
					}
				}
			}
			for c := range width {
				v := attended[c%len(attended)]
				if layer == r.Layers-1 {
					v = 0
					for k := range r.Heads {
						v += attended[k*d+c] / float64(r.Heads)
					}
				}
				y.Set(i, c, y.At(i, c)+v+get(layerBias)[c])
			}
		}
		if layer < r.Layers-1 {
			r.normalize(layer, &y, mode)
		}
		x = &y
	}
	return x
}

// normalize is ELU(BatchNorm(y)), in place.
func (r *gatReference) normalize(layer int, y *mat.Dense, mode Mode) {
	get := func(name string) []float64 { return r.variables[layerName(layer, name)] }
	n, width := y.Dims()
	for c := range width {
		mean, variance := get(normMean)[c], get(normVariance)[c]
		if mode == Training {
			column, squares := mat.Col(nil, c, y), 0.0
			mean = mat.Sum(y.ColView(c)) / float64(n)
			for _, v := range column {
				squares += (v - mean) * (v - mean)
			}
			variance = squares / float64(n)
			get(normMean)[c] += r.Momentum * (mean - get(normMean)[c])
			get(normVariance)[c] += r.Momentum * (squares/float64(n-1) - get(normVariance)[c])
		}
		for i := range n {
			v := get(normScale)[c]*(y.At(i, c)-mean)/math.Sqrt(variance+1e-5) + get(normOffset)[c]
			if v < 0 {
				v = math.Expm1(v)
			}
			y.Set(i, c, v)
		}
	}
}

// everywhere is a graph's neighbor lists for each layer.
func (r *gatReference) everywhere(a *graph.Adjacency) []lists {
	return slices.Repeat([]lists{listsOf(a)}, r.Layers)
}

// drawn is a neighborhood's lists, the input layer first.
func (n *Neighborhood) drawn() (layers []lists) {
	for k := len(n.hops) - 1; k >= 0; k-- {
		layers = append(layers, n.hops[k].drawn)
	}
	return layers
}

// smallGAT is a GAT with the given number of layers, whose variables are all away from their initial values.
func smallGAT(t testing.TB, e *engine.Engine, features, layers int, sizes ...Size) *Encoder {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	enc, err := New(e, Config{Kind: GAT, Hidden: 3, Out: 4, Layers: layers, Heads: 2, Momentum: 0.1}, features,
		NewBuckets(nil, 200, sizes), rng)
	require.NoError(t, err)
	setVariables(t, enc, func(rank int, x float32) float32 {
		if rank == 1 {
			return 0.3 + rng.Float32()
		}
		return x
	})
	return enc
}

// setVariables replaces all entries of all variables, given the rank of theirs.
func setVariables(t testing.TB, enc *Encoder, f func(rank int, x float32) float32) {
	t.Helper()
	for _, name := range enc.names {
		v := enc.store.Scope(Scope).GetVariable(name)
		values, err := enc.Value(name)
		require.NoError(t, err)
		for i, x := range values {
			values[i] = f(v.Shape().Rank(), x)
		}
		require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
	}
}

// trained lists the variables that have a gradient.
func (enc *Encoder) trained() (names []string) {
	for _, name := range enc.names {
		if enc.store.Scope(Scope).GetVariable(name).Trainable {
			names = append(names, name)
		}
	}
	return names
}

// gradients returns Σ sin(z) of the first n rows, and its gradient for every trained variable. Sines tell rows and
// columns apart.
func gradients(enc *Encoder, z *Node, n int) []*Node {
	var variables []*Node
	for _, name := range enc.trained() {
		variables = append(variables, valueOf(enc.store.Scope(Scope), z.Graph(), name))
	}
	value := ReduceAllSum(Sin(Add(head(z, n), IotaFull(z.Graph(), head(z, n).Shape()))))
	return append([]*Node{value}, Gradient(value, variables...)...)
}

// requireGradients holds the outputs of gradients against central differences of the reference.
func requireGradients(t *testing.T, enc *Encoder, ref *gatReference, layers []lists, x *mat.Dense, got [][]float64) {
	t.Helper()
	value := func() (sum float64) {
		for i, v := range ref.forward(layers, x, Training).RawMatrix().Data {
			sum += math.Sin(v + float64(i))
		}
		return sum
	}
	require.InDelta(t, value(), got[0][0], 1e-3)
	for i, name := range enc.trained() {
		requireClose(t, numeric.Gradient(ref.variables[name], 1e-5, value), got[1+i], 3e-4, name)
	}
}

// directedGraph has the edges of a random graph, some one way, some both, and some dropped.
func directedGraph(t testing.TB, n, cols int) *graph.Graph {
	t.Helper()
	g := randomGraph(t, n, cols, 2)
	a := graph.Adjacency{Offsets: []int64{0}, Directed: true}
	for i := range n {
		for _, j := range g.Adjacency.Neighborhood(i) {
			if int(j) < i != (i%3 == 0) {
				a.Neighbors = append(a.Neighbors, j)
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Neighbors)))
	}
	g.Adjacency = a
	return g
}

// testGraphs are graphs with a hub whose sum needs two levels of chunks and with isolated nodes.
func testGraphs(t testing.TB) map[string]*graph.Graph {
	return map[string]*graph.Graph{
		"sparse": randomGraph(t, 40, 5, 1), "dense": randomGraph(t, 40, 5, 2), "directed": directedGraph(t, 40, 5),
	}
}

func TestGATAgainstFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, g := range testGraphs(t) {
			enc := smallGAT(t, e, 5, 3, SizeOf(g))
			ref := readGAT(t, enc)
			want := ref.forward(ref.everywhere(&g.Adjacency), g.Features.Matrix(), Inference)
			requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-5, name)
		}
	})
}

func TestGATOfOneLayer(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 20, 5, 2)
		enc := smallGAT(t, e, 5, 1, SizeOf(g))
		ref := readGAT(t, enc)
		want := ref.forward(ref.everywhere(&g.Adjacency), g.Features.Matrix(), Inference)
		requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-5)
		enc.Config.WholeGraph = 19
		requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-5)
	})
}

// Logits in the thousands: only the highest of a node counts, and float32 must neither overflow nor lose it.
func TestGATHasNoOverflow(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 40, 5, 2)
		enc := smallGAT(t, e, 5, 1, SizeOf(g))
		setVariables(t, enc, func(_ int, x float32) float32 { return 100 * x })
		ref := readGAT(t, enc)
		want := ref.forward(ref.everywhere(&g.Adjacency), g.Features.Matrix(), Inference)
		requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-3)
		enc.Config.WholeGraph = 39
		requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-3)
		got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
			z, _ := enc.forward(in, Inference)
			return gradients(enc, z, g.NumNodes())
		})
		for i, flat := range got {
			for _, v := range flat {
				require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "output %d", i)
			}
		}
	})
}

// Training mode: every gradient by central differences with masked columns, the running averages by PyTorch's rule.
func TestGATTrainsAgainstFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, g := range testGraphs(t) {
			t.Run(name, func(t *testing.T) {
				enc := smallGAT(t, e, 5, 3, SizeOf(g))
				ref, moved := readGAT(t, enc), readGAT(t, enc)
				masked := []int32{1, 4}
				x := g.Features.Matrix()
				for _, c := range masked {
					x.SetCol(int(c), make([]float64, g.NumNodes()))
				}
				got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
					scope, projected := enc.store.Scope(Scope), firstView(enc, in, masked)
					require.Len(t, projected, 2)
					z := enc.Config.Encode(scope, projected, NewPropagation(*in.Operator), in.Mask, Training)
					return gradients(enc, z, g.NumNodes())
				})
				layers := ref.everywhere(&g.Adjacency)
				requireGradients(t, enc, ref, layers, x, got)
				moved.forward(layers, x, Training)
				now := readGAT(t, enc)
				for _, name := range enc.names {
					requireClose(t, moved.variables[name], now.variables[name], 1e-5, name)
				}
			})
		}
	})
}

// Room for more nodes, chunks and levels changes nothing.
func TestGATPaddingChangesNothing(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g, larger := randomGraph(t, 30, 5, 1), randomGraph(t, 200, 5, 1)
		require.Greater(t, len(SizeOf(larger).Chunks), len(SizeOf(g).Chunks), "the larger graph should be deeper")
		tight, padded := smallGAT(t, e, 5, 2, SizeOf(g)), smallGAT(t, e, 5, 2, SizeOf(larger))
		for _, enc := range []*Encoder{tight, padded} {
			require.NoError(t, enc.Calibrate(g))
		}
		requireClose(t, wide(embed(t, tight, g)), wide(embed(t, padded, g)), 1e-6)
		build := func(enc *Encoder) func(in Input[*Node]) []*Node {
			return func(in Input[*Node]) []*Node {
				z, _ := enc.forward(in, Training)
				return gradients(enc, z, g.NumNodes())
			}
		}
		want, got := run(t, e, tight, g, build(tight)), run(t, e, padded, g, build(padded))
		for i := range want {
			// Sums of other lengths round in another order, through five normalizations and softmaxes of float32.
			requireClose(t, want[i], got[i], 4e-5, "output %d", i)
		}
	})
}

// With all neighbors drawn, a sample's embeddings are those of the whole graph, and so are the gradients.
func TestUnlimitedSampleOfGATIsTheWholeGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, g := range testGraphs(t) {
			if name == "sparse" {
				continue // the dense one has its edges
			}
			enc, whole := smallGAT(t, e, 5, 3, SizeOf(g)), smallGAT(t, e, 5, 3, SizeOf(g))
			enc.Config.SampleFanOut = []int{0, 0, 0}
			sampler := NewSampler(g, enc.Config.SampleFanOut)
			targets := []int32{39, 0, 3, 17}
			got := onSample(t, e, enc, g, sampler.Draw(targets, nil, 1), Inference,
				func(z *Node) []*Node { return []*Node{z} })
			want := embed(t, enc, g)
			for i, v := range targets {
				requireClose(t, wide(want[4*v:4*v+4]), got[0][4*i:4*i+4], 1e-5, name)
			}

			all := make([]int32, 40)
			for i := range all {
				all[i] = int32(39 - i)
			}
			got = onSample(t, e, enc, g, sampler.Draw(all, nil, 1), Training, func(z *Node) []*Node {
				return gradients(enc, Reverse(z, 0), 40)
			})
			exact := run(t, e, whole, g, func(in Input[*Node]) []*Node {
				z, _ := whole.forward(in, Training)
				return gradients(whole, z, 40)
			})
			for i := range exact {
				requireClose(t, exact[i], got[i], 1e-4, "%s, output %d", name, i)
			}
			require.InDeltaMapValues(t, totals(readGAT(t, whole)), totals(readGAT(t, enc)), 1e-5)
		}
	})
}

// totals adds up each variable.
func totals(r *gatReference) map[string]float64 {
	out := map[string]float64{}
	for name, values := range r.variables {
		for _, v := range values {
			out[name] += v
		}
	}
	return out
}

// A sample of few neighbors attends over those drawn.
func TestSampledGATAgainstFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 200, 5, 2)
		enc := smallGAT(t, e, 5, 3, SizeOf(g))
		enc.Config.SampleFanOut = []int{2, 3, 2}
		n := NewSampler(g, enc.Config.SampleFanOut).Draw([]int32{0, 5, 100, 3, 199}, twoThirds{}, 9)
		ref := readGAT(t, enc)
		features := g.Features.Select(n.Nodes)
		x := features.Matrix()
		got := onSample(t, e, enc, g, n, Training, func(z *Node) []*Node { return gradients(enc, z, 5) })
		requireGradients(t, enc, ref, n.drawn(), x, got)
	})
}

// Layer by layer the embeddings are the same, whether all nodes are one chunk or there are several with a rest.
func TestLayerwiseGATIsTheWholeGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		graphs := testGraphs(t)
		graphs["in chunks of 64"] = tall(t, 150, 1<<16, 1)
		for name, g := range graphs {
			enc := smallGAT(t, e, g.Features.Cols, 3, SizeOf(g))
			want := embed(t, enc, g)
			before := g.Features.Select([]int32{0, 1})
			requireClose(t, wide(want), wide(embedLarge(t, enc, g)), 1e-5, name)
			require.Equal(t, before, g.Features.Select([]int32{0, 1}), "the features are read alone")
		}
	})
}

func TestGATIsFrozen(t *testing.T) {
	e, g := enginetest.Go(t), randomGraph(t, 20, 5, 1)
	enc := smallGAT(t, e, 5, 2, SizeOf(g))
	require.NoError(t, enc.Freeze())
	for _, name := range enc.names {
		student, teacher := enc.store.Scope(Scope).GetVariable(name),
			enc.store.Scope(TeacherScope).GetVariable(name)
		want, err := student.Value()
		require.NoError(t, err)
		got, err := teacher.Value()
		require.NoError(t, err)
		require.Equal(t, tensors.MustCopyFlatData[float32](want), tensors.MustCopyFlatData[float32](got), name)
		require.False(t, teacher.Trainable, name)
	}
}

// The paper's shape, and PyTorch Geometric's bounds of the weights.
func TestGATStartsAsPyTorchGeometricHasIt(t *testing.T) {
	c := DefaultGAT()
	require.NoError(t, c.Validate())
	shapes := map[string][]int{}
	for _, v := range c.architecture().variables(602, rand.New(rand.NewPCG(1, 1))) {
		shapes[v.Name] = v.Value.Shape().Dimensions
		if len(shapes[v.Name]) == 2 {
			bound := math.Sqrt(6 / float64(shapes[v.Name][0]+shapes[v.Name][1]))
			w := tensors.MustCopyFlatData[float32](v.Value)
			require.InDelta(t, bound, slices.Max(w), 0.02*bound, v.Name)
			require.InDelta(t, -bound, slices.Min(w), 0.02*bound, v.Name)
		}
	}
	require.Len(t, shapes, 3*5+2*4)
	require.Equal(t, []int{602, 1024}, shapes["layer1_weight"])
	require.Equal(t, []int{4, 256}, shapes["layer1_attention_source"])
	require.Equal(t, []int{602, 1024}, shapes["layer1_skip_weight"])
	require.Equal(t, []int{1024}, shapes["layer1_bias"])
	require.Equal(t, []int{1024}, shapes["layer2_norm_scale"])
	require.Equal(t, []int{1024, 1024}, shapes["layer2_weight"])
	require.Equal(t, []int{1024, 1024}, shapes["layer3_weight"])
	require.Equal(t, []int{1024, 256}, shapes["layer3_skip_weight"])
	require.Equal(t, []int{256}, shapes["layer3_bias"])
}

func TestGATRefuses(t *testing.T) {
	err := Config{Kind: GAT, Hidden: 1, Out: 1, Momentum: 0.1, WholeGraph: 10, SampleFanOut: []int{1}}.Validate()
	for _, field := range []string{"layers is 0", "heads is 0",
		"sample_fan_out is [1], want a number for each of the 0 layers"} {
		require.ErrorContains(t, err, field)
	}
	err = Config{Hidden: 1, Out: 1, Momentum: 0.1, Layers: 3, Heads: 4}.Validate()
	for _, field := range []string{"layers is 3, want 0: a gcn has two", "heads is 4, want 0: a gcn has none"} {
		require.ErrorContains(t, err, field)
	}
}
