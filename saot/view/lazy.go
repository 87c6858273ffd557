package view

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// Lazy is a view of a graph that is too large to copy at every step. It decides on demand whether an edge is kept, and
// decides the same way every time.
type Lazy struct {
	Edges  Filter
	Masked []int32 // as in View
}

// LazyPair draws two independent views from rng, for graphs with the given number of feature columns. O(columns),
// independent of the edges.
func LazyPair(columns int, directed bool, c Config, rng *rand.Rand) (a, b Lazy) {
	draw := func() Lazy {
		return Lazy{
			Edges:  Filter{Rate: c.EdgeDrop, Seed: rng.Uint64(), Directed: directed},
			Masked: chooseColumns(columns, c.MaskedColumns(columns), rng),
		}
	}
	return draw(), draw()
}

// Filter drops edges at a rate in [0, 1], each independently: a hash of the seed and the ends of an edge decides.
type Filter struct {
	Rate     float64
	Seed     uint64
	Directed bool // the two directions of an edge are two edges
}

// Keeps reports whether the edge from one node to another is kept.
func (f Filter) Keeps(from, to int32) bool {
	if f.Rate <= 0 || f.Rate >= 1 { // for a rate of 1 the threshold is 2⁶⁴, which does not fit 64 bits
		return f.Rate <= 0
	}
	if !f.Directed && from > to {
		from, to = to, from
	}
	return seed.Mix(f.Seed, uint64(from)<<32|uint64(to)) >= uint64(f.Rate*math.MaxUint64)
}

// Share returns the share of edges that the filter keeps on average.
func (f Filter) Share() float64 { return 1 - min(1, max(0, f.Rate)) }

// Keep appends to kept the neighbors of a node whose edges to it the filter keeps.
func (f Filter) Keep(kept []int32, node int32, neighbors []int32) []int32 {
	if f.Rate <= 0 {
		return append(kept, neighbors...)
	}
	for _, u := range neighbors {
		if f.Keeps(u, node) {
			kept = append(kept, u)
		}
	}
	return kept
}

// Induced returns the adjacency that the nodes induce, numbered as by Adjacency.Induced, without the edges that the
// filter drops. It visits only the neighbors of the nodes: O(degrees of the nodes).
func (f Filter) Induced(a *graph.Adjacency, nodes []int32) graph.Adjacency {
	position := make(map[int32]int32, len(nodes))
	for k, v := range nodes {
		position[v] = int32(k)
	}
	out := graph.Adjacency{Offsets: make([]int64, len(nodes)+1), Directed: a.Directed}
	for k, v := range nodes {
		for _, u := range a.Neighborhood(int(v)) {
			if p, ok := position[u]; ok && f.Keeps(u, v) {
				out.Neighbors = append(out.Neighbors, p)
			}
		}
		out.Offsets[k+1] = int64(len(out.Neighbors))
		slices.Sort(out.Neighbors[out.Offsets[k]:])
	}
	return out
}
