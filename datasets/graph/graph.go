// Package graph is the one graph type of the module: a sparse adjacency, node features, and their algebra. Readers of
// datasets fill it; encoders, views, the replay memory and every method take it. Besides gonum it imports only helpers
// in internal.
package graph

import (
	"errors"
	"fmt"
	"math"

	"github.com/saot-go/saot/internal/parallel"
)

// Graph is an attributed graph, undirected unless its adjacency says otherwise. It has no labels on purpose: a
// self-supervised learner receives this type, so that it cannot read what it must not.
type Graph struct {
	Adjacency Adjacency
	Features  Features
}

// NumNodes returns the number of nodes.
func (g *Graph) NumNodes() int { return g.Adjacency.NumNodes() }

// Induced returns the subgraph that the nodes induce, node k being nodes[k]: the adjacency relabeled, the feature rows
// copied. The nodes must be distinct.
func (g *Graph) Induced(nodes []int32) *Graph {
	return &Graph{Adjacency: g.Adjacency.Induced(nodes), Features: g.Features.Select(nodes)}
}

// DisjointUnion stacks graphs into one without edges between them: a block-diagonal adjacency and stacked features.
// Node i of a graph becomes node i + the number of nodes of the graphs before it. It returns an error if there is no
// graph, if the features differ in width or storage, if some graphs are directed and others are not, or if there are
// more nodes than an int32 counts.
func DisjointUnion(graphs ...*Graph) (*Graph, error) {
	if len(graphs) == 0 {
		return nil, errors.New("graph: disjoint union of no graphs")
	}
	parts := make([]*Features, len(graphs))
	nodes, entries := 0, 0
	for k, g := range graphs {
		if g.Adjacency.Directed != graphs[0].Adjacency.Directed {
			return nil, errors.New("graph: disjoint union of directed and undirected graphs: " +
				"read all of them with the same Options.Direction")
		}
		parts[k] = &g.Features
		nodes, entries = nodes+g.NumNodes(), entries+len(g.Adjacency.Neighbors)
	}
	if nodes > math.MaxInt32 {
		return nil, fmt.Errorf("graph: disjoint union: more than %d nodes", math.MaxInt32)
	}
	out := &Graph{Adjacency: Adjacency{Offsets: make([]int64, 1, nodes+1), Neighbors: make([]int32, 0, entries),
		Directed: graphs[0].Adjacency.Directed}}
	a := &out.Adjacency
	for _, g := range graphs {
		first, edges := out.NumNodes(), int64(len(a.Neighbors))
		for i := range g.NumNodes() {
			a.Offsets = append(a.Offsets, edges+g.Adjacency.Offsets[i+1])
		}
		for _, j := range g.Adjacency.Neighbors {
			a.Neighbors = append(a.Neighbors, j+int32(first))
		}
	}
	features, err := stack(parts)
	if err != nil {
		return nil, err
	}
	out.Features = features
	return out, nil
}

// EdgeList is a list of directed entries (i, j). Several goroutines read it in parts, more than once.
type EdgeList interface {
	Size() int                                 // entries as stored, including those that Visit passes over
	Visit(part, parts int, f func(i, j int32)) // calls f for the entries of one part, in order
}

// Coordinates are entries (Src[k], Dst[k]); an entry with a negative Src[k] is passed over.
type Coordinates struct{ Src, Dst []int32 }

// Size returns the number of entries.
func (e Coordinates) Size() int { return len(e.Src) }

// Visit calls f for the entries of one part.
func (e Coordinates) Visit(part, parts int, f func(i, j int32)) {
	for k := parallel.Share(len(e.Src), part, parts); k < parallel.Share(len(e.Src), part+1, parts); k++ {
		if e.Src[k] >= 0 {
			f(e.Src[k], e.Dst[k])
		}
	}
}

// PairList holds entries one after another: src, dst, src, dst, ….
type PairList []int32

// Size returns the number of entries.
func (e PairList) Size() int { return len(e) / 2 }

// Visit calls f for the entries of one part.
func (e PairList) Visit(part, parts int, f func(i, j int32)) {
	for k := 2 * parallel.Share(len(e)/2, part, parts); k < 2*parallel.Share(len(e)/2, part+1, parts); k += 2 {
		f(e[k], e[k+1])
	}
}

// Repairs counts what Build changed.
type Repairs struct {
	Stored     int // entries in the list
	Zeros      int // entries passed over
	SelfLoops  int // entries (i, i), dropped
	Duplicates int // entries that repeat another in the same direction, dropped
	OneWay     int // edges stored in one direction only, mirrored; 0 where directions are kept
}

// Notes describes the repairs, a line each.
func (r Repairs) Notes() []string {
	var out []string
	for _, repair := range []struct {
		count int
		what  string
	}{
		{r.OneWay, "edges stored in one direction only were mirrored"},
		{r.Duplicates, "duplicate edge entries were dropped"},
		{r.SelfLoops, "self-loops were dropped"},
		{r.Zeros, "edge entries of value zero were dropped"},
	} {
		if repair.count > 0 {
			out = append(out, fmt.Sprintf("%d of %d stored adjacency entries: %s", repair.count, r.Stored, repair.what))
		}
	}
	return out
}
