package partition

import (
	"cmp"
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
)

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

// bisect divides a graph in two, side 0 within the window. It returns ctx.Err() when canceled.
func bisect(ctx context.Context, g *weighted, w window, rng *rand.Rand) (*bisection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := len(g.size)
	if n > coarsest {
		if small, to := g.contract(rng); float64(len(small.size)) <= shrinkage*float64(n) {
			of, err := bisect(ctx, small, w, rng)
			if err != nil {
				return nil, err
			}
			side := make([]int8, n)
			for i := range side {
				side[i] = of.side[to[i]]
			}
			b := newBisection(g, w, side)
			return b, b.refine(ctx)
		}
	}
	return best(func() (*bisection, error) {
		b := newBisection(g, w, g.grow(w, rng))
		return b, b.refine(ctx)
	})
}

func best(try func() (*bisection, error)) (*bisection, error) {
	best, err := try()
	for k := 1; k < tries && err == nil; k++ {
		var b *bisection
		if b, err = try(); err == nil && b.better(best.violation(), best.cut) {
			best = b
		}
	}
	return best, err
}

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

// refine passes over the nodes until a pass finds nothing better. It returns ctx.Err() when canceled.
func (b *bisection) refine(ctx context.Context) error {
	for range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !b.pass() {
			return nil
		}
	}
	return nil
}

// pass moves nodes one after the other, each at most once and the one with the largest gain first, even if that is a
// loss. Then it returns to the best state on the way, and reports whether that is better than the first.
//
// A node may leave side 0 unless that side is below the window, and side 1 unless side 0 is above the window. So side 0
// misses the window by at most one node, and one of the sides can always give a node.
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

// move takes a node to the other side and names the neighbors whose gains have changed.
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

// less puts the smaller gain first. Of equal gains it puts the older first: nodes near the last moves are better
// (Hagen, Huang and Kahng 1997).
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
