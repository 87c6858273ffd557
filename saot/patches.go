package saot

import (
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"
)

// patchFanOut is how many neighbors of a node are aligned with it in a sampled step. M nodes drawn at random from a
// large graph have hardly an edge among them, and L⊗π_G would say nothing.
const patchFanOut = 4

// patches deals the nodes of a graph out in a random order, each with some of its neighbors.
type patches struct {
	adjacency *graph.Adjacency
	order     []int
	at        int // in the order
	rng       *rand.Rand
}

func newPatches(a *graph.Adjacency, rng *rand.Rand) *patches {
	return &patches{adjacency: a, order: rng.Perm(a.NumNodes()), rng: rng}
}

// next returns m different nodes, of which the graph must have as many. The order is gone through again when it ends.
func (p *patches) next(m int) []int32 {
	points := make([]int32, 0, m)
	taken := make(map[int32]bool, m)
	take := func(v int32) {
		if !taken[v] && len(points) < m {
			taken[v] = true
			points = append(points, v)
		}
	}
	for ; len(points) < m; p.at++ {
		v := int32(p.order[p.at%len(p.order)])
		take(v)
		near := p.adjacency.Neighborhood(int(v))
		for range min(patchFanOut, len(near)) {
			take(near[p.rng.IntN(len(near))])
		}
	}
	return points
}
