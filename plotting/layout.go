package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/layout"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// maxLayout is the greatest number of nodes that Layout places: a drawing of more cannot be read.
const maxLayout = 2000

// Layout places the nodes of an undirected graph in the plane: neighbors attract and all nodes repel one another
// (Eades, "A heuristic for graph drawing", 1984, as gonum implements it). Equal arguments give equal places. Edges
// that only the layout knows tie the components of a graph together, or they would drift apart without end.
//
// edges: pairs of nodes in 0 … n−1; self-loops and repetitions are ignored. O(n log n + edges) time for each of 200
// to 1000 steps.
// It returns an error for no nodes or more than 2000, and an edge to a node that does not exist.
func Layout(n int, edges [][2]int, seed uint64) ([]Point, error) {
	if n < 1 || n > maxLayout {
		return nil, fmt.Errorf("plotting: layout of %d nodes: want 1 to %d", n, maxLayout)
	}
	if err := checkEdges(n, edges); err != nil {
		return nil, fmt.Errorf("plotting: layout: %w", err)
	}
	g := newOrdered(n, edges)
	degree := 1
	for _, to := range g.neighbors {
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

func checkEdges(n int, edges [][2]int) error {
	for k, e := range edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= n {
			return fmt.Errorf("edge %d joins %d and %d: want nodes 0 to %d", k, e[0], e[1], n-1)
		}
	}
	return nil
}

// ordered lists nodes and neighbors in order, so that a layout can be repeated: gonum's graphs iterate over maps.
type ordered struct {
	*simple.UndirectedGraph
	nodes     []graph.Node
	neighbors [][]graph.Node
}

// newOrdered returns a graph of n nodes whose components are tied together.
func newOrdered(n int, edges [][2]int) *ordered {
	g := &ordered{UndirectedGraph: simple.NewUndirectedGraph()}
	for i := range n {
		g.nodes = append(g.nodes, simple.Node(i))
		g.AddNode(g.nodes[i])
	}
	for _, e := range edges {
		if e[0] != e[1] {
			g.SetEdge(simple.Edge{F: simple.Node(e[0]), T: simple.Node(e[1])})
		}
	}
	var first []graph.Node // of each component
	for _, component := range topo.ConnectedComponents(g.UndirectedGraph) {
		first = append(first, slices.MinFunc(component, byID))
	}
	slices.SortFunc(first, byID)
	for k := range len(first) - 1 {
		g.SetEdge(simple.Edge{F: first[k], T: first[k+1]})
	}
	for i := range n {
		to := graph.NodesOf(g.UndirectedGraph.From(int64(i)))
		slices.SortFunc(to, byID)
		g.neighbors = append(g.neighbors, to)
	}
	return g
}

func byID(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) }

func (g *ordered) Nodes() graph.Nodes { return iterator.NewOrderedNodes(g.nodes) }

func (g *ordered) From(id int64) graph.Nodes { return iterator.NewOrderedNodes(g.neighbors[id]) }
