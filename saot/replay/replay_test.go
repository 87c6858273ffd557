package replay

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// numbered is a random graph whose only feature is the node's id, so that a sampled node can be told.
func numbered(t *testing.T, n, edges int, rng *rand.Rand) *graph.Graph {
	t.Helper()
	var src, dst []int32
	for range edges {
		src, dst = append(src, int32(rng.IntN(n))), append(dst, int32(rng.IntN(n)))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	ids := make([]float32, n)
	for i := range ids {
		ids[i] = float32(i)
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: 1, Dense: ids}}
}

// nodesOf reads the ids back.
func nodesOf(g *graph.Graph) []int32 {
	nodes := make([]int32, g.Features.Rows)
	for i, id := range g.Features.Dense {
		nodes[i] = int32(id)
	}
	return nodes
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestAddKeepsExactlyTheBudgetWithAllEdges(t *testing.T) {
	g := numbered(t, 60, 150, random(1))
	for _, fanOut := range [][]int{nil, {1}, {10, 10}, {2, 3, 1}} {
		for _, budget := range []int{1, 7, 59, 60, 1000} {
			t.Run(fmt.Sprint(fanOut, budget), func(t *testing.T) {
				b := Buffer{Budget: budget, FanOut: fanOut}
				b.Add(g, random(2))
				require.Len(t, b.Subgraphs, 1)
				sub := b.Subgraphs[0]
				require.Equal(t, min(budget, 60), sub.NumNodes())
				requireInduced(t, g, sub)
			})
		}
	}
}

// requireInduced holds every pair of kept nodes against the graph.
func requireInduced(t *testing.T, g, sub *graph.Graph) {
	t.Helper()
	nodes := nodesOf(sub)
	require.Len(t, nodes, sub.NumNodes())
	require.True(t, slices.IsSorted(nodes))
	require.Len(t, slices.Compact(slices.Clone(nodes)), len(nodes), "a node stands twice")
	for i, u := range nodes {
		for j, v := range nodes {
			want := slices.Contains(g.Adjacency.Neighborhood(int(u)), v)
			require.Equal(t, want, slices.Contains(sub.Adjacency.Neighborhood(i), int32(j)), "edge %d–%d", u, v)
		}
	}
}

// A directed graph stays one through sampling, joining and a checkpoint, with each edge as it points.
func TestDirectionsAreKept(t *testing.T) {
	g := numbered(t, 60, 150, random(1))
	g.Adjacency = oneWay(&g.Adjacency)
	b := Buffer{Budget: 20, FanOut: []int{2, 2}}
	b.Add(g, random(2))
	sub := b.Subgraphs[0]
	require.True(t, sub.Adjacency.Directed)
	require.NotZero(t, sub.Adjacency.NumEdges())
	requireInduced(t, g, sub)

	var saved bytes.Buffer
	require.NoError(t, gob.NewEncoder(&saved).Encode(b.Subgraphs))
	var loaded []*graph.Graph
	require.NoError(t, gob.NewDecoder(&saved).Decode(&loaded))
	require.Equal(t, b.Subgraphs, loaded)

	union, err := b.Union(g)
	require.NoError(t, err)
	require.True(t, union.Adjacency.Directed)
	require.Equal(t, g.Adjacency.NumEdges()+sub.Adjacency.NumEdges(), union.Adjacency.NumEdges())
	_, err = b.Union(numbered(t, 5, 5, random(3)))
	require.ErrorContains(t, err, "directed and undirected")
}

// oneWay points every edge from its lower to its higher end.
func oneWay(a *graph.Adjacency) graph.Adjacency {
	out := graph.Adjacency{Offsets: []int64{0}, Directed: true}
	for i := range a.NumNodes() {
		for _, j := range a.Neighborhood(i) {
			if int(j) < i {
				out.Neighbors = append(out.Neighbors, j)
			}
		}
		out.Offsets = append(out.Offsets, int64(len(out.Neighbors)))
	}
	return out
}

func TestNoBudgetKeepsNothing(t *testing.T) {
	g := numbered(t, 10, 20, random(1))
	b := Buffer{FanOut: []int{2}}
	b.Add(g, random(1))
	require.Empty(t, b.Subgraphs)
	union, err := b.Union(g)
	require.NoError(t, err)
	require.Same(t, g, union)
}

func TestSampleRepeatsBySeed(t *testing.T) {
	g := numbered(t, 200, 500, random(1))
	sample := func(seed uint64) []int32 {
		b := Buffer{Budget: 40, FanOut: []int{3, 3}}
		b.Add(g, random(seed))
		return nodesOf(b.Subgraphs[0])
	}
	require.Equal(t, sample(1), sample(1))
	require.NotEqual(t, sample(1), sample(2))
}

// The hub of a star has 500 neighbors, of which no more than the fan-out may come along.
func TestFanOutBoundsTheNeighbors(t *testing.T) {
	const leaves, fanOut = 500, 4
	hub, leaf := make([]int32, leaves), make([]int32, leaves)
	for i := range leaf {
		leaf[i] = int32(i + 1)
	}
	a, err := graph.NewAdjacency(leaves+1, hub, leaf)
	require.NoError(t, err)
	for seed := range uint64(20) {
		drawn := draw(a.Neighborhood(0), fanOut, random(seed))
		require.Len(t, drawn, fanOut)
		slices.Sort(drawn)
		require.Len(t, slices.Compact(drawn), fanOut, "drawn with replacement")
	}
	require.True(t, slices.IsSorted(a.Neighborhood(0)), "drawing must not reorder the graph")
}

// In twenty cliques of ten nodes a seed fills the budget with its own clique, unless the fan-out bounds what it brings:
// to one neighbor, so that the ten nodes take five seeds.
func TestNodesKeepToTheFanOut(t *testing.T) {
	const cliques, size = 20, 10
	var src, dst []int32
	for v := range int32(cliques * size) {
		for u := v - v%size; u < v; u++ {
			src, dst = append(src, v), append(dst, u)
		}
	}
	a, err := graph.NewAdjacency(cliques*size, src, dst)
	require.NoError(t, err)
	touched := func(fanOut int) int {
		b, of := Buffer{Budget: size, FanOut: []int{fanOut}}, map[int32]bool{}
		for _, v := range b.Nodes(&graph.Graph{Adjacency: a}, random(1)) {
			of[v/size] = true
		}
		return len(of)
	}
	require.Equal(t, 1, touched(size))
	require.Greater(t, touched(1), 2)
}

// Each neighbor has the same chance: over 6000 draws of 2 of 6, each is drawn 2000 times, standard deviation 37.
func TestDrawIsUniform(t *testing.T) {
	rng, count := random(3), make([]int, 6)
	for range 6000 {
		for _, v := range draw([]int32{0, 1, 2, 3, 4, 5}, 2, rng) {
			count[v]++
		}
	}
	for v, c := range count {
		require.InDelta(t, 2000, c, 200, "neighbor %d", v)
	}
}

// With a fan-out the sample is a neighborhood and holds far more edges than as many nodes drawn at random: on a ring of
// n nodes, k random ones have about k²/n edges among them, a two-hop walk about one a node.
func TestNeighborsComeAlong(t *testing.T) {
	const n, k = 1000, 50
	var src, dst []int32
	for i := range int32(n) {
		src, dst = append(src, i), append(dst, (i+1)%n)
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: 1, Dense: make([]float32, n)}}
	edges := func(fanOut []int) int {
		b := Buffer{Budget: k, FanOut: fanOut}
		b.Add(g, random(4))
		return b.Subgraphs[0].Adjacency.NumEdges()
	}
	require.Less(t, edges(nil), 10)
	require.GreaterOrEqual(t, edges([]int{10, 10}), 35) // 10 paths of 5 nodes, where they do not meet
}

