package baseline

import (
	"context"
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
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// pairedGraph has random edges among all nodes but the last, and random features.
func pairedGraph(t *testing.T, n, features int) *graph.Graph {
	rng := seed.Stream(5, "graph", n, features)
	var src, dst []int32
	for range 2 * n {
		src, dst = append(src, int32(rng.IntN(n-1))), append(dst, int32(rng.IntN(n-1)))
	}
	x := make([]float32, n*features)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return graphOf(t, n, src, dst, x)
}

func graphOf(t *testing.T, n int, src, dst []int32, x []float32) *graph.Graph {
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: len(x) / n, Dense: x}}
}

// cliques are groups of nodes joined within each and by nothing else; the features tell the nodes apart.
func cliques(t *testing.T, groups, width int) *graph.Graph {
	var src, dst []int32
	n := groups * width
	x := make([]float32, n*n)
	for i := range n {
		x[i*n+i] = 1
		for j := i / width * width; j < i; j++ {
			src, dst = append(src, int32(i)), append(dst, int32(j))
		}
	}
	return graphOf(t, n, src, dst, x)
}

// cliquesByColumn is cliques whose nodes have their clique's column alone.
func cliquesByColumn(t *testing.T, groups, width int) *graph.Graph {
	g := cliques(t, groups, width)
	for i := range g.NumNodes() {
		row := g.Features.Dense[i*g.Features.Cols : (i+1)*g.Features.Cols]
		clear(row)
		row[i/width] = 1
	}
	return g
}

// built makes a learner for a graph, with room for more nodes.
func built[L any](t *testing.T, e *engine.Engine, s method.Settings, fresh func(method.Build) (continual.Method, error),
	g *graph.Graph, room int) L {
	size := encoder.SizeOf(g)
	size.Nodes += room
	size.Chunks[0] += room
	l, err := fresh(method.Build{Engine: e, Settings: s, Seed: 3, Stream: method.Stream{Features: g.Features.Cols,
		Classes: 2, Sizes: []encoder.Size{size}}})
	require.NoError(t, err)
	return any(l).(L)
}

// parameters returns a net's variables in float64, by name.
func parameters(t *testing.T, net *encoder.Net) map[string][]float64 {
	all, err := net.Snapshot()
	require.NoError(t, err)
	out := map[string][]float64{}
	for name, data := range all {
		for _, v := range data {
			out[name] = append(out[name], float64(v))
		}
	}
	return out
}

// requireGradients holds a loss and its gradients in all variables of a net against a reference in float64 and its
// central differences. The reference reads p, whose values are moved.
func requireGradients[T, N any](t *testing.T, net *encoder.Net, loss func(in N) train.Loss, inputs T,
	p map[string][]float64, reference func() float64) {
	f, err := engine.NewNamed[T](net.Engine(), "gradients", net.Store(), func(in N) []*Node {
		value := loss(in).Total
		var variables []*Node
		for _, name := range net.Names() {
			variables = append(variables, net.Node(value.Graph(), name))
		}
		return append([]*Node{value}, Gradient(value, variables...)...)
	})
	require.NoError(t, err)
	out, err := f.Call(inputs)
	require.NoError(t, err)
	require.InDelta(t, reference(), float64(tensors.ToScalar[float32](out[0])), 1e-5)
	for i, name := range net.Names() {
		got, want := tensors.MustCopyFlatData[float32](out[i+1]), numeric.Gradient(p[name], 1e-5, reference)
		require.Len(t, got, len(want))
		for k := range got {
			require.InDelta(t, want[k], float64(got[k]), 2e-5, "%s[%d]", name, k)
		}
	}
}

// gaeScores returns ZZᵀ in float64.
func gaeScores(g *graph.Graph, s *GAESettings, p map[string][]float64) *mat.Dense {
	hat, x := graphtest.Hat(&g.Adjacency), g.Features.Matrix()
	var h, z, scores mat.Dense
	h.Product(hat, x, mat.NewDense(g.Features.Cols, s.Hidden, p["weight1"]))
	h.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, &h)
	z.Product(hat, &h, mat.NewDense(s.Hidden, s.Out, p["weight2"]))
	scores.Mul(&z, z.T())
	return &scores
}

