package view

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// randomGraph returns a graph on n nodes in which each pair is an edge with probability p.
func randomGraph(n, cols int, p float64, rng *rand.Rand) *graph.Graph {
	edge := make([][]bool, n)
	for i := range edge {
		edge[i] = make([]bool, n)
	}
	for i := range n {
		for j := range i {
			if rng.Float64() < p {
				edge[i][j], edge[j][i] = true, true
			}
		}
	}
	g := &graph.Graph{Features: graph.Features{Rows: n, Cols: cols, Dense: make([]float32, n*cols)}}
	g.Adjacency.Offsets = []int64{0}
	for i := range n {
		for j := range n {
			if edge[i][j] {
				g.Adjacency.Neighbors = append(g.Adjacency.Neighbors, int32(j))
			}
		}
		g.Adjacency.Offsets = append(g.Adjacency.Offsets, int64(len(g.Adjacency.Neighbors)))
	}
	return g
}

func TestPairKeepsSymmetryAndOrder(t *testing.T) {
	g := randomGraph(60, 40, 0.2, rand.New(rand.NewPCG(1, 2)))
	original := map[[2]int32]bool{}
	for i := range g.NumNodes() {
		for _, j := range g.Adjacency.Neighborhood(i) {
			original[[2]int32{int32(i), j}] = true
		}
	}
	a, b := Pair(g, Config{EdgeDrop: 0.3, FeatureMask: 0.25}, rand.New(rand.NewPCG(3, 4)))
	for _, v := range []View{a, b} {
		kept := map[[2]int32]bool{}
		for i := range g.NumNodes() {
			row := v.Adjacency.Neighborhood(i)
			require.IsIncreasing(t, append([]int32{-1}, row...), "row %d", i)
			for _, j := range row {
				kept[[2]int32{int32(i), j}] = true
				require.True(t, original[[2]int32{int32(i), j}], "edge (%d,%d) was not in the graph", i, j)
			}
		}
		for e := range kept {
			require.True(t, kept[[2]int32{e[1], e[0]}], "edge %v lost its other direction", e)
		}
		require.Len(t, v.Masked, 10)
		require.IsIncreasing(t, v.Masked)
	}
	require.NotEqual(t, a.Adjacency.Neighbors, b.Adjacency.Neighbors)
	require.NotEqual(t, a.Masked, b.Masked)
}

// The kept share of edges is binomial, and each column is masked equally often: both are held to five standard errors.
func TestRates(t *testing.T) {
	g := randomGraph(100, 20, 0.3, rand.New(rand.NewPCG(1, 2)))
	rng := rand.New(rand.NewPCG(5, 6))
	const draws, drop, mask = 200, 0.2, 0.1
	var kept float64
	masked := make([]float64, 20)
	for range draws {
		a, _ := Pair(g, Config{EdgeDrop: drop, FeatureMask: mask}, rng)
		kept += float64(a.Adjacency.NumEdges())
		for _, c := range a.Masked {
			masked[c]++
		}
	}
	trials := float64(draws * g.Adjacency.NumEdges())
	require.InDelta(t, 1-drop, kept/trials, 5*math.Sqrt(drop*(1-drop)/trials))
	for c, m := range masked {
		require.InDelta(t, mask, m/draws, 5*math.Sqrt(mask*(1-mask)/draws), "column %d", c)
	}
}

func TestOneColumnStaysAtLeast(t *testing.T) {
	for columns, want := range map[int]int{0: 0, 1: 0, 2: 1, 5: 4, 100: 90} {
		require.Equal(t, want, Config{FeatureMask: 0.9}.MaskedColumns(columns), "%d columns", columns)
	}
}

// directedGraph returns a graph in which each ordered pair is an edge with probability p.
func directedGraph(n int, p float64, rng *rand.Rand) *graph.Graph {
	g := &graph.Graph{
		Features:  graph.Features{Rows: n},
		Adjacency: graph.Adjacency{Offsets: []int64{0}, Directed: true},
	}
	for i := range n {
		for j := range n {
			if i != j && rng.Float64() < p {
				g.Adjacency.Neighbors = append(g.Adjacency.Neighbors, int32(j))
			}
		}
		g.Adjacency.Offsets = append(g.Adjacency.Offsets, int64(len(g.Adjacency.Neighbors)))
	}
	return g
}

