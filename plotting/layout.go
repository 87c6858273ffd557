package plotting

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/layout"
	"gonum.org/v1/gonum/graph/simple"
)

// maxLayout is the greatest number of nodes that Layout places: a drawing of more is a blot.
const maxLayout = 2000

// Layout places the nodes of an undirected graph in the plane: neighbours attract and all nodes repel one another (Eades,
// "A heuristic for graph drawing", 1984, as gonum implements it). Equal arguments give equal places. Components of a graph
// that is not connected are tied by an edge that only the layout knows, or they would drift apart without end.
//
// edges: pairs of nodes in 0 … n−1; self-loops and repetitions don't count. O(n log n + edges) time for each of a few
// hundred steps.
// It returns an error for no nodes or more than 2000, and an edge to a node that is not there.
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
	// A hub is pulled by all its neighbours at once: steps that suit others would throw it about.
	rate := min(0.05, 0.4/float64(degree))
	eades := layout.EadesR2{Repulsion: 1, Rate: rate, Updates: min(int(10/rate), 1000), Theta: 0.8, Src: rand.NewPCG(seed, 0)}
	optimizer := layout.NewOptimizerR2(g, eades.Update)
	for optimizer.Update() {
	}
	points := make([]Point, n)
	for i := range points {
		at := optimizer.Coord2(int64(i))
		if !(math.Abs(at.X) < largest) || !(math.Abs(at.Y) < largest) {
			return nil, errors.New("plotting: layout: the forces did not settle: give positions, or another seed")
		}
		points[i] = Point{at.X, at.Y}
	}
	return points, nil
}

// checkEdges returns an error for an edge whose ends are not among n nodes.
func checkEdges(n int, edges [][2]int) error {
	for k, e := range edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= n {
			return fmt.Errorf("edge %d joins %d and %d: want nodes 0 to %d", k, e[0], e[1], n-1)
		}
	}
	return nil
}

// adjacency lists the neighbours of each node in order, so that a layout repeats itself: gonum's own graphs iterate
// over maps.
type adjacency [][]graph.Node

// newAdjacency lists the neighbours of n nodes, and ties components together.
func newAdjacency(n int, edges [][2]int) adjacency {
	neighbours := make([][]int, n)
	join := func(i, j int) {
		neighbours[i], neighbours[j] = append(neighbours[i], j), append(neighbours[j], i)
	}
	for _, e := range edges {
		if e[0] != e[1] {
			join(e[0], e[1])
		}
	}
	seen := make([]bool, n)
	previous := -1
	for i := range n {
		if seen[i] {
			continue
		}
		seen[i] = true
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			for _, j := range neighbours[queue[0]] {
				if !seen[j] {
					seen[j] = true
					queue = append(queue, j)
				}
			}
		}
		if previous >= 0 {
			join(previous, i)
		}
		previous = i
	}
	a := make(adjacency, n)
	for i, to := range neighbours {
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
