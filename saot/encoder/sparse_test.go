package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// wordsGraph has no edges, and features of which most are 0: many columns with few nodes, some with all of them, some
// with none, and nodes without a word.
func wordsGraph(nodes, cols int, seed uint64) *graph.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := graph.Features{Rows: nodes, Cols: cols, Offsets: []int64{0}}
	for i := range nodes {
		for c := range cols {
			share := 0.05
			switch {
			case c == 0:
				share = 1
			case c%10 == 3 || i%17 == 5:
				share = 0
			}
			if rng.Float64() < share {
				f.Columns, f.Values = append(f.Columns, int32(c)), append(f.Values, float32(rng.NormFloat64()))
			}
		}
		f.Offsets = append(f.Offsets, int64(len(f.Values)))
	}
	return &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, nodes+1)}, Features: f}
}

func denseCopy(g *graph.Graph) *graph.Graph {
	dense := graph.Features{Rows: g.Features.Rows, Cols: g.Features.Cols,
		Dense: make([]float32, g.Features.Rows*g.Features.Cols)}
	for i := range dense.Rows {
		g.Features.CopyRow(i, dense.Dense[i*dense.Cols:(i+1)*dense.Cols])
	}
	return &graph.Graph{Adjacency: g.Adjacency, Features: dense}
}

// Propagated sparse features are those of the dense copy, with nothing stored twice or out of order.
func TestPropagatedSparseFeatures(t *testing.T) {
	g := wordsGraph(120, 80, 3)
	directed := graph.Adjacency{Offsets: make([]int64, 121), Neighbors: []int32{0, 4, 9}, Directed: true}
	for i := 7; i <= 120; i++ {
		directed.Offsets[i] = int64(min(3, i-6)) // rows 6 to 8 have an entry each
	}
	for _, a := range []graph.Adjacency{g.Adjacency, directed} {
		g.Adjacency = a
		got := Propagated(g)
		require.NoError(t, got.Validate())
		require.Less(t, len(got.Values), 120*80)
		want := Propagated(denseCopy(g))
		require.InDeltaSlice(t, want.Dense, denseCopy(&graph.Graph{Features: *got}).Features.Dense, 1e-6)
	}
}

// On the path 0 – 1 – 2 the entries of Â are 1/2, 1/√6, 1/3, and 0 between the ends; here is the first column of Â².
func TestPropagatedByHand(t *testing.T) {
	a, err := graph.NewAdjacency(3, []int32{0, 1}, []int32{1, 2})
	require.NoError(t, err)
	g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: 3, Cols: 1, Dense: []float32{1, 0, 0}}}
	require.InDeltaSlice(t, []float64{1./4 + 1./6, (1./2 + 1./3) / math.Sqrt(6), 1. / 6}, Propagated(g).Dense, 1e-7)
	used := []float32{7, 7}
	propagateRows(used, &a, &g.Features, inverseRoots(&a), 1, 3)
	require.InDeltaSlice(t, []float64{1 / math.Sqrt(6), 0}, used, 1e-7, "what the rows held does not count")
}

// Sparse and dense features give the same products and gradients, of all columns and with some masked. The columns of
// the larger graph have thousands of entries, and so several levels of chunks.
func TestSparseIsDense(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, size := range [][2]int{{40, 60}, {3000, 30}, {1, 300}} {
			g := wordsGraph(size[0], size[1], 3)
			denseOut := projections(t, e, denseCopy(g), 0)
			for _, frequent := range []int{0, 1, 8, size[1]} {
				sparseOut := projections(t, e, g, frequent)
				for i, want := range denseOut {
					require.InDeltaSlice(t, want, sparseOut[i], 2e-4, "output %d of %v, %d frequent", i, size, frequent)
				}
				require.Equal(t, sparseOut, projections(t, e, g, frequent), "bit for bit")
			}
		}
	})
}

