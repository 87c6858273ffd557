package encoder

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/internal/seed"
)

// Sampler draws neighborhoods of a few nodes from a large graph (Hamilton, Ying and Leskovec 2017): the targets, some
// neighbors of each, some neighbors of all these, and so on. What it costs depends on the fan-outs and the degrees,
// not on the size of the graph. It is not safe for concurrent use.
type Sampler struct {
	graph    *graph.Graph
	fanOut   []int
	all      []int         // chunks of the whole graph's tree, where a fan-out is unlimited
	position []int32       // of each node in the neighborhood, from 1, while one is drawn; 0 is absent
	halves   int           // of the room that SampleAlike has needed so far
	largest  int           // nodes of a hop at most, the same for many graphs
	sparse   *sampledRooms // nil where samples have dense features
}

// NewSampler prepares for sampling from a graph. fanOut lists how many neighbors are drawn for each node, from the
// targets outwards, without replacement; 0 takes all.
func NewSampler(g *graph.Graph, fanOut []int) *Sampler {
	s := &Sampler{graph: g, fanOut: fanOut, position: make([]int32, g.NumNodes()), largest: g.NumNodes()}
	if slices.Contains(fanOut, 0) {
		s.all = chunkCounts(listsOf(&g.Adjacency).counts(), chunkWidth)
	}
	return s
}

// Graph returns what is sampled from.
func (s *Sampler) Graph() *graph.Graph { return s.graph }

// Neighborhood is what a Sampler draws.
type Neighborhood struct {
	Nodes []int32 // ids in the graph: the targets, then what each hop adds
	hops  []hop
	// degree is the number of neighbors of each node in the view, of which hops may hold fewer. Of the last hop's
	// nodes, which are most of all, it is the mean over views: to count would be to go through all their edges.
	degree    []float32
	loopsLeft bool // out of Â

	from []int32 // of a part, where its nodes stand in the whole
	// elsewhere marks, of each layer's targets but the last layer's, those that an earlier part of the same
	// neighborhood has too; by hop, nil if it is not a part.
	elsewhere [][]bool
}

// Targets returns the number of nodes whose neighborhood it is.
func (n *Neighborhood) Targets() int { return n.hops[0].drawn.targets() }

// WithoutLoops turns Â into D^{−1/2}·A·D^{−1/2} for what is laid out from the neighborhood, a node without neighbors
// counting as one of degree 1. In the layers that the engine propagates that is Propagation.ApplyNeighbors.
func (n *Neighborhood) WithoutLoops() *Neighborhood {
	out := *n
	out.loopsLeft = true
	return &out
}

// Shuffled returns the neighborhood with the features of its nodes dealt out to them at random.
func (n *Neighborhood) Shuffled(rng *rand.Rand) *Neighborhood {
	out := *n
	out.Nodes = slices.Clone(n.Nodes)
	rng.Shuffle(len(out.Nodes), func(i, j int) { out.Nodes[i], out.Nodes[j] = out.Nodes[j], out.Nodes[i] })
	return &out
}

// hop lists the neighbors that were drawn, as positions in Nodes, for the nodes of the hops before.
type hop struct {
	drawn lists
	nodes int // length of Nodes with this hop's
}

// Filter is what a view keeps of a graph's edges.
type Filter interface {
	// Keep appends to kept those of a node's neighbors whose edges to it are kept.
	Keep(kept []int32, node int32, neighbors []int32) []int32
	// Share returns the share of edges that is kept on average.
	Share() float64
}

// Draw returns a neighborhood of distinct targets in the view of the graph that the filter leaves; nil leaves all
// edges. The same seed gives the same neighborhood on any number of cores.
func (s *Sampler) Draw(targets []int32, filter Filter, seedValue uint64) *Neighborhood {
	n := &Neighborhood{Nodes: slices.Clone(targets)}
	for i, v := range targets {
		s.position[v] = int32(i) + 1
	}
	for k, f := range s.fanOut {
		if f == 0 {
			f = math.MaxInt
		}
		var drawn lists
		drawn, n.degree = s.neighbors(n.Nodes, f, filter, seed.Mix(seedValue, uint64(k)))
		for at, v := range drawn.rows {
			if s.position[v] == 0 {
				n.Nodes = append(n.Nodes, v)
				s.position[v] = int32(len(n.Nodes))
			}
			drawn.rows[at] = s.position[v] - 1
		}
		n.hops = append(n.hops, hop{drawn, len(n.Nodes)})
	}
	for _, v := range n.Nodes {
		s.position[v] = 0
	}
	share := float32(1)
	if filter != nil {
		share = float32(filter.Share())
	}
	for _, v := range n.Nodes[len(n.degree):] {
		n.degree = append(n.degree, share*float32(len(s.graph.Adjacency.Neighborhood(int(v)))))
	}
	return n
}

// neighbors draws up to f neighbors of each node, and counts all that the view keeps.
func (s *Sampler) neighbors(nodes []int32, f int, filter Filter, seedValue uint64) (lists, []float32) {
	parts := make([]lists, min(runtime.GOMAXPROCS(0), 1+len(nodes)/256))
	degree := make([]float32, len(nodes))
	parallel.Do(len(parts), func(part int) {
		var pcg rand.PCG
		var kept []int32
		var drawn []int
		rng, out := rand.New(&pcg), &parts[part]
		end := parallel.Share(len(nodes), part+1, len(parts))
		for i := parallel.Share(len(nodes), part, len(parts)); i < end; i++ {
			v := nodes[i]
			near := s.graph.Adjacency.Neighborhood(int(v))
			if filter != nil {
				kept = filter.Keep(kept[:0], v, near)
				near = kept
			}
			degree[i] = float32(len(near))
			pcg.Seed(seedValue, seed.Mix(seedValue, uint64(v)))
			if len(near) <= f {
				out.rows = append(out.rows, near...)
			} else {
				drawn = seed.Distinct(drawn[:0], f, len(near), rng)
				for _, k := range drawn {
					out.rows = append(out.rows, near[k])
				}
			}
			out.offsets = append(out.offsets, int64(len(out.rows)))
		}
	})
	joined := lists{offsets: make([]int64, 1, len(nodes)+1)}
	for _, p := range parts {
		before := int64(len(joined.rows))
		joined.rows = append(joined.rows, p.rows...)
		for _, end := range p.offsets {
			joined.offsets = append(joined.offsets, before+end)
		}
	}
	return joined, degree
}

// scale returns s_i = 1/√(degree+1) of all nodes, or 1/√degree without loops.
func (n *Neighborhood) scale() []float32 {
	out := make([]float32, len(n.degree))
	for i, d := range n.degree {
		if n.loopsLeft {
			d = max(d, 1) - 1
		}
		out[i] = float32(1 / math.Sqrt(float64(d)+1))
	}
	return out
}

// gain returns the neighbors over the neighbors drawn of a hop's target; 1 where there are none.
func (n *Neighborhood) gain(h hop, target int) float32 {
	if drawn := len(h.drawn.of(target)); drawn > 0 {
		return n.degree[target] / float32(drawn)
	}
	return 1
}
