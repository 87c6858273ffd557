package baseline

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
)

type coarsening struct {
	cluster  []int32 // of each node; clusters are numbered by their first nodes
	clusters int
}

// rows are vectors, row major.
type rows struct {
	data  []float32
	width int
}

func (r rows) of(i int) []float32 { return r.data[i*r.width:][:r.width] }

// nearestBlock is how many clusters without a common edge are compared with each other.
const nearestBlock = 2048

// coarsened merges nodes, the most similar first, until at most (1−r)·N clusters of N nodes are left. Similar nodes
// have embeddings of norm 1 with a large inner product. It merges
//
//  1. the ends of edges;
//  2. clusters without a common edge, once no edges are left, so that a graph in pieces shrinks as others do;
//  3. and then in the same way the protected nodes, which have kept to themselves (TACO's node-fidelity preservation).
//
// Edges merge whole clusters, so that these may be of any size, unlike those of a matching. O(E log E) time, and for
// each of n clusters that merge without an edge O(min(n, B)·d), B = nearestBlock. It returns ctx.Err() when canceled.
func coarsened(ctx context.Context, a *graph.Adjacency, embedded rows, protected []bool,
	reduction float64) (*coarsening, error) {
	n := a.NumNodes()
	m := &merger{disjointSets: newDisjointSets(n), embedded: embedded, left: n,
		target: int((1 - reduction) * float64(n)), block: nearestBlock}
	for _, all := range []bool{false, true} {
		may := func(v int32) bool { return all || !protected[v] }
		m.merge(m.edges(a, may))
		for m.left > m.target {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			before := m.left
			m.merge(m.nearest(may))
			if m.left == before {
				break
			}
		}
	}
	return m.coarsening(), nil
}

// merger joins sets of similar nodes until few enough are left.
type merger struct {
	*disjointSets
	embedded     rows
	left, target int
	block        int // clusters that are compared with each other; bounds the memory
}

type pair struct {
	i, j       int32
	similarity float64
}

// merge joins the most similar pairs first; equal ones in the order of their nodes.
func (m *merger) merge(pairs []pair) {
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.similarity, x.similarity), cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j))
	})
	for _, p := range pairs {
		if m.left <= m.target {
			return
		}
		if m.union(p.i, p.j) {
			m.left--
		}
	}
}

// edges returns each edge between nodes that may merge once.
func (m *merger) edges(a *graph.Adjacency, may func(v int32) bool) (pairs []pair) {
	for i := range int32(a.NumNodes()) {
		for _, j := range a.Neighborhood(int(i)) {
			if i < j && may(i) && may(j) {
				pairs = append(pairs, pair{i, j, innerProduct(m.embedded.of(int(i)), m.embedded.of(int(j)))})
			}
		}
	}
	return pairs
}

// nearest returns each cluster of nodes that may merge with the most similar other one of its block. Clusters are
// compared by the sums of their members' embeddings, of norm 1 again.
func (m *merger) nearest(may func(v int32) bool) (pairs []pair) {
	var first []int32 // a node of each cluster
	var sums []float32
	number := map[int32]int{}
	for v := range int32(len(m.parent)) {
		root := m.find(v)
		c, ok := number[root]
		if !ok {
			if !may(v) {
				continue
			}
			c = len(first)
			number[root] = c
			first, sums = append(first, v), append(sums, make([]float32, m.embedded.width)...)
		}
		blas32.Axpy(1, vector(m.embedded.of(int(v))), vector(rows{sums, m.embedded.width}.of(c)))
	}
	all := rows{sums, m.embedded.width}
	for c := range first {
		if norm := blas32.Nrm2(vector(all.of(c))); norm > 0 {
			blas32.Scal(1/norm, vector(all.of(c)))
		}
	}
	for start := 0; start < len(first); start += m.block {
		end := min(start+m.block, len(first))
		pairs = append(pairs, nearestIn(rows{sums[start*all.width : end*all.width], all.width}, first[start:end])...)
	}
	return pairs
}

// nearestIn pairs each of some clusters with the one of the largest inner product.
func nearestIn(clusters rows, first []int32) (pairs []pair) {
	n := len(first)
	x := blas32.General{Rows: n, Cols: clusters.width, Stride: clusters.width, Data: clusters.data}
	products := blas32.General{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, x, 0, products)
	for i := range n {
		best := -1
		for j, s := range products.Data[i*n : (i+1)*n] {
			if j != i && (best < 0 || s > products.Data[i*n+best]) {
				best = j
			}
		}
		if best >= 0 {
			pairs = append(pairs, pair{min(first[i], first[best]), max(first[i], first[best]),
				float64(products.Data[i*n+best])})
		}
	}
	return pairs
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
//	C_cv = √(deg_v / Σ_{u∈c} deg_u),   so that C·Cᵀ = I.
//
// A node without edges has a share as one with one edge.
func (p *coarsening) projection(a *graph.Adjacency) []float64 {
	degree := func(v int) float64 { return float64(max(1, len(a.Neighborhood(v)))) }
	total := make([]float64, p.clusters)
	for v, c := range p.cluster {
		total[c] += degree(v)
	}
	entry := make([]float64, len(p.cluster))
	for v, c := range p.cluster {
		entry[v] = math.Sqrt(degree(v) / total[c])
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
			out[c][class] += float32(float32(share[v]) * x) // rounded, so that no processor fuses the two
		}
	}
	return out
}
