// Package view draws the two augmented views of a graph that self-supervised learning compares: edges are dropped and
// feature columns masked at random (SAOT §4.1, "Graph Augmentation"; rates as in Graph Barlow Twins). It imports
// datasets/graph.
package view

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// Config sets how strongly a view is augmented.
type Config struct {
	EdgeDrop    float64 // share of edges dropped, each independently; in [0, 1)
	FeatureMask float64 // share of feature columns set to zero for all nodes; in [0, 1)
}

// View is one augmented view: the edges that are kept, and the feature columns that are masked.
type View struct {
	Adjacency graph.Adjacency
	Masked    []int32 // ascending; always MaskedColumns(cols) of them
}

// MaskedColumns returns how many of cols feature columns a view masks. Only the choice of columns is random, not their
// number, so that the shapes of a training step do not change; a Bernoulli mask has the same mean, up to rounding. One
// column at least stays: without any, all nodes would be alike.
func (c Config) MaskedColumns(cols int) int {
	return max(0, min(int(math.Round(c.FeatureMask*float64(cols))), cols-1))
}

// Pair draws two independent views of g from rng. An edge of an undirected graph is dropped in both directions at once,
// so that both adjacencies stay symmetric. In a directed graph, opposite edges are dropped independently. With an
// EdgeDrop of 0 the views share the arrays of g's adjacency. O(edges + columns).
func Pair(g *graph.Graph, c Config, rng *rand.Rand) (a, b View) {
	cols := g.Features.Cols
	draw := func() View {
		return View{
			Adjacency: dropEdges(&g.Adjacency, c.EdgeDrop, rng),
			Masked:    chooseColumns(cols, c.MaskedColumns(cols), rng),
		}
	}
	return draw(), draw()
}

// dropEdges keeps each edge with probability 1 − rate.
func dropEdges(a *graph.Adjacency, rate float64, rng *rand.Rand) graph.Adjacency {
	switch {
	case rate == 0:
		return *a
	case a.Directed:
		return dropDirected(a, rate, rng)
	}
	return dropUndirected(a, rate, rng)
}

// dropDirected decides about each entry independently.
func dropDirected(a *graph.Adjacency, rate float64, rng *rand.Rand) graph.Adjacency {
	n := a.NumNodes()
	out := graph.Adjacency{Offsets: make([]int64, n+1), Neighbors: make([]int32, 0, len(a.Neighbors)), Directed: true}
	for i := range n {
		for _, j := range a.Neighborhood(i) {
			if rng.Float64() >= rate {
				out.Neighbors = append(out.Neighbors, j)
			}
		}
		out.Offsets[i+1] = int64(len(out.Neighbors))
	}
	return out
}

// dropUndirected decides about an edge where it first appears (i < j) and writes both directions. It visits rows in
// order, so every row stays ascending.
func dropUndirected(a *graph.Adjacency, rate float64, rng *rand.Rand) graph.Adjacency {
	n := a.NumNodes()
	kept := make([]int32, len(a.Neighbors)) // row i may use kept[Offsets[i]:Offsets[i+1]]
	length := make([]int64, n)
	put := func(i, j int32) {
		kept[a.Offsets[i]+length[i]] = j
		length[i]++
	}
	for i := range int32(n) {
		row := a.Neighborhood(int(i))
		first, _ := slices.BinarySearch(row, i)
		for _, j := range row[first:] {
			if rng.Float64() >= rate {
				put(i, j)
				put(j, i)
			}
		}
	}
	out := graph.Adjacency{Offsets: make([]int64, n+1)}
	for i := range n {
		out.Offsets[i+1] = out.Offsets[i] + length[i]
	}
	out.Neighbors = make([]int32, out.Offsets[n])
	for i := range n {
		copy(out.Neighbors[out.Offsets[i]:], kept[a.Offsets[i]:a.Offsets[i]+length[i]])
	}
	return out
}

// chooseColumns draws k of n columns without replacement, ascending.
func chooseColumns(n, k int, rng *rand.Rand) []int32 {
	var chosen []int32
	for _, c := range seed.Distinct(nil, k, n, rng) {
		chosen = append(chosen, int32(c))
	}
	slices.Sort(chosen)
	return chosen
}