// projections returns the products of both views, of which one or both mask columns, the gradient of a function of both
// with respect to the weight, and which words there are. A number of columns are dense if the others are sparse.
func projections(t *testing.T, e *engine.Engine, g *graph.Graph, frequent int) (out [][]float32) {
	t.Helper()
	cols := g.Features.Cols
	enc := small(t, e, cols, SizeOf(g))
	enc.Graphs.buckets.sparse, enc.Graphs.buckets.frequent = 0.1, frequent
	b, err := enc.Graphs.Upload(g)
	require.NoError(t, err)
	require.Equal(t, g.Features.IsDense(), b.X.Sparse == nil)
	require.Equal(t, frequent > 0, b.X.Sparse != nil && b.X.Sparse.Frequent != nil)
	defer b.Release()
	type inputs[T any] struct {
		X      Features[T]
		Masked Masked[T]
	}
	f, err := engine.NewNamed[inputs[*tensors.Tensor]](e, t.Name(), enc.store, func(in inputs[*Node]) []*Node {
		scope := enc.store.Scope(Scope)
		views := enc.Config.ProjectViews(scope, in.X, nil, in.Masked)
		n := views[0].Shape().Dim(0) / 2
		rows := []*Node{head(views[0], g.NumNodes()), head(Slice(views[0], AxisRange(n)), g.NumNodes())}
		loss := ReduceAllSum(Add(Sin(rows[0]), Square(rows[1])))
		weight := valueOf(scope, loss.Graph(), inputWeight)
		return append(rows, Gradient(loss, weight)[0], words(in.X))
	})
	require.NoError(t, err)
	last := int32(cols - 1)
	for _, masked := range [][2][]int32{{nil, {0, last}}, {{1}, {0, last}}, {{1, last}, {0, last}}} {
		tensorsOut, err := f.Call(inputs[*tensors.Tensor]{b.X, b.Masked(masked)})
		require.NoError(t, err)
		for _, x := range tensorsOut {
			out = append(out, tensors.MustCopyFlatData[float32](x))
		}
		if b.X.Sparse != nil && slices.Contains(masked[0], last) {
			gradient, width := out[len(out)-2], enc.Config.Hidden
			require.Equal(t, make([]float32, width), gradient[len(gradient)-width:], "masked in both views")
		}
	}
	return out
}

// By hand: all of 150 nodes have the most frequent word of their graph, and 60 + 20 have the next ones. A dense column
// costs 30 entries, the product 3,000. So 57 next ones save 120 + 57·50 = 2,970 entries, too few, and 58 save 3,020.
// A graph whose features are dense counts for nothing.
func TestFrequentColumns(t *testing.T) {
	words := func(nodes, often, columns int) Size {
		s := Size{Nodes: nodes, Words: make([]int, 200)}
		for k := range columns {
			s.Words[(7*k+nodes)%200] = often // another order in each graph
		}
		s.Words[(7*columns+nodes)%200] = nodes
		s.Entries = nodes + often*columns
		return s
	}
	b := &Buckets{sparse: 0.2}
	for columns, want := range map[int]int{57: 0, 58: 59} {
		sizes := []Size{words(100, 60, columns), words(50, 20, columns), words(30, 30, 199)}
		require.Equal(t, want, b.frequentColumns(sizes), "%d", columns)
	}
	require.Zero(t, b.frequentColumns(nil))
}

