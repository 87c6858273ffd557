package encoder

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// requireFits holds a bucket against a size: all nodes, and one chunk more than needed at every level, the padding.
func requireFits(t *testing.T, s, bucket Size) {
	t.Helper()
	require.GreaterOrEqual(t, bucket.Nodes, s.Nodes)
	require.GreaterOrEqual(t, len(bucket.Chunks), len(s.Chunks))
	for level, c := range s.Chunks {
		require.Greater(t, bucket.Chunks[level], c, "level %d", level)
	}
}

func randomSize(rng *rand.Rand) Size {
	s := Size{Nodes: 1 + rng.IntN(500)}
	for chunks := rng.IntN(2000); len(s.Chunks) < 1+rng.IntN(3); chunks /= 8 {
		s.Chunks = append(s.Chunks, chunks)
	}
	return s
}

func TestBucketsHoldWhatWasAnnounced(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		sizes := make([]Size, 1+rng.IntN(10))
		need := map[int]int{} // most level-0 chunks by bucket
		for i := range sizes {
			sizes[i] = randomSize(rng)
		}
		steps := 1 << rng.IntN(20)
		b := NewBuckets(nil, steps, sizes)
		shapes := map[string]bool{}
		for _, s := range sizes {
			bucket := b.Fit(s)
			requireFits(t, s, bucket)
			shapes[fmt.Sprint(bucket)] = true
			need[bucket.Nodes] = max(need[bucket.Nodes], s.Chunks[0])
		}
		if steps >= otherPrice { // a row of padding is dearer than a shape
			require.Len(t, shapes, len(need))
		}
		for _, s := range sizes {
			bucket := b.Fit(s)
			require.True(t, shapes[fmt.Sprint(bucket)], "an announced size changed its shape")
			require.Equal(t, need[bucket.Nodes]+1, bucket.Chunks[0], "no more room than announced")
		}
	}
}

// Graphs of 100, 110 and 500 nodes share one shape when there are few steps on each, two when there are more, and have
// one each when there are many.
func TestBucketsWeighPaddingAgainstCompiling(t *testing.T) {
	sizes := []Size{{Nodes: 100}, {Nodes: 110}, {Nodes: 500}}
	for steps, want := range map[int]int{1: 1, 100: 2, 300: 3} {
		require.Len(t, NewBuckets(nil, steps, sizes).sizes, want, "%d steps", steps)
	}
}

func TestBucketsGrowOnSurprise(t *testing.T) {
	b := NewBuckets(nil, 200, []Size{{Nodes: 100, Chunks: []int{399}}})
	fit := func(s Size) Size {
		s = b.Fit(s)
		s.drawn = nil // see TestMaskedRoom
		return s
	}
	require.Equal(t, Size{Nodes: 101, Chunks: []int{400}}, fit(Size{Nodes: 50, Chunks: []int{10}}))
	require.Equal(t, Size{Nodes: 101, Chunks: []int{500}}, fit(Size{Nodes: 50, Chunks: []int{400}}), "by a quarter")
	require.Equal(t, Size{Nodes: 101, Chunks: []int{901}}, fit(Size{Nodes: 50, Chunks: []int{900}}),
		"or as much as is needed")
	require.Equal(t, Size{Nodes: 101, Chunks: []int{1126, 8}}, fit(Size{Nodes: 50, Chunks: []int{1, 7}}),
		"a level of its own, and a quarter more of the others")
	require.Equal(t, Size{Nodes: 201, Chunks: []int{21}}, fit(Size{Nodes: 200, Chunks: []int{20}}),
		"a shape of its own")
	require.Equal(t, Size{Nodes: 201, Chunks: []int{21}}, fit(Size{Nodes: 101, Chunks: []int{0}}))
	b = NewBuckets(nil, 200, nil)
	require.Equal(t, Size{Nodes: 8, Chunks: []int{4}}, fit(Size{Nodes: 7, Chunks: []int{3}}), "nothing announced")
}

// By hand: the hub of a star of 70 leaves sums 71 rows in ⌈71/16⌉ = 5 chunks, then in 1. The leaves and the node apart
// have a chunk each. The room is the same where all edges point at the hub, and where all point away from it.
func TestSizeOfStar(t *testing.T) {
	in := star(t, 72)
	in.Offsets, in.Neighbors, in.Directed = slices.Repeat([]int64{70}, 73), in.Neighbors[:70], true
	in.Offsets[0] = 0
	for _, a := range []graph.Adjacency{star(t, 72), in, in.Transposed()} {
		require.NoError(t, a.Validate())
		require.Equal(t, Size{Nodes: 72, Chunks: []int{76, 1}}, SizeOf(&graph.Graph{Adjacency: a}))
	}
}

func TestNewBatchLaysOutFeaturesTransposed(t *testing.T) {
	for _, seed := range []uint64{1, 2} { // sparse and dense
		g := randomGraph(t, 10, 4, seed)
		size := NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g))
		size.Nodes += 3
		b, err := NewBatch(g, size)
		require.NoError(t, err)
		x, mask := tensors.MustCopyFlatData[float32](b.X.Transposed), tensors.MustCopyFlatData[float32](b.Mask)
		row := make([]float32, 4)
		for i := range size.Nodes {
			clear(row)
			if i < 10 {
				g.Features.CopyRow(i, row)
			}
			for c, v := range row {
				require.Equal(t, v, x[c*size.Nodes+i])
			}
			require.Equal(t, i < 10, mask[i] == 1)
		}
	}
}

func TestNewBatchRefuses(t *testing.T) {
	g := randomGraph(t, 40, 2, 1) // its hub has two levels
	fits := NewBuckets(nil, 200, []Size{SizeOf(g)}).Fit(SizeOf(g))
	_, err := NewBatch(&graph.Graph{}, fits)
	require.ErrorContains(t, err, "no nodes")

	short := *g
	short.Features.Rows = 39
	_, err = NewBatch(&short, fits)
	require.ErrorContains(t, err, "40 nodes but 39 feature rows")

	for name, size := range map[string]Size{
		"nodes":  {Nodes: 40, Chunks: fits.Chunks},
		"levels": {Nodes: 41, Chunks: fits.Chunks[:1]},
		"chunks": {Nodes: 41, Chunks: []int{fits.Chunks[0] - 1, fits.Chunks[1]}},
	} {
		_, err = NewBatch(g, size)
		require.ErrorContains(t, err, name)
	}
}

func TestOperatorRefuses(t *testing.T) {
	size := SizeOf(randomGraph(t, 20, 2, 1))
	fits := NewBuckets(nil, 200, []Size{size}).Fit(size)
	larger := randomGraph(t, 21, 2, 1)
	_, err := Config{}.NewOperator(fits, &larger.Adjacency)
	require.ErrorContains(t, err, "21 nodes")
}
