package plotting

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/layout"
	"gonum.org/v1/gonum/graph/simple"
)

// maxLayout is the greatest number of nodes that Layout places: a drawing of more cannot be read.
const maxLayout = 2000

// Layout places the nodes of an undirected graph in the plane: neighbors attract and all nodes repel one another
// (Eades, "A heuristic for graph drawing", 1984, as gonum implements it). Equal arguments give equal places. An edge
// that only the layout knows ties the components of a graph, or they would drift apart without end.
//
// edges: pairs of nodes in 0 … n−1; self-loops and repetitions are ignored. O(n log n + edges) time for each of a few
// hundred steps.
// It returns an error for no nodes or more than 2000, and an edge to a node that does not exist.
func Layout(n int, edges [][2]int, seed uint64) ([]Point, error) {
	if n < 1 || n > maxLayout {
		return nil, fmt.Errorf("plotting: layout of %d nodes: want 1 to %d", n, maxLayout)
	}
	if err := checkEdges(n, edges); err != nil {
		return nil, fmt.Errorf("plotting: layout: %w", err)
	}
	g := newAdjacency(n, edges)
	degree := 1
	for _, to := range g {
		degree = max(degree, len(to))
	}
	// All neighbors of a hub pull it at once: it needs smaller steps than other nodes.
	rate := min(0.05, 0.4/float64(degree))
	eades := layout.EadesR2{
		Repulsion: 1, Rate: rate, Updates: min(int(10/rate), 1000), Theta: 0.8, Src: rand.NewPCG(seed, 0),
	}
	optimizer := layout.NewOptimizerR2(g, eades.Update)
	for optimizer.Update() {
	}
	points := make([]Point, n)
	for i := range points {
		at := optimizer.Coord2(int64(i))
		if checkPoint(i, at.X, at.Y) != nil {
			return nil, errors.New("plotting: layout: the forces did not settle: give positions, or another seed")
		}
		points[i] = Point{at.X, at.Y}
	}
	return points, nil
}

// checkEdges returns an error for an edge with an end outside 0 … n−1.
func checkEdges(n int, edges [][2]int) error {
	for k, e := range edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= n {
			return fmt.Errorf("edge %d joins %d and %d: want nodes 0 to %d", k, e[0], e[1], n-1)
		}
	}
	return nil
}

// adjacency lists the neighbors of each node in order, so that a layout can be repeated: gonum's own graphs iterate
// over maps.
type adjacency [][]graph.Node

// newAdjacency lists the neighbors of n nodes, and ties components together.
func newAdjacency(n int, edges [][2]int) adjacency {
	neighbors := make([][]int, n)
	join := func(i, j int) {
		neighbors[i], neighbors[j] = append(neighbors[i], j), append(neighbors[j], i)
	}
	for _, e := range edges {
		if e[0] != e[1] {
			join(e[0], e[1])
		}
	}
	seen := make([]bool, n)
	var visit func(i int)
	visit = func(i int) {
		seen[i] = true
		for _, j := range neighbors[i] {
			if !seen[j] {
				visit(j)
			}
		}
	}
	visit(0)
	previous := 0 // least node of the latest component
	for i := range n {
		if !seen[i] {
			visit(i)
			join(previous, i)
			previous = i
		}
	}
	a := make(adjacency, n)
	for i, to := range neighbors {
		slices.Sort(to)
		for _, j := range slices.Compact(to) {
			a[i] = append(a[i], simple.Node(j))
		}
	}
	return a
}

// Node implements graph.Graph.
func (a adjacency) Node(id int64) graph.Node {
	if id < 0 || id >= int64(len(a)) {
		return nil
	}
	return simple.Node(id)
}

// Nodes implements graph.Graph.
func (a adjacency) Nodes() graph.Nodes {
	nodes := make([]graph.Node, len(a))
	for i := range nodes {
		nodes[i] = simple.Node(i)
	}
	return iterator.NewOrderedNodes(nodes)
}

// From implements graph.Graph.
func (a adjacency) From(id int64) graph.Nodes { return iterator.NewOrderedNodes(a[id]) }

// HasEdgeBetween implements graph.Graph.
func (a adjacency) HasEdgeBetween(x, y int64) bool {
	return slices.Contains(a[x], graph.Node(simple.Node(y)))
}

// Edge implements graph.Graph.
func (a adjacency) Edge(u, v int64) graph.Edge {
	if !a.HasEdgeBetween(u, v) {
		return nil
	}
	return simple.Edge{F: simple.Node(u), T: simple.Node(v)}
}
