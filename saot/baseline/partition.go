package baseline

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

// partition divides the nodes of a graph into so many parts of nearly equal size with few edges between them, and returns each
// node's part. Every part holds between 95 % and 105 % of the mean, or the whole numbers next to it; the parts are cut to the
// number of nodes. A directed graph is read as undirected. The result follows from the graph and rng alone. O(edges·log(parts))
// time but for sorting.
//
// The scheme is the multilevel one of METIS (Karypis and Kumar 1998), by recursive bisection: contract matched edges until
// the graph is small, grow one side there from a few starts, and refine while undoing the contractions (Fiduccia and
// Mattheyses 1982). Nodes without edges take no part in it: each goes to the smallest part.
func partition(a *graph.Adjacency, parts int, rng *rand.Rand) []int {
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
	split(a, connected, part, 0, newShare(len(connected), len(sizes)), rng)
	for _, i := range connected {
		sizes[part[i]]++
	}
	for _, i := range isolated {
		part[i] = slices.Index(sizes, slices.Min(sizes))
		sizes[part[i]]++
	}
	return part
}

// share is what a number of parts may hold.
type share struct {
	parts   int
	low, up int // nodes in each
}

// newShare allows 5 % off the mean, in whole nodes.
func newShare(nodes, parts int) share {
	percent := 100 * parts
	return share{parts: parts, low: min(nodes/parts, (95*nodes+percent-1)/percent), up: max((nodes+parts-1)/parts, 105*nodes/percent)}
}

// split divides the given nodes among the parts from first on.
func split(a *graph.Adjacency, nodes []int32, part []int, first int, s share, rng *rand.Rand) {
	if s.parts == 1 {
		for _, i := range nodes {
			part[i] = first
		}
		return
	}
	left, right := s, s
	left.parts, right.parts = s.parts/2, s.parts-s.parts/2
	sub := a.Induced(nodes)
	w := window{ // such that neither side has too few or too many for its parts
		low: max(left.parts*s.low, len(nodes)-right.parts*s.up),
		up:  min(left.parts*s.up, len(nodes)-right.parts*s.low),
	}
	b := best(func() *bisection { return bisect(unweighted(&sub), w, rng) })
	var sides [2][]int32
	for i, node := range nodes {
		sides[b.side[i]] = append(sides[b.side[i]], node)
	}
	split(a, sides[0], part, first, left, rng)
	split(a, sides[1], part, first+left.parts, right, rng)
}

// window is how much side 0 of a bisection may hold.
type window struct{ low, up int }

// violation is by how much a size misses the window.
func (w window) violation(size int) int { return max(0, w.low-size, size-w.up) }

const (
	coarsest  = 60  // nodes at which contraction ends
	tries     = 4   // bisections of which the best is kept, at the coarsest graph and at the graph itself
	passes    = 10  // of refinement at each level, at most
	patience  = 100 // moves of a pass without a new best one
	shrinkage = 0.9 // contraction ends where it leaves a larger share of nodes
	heaviest  = 4   // a contracted node holds at most a share of total·heaviest/coarsest
)

// bisect divides a graph in two, side 0 within the window.
func bisect(g *weighted, w window, rng *rand.Rand) *bisection {
	n := len(g.size)
	if n > coarsest {
		if small, to := g.contract(rng); float64(len(small.size)) <= shrinkage*float64(n) {
			of := bisect(small, w, rng)
			side := make([]int8, n)
			for i := range side {
				side[i] = of.side[to[i]]
			}
			b := newBisection(g, w, side)
			b.refine()
			return b
		}
	}
	return best(func() *bisection {
		b := newBisection(g, w, g.grow(w, rng))
		b.refine()
		return b
	})
}

// best returns the best of some bisections of one graph.
func best(try func() *bisection) *bisection {
	best := try()
	for range tries - 1 {
		if b := try(); b.better(best.violation(), best.cut) {
			best = b
		}
	}
	return best
}

// weighted is an undirected graph in compressed sparse rows, with weights.
type weighted struct {
	offsets    []int
	neighbours []int32
	weight     []int // of the edges
	size       []int // of the nodes: how many have been contracted to each
}

func unweighted(a *graph.Adjacency) *weighted {
	n := a.NumNodes()
	g := &weighted{offsets: make([]int, n+1), neighbours: a.Neighbors, weight: slices.Repeat([]int{1}, len(a.Neighbors))}
	g.size = slices.Repeat([]int{1}, n)
	for i := range n {
		g.offsets[i+1] = int(a.Offsets[i+1])
	}
	return g
}

// each visits the edges of a node.
func (g *weighted) each(i int32, visit func(j int32, weight int)) {
	for e := g.offsets[i]; e < g.offsets[i+1]; e++ {
		visit(g.neighbours[e], g.weight[e])
	}
}

func (g *weighted) total() (sum int) {
	for _, s := range g.size {
		sum += s
	}
	return sum
}

// contract joins every node with the unmatched neighbour across its heaviest edge, in random order, and returns the smaller
// graph with the map onto its nodes.
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
	at := slices.Repeat([]int{-1}, len(members)) // where the edge to a node stands, if it belongs to the present row
	for c, pair := range members {
		begin := len(small.neighbours)
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
					at[t] = len(small.neighbours)
					small.neighbours, small.weight = append(small.neighbours, t), append(small.weight, weight)
				}
			})
		}
		small.size, small.offsets = append(small.size, size), append(small.offsets, len(small.neighbours))
	}
	return small
}