// Room for announced features holds graphs with about as many words, and grows on surprise.
func TestSparseRoom(t *testing.T) {
	few, many := wordsGraph(50, 80, 1), wordsGraph(3000, 80, 2)
	b := NewBuckets(nil, 200, []Size{SizeOf(few), {Nodes: 3000}})
	b.sparse = 0.1
	require.Empty(t, b.Fit(b.SizeOf(denseCopy(few))).Rows)
	b = &Buckets{sparse: 0.1, sizes: []Size{{Nodes: 51}, {Nodes: 3001}}}
	fits := b.Fit(b.SizeOf(few))
	require.NotEmpty(t, fits.Columns)
	batch, err := NewBatch(many, b.Fit(b.SizeOf(many)))
	require.NoError(t, err)
	require.NotNil(t, batch.X.Sparse)
	require.Nil(t, batch.X.Transposed)
	require.Equal(t, fits, b.Fit(b.SizeOf(few)), "another bucket's surprise")
	words := wordsGraph(40, 80, 3)
	b.sparse = 0.01 // too many entries to be sparse, in a bucket of sparse features
	batch, err = NewBatch(words, b.Fit(b.SizeOf(words)))
	require.NoError(t, err)
	require.Nil(t, batch.X.Sparse)
	fits.Nodes = 4000
	_, err = NewBatch(many, fits)
	require.ErrorContains(t, err, "the batch has room for")
}

// All graphs of a shape have the same room for what a view masks. A view that needs more widens it for all.
func TestMaskedRoom(t *testing.T) {
	small, large := wordsGraph(60, 80, 1), wordsGraph(100, 80, 2)
	b := NewBuckets(nil, 1, []Size{SizeOf(small), SizeOf(large)})
	b.sparse = 0.1
	batches := make([]*Batch, 2)
	for i, g := range []*graph.Graph{small, large} {
		b.Fit(b.SizeOf(large))
		var err error
		batches[i], err = NewBatch(g, b.Fit(b.SizeOf(g)))
		require.NoError(t, err)
	}
	few, many := []int32{60, 61}, make([]int32, 80)
	for i := range many {
		many[i] = int32(i)
	}
	chunks := func(b *Batch, columns []int32) int {
		return b.Masked([2][]int32{columns, {3}}).Entries.Weight.Shape().Dim(1)
	}
	room := chunks(batches[0], few)
	require.Equal(t, room, chunks(batches[1], []int32{60, 61, 62}), "a larger graph of the same shape")
	require.Greater(t, chunks(batches[1], many), room)
	require.Equal(t, chunks(batches[1], many), chunks(batches[0], few))
	require.Empty(t, batches[0].Masked([2][]int32{}))
}

// Samples with sparse features give the products and gradients of dense ones, with columns masked and without, and
// steps share a shape.
func TestSparseSamplesAreDense(t *testing.T) {
	g := wordsGraph(400, 300, 3)
	var from, to []int32
	rng := rand.New(rand.NewPCG(5, 1))
	for range 700 {
		from, to = append(from, int32(rng.IntN(400))), append(to, int32(rng.IntN(400)))
	}
	var err error
	g.Adjacency, err = graph.NewAdjacency(400, from, to)
	require.NoError(t, err)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, kind := range []Kind{GCN, GAT} {
			sparse, dense := sampleProducts(t, e, g, kind), sampleProducts(t, e, denseCopy(g), kind)
			require.NotEmpty(t, sparse)
			for i, want := range dense {
				require.InDeltaSlice(t, want, sparse[i], 1e-4, "%v, output %d", kind, i)
			}
		}
	})
}