func TestUnionIsBlockDiagonal(t *testing.T) {
	b := Buffer{Budget: 5, FanOut: []int{2}}
	b.Add(numbered(t, 12, 30, random(1)), random(1))
	b.Add(numbered(t, 4, 5, random(2)), random(2))
	require.Equal(t, 5+4, b.NumNodes(), "the budget of the first, all of the second")
	g := numbered(t, 8, 20, random(3))
	union, err := b.Union(g)
	require.NoError(t, err)
	require.Equal(t, 8+5+4, union.NumNodes())
	first := 0
	for _, part := range []*graph.Graph{g, b.Subgraphs[0], b.Subgraphs[1]} {
		for i := range part.NumNodes() {
			var want []int32
			for _, j := range part.Adjacency.Neighborhood(i) {
				want = append(want, j+int32(first))
			}
			require.ElementsMatch(t, want, union.Adjacency.Neighborhood(first+i))
			require.Equal(t, part.Features.Dense[i], union.Features.Dense[first+i])
		}
		first += part.NumNodes()
	}
}

func TestUnionOfDifferentWidths(t *testing.T) {
	b := Buffer{Budget: 5}
	b.Add(numbered(t, 6, 5, random(1)), random(1))
	other := &graph.Graph{
		Adjacency: graph.Adjacency{Offsets: []int64{0, 0}},
		Features:  graph.Features{Rows: 1, Cols: 2, Dense: []float32{1, 2}},
	}
	_, err := b.Union(other)
	require.ErrorContains(t, err, "features")
}