// Of two nodes that point at each other, both edges stay with probability (1 − rate)², one with 2·rate·(1 − rate): were
// they dropped together, one alone would never stay. Held to five standard errors.
func TestDirectedEdgesAreDroppedOneByOne(t *testing.T) {
	g := directedGraph(60, 0.5, rand.New(rand.NewPCG(1, 2)))
	rng := rand.New(rand.NewPCG(7, 8))
	const draws, drop = 100, 0.3
	var stayed [3]float64 // pairs of opposite edges, by how many of the two stayed
	for range draws {
		a, b := Pair(g, Config{EdgeDrop: drop}, rng)
		require.True(t, a.Adjacency.Directed && b.Adjacency.Directed)
		require.NotEqual(t, a.Adjacency.Neighbors, b.Adjacency.Neighbors)
		for i := range int32(60) {
			row := a.Adjacency.Neighborhood(int(i))
			require.IsIncreasing(t, append([]int32{-1}, row...))
			for _, j := range row {
				require.True(t, has(&g.Adjacency, i, j), "edge %d → %d was not in the graph", j, i)
			}
			for j := range i {
				if has(&g.Adjacency, i, j) && has(&g.Adjacency, j, i) {
					stayed[count(has(&a.Adjacency, i, j), has(&a.Adjacency, j, i))]++
				}
			}
		}
	}
	pairs := stayed[0] + stayed[1] + stayed[2]
	require.Greater(t, pairs, 1000.0)
	for k, want := range []float64{drop * drop, 2 * drop * (1 - drop), (1 - drop) * (1 - drop)} {
		require.InDelta(t, want, stayed[k]/pairs, 5*math.Sqrt(want*(1-want)/pairs), "%d of two stay", k)
	}
	same, _ := Pair(g, Config{}, rng)
	require.Equal(t, g.Adjacency, same.Adjacency)
}

func has(a *graph.Adjacency, i, j int32) bool {
	_, found := slices.BinarySearch(a.Neighborhood(int(i)), j)
	return found
}

func count(all ...bool) (n int) {
	for _, v := range all {
		if v {
			n++
		}
	}
	return n
}

// The choice of undirected edges by a seed, from before there were directed ones: results of old seeds stay.
func TestUndirectedDrawsStay(t *testing.T) {
	g := randomGraph(8, 4, 0.5, rand.New(rand.NewPCG(1, 2)))
	a, b := Pair(g, Config{EdgeDrop: 0.4}, rand.New(rand.NewPCG(3, 4)))
	require.Equal(t, []int32{2, 3, 4, 0, 3, 7, 0, 2, 1, 2}, a.Adjacency.Neighbors)
	require.Equal(t, []int32{2, 3, 0, 3, 0, 2}, b.Adjacency.Neighbors)
}

// Columns are drawn by Floyd's algorithm: the figures of earlier runs rest on these draws, few and many.
func TestColumnDrawsStay(t *testing.T) {
	require.Equal(t, []int32{4, 5, 7, 9}, chooseColumns(10, 4, rand.New(rand.NewPCG(1, 2))))
	require.Equal(t, []int32{0, 11, 14, 18, 19, 21, 24, 25, 26, 27, 30, 33},
		chooseColumns(40, 12, rand.New(rand.NewPCG(3, 4))))
	chosen := map[int32]bool{}
	for few, j := rand.New(rand.NewPCG(5, 6)), 8710-1742; j < 8710; j++ {
		c := int32(few.IntN(j + 1))
		if chosen[c] {
			c = int32(j)
		}
		chosen[c] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(chosen)), chooseColumns(8710, 1742, rand.New(rand.NewPCG(5, 6))))
}

func TestZeroRatesLeaveTheGraph(t *testing.T) {
	g := randomGraph(30, 8, 0.2, rand.New(rand.NewPCG(1, 2)))
	a, b := Pair(g, Config{}, rand.New(rand.NewPCG(3, 4)))
	require.Equal(t, g.Adjacency, a.Adjacency)
	require.Equal(t, g.Adjacency, b.Adjacency)
	require.Empty(t, a.Masked)
}

func TestMaskedColumnsAreRounded(t *testing.T) {
	require.Equal(t, 2, Config{FeatureMask: 0.1}.MaskedColumns(19))
}