// grow takes nodes into side 0 from a random one on, each time the one that adds least to the cut, until the middle of the window
// is reached. Where the frontier is empty it starts again from another random node.
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

// bisection is a graph divided in two.
type bisection struct {
	window
	graph *weighted
	side  []int8
	gain  []int // by how much the cut falls if the node changes sides
	held  int   // by side 0
	cut   int
}

func newBisection(g *weighted, w window, side []int8) *bisection {
	b := &bisection{window: w, graph: g, side: side, gain: make([]int, len(side))}
	for i, s := range side {
		if s == 0 {
			b.held += g.size[i]
		}
		g.each(int32(i), func(j int32, weight int) {
			if side[j] == s {
				b.gain[i] -= weight
			} else {
				b.gain[i] += weight
				b.cut += weight
			}
		})
	}
	b.cut /= 2
	return b
}

func (b *bisection) violation() int { return b.window.violation(b.held) }

// better reports whether the bisection is nearer to its window than another, or cuts less.
func (b *bisection) better(violation, cut int) bool {
	return cmp.Or(cmp.Compare(b.violation(), violation), cmp.Compare(b.cut, cut)) < 0
}

// refine passes over the nodes until that helps no more.
func (b *bisection) refine() {
	for range passes {
		if !b.pass() {
			return
		}
	}
}

// pass moves nodes one after the other, each once at most and the one that gains most first, even where that is a loss; then
// it goes back to the best state on the way, and reports whether that is better than the first.
//
// Side 0 gives unless it has less than it must, side 1 unless side 0 has more than it may: so the window is left by one node
// at most, and one of the sides can always give.
func (b *bisection) pass() bool {
	var queues [2]moves
	for i, s := range b.side {
		queues[s].list = append(queues[s].list, move{node: int32(i), gain: b.gain[i]})
	}
	for s := range queues {
		heap.Init(&queues[s])
	}
	locked := make([]bool, len(b.side))
	violation, cut := b.violation(), b.cut
	var path []int32
	best := 0
	for len(path) < best+patience {
		node, ok := b.choose(&queues, locked)
		if !ok {
			break
		}
		locked[node] = true
		b.move(node, func(j int32) { queues[b.side[j]].add(j, b.gain[j]) })
		path = append(path, node)
		if b.better(violation, cut) {
			violation, cut, best = b.violation(), b.cut, len(path)
		}
	}
	for _, node := range slices.Backward(path[best:]) {
		b.move(node, func(int32) {})
	}
	return best > 0
}

// choose takes the node to move next from the queues.
func (b *bisection) choose(queues *[2]moves, locked []bool) (node int32, ok bool) {
	var tops [2]move
	var has [2]bool
	for s := range queues {
		if may := [2]bool{b.held >= b.low, b.held <= b.up}; may[s] {
			tops[s], has[s] = queues[s].take(func(m move) bool { return !locked[m.node] && m.gain == b.gain[m.node] })
		}
	}
	s := 0
	if !has[0] || has[1] && tops[0].less(tops[1]) {
		s = 1
	}
	if has[1-s] {
		queues[1-s].put(tops[1-s])
	}
	return tops[s].node, has[s]
}

// move takes a node to the other side and tells of the neighbours, whose gains have changed.
func (b *bisection) move(node int32, changed func(j int32)) {
	from := b.side[node]
	b.cut -= b.gain[node]
	b.gain[node] = -b.gain[node]
	b.side[node] = 1 - from
	b.held += b.graph.size[node] * (2*int(from) - 1)
	b.graph.each(node, func(j int32, weight int) {
		if b.side[j] == from {
			b.gain[j] += 2 * weight
		} else {
			b.gain[j] -= 2 * weight
		}
		changed(j)
	})
}

// move is a node with its gain when it was queued.
type move struct {
	node int32
	gain int
	age  int // the later, the larger
}

// less puts the smaller gain first; of equal gains the older, as nodes near the last moves are the better ones (Hagen, Huang
// and Kahng 1997).
func (m move) less(o move) bool {
	return cmp.Or(cmp.Compare(m.gain, o.gain), cmp.Compare(m.age, o.age), cmp.Compare(m.node, o.node)) < 0
}

// moves is a queue of the largest first. Entries that are out of date stay in it until they surface.
type moves struct {
	list []move
	age  int
}

func (q *moves) Len() int           { return len(q.list) }
func (q *moves) Less(i, j int) bool { return q.list[j].less(q.list[i]) }
func (q *moves) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *moves) Push(x any)         { q.list = append(q.list, x.(move)) }
func (q *moves) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

func (q *moves) add(node int32, gain int) {
	q.age++
	q.put(move{node: node, gain: gain, age: q.age})
}

func (q *moves) put(m move) { heap.Push(q, m) }

// take removes and returns the first entry that is still valid.
func (q *moves) take(valid func(m move) bool) (m move, ok bool) {
	for q.Len() > 0 {
		if m = heap.Pop(q).(move); valid(m) {
			return m, true
		}
	}
	return move{}, false
}
