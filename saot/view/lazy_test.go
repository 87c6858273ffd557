package view

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilterIsOneDecisionAnEdge(t *testing.T) {
	f := Filter{Rate: 0.3, Seed: 7}
	kept := 0
	const n = 400
	for i := range int32(n) {
		for j := range i {
			require.Equal(t, f.Keeps(i, j), f.Keeps(j, i))
			require.True(t, Filter{Seed: 7}.Keeps(i, j))
			if f.Keeps(i, j) {
				kept++
			}
		}
	}
	// A binomial of n(n−1)/2 = 79,800 pairs has a standard deviation of 0.0016 in its share.
	require.InDelta(t, 0.7, f.Share(), 1e-12)
	require.InDelta(t, f.Share(), float64(kept)/(n*(n-1)/2), 0.008)

	other, directed, differ, apart := Filter{Rate: 0.3, Seed: 8}, Filter{Rate: 0.3, Seed: 7, Directed: true}, 0, 0
	for i := range int32(n) {
		for j := range i {
			if f.Keeps(i, j) != other.Keeps(i, j) {
				differ++
			}
			if directed.Keeps(i, j) != directed.Keeps(j, i) {
				apart++
			}
		}
	}
	// Two independent decisions differ with probability 2·0.3·0.7.
	require.InDelta(t, 0.42, float64(differ)/(n*(n-1)/2), 0.01)
	require.InDelta(t, 0.42, float64(apart)/(n*(n-1)/2), 0.01)
}

// Rates of 0 and 1 are exact, and Keep and Keeps agree with the share.
func TestFilterAtTheEnds(t *testing.T) {
	neighbors := []int32{1, 2, 3, 4, 5}
	for rate, want := range map[float64]float64{0: 1, 1: 0, -0.1: 1, 1.5: 0} {
		f := Filter{Rate: rate, Seed: 7}
		require.Equal(t, want, f.Share())
		require.Len(t, f.Keep(nil, 0, neighbors), int(want)*len(neighbors))
		for _, u := range neighbors {
			require.Equal(t, want == 1, f.Keeps(u, 0))
		}
	}
}

func TestFilterInduced(t *testing.T) {
	g := randomGraph(50, 10, 0.3, rand.New(rand.NewPCG(1, 2)))
	a, b := LazyPair(10, false, Config{EdgeDrop: 0.4, FeatureMask: 0.2}, rand.New(rand.NewPCG(3, 4)))
	require.Len(t, a.Masked, 2)
	require.NotEqual(t, a.Edges.Seed, b.Edges.Seed)
	nodes := []int32{40, 3, 17, 22, 9, 31, 0, 49}
	got := a.Edges.Induced(&g.Adjacency, nodes)
	whole := g.Adjacency.Induced(nodes)
	require.Less(t, len(got.Neighbors), len(whole.Neighbors))
	for i, u := range nodes {
		want := []int32{}
		for _, j := range whole.Neighborhood(i) {
			if a.Edges.Keeps(nodes[j], u) {
				want = append(want, j)
			}
		}
		require.Equal(t, want, got.Neighborhood(i))
	}
}

// Edges that go one way drop one by one, and both readings of a lazy view agree on which.
func TestLazyViewOfADirectedGraph(t *testing.T) {
	g := directedGraph(40, 0.4, rand.New(rand.NewPCG(1, 2)))
	a, _ := LazyPair(0, true, Config{EdgeDrop: 0.5}, rand.New(rand.NewPCG(3, 4)))
	nodes := make([]int32, 40)
	for i := range nodes {
		nodes[i] = int32(i)
	}
	require.True(t, a.Edges.Directed)
	got := a.Edges.Induced(&g.Adjacency, nodes)
	require.True(t, got.Directed)
	for i := range nodes {
		require.Equal(t, a.Edges.Keep(nil, int32(i), g.Adjacency.Neighborhood(i)), got.Neighborhood(i))
	}
}
