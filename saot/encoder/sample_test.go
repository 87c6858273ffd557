package encoder

import (
	"math"
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

// onSample evaluates a graph function of a sample's embeddings.
func onSample(t *testing.T, e *engine.Engine, enc *Encoder, g *graph.Graph, n *Neighborhood, mode Mode,
	build func(z *Node) []*Node) [][]float64 {
	t.Helper()
	s := NewSampler(g, enc.Config.SampleFanOut)
	sample, err := s.SampleAlike(enc.Config, n)
	require.NoError(t, err)
	f, err := engine.NewNamed[Sample[*tensors.Tensor]](e, t.Name(), enc.store, func(in Sample[*Node]) []*Node {
		return build(enc.Config.EncodeSample(enc.store.Scope(Scope), in, mode))
	})
	require.NoError(t, err)
	out, err := f.Call(sample[0])
	require.NoError(t, err)
	return flats(out)
}

// With all neighbors drawn, some nodes' embeddings are those of the whole graph, and so are BatchNorm's statistics and
// the gradients where all nodes are targets.
func TestUnlimitedSampleIsTheWholeGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, seed := range []uint64{1, 2} {
			g := randomGraph(t, 60, 5, seed)
			enc := small(t, e, 5, SizeOf(g))
			enc.Config.SampleFanOut = []int{0, 0}
			targets := []int32{59, 0, 3, 17}
			n := NewSampler(g, enc.Config.SampleFanOut).Draw(targets, nil, 1)
			got := onSample(t, e, enc, g, n, Inference, func(z *Node) []*Node { return []*Node{z} })
			want := embed(t, enc, g)
			for i, v := range targets {
				requireClose(t, wide(want[3*v:3*v+3]), got[0][3*i:3*i+3], 1e-5)
			}
		}

		g := randomGraph(t, 60, 5, 2)
		enc, whole := small(t, e, 5, SizeOf(g)), small(t, e, 5, SizeOf(g))
		enc.Config.SampleFanOut = []int{0, 0}
		all := make([]int32, 60)
		for i := range all {
			all[i] = int32(59 - i) // the order of the targets is their own
		}
		loss := func(enc *Encoder, z *Node) []*Node {
			variables := []*Node{}
			for _, name := range []string{inputWeight, outputWeight, normScale, normOffset, slope, outputBias} {
				variables = append(variables, valueOf(enc.store.Scope(Scope), z.Graph(), name))
			}
			value := ReduceAllSum(Sin(Slice(z, AxisRange(0, 60))))
			return append([]*Node{value}, Gradient(value, variables...)...)
		}
		n := NewSampler(g, enc.Config.SampleFanOut).Draw(all, nil, 1)
		got := onSample(t, e, enc, g, n, Training, func(z *Node) []*Node { return loss(enc, z) })
		want := run(t, e, whole, g, func(in Input[*Node]) []*Node {
			z, _ := whole.forward(in, Training)
			return loss(whole, z)
		})
		for i := range want {
			requireClose(t, want[i], got[i], 1e-4, "output %d", i)
		}
		requireClose(t, read(t, whole).mean, read(t, enc).mean, 1e-5)
		requireClose(t, read(t, whole).variance, read(t, enc).variance, 1e-5)
	})
}

// What a sample computes, once more densely from its lists: Â_ij = s_i g_i s_j on the drawn neighbors and s_i² on the
// node itself, with the degrees of the view. Gradients come by central differences of that.
func TestSampleAgainstDenseFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 200, 5, 2)
		enc := small(t, e, 5, SizeOf(g))
		enc.Config.SampleFanOut = []int{2, 3}
		n := NewSampler(g, enc.Config.SampleFanOut).Draw([]int32{0, 5, 100, 3, 199}, twoThirds{}, 9)
		a2, a1 := n.dense(0), n.dense(1)
		x := mat.NewDense(len(n.Nodes), 5, nil)
		row := make([]float32, 5)
		for i, v := range n.Nodes {
			g.Features.CopyRow(int(v), row)
			x.SetRow(i, wide(row))
		}
		names := []string{inputWeight, outputWeight}
		got := onSample(t, e, enc, g, n, Training, func(z *Node) []*Node {
			value := ReduceAllSum(Sin(z))
			var variables []*Node
			for _, name := range names {
				variables = append(variables, valueOf(enc.store.Scope(Scope), z.Graph(), name))
			}
			return append([]*Node{z}, Gradient(value, variables...)...)
		})
		ref := read(t, small(t, e, 5, SizeOf(g)))
		forward := func() *mat.Dense {
			r := *ref // training mode moves the averages
			r.mean, r.variance = slices.Clone(ref.mean), slices.Clone(ref.variance)
			return r.layered(a1, a2, x, Training)
		}
		requireClose(t, forward().RawMatrix().Data, got[0], 1e-5)
		value := func() (sum float64) {
			for _, v := range forward().RawMatrix().Data {
				sum += math.Sin(v)
			}
			return sum
		}
		for i, w := range []*mat.Dense{ref.w1, ref.w2} {
			requireClose(t, numeric.Gradient(w.RawMatrix().Data, 1e-5, value), got[1+i], 2e-4, names[i])
		}
	})
}

