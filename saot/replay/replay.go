// Package replay is the memory of past tasks: one small subgraph per task, joined to the graph of the current task by
// disjoint union (SAOT §4.1). It does not know labels. It imports datasets/graph.
package replay

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

// Buffer keeps one subgraph per past task.
type Buffer struct {
	Budget    int   // nodes kept of each task, 0 or more; 0 keeps nothing
	FanOut    []int // neighbors drawn per node at each hop from a seed; on a directed graph those that point at it
	Subgraphs []*graph.Graph
}

// Add samples a subgraph of g and keeps it: exactly min(Budget, nodes of g) nodes with all edges among them, directed
// if g is.
func (b *Buffer) Add(g *graph.Graph, rng *rand.Rand) {
	if b.Budget == 0 {
		return
	}
	b.Subgraphs = append(b.Subgraphs, g.Induced(b.Nodes(g, rng)))
}

// NumNodes is the number of nodes of all kept subgraphs.
func (b *Buffer) NumNodes() (n int) {
	for _, g := range b.Subgraphs {
		n += g.NumNodes()
	}
	return n
}

// Union returns the batched graph: g first, then every kept subgraph, without edges between them; g itself where none
// is kept. It returns an error if their numbers of features differ, or only some are directed.
func (b *Buffer) Union(g *graph.Graph) (*graph.Graph, error) {
	if len(b.Subgraphs) == 0 {
		return g, nil
	}
	return graph.DisjointUnion(append([]*graph.Graph{g}, b.Subgraphs...)...)
}

// Nodes returns the nodes of g that Add keeps with the same random numbers, in the order of the subgraph. Seeds are
// drawn uniformly and, around each, neighbors layer by layer with the given fan-outs, until the budget is reached. The
// seeds follow a random order of all nodes, so only the size of the graph can keep it from the budget.
func (b *Buffer) Nodes(g *graph.Graph, rng *rand.Rand) []int32 {
	budget := min(b.Budget, g.NumNodes())
	taken := make(map[int32]bool, budget)
	take := func(v int32) bool {
		if taken[v] || len(taken) == budget {
			return false
		}
		taken[v] = true
		return true
	}
	for _, seed := range rng.Perm(g.NumNodes()) {
		if len(taken) == budget {
			break
		}
		if !take(int32(seed)) {
			continue
		}
		layer := []int32{int32(seed)}
		for _, fanOut := range b.FanOut {
			var next []int32
			for _, v := range layer {
				for _, u := range draw(g.Adjacency.Neighborhood(int(v)), fanOut, rng) {
					if take(u) {
						next = append(next, u)
					}
				}
			}
			layer = next
		}
	}
	return slices.Sorted(maps.Keys(taken))
}

// draw returns k of the neighbors without replacement, or all of them if there are no more than k.
func draw(neighbors []int32, k int, rng *rand.Rand) []int32 {
	if len(neighbors) <= k {
		return neighbors
	}
	out := slices.Clone(neighbors)
	for i := range k {
		j := i + rng.IntN(len(out)-i)
		out[i], out[j] = out[j], out[i]
	}
	return out[:k]
}
