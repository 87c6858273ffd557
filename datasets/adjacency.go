package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// NewAdjacency builds the adjacency of n nodes from the entries (src[k], dst[k]). Every entry counts in both directions;
// duplicates and self-loops are dropped. It returns an error if the lengths differ or an entry lies outside [0, n).
// O(n + E log d) time for E entries and largest degree d, on all cores.
func NewAdjacency(n int, src, dst []int32) (Adjacency, error) {
	if n < 0 || n > math.MaxInt32 {
		return Adjacency{}, fmt.Errorf("datasets: adjacency: %d nodes, want 0 to %d", n, math.MaxInt32)
	}
	if len(src) != len(dst) {
		return Adjacency{}, fmt.Errorf("datasets: adjacency: %d sources but %d destinations", len(src), len(dst))
	}
	for k := range src {
		if src[k] < 0 || int(src[k]) >= n || dst[k] < 0 || int(dst[k]) >= n {
			return Adjacency{}, fmt.Errorf("datasets: adjacency: entry %d is (%d, %d), outside the %d nodes", k, src[k], dst[k], n)
		}
	}
	a, _ := cleanAdjacency(n, coordinates{src, dst})
	return a, nil
}

// Induced returns the adjacency that the nodes induce, relabelled: row k belongs to nodes[k]. The nodes must be distinct.
// O(NumNodes + the degrees of the nodes) time.
func (a *Adjacency) Induced(nodes []int32) Adjacency {
	position := make([]int32, a.NumNodes()) // new id + 1; 0 is absent
	for k, i := range nodes {
		position[i] = int32(k) + 1
	}
	out := Adjacency{Offsets: make([]int64, len(nodes)+1)}
	for k, i := range nodes {
		for _, j := range a.Neighborhood(int(i)) {
			if p := position[j]; p > 0 {
				out.Neighbors = append(out.Neighbors, p-1)
			}
		}
		out.Offsets[k+1] = int64(len(out.Neighbors))
		slices.Sort(out.Neighbors[out.Offsets[k]:]) // a no-op where the nodes ascend
	}
	return out
}

// Induced returns the subgraph that the nodes induce, node k being nodes[k]: adjacency relabelled, feature rows copied.
// The nodes must be distinct.
func (g *Graph) Induced(nodes []int32) *Graph {
	return &Graph{Adjacency: g.Adjacency.Induced(nodes), Features: g.Features.Select(nodes)}
}

// DisjointUnion stacks graphs into one without edges between them: a block-diagonal adjacency and stacked features, node
// i of the k-th graph being node i + the number of nodes before. It returns an error if there is no graph or if the
// features differ in width or storage.
func DisjointUnion(graphs ...*Graph) (*Graph, error) {
	if len(graphs) == 0 {
		return nil, errors.New("datasets: disjoint union of no graphs")
	}
	out := &Graph{Adjacency: Adjacency{Offsets: []int64{0}}}
	parts := make([]*Features, len(graphs))
	for k, g := range graphs {
		parts[k] = &g.Features
		first := out.NumNodes()
		if first+g.NumNodes() > math.MaxInt32 {
			return nil, fmt.Errorf("datasets: disjoint union: more than %d nodes", math.MaxInt32)
		}
		edges := int64(len(out.Adjacency.Neighbors))
		for i := range g.NumNodes() {
			out.Adjacency.Offsets = append(out.Adjacency.Offsets, edges+g.Adjacency.Offsets[i+1])
		}
		for _, j := range g.Adjacency.Neighbors {
			out.Adjacency.Neighbors = append(out.Adjacency.Neighbors, j+int32(first))
		}
	}
	features, err := stack(parts)
	if err != nil {
		return nil, err
	}
	out.Features = features
	return out, nil
}
