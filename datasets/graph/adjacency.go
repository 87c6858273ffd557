package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/saot-go/saot/internal/parallel"
)

// NewAdjacency builds the undirected adjacency of n nodes from the entries (src[k], dst[k]). Every entry counts in both directions;
// duplicates and self-loops are dropped. It returns an error if the lengths differ or an entry lies outside [0, n).
// O(n + E log d) time for E entries and largest degree d, on all cores.
func NewAdjacency(n int, src, dst []int32) (Adjacency, error) {
	if n < 0 || n > math.MaxInt32 {
		return Adjacency{}, fmt.Errorf("graph: adjacency: %d nodes, want 0 to %d", n, math.MaxInt32)
	}
	if len(src) != len(dst) {
		return Adjacency{}, fmt.Errorf("graph: adjacency: %d sources but %d destinations", len(src), len(dst))
	}
	for k := range src {
		if src[k] < 0 || int(src[k]) >= n || dst[k] < 0 || int(dst[k]) >= n {
			return Adjacency{}, fmt.Errorf("graph: adjacency: entry %d is (%d, %d), outside the %d nodes", k, src[k], dst[k], n)
		}
	}
	a, _ := Build(n, Coordinates{src, dst}, false)
	return a, nil
}

// Transposed returns the adjacency with every edge turned round; an undirected one is its own transpose and is returned as it
// is, sharing its arrays. A counting sort: O(NumNodes + NumEdges) time.
func (a *Adjacency) Transposed() Adjacency {
	if !a.Directed {
		return *a
	}
	parts := sortParts(a.NumNodes(), len(a.Neighbors))
	offsets, neighbors := group(a.NumNodes(), parts, nil, func(part int, f func(key, value int32)) {
		for i := parallel.RowShare(a.Offsets, part, parts); i < parallel.RowShare(a.Offsets, part+1, parts); i++ {
			for _, j := range a.Neighborhood(i) {
				f(j, int32(i)) // rows come in order and the sort is stable, so that the new ones ascend
			}
		}
	})
	return Adjacency{Offsets: offsets, Neighbors: neighbors, Directed: true}
}

// Undirected returns the adjacency without directions: nodes are neighbours where an edge joins them either way. An undirected
// one is returned as it is, sharing its arrays. O(NumNodes + NumEdges) time.
func (a *Adjacency) Undirected() Adjacency {
	if !a.Directed {
		return *a
	}
	back := a.Transposed()
	out := Adjacency{Offsets: make([]int64, len(a.Offsets)), Neighbors: make([]int32, 0, 2*len(a.Neighbors))}
	for i := range a.NumNodes() {
		out.Neighbors = appendUnion(out.Neighbors, a.Neighborhood(i), back.Neighborhood(i))
		out.Offsets[i+1] = int64(len(out.Neighbors))
	}
	return out
}

// appendUnion appends what stands in either of two ascending lists, ascending.
func appendUnion(to, a, b []int32) []int32 {
	for len(a) > 0 && len(b) > 0 {
		v := min(a[0], b[0])
		if a[0] == v {
			a = a[1:]
		}
		if b[0] == v {
			b = b[1:]
		}
		to = append(to, v)
	}
	return append(append(to, a...), b...)
}

// Induced returns the adjacency that the nodes induce, relabelled: row k belongs to nodes[k]. The nodes must be distinct.
// O(NumNodes + the degrees of the nodes) time.
func (a *Adjacency) Induced(nodes []int32) Adjacency {
	position := make([]int32, a.NumNodes()) // new id + 1; 0 is absent
	for k, i := range nodes {
		position[i] = int32(k) + 1
	}
	out := Adjacency{Offsets: make([]int64, len(nodes)+1), Directed: a.Directed}
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
// features differ in width or storage, or if some of the graphs are directed and others are not.
func DisjointUnion(graphs ...*Graph) (*Graph, error) {
	if len(graphs) == 0 {
		return nil, errors.New("graph: disjoint union of no graphs")
	}
	out := &Graph{Adjacency: Adjacency{Offsets: []int64{0}, Directed: graphs[0].Adjacency.Directed}}
	parts := make([]*Features, len(graphs))
	for k, g := range graphs {
		if g.Adjacency.Directed != out.Adjacency.Directed {
			return nil, errors.New("graph: disjoint union of directed and undirected graphs: read all of them with the same Options.Direction")
		}
		parts[k] = &g.Features
		first := out.NumNodes()
		if first+g.NumNodes() > math.MaxInt32 {
			return nil, fmt.Errorf("graph: disjoint union: more than %d nodes", math.MaxInt32)
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