func isEdge(g *graph.Graph, i, j int) bool {
	return slices.Contains(g.Adjacency.Neighborhood(i), int32(j))
}

func minusLogSigma(s float64) float64 { return -math.Log(1 / (1 + math.Exp(-s))) }

func tinyGAE() *GAESettings {
	return &GAESettings{Hidden: 5, Out: 3, LearningRate: 0.01, Epochs: 4, DenseNodes: 100, Pairs: 3}
}

// The loss over all pairs as Kipf and Welling's code has it: norm · mean of the cross-entropy weighted with pos_weight.
func TestGAEOnAllPairs(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g, s := pairedGraph(t, 11, 6), tinyGAE()
		l := built[*gae](t, e, s, newGAE, g, 5)
		in, err := l.graphs.UploadInput(g)
		require.NoError(t, err)
		defer in.Release()
		p := parameters(t, l.net)
		inputs := pairs[*tensors.Tensor]{Weights: densePairs(&g.Adjacency, in.Rows()), Graph: in.Input}
		requireGradients(t, l.net, l.denseLoss, inputs, p, func() float64 {
			scores, n, sum := gaeScores(g, s, p), g.NumNodes(), 0.0
			entries, all := float64(len(g.Adjacency.Neighbors)), float64(n*n)
			for i := range n {
				for j := range n {
					if isEdge(g, i, j) || i == j {
						sum += (all - entries) / entries * minusLogSigma(scores.At(i, j))
					} else {
						sum += minusLogSigma(-scores.At(i, j))
					}
				}
			}
			return all / (2 * (all - entries)) * sum / all
		})
	})
}

// Where every pair is drawn, the loss on drawn pairs is the mean over edges and that over non-edges, with its whole
// gradient.
func TestGAEOnDrawnPairs(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g, s := pairedGraph(t, 11, 6), tinyGAE()
		l := built[*gae](t, e, s, newGAE, g, 5)
		in, err := l.graphs.UploadInput(g)
		require.NoError(t, err)
		defer in.Release()
		p := parameters(t, l.net)
		partners, weights := drawPairs(&g.Adjacency, 11, in.Rows(), seed.Stream(1))
		drawn := pairs[*tensors.Tensor]{Weights: weights, Partners: partners, Graph: in.Input}
		requireGradients(t, l.net, l.sampledLoss, drawn, p, func() float64 {
			scores, n := gaeScores(g, s, p), g.NumNodes()
			var sum, count [2]float64
			for i := range n {
				for j := range i {
					if isEdge(g, i, j) {
						sum[0], count[0] = sum[0]+minusLogSigma(scores.At(i, j)), count[0]+1
					} else {
						sum[1], count[1] = sum[1]+minusLogSigma(-scores.At(i, j)), count[1]+1
					}
				}
			}
			return sum[0]/count[0] + sum[1]/count[1]
		})
	})
}

// Each edge has the same weight on average, each non-edge too, and those of either sign sum to 1 in every draw.
func TestDrawPairsIsUnbiased(t *testing.T) {
	const n, k, rows, draws = 12, 2, 15, 4000
	g := pairedGraph(t, n, 1)
	mean := mat.NewDense(n, n, nil)
	for d := range draws {
		partners, weights := drawPairs(&g.Adjacency, k, rows, seed.Stream(9, d))
		index, weight := tensors.MustCopyFlatData[int32](partners), tensors.MustCopyFlatData[float32](weights)
		var on, off float64
		for u := range rows {
			seen := map[int32]bool{}
			for slot := range 2 * k {
				v, w := index[slot*rows+u], float64(weight[u*2*k+slot])
				if w == 0 {
					continue
				}
				require.False(t, seen[v], "drawn with replacement")
				seen[v] = true
				require.NotEqual(t, u, int(v))
				require.Equal(t, slot < k, isEdge(g, u, int(v)))
				require.Equal(t, slot < k, w > 0)
				on, off = on+max(w, 0), off+min(w, 0)
				mean.Set(u, int(v), mean.At(u, int(v))+w/draws)
			}
		}
		require.InDeltaSlice(t, []float64{1, -1}, []float64{on, off}, 1e-6)
	}
	entries := float64(len(g.Adjacency.Neighbors))
	for u := range n {
		for v := range n {
			switch {
			case u == v:
				require.Zero(t, mean.At(u, v))
			case isEdge(g, u, v):
				require.InEpsilon(t, 1/entries, mean.At(u, v), 0.15)
			default:
				require.InEpsilon(t, -1/(n*(n-1)-entries), mean.At(u, v), 0.15)
			}
		}
	}
}

