package baseline

import (
	"cmp"
	"math"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

type coarsening struct {
	cluster  []int32 // of each node; clusters are numbered by their first nodes
	clusters int
}

// protectedPenalty puts an edge behind all edges that touch no protected node: similarities are in [−1, 1].
const protectedPenalty = 100

// coarsened merges the ends of edges, the most similar first, until at most (1−r)·N clusters of N nodes are left, or no
// edges. Edges of protected nodes come last (TACO's node-fidelity preservation). Edges merge whole clusters, so that
// these may be of any size, unlike those of a matching. O(E log E) time.
func coarsened(a *graph.Adjacency, similarity func(i, j int32) float64, protected []bool,
	reduction float64) *coarsening {
	n := a.NumNodes()
	sets := newDisjointSets(n)
	target := (1 - reduction) * float64(n)
	for _, e := range edgesBySimilarity(a, similarity, protected) {
		if float64(n) <= target {
			break
		}
		if sets.union(e.i, e.j) {
			n--
		}
	}
	return sets.coarsening()
}

type weighed struct {
	i, j int32
	rank float64
}

// edgesBySimilarity returns each edge once, in the order of merging; edges of equal rank are in the order of their
// nodes.
func edgesBySimilarity(a *graph.Adjacency, similarity func(i, j int32) float64, protected []bool) []weighed {
	edges := make([]weighed, 0, a.NumEdges())
	for i := range int32(a.NumNodes()) {
		for _, j := range a.Neighborhood(int(i)) {
			if i > j {
				continue
			}
			e := weighed{i: i, j: j, rank: similarity(i, j)}
			if protected[i] || protected[j] {
				e.rank -= protectedPenalty
			}
			edges = append(edges, e)
		}
	}
	slices.SortFunc(edges, func(x, y weighed) int {
		return cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j))
	})
	return edges
}

// disjointSets is union-find by size with path halving (Tarjan and van Leeuwen 1984).
type disjointSets struct {
	parent, size []int32
}

func newDisjointSets(n int) *disjointSets {
	s := &disjointSets{parent: make([]int32, n), size: make([]int32, n)}
	for i := range s.parent {
		s.parent[i], s.size[i] = int32(i), 1
	}
	return s
}

func (s *disjointSets) find(i int32) int32 {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// union joins the sets of two nodes and reports whether they were apart.
func (s *disjointSets) union(i, j int32) bool {
	i, j = s.find(i), s.find(j)
	if i == j {
		return false
	}
	if s.size[i] < s.size[j] {
		i, j = j, i
	}
	s.parent[j] = i
	s.size[i] += s.size[j]
	return true
}

func (s *disjointSets) coarsening() *coarsening {
	p := &coarsening{cluster: make([]int32, len(s.parent))}
	number := make([]int32, len(s.parent)) // of a root's cluster, plus 1
	for i := range s.parent {
		root := s.find(int32(i))
		if number[root] == 0 {
			p.clusters++
			number[root] = int32(p.clusters)
		}
		p.cluster[i] = number[root] - 1
	}
	return p
}

// projection returns C_cv for each node v and its cluster c, C [clusters, N] being 0 elsewhere:
//
//	C_cv = √(deg_v / Σ_{u∈c} deg_u),   and 1 for a node by itself, so that C·Cᵀ = I.
func (p *coarsening) projection(a *graph.Adjacency) []float64 {
	total, count := make([]float64, p.clusters), make([]int, p.clusters)
	for v, c := range p.cluster {
		total[c] += float64(len(a.Neighborhood(v)))
		count[c]++
	}
	entry := make([]float64, len(p.cluster))
	for v, c := range p.cluster {
		if entry[v] = 1; count[c] > 1 { // joined by edges, so that no degree is 0
			entry[v] = math.Sqrt(float64(len(a.Neighborhood(v))) / total[c])
		}
	}
	return entry
}

// shares returns the projection with rows that sum to 1: what each node adds to its cluster.
func (p *coarsening) shares(a *graph.Adjacency) []float64 {
	entry := p.projection(a)
	sum := make([]float64, p.clusters)
	for v, c := range p.cluster {
		sum[c] += entry[v]
	}
	for v, c := range p.cluster {
		entry[v] /= sum[c]
	}
	return entry
}

// adjacency joins two clusters where an edge joins nodes of them.
func (p *coarsening) adjacency(a *graph.Adjacency) (graph.Adjacency, error) {
	src, dst := make([]int32, 0, a.NumEdges()), make([]int32, 0, a.NumEdges())
	for i := range a.NumNodes() {
		for _, j := range a.Neighborhood(i) {
			if c, d := p.cluster[i], p.cluster[j]; c < d {
				src, dst = append(src, c), append(dst, d)
			}
		}
	}
	return graph.NewAdjacency(p.clusters, src, dst)
}

// members returns the nodes of each cluster, ascending.
func (p *coarsening) members() [][]int32 {
	all := make([][]int32, p.clusters)
	for v, c := range p.cluster {
		all[c] = append(all[c], int32(v))
	}
	return all
}

// features returns the weighted means of the clusters' rows, in the storage of the nodes' features.
func (p *coarsening) features(f *graph.Features, share []float64) graph.Features {
	out := graph.Features{Rows: p.clusters, Cols: f.Cols}
	if f.IsDense() {
		out.Dense = make([]float32, 0, p.clusters*f.Cols)
	} else {
		out.Offsets = make([]int64, 1, p.clusters+1)
	}
	row, touched := make([]float32, f.Cols), make([]bool, f.Cols)
	for _, nodes := range p.members() {
		var columns []int32
		for _, v := range nodes {
			f.Each(int(v), func(c int, x float64) {
				row[c] += float32(share[v] * x)
				if !touched[c] {
					touched[c], columns = true, append(columns, int32(c))
				}
			})
		}
		if f.IsDense() {
			out.Dense = append(out.Dense, row...)
		} else {
			slices.Sort(columns)
			for _, c := range columns {
				out.Columns, out.Values = append(out.Columns, c), append(out.Values, row[c])
			}
			out.Offsets = append(out.Offsets, int64(len(out.Values)))
		}
		for _, c := range columns {
			row[c], touched[c] = 0, false
		}
	}
	return out
}

// votes sums the votes of the clusters' nodes by their shares. A cluster of which no node votes has none.
func (p *coarsening) votes(votes [][]float32, share []float64) [][]float32 {
	out := make([][]float32, p.clusters)
	for v, c := range p.cluster {
		if len(votes[v]) > 0 && out[c] == nil {
			out[c] = make([]float32, len(votes[v]))
		}
		for class, x := range votes[v] {
			out[c][class] += float32(share[v]) * x
		}
	}
	return out
}