// sampleProducts returns, of three samples, the first one's columns not masked, the product with a weight, its gradient
// and which words there are.
func sampleProducts(t *testing.T, e *engine.Engine, g *graph.Graph, kind Kind) (out [][]float32) {
	t.Helper()
	cols := g.Features.Cols
	gs := NewGraphs(cols, NewBuckets(e, 200, nil))
	gs.buckets.sampled.density = 0.5
	s := gs.Sampler(g, []int{3, 2})
	net := NewNet(e)
	require.NoError(t, net.Add(Variable{Name: "weight", Value: Glorot(cols, 7, rand.New(rand.NewPCG(1, 2)))}))
	f, err := engine.NewNamed[Sample[*tensors.Tensor]](e, t.Name(), net.store, func(in Sample[*Node]) []*Node {
		weight := net.Node(in.Layers[0].Forward.Roots.Graph(), "weight")
		n := Nodes{Input: Input[*Node]{Sample: &in}}
		product := n.Times(weight)
		loss := ReduceAllSum(Sin(product))
		return []*Node{product, Gradient(loss, weight)[0], n.Words()}
	})
	require.NoError(t, err)
	shapes := map[int]bool{}
	for k := range 3 {
		targets := []int32{int32(k), 7, 300, 399, int32(100 + k)}
		sample, err := s.SampleAlike(Config{Kind: kind, Layers: 2}, s.Draw(targets, nil, uint64(k)))
		require.NoError(t, err)
		require.Equal(t, g.Features.IsDense(), sample[0].Sparse == nil)
		if k > 0 {
			sample[0].Keep = tensors.FromFlatDataAndDimensions(Unmasked(cols, []int32{0, int32(k), 298}), cols, 1)
		}
		if sample[0].Sparse != nil {
			shapes[sample[0].Sparse.Columns.Weight.Shape().Dim(1)] = true
		}
		results, err := f.Call(sample[0])
		require.NoError(t, err)
		require.Equal(t, results[0].Shape().Dim(0), sample[0].NumRows())
		for _, x := range results {
			out = append(out, tensors.MustCopyFlatData[float32](x))
		}
	}
	require.LessOrEqual(t, len(shapes), 1)
	return out
}

// The skips of a sampled GAT have a row for each target and none for its neighbors, with dense and with sparse features
// of which some are masked. Values and gradients of both are the same.
func TestSkipsReadTargetsAlone(t *testing.T) {
	g := wordsGraph(300, 18, 3)
	g.Adjacency = chords(t, 300, 1).Adjacency
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for layers := 1; layers <= 2; layers++ {
			dense, sparse := skips(t, e, denseCopy(g), layers), skips(t, e, g, layers)
			require.Len(t, sparse, len(dense))
			for i, want := range dense {
				requireClose(t, want, sparse[i], 1e-4, "%d layers, output %d", layers, i)
			}
		}
	})
}

// skips returns the value and the gradients of a GAT with a number of layers, on a sample of 8 targets. Only the skip
// of its last layer has 5 columns.
func skips(t *testing.T, e *engine.Engine, g *graph.Graph, layers int) [][]float64 {
	t.Helper()
	const targets, width = 8, 5
	c := Config{Kind: GAT, Hidden: 3, Out: width, Layers: layers, Heads: 3, Momentum: 0.1,
		SampleFanOut: []int{5, 5}[:layers]}
	enc, err := New(e, c, g.Features.Cols, NewBuckets(nil, 200, nil), rand.New(rand.NewPCG(5, 5)))
	require.NoError(t, err)
	enc.Graphs.buckets.sampled.density = 0.5
	s := enc.Graphs.Sampler(g, c.SampleFanOut)
	samples, err := s.SampleAlike(c, s.Draw([]int32{9, 0, 50, 120, 121, 200, 250, 299}, nil, 4))
	require.NoError(t, err)
	sample := samples[0]
	require.Equal(t, g.Features.IsDense(), sample.Sparse == nil)
	sample.Keep = tensors.FromFlatDataAndDimensions(Unmasked(g.Features.Cols, []int32{0, 7}), g.Features.Cols, 1)
	f, err := engine.NewNamed[Sample[*tensors.Tensor]](e, t.Name(), enc.store, func(in Sample[*Node]) []*Node {
		z := enc.Config.EncodeSample(enc.store.Scope(Scope), in, Training)
		rows := 0
		for _, x := range z.Graph().Nodes() {
			if x.Rank() == 2 && x.Shape().Dim(1) == width {
				rows = max(rows, x.Shape().Dim(0))
			}
		}
		require.Less(t, rows, 3*targets, "of %d rows", in.NumRows())
		return gradients(enc, z, targets)
	})
	require.NoError(t, err)
	out, err := f.Call(sample)
	require.NoError(t, err)
	return flats(out)
}
