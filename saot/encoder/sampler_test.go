package encoder

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// twoThirds drops every third edge.
type twoThirds struct{}

func (twoThirds) Share() float64 { return 2. / 3 }

func (twoThirds) Keep(kept []int32, node int32, neighbors []int32) []int32 {
	for _, u := range neighbors {
		if (u+node)%3 != 0 {
			kept = append(kept, u)
		}
	}
	return kept
}

// Every hop holds for each of its targets as many different neighbors in the view as there are, up to the fan-out.
func TestSamplerDrawsWithoutReplacement(t *testing.T) {
	g := randomGraph(t, 300, 1, 1)
	for _, filter := range []Filter{nil, twoThirds{}} {
		for _, fanOut := range [][]int{{3}, {4, 2}, {2, 0, 3}} {
			s := NewSampler(g, fanOut)
			targets := []int32{7, 0, 299, 41}
			n := s.Draw(targets, filter, 5)
			require.Equal(t, targets, n.Nodes[:4])
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(n.Nodes))), len(n.Nodes), "a node stands twice")
			before := len(targets)
			for k, h := range n.hops {
				require.Equal(t, before, h.drawn.targets())
				for i := range before {
					near := kept(g, n.Nodes[i], filter)
					require.Equal(t, len(near), int(n.degree[i]))
					drawn := h.drawn.of(i)
					want := len(near)
					if fanOut[k] > 0 {
						want = min(want, fanOut[k])
					}
					require.Len(t, slices.Compact(slices.Sorted(slices.Values(drawn))), want)
					for _, j := range drawn {
						require.Contains(t, near, n.Nodes[j])
						require.Less(t, int(j), h.nodes)
					}
				}
				before = h.nodes
			}
			require.Equal(t, before, len(n.Nodes), "no node but those drawn")
			last := n.hops[len(n.hops)-1].drawn.targets()
			for i, v := range n.Nodes[last:] {
				near := float64(len(g.Adjacency.Neighborhood(int(v))))
				if filter != nil {
					near *= filter.Share()
				}
				require.InDelta(t, near, n.degree[last+i], 1e-5)
			}
		}
	}
}

func kept(g *graph.Graph, v int32, filter Filter) []int32 {
	near := g.Adjacency.Neighborhood(int(v))
	if filter == nil {
		return near
	}
	return filter.Keep(nil, v, near)
}

func TestSamplerRepeatsOnAnyNumberOfCores(t *testing.T) {
	g := randomGraph(t, 4000, 1, 1)
	targets := make([]int32, 1500) // enough for several goroutines
	for i := range targets {
		targets[i] = int32(2 * i)
	}
	s := NewSampler(g, []int{2, 2})
	first := s.Draw(targets, twoThirds{}, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Equal(t, first, s.Draw(targets, twoThirds{}, 1))
	require.Equal(t, first, NewSampler(g, []int{2, 2}).Draw(targets, twoThirds{}, 1))
	require.NotEqual(t, first, s.Draw(targets, twoThirds{}, 2))
}

// The room of a sample holds the worst that can be drawn: graphs of hubs, on which every draw hits the same nodes, and
// graphs with enough nodes that no node is hit twice.
func TestSampleRoomHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, nodes := range []int{40, 300, 5000} {
		var src, dst []int32
		for range 20 * nodes {
			hub := rng.IntN(1 + rng.IntN(nodes))
			src, dst = append(src, int32(hub)), append(dst, int32(rng.IntN(nodes)))
		}
		a, err := graph.NewAdjacency(nodes, src, dst)
		require.NoError(t, err)
		g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: nodes}}
		for _, fanOut := range [][]int{{1, 1}, {3, 5}, {20, 7, 2}, {17, 0}, {0, 0}} {
			s := NewSampler(g, fanOut)
			for _, m := range []int{1, 2, 30} {
				targets := make([]int32, 0, m)
				for _, v := range rng.Perm(nodes)[:m] {
					targets = append(targets, int32(v))
				}
				n := s.Draw(targets, nil, rng.Uint64())
				room := s.room(m, s.halvesFor(n, m))
				for k, h := range n.hops {
					require.Less(t, h.nodes, room.nodes[k+1], "one node of padding")
					require.LessOrEqual(t, room.nodes[k+1], nodes+1, "a graph has no more")
					require.NoError(t, holds(room.forward[k], chunkCounts(h.drawn.counts(), forwardWidth(fanOut[k]))))
					require.NoError(t, holds(room.backward[k],
						chunkCounts(h.drawn.transposed(h.nodes).counts(), backwardWidth)))
				}
			}
		}
	}
}

// Graphs up to the size that was announced share the bound on their hops; larger ones share the next.
func TestSampleRoomsAreShared(t *testing.T) {
	gs := NewGraphs(5, NewBuckets(nil, 1, []Size{SizeOf(randomGraph(t, 60, 5, 1))}))
	for nodes, want := range map[int]int{40: 60, 60: 60, 61: 90, 90: 90, 100: 120} {
		require.Equal(t, want, gs.Sampler(randomGraph(t, nodes, 5, 1), []int{3}).largest)
	}
}

func TestTransposedLists(t *testing.T) {
	l := lists{offsets: []int64{0, 2, 2, 5}, rows: []int32{3, 0, 0, 1, 3}}
	got := l.transposed(4)
	require.Equal(t, lists{offsets: []int64{0, 2, 3, 3, 5}, rows: []int32{0, 2, 2, 0, 2}}, got)
	require.Equal(t, lists{offsets: []int64{0, 2, 2, 5}, rows: []int32{0, 3, 0, 1, 3}}, got.transposed(3),
		"rows now ascend")
}
