package view

import (
	"math"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/internal/seed"
)

// Lazy is a view of a graph too large to be copied for every step: whether an edge is kept is decided when it is asked for,
// always alike.
type Lazy struct {
	Edges  Filter
	Masked []int32 // as in View
}

// LazyPair draws two independent views from rng, for graphs of so many feature columns. O(columns), whatever the edges.
func LazyPair(columns int, directed bool, c Config, rng *rand.Rand) (a, b Lazy) {
	draw := func() Lazy {
		return Lazy{
			Edges:  Filter{Rate: c.EdgeDrop, Seed: rng.Uint64(), Directed: directed},
			Masked: chooseColumns(columns, c.MaskedColumns(columns), rng),
		}
	}
	return draw(), draw()
}

// Filter drops edges at a rate, each independently, as a hash of its ends and the seed has it.
type Filter struct {
	Rate     float64
	Seed     uint64
	Directed bool // the two directions of an edge are two edges
}

// Keeps reports whether the edge from one node to another is kept.
func (f Filter) Keeps(from, to int32) bool {
	if f.Rate == 0 {
		return true
	}
	if !f.Directed && from > to {
		from, to = to, from
	}
	return seed.Mix(f.Seed, uint64(from)<<32|uint64(to)) >= uint64(f.Rate*math.MaxUint64)
}

// Induced returns what the filter keeps of the adjacency that the nodes induce, as Adjacency.Induced numbers it.
func (f Filter) Induced(a *datasets.Adjacency, nodes []int32) datasets.Adjacency {
	out := a.Induced(nodes)
	kept := out.Neighbors[:0]
	first := int64(0)
	for i, to := range nodes {
		row := out.Neighbors[first:out.Offsets[i+1]]
		first = out.Offsets[i+1]
		for _, j := range row {
			if f.Keeps(nodes[j], to) {
				kept = append(kept, j)
			}
		}
		out.Offsets[i+1] = int64(len(kept))
	}
	out.Neighbors = kept
	return out
}