func TestLogisticLossAtTheEnds(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func("logistic loss", func(in []*Node) []*Node {
			loss := logisticLoss(in[0], in[1])
			return []*Node{loss, Gradient(loss, in[0])[0]}
		})
		require.NoError(t, err)
		scores, weights := []float32{0, 0, 300, -300, 5}, []float32{2, -2, -1, -1, 0}
		out, err := f.Call(tensors.FromFlatDataAndDimensions(scores, 1, 5), tensors.FromFlatDataAndDimensions(weights,
			1, 5))
		require.NoError(t, err)
		require.InDelta(t, 4*math.Ln2+300, float64(tensors.ToScalar[float32](out[0])), 1e-4)
		require.InDeltaSlice(t, []float32{-1, 1, 1, 0, 0}, tensors.MustCopyFlatData[float32](out[1]), 1e-6)
	})
}

func TestGAEOnGraphsWithoutPairs(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, g := range map[string]*graph.Graph{
			"no edges":  graphOf(t, 3, nil, nil, []float32{1, 2, 3}),
			"all edges": cliques(t, 1, 3),
			"one node":  graphOf(t, 1, nil, nil, []float32{1}),
		} {
			for _, dense := range []int{0, 100} {
				s := tinyGAE()
				s.DenseNodes = dense
				_, err := built[*gae](t, e, s, newGAE, g, 0).Learn(context.Background(), 0, g, nil)
				require.NoError(t, err, "%s, all pairs of %d nodes", name, dense)
			}
		}
	})
}

// Edges come to score above non-edges, whether all pairs are decoded or drawn ones.
func TestGAEReconstructsTheGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := cliques(t, 4, 6)
		for _, dense := range []int{0, 100} {
			s := &GAESettings{Hidden: 16, Out: 8, LearningRate: 0.01, Epochs: 60, DenseNodes: dense, Pairs: 3}
			l := built[*gae](t, e, s, newGAE, g, 0)
			report, err := l.Learn(context.Background(), 0, g, nil)
			require.NoError(t, err)
			require.Less(t, report.LastLoss[0].Value, report.FirstLoss[0].Value)
			scores, n := gaeScores(g, s, parameters(t, l.net)), g.NumNodes()
			lowest, highest := math.Inf(1), math.Inf(-1) // of edges, of non-edges
			for i := range n {
				for j := range i {
					if isEdge(g, i, j) {
						lowest = min(lowest, scores.At(i, j))
					} else {
						highest = max(highest, scores.At(i, j))
					}
				}
			}
			require.Greater(t, lowest, highest, "all pairs of %d nodes", dense)
		}
	})
}

// requirePaddingFree trains with room to spare and without, and compares the embeddings.
func requirePaddingFree(t *testing.T, g *graph.Graph, fresh func(room int) continual.Learner) {
	var all [2]*continual.Embedding
	for i, room := range []int{0, 40} {
		l := fresh(room)
		_, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		all[i], err = l.Embed(context.Background(), g)
		require.NoError(t, err)
	}
	require.Equal(t, g.NumNodes(), all[1].Rows)
	require.InDeltaSlice(t, all[0].Data, all[1].Data, 1e-4)
}

func TestGAEPaddingChangesNothing(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 20, 6)
		for _, dense := range []int{0, 100} {
			s := tinyGAE()
			s.DenseNodes = dense
			requirePaddingFree(t, g, func(room int) continual.Learner { return built[*gae](t, e, s, newGAE, g, room) })
		}
	})
}