// dense is a hop's propagation, [targets, nodes].
func (n *Neighborhood) dense(k int) *mat.Dense {
	h := n.hops[k]
	out := mat.NewDense(h.drawn.targets(), h.nodes, nil)
	s := func(i int) float64 { return 1 / math.Sqrt(float64(n.degree[i])+1) }
	for i := range h.drawn.targets() {
		drawn := h.drawn.of(i)
		for _, j := range drawn {
			out.Set(i, int(j), s(i)*s(int(j))*float64(n.degree[i])/float64(len(drawn)))
		}
		out.Set(i, i, s(i)*s(i))
	}
	return out
}

// Over many draws, a sampled layer's mean is the whole one: 4 of a hub's neighbors stand for all of them.
func TestSampledPropagationIsUnbiased(t *testing.T) {
	g := randomGraph(t, 80, 1, 2)
	s := NewSampler(g, []int{4})
	want := graphtest.Hat(&g.Adjacency)
	mean := make([]float64, 80)
	const draws = 20000
	for seed := range uint64(draws) {
		n := s.Draw([]int32{0}, nil, seed)
		row := n.dense(0)
		for k, v := range n.Nodes {
			mean[v] += row.At(0, k) / draws
		}
	}
	for j := range mean {
		require.InDelta(t, want.At(0, j), mean[j], 0.1*want.At(0, j), "node %d", j) // five standard deviations
	}
	var hub float64
	for j := range mean {
		hub += mean[j]
	}
	require.InDelta(t, mat.Sum(want.RowView(0)), hub, 0.005*hub)
}

// Padding, which shape a sample fits, and what else is in the graph change nothing.
func TestSampleShapesAreFew(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		shapes := map[string]bool{}
		for _, nodes := range []int{60, 500, 3000} {
			g := randomGraph(t, nodes, 5, 2)
			for seed := range uint64(20) {
				s := NewSampler(g, []int{3, 3})
				n := s.Draw([]int32{0, 1, 2, 3, 9, 12, 20, 30}, nil, seed)
				sample, err := s.SampleAlike(Config{SampleFanOut: []int{3, 3}}, n)
				require.NoError(t, err)
				shape := ""
				for _, x := range engine.Tensors(sample) {
					shape += x.Shape().String()
				}
				engine.Release(sample)
				shapes[shape] = true
			}
		}
		require.LessOrEqual(t, len(shapes), 4)
	})
}

// Neighborhoods laid out alike have one shape, which never shrinks, and the same contents as by themselves.
func TestSampleAlike(t *testing.T) {
	g := randomGraph(t, 200, 5, 2)
	c := Config{Hidden: 4, Out: 3, Momentum: 0.1, SampleFanOut: []int{2, 3}}
	lone, crowded := int32(-1), int32(0)
	for v := range int32(200) {
		switch near := g.Adjacency.Neighborhood(int(v)); {
		case len(near) == 0:
			lone = v
		case len(near) > len(g.Adjacency.Neighborhood(int(crowded))):
			crowded = v
		}
	}
	require.GreaterOrEqual(t, lone, int32(0))
	s := NewSampler(g, c.SampleFanOut)
	draw := func(v int32) *Neighborhood { return s.Draw([]int32{v}, nil, 1) }
	rows := func(all ...*Neighborhood) (n []int) {
		samples, err := s.SampleAlike(c, all...)
		require.NoError(t, err)
		for _, x := range samples {
			n = append(n, x.Rows.Shape().Dim(0))
		}
		return n
	}
	small := rows(draw(lone), draw(lone))
	require.Equal(t, small[0], small[1])
	large := rows(draw(lone), draw(crowded))
	require.Equal(t, large[0], large[1])
	require.Greater(t, large[0], small[0])
	require.Equal(t, large, rows(draw(lone), draw(lone)), "as large as before")

	alike, err := s.SampleAlike(c, draw(crowded))
	require.NoError(t, err)
	alone, err := NewSampler(g, c.SampleFanOut).SampleAlike(c, draw(crowded))
	require.NoError(t, err)
	require.True(t, alone[0].Rows.Equal(alike[0].Rows))
}
