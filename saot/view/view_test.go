package view

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
)

// randomGraph returns a graph on n nodes in which each pair is an edge with probability p.
func randomGraph(n, cols int, p float64, rng *rand.Rand) *datasets.Graph {
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
	g := &datasets.Graph{Features: datasets.Features{Rows: n, Cols: cols, Dense: make([]float32, n*cols)}}
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

func TestZeroRatesLeaveTheGraph(t *testing.T) {
	g := randomGraph(30, 8, 0.2, rand.New(rand.NewPCG(1, 2)))
	a, b := Pair(g, Config{}, rand.New(rand.NewPCG(3, 4)))
	require.Equal(t, g.Adjacency, a.Adjacency)
	require.Equal(t, g.Adjacency, b.Adjacency)
	require.Empty(t, a.Masked)
}

func TestValidate(t *testing.T) {
	require.NoError(t, Config{EdgeDrop: 0.2, FeatureMask: 0.1}.Validate())
	require.ErrorContains(t, Config{EdgeDrop: 1}.Validate(), "edge drop")
	require.ErrorContains(t, Config{FeatureMask: math.NaN()}.Validate(), "feature mask")
}
