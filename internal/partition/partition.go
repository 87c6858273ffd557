// Package partition divides the nodes of a graph into parts of nearly equal size with few edges between them.
//
// It is our own because METIS, which the field uses, is a C library.
package partition

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

// Nodes divides the nodes of a graph into parts of nearly equal size with few edges between them. It returns the part
// of each node. Every part holds between 95 % and 105 % of the mean, or the whole numbers next to it. The number of
// parts is at most the number of nodes. A directed graph is read as undirected. The result depends on the graph and rng
// alone. It takes O(edges·log(parts)) time, plus sorting. It returns ctx.Err() when canceled.
//
// The scheme is the multilevel one of METIS (Karypis and Kumar 1998), by recursive bisection: contract matched edges
// until the graph is small, grow one side there from a few starts, and refine while the contractions are undone
// (Fiduccia and Mattheyses 1982). Nodes without edges take no part in it: each goes to the smallest part.
func Nodes(ctx context.Context, a *graph.Adjacency, parts int, rng *rand.Rand) ([]int, error) {
	if a.Directed {
		u := a.Undirected()
		a = &u
	}
	part, sizes := make([]int, a.NumNodes()), make([]int, max(1, min(parts, a.NumNodes())))
	var connected, isolated []int32
	for i := range part {
		if len(a.Neighborhood(i)) > 0 {
			connected = append(connected, int32(i))
		} else {
			isolated = append(isolated, int32(i))
		}
	}
	if err := split(ctx, a, connected, part, newShare(len(connected), len(sizes)), rng); err != nil {
		return nil, err
	}
	for _, i := range connected {
		sizes[part[i]]++
	}
	for _, i := range isolated {
		part[i] = slices.Index(sizes, slices.Min(sizes))
		sizes[part[i]]++
	}
	return part, nil
}

// share is some parts, numbered from first on.
type share struct {
	first, parts int
	low, up      int // nodes in each
}

// newShare allows 5 % off the mean, in whole nodes.
func newShare(nodes, parts int) share {
	percent := 100 * parts
	return share{
		parts: parts,
		low:   min(nodes/parts, (95*nodes+percent-1)/percent),
		up:    max((nodes+parts-1)/parts, 105*nodes/percent),
	}
}

// split divides the given nodes among the parts of a share.
func split(ctx context.Context, a *graph.Adjacency, nodes []int32, part []int, s share, rng *rand.Rand) error {
	if s.parts == 1 || ctx.Err() != nil {
		for _, i := range nodes {
			part[i] = s.first
		}
		return ctx.Err()
	}
	left, right := s, s
	left.parts, right.parts = s.parts/2, s.parts-s.parts/2
	right.first += left.parts
	sub := a.Induced(nodes)
	w := window{ // such that neither side has too few or too many for its parts
		low: max(left.parts*s.low, len(nodes)-right.parts*s.up),
		up:  min(left.parts*s.up, len(nodes)-right.parts*s.low),
	}
	b, err := best(func() (*bisection, error) { return bisect(ctx, unweighted(&sub), w, rng) })
	if err != nil {
		return err
	}
	var sides [2][]int32
	for i, node := range nodes {
		sides[b.side[i]] = append(sides[b.side[i]], node)
	}
	if err := split(ctx, a, sides[0], part, left, rng); err != nil {
		return err
	}
	return split(ctx, a, sides[1], part, right, rng)
}

// weighted is an undirected graph in compressed sparse rows, with weights.
type weighted struct {
	offsets   []int
	neighbors []int32
	weight    []int // of the edges
	size      []int // of the nodes: how many have been contracted to each
}

func unweighted(a *graph.Adjacency) *weighted {
	n := a.NumNodes()
	g := &weighted{offsets: make([]int, n+1), neighbors: a.Neighbors, weight: slices.Repeat([]int{1}, len(a.Neighbors))}
	g.size = slices.Repeat([]int{1}, n)
	for i := range n {
		g.offsets[i+1] = int(a.Offsets[i+1])
	}
	return g
}

func (g *weighted) each(i int32, visit func(j int32, weight int)) {
	for e := g.offsets[i]; e < g.offsets[i+1]; e++ {
		visit(g.neighbors[e], g.weight[e])
	}
}

func (g *weighted) total() (sum int) {
	for _, s := range g.size {
		sum += s
	}
	return sum
}

// contract joins every node with the unmatched neighbor across its heaviest edge, in random order, and returns the
// smaller graph with the map onto its nodes.
func (g *weighted) contract(rng *rand.Rand) (small *weighted, to []int32) {
	n := len(g.size)
	limit := max(2, g.total()*heaviest/coarsest)
	to = slices.Repeat([]int32{-1}, n)
	var members [][2]int32
	for _, k := range rng.Perm(n) {
		i := int32(k)
		if to[i] >= 0 {
			continue
		}
		mate, heavy := i, 0
		g.each(i, func(j int32, weight int) {
			if to[j] < 0 && weight > heavy && g.size[i]+g.size[j] <= limit {
				mate, heavy = j, weight
			}
		})
		to[i], to[mate] = int32(len(members)), int32(len(members))
		members = append(members, [2]int32{i, mate})
	}
	return g.joined(members, to), to
}

// joined is the graph of pairs of nodes, or of single ones, named twice. Edges between the same pairs add up.
func (g *weighted) joined(members [][2]int32, to []int32) *weighted {
	small := &weighted{offsets: []int{0}}
	at := slices.Repeat([]int{-1}, len(members)) // where the edge to a node stands, if it belongs to the current row
	for c, pair := range members {
		begin := len(small.neighbors)
		size := 0
		for k, i := range pair {
			if k == 1 && i == pair[0] {
				break
			}
			size += g.size[i]
			g.each(i, func(j int32, weight int) {
				t := to[j]
				switch {
				case int(t) == c:
				case at[t] >= begin:
					small.weight[at[t]] += weight
				default:
					at[t] = len(small.neighbors)
					small.neighbors, small.weight = append(small.neighbors, t), append(small.weight, weight)
				}
			})
		}
		small.size, small.offsets = append(small.size, size), append(small.offsets, len(small.neighbors))
	}
	return small
}

// grow takes nodes into side 0 from a random one on, each time the one that adds least to the cut, until the middle of
// the window is reached. Where the frontier is empty it starts again from another random node.
func (g *weighted) grow(w window, rng *rand.Rand) []int8 {
	side := slices.Repeat([]int8{1}, len(g.size))
	order := rng.Perm(len(g.size))
	queue := &moves{}
	gain := make([]int, len(g.size)) // weight to side 0 less weight to side 1
	for i := range gain {
		g.each(int32(i), func(_ int32, weight int) { gain[i] -= weight })
	}
	for grown := 0; 2*grown < w.low+w.up && len(order) > 0; {
		next := int32(order[0])
		if m, ok := queue.take(func(m move) bool { return side[m.node] == 1 && m.gain == gain[m.node] }); ok {
			next = m.node
		} else if order = order[1:]; side[next] == 0 {
			continue
		}
		side[next] = 0
		grown += g.size[next]
		g.each(next, func(j int32, weight int) {
			gain[j] += 2 * weight
			queue.add(j, gain[j])
		})
	}
	return side
}
