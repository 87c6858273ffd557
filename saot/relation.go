package saot

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
)

// structureOf returns A of Eq. 7 for the aligned nodes of a view.
func (r Relation) structureOf(pair *train.Pair, view int, points []int32) transport.Structure {
	switch r {
	case Walks:
		return transport.Dense{Matrix: walks(pair.Neighbors(view), points)}
	case Unrelated:
		return transport.Sparse{Offsets: make([]int64, len(points)+1)}
	}
	induced := pair.Induced(view, points)
	return transport.Sparse(induced.Undirected()) // transport takes symmetric structures
}

// walks returns [Â²]_PP [M, M], the rows and columns of Â² that belong to the points: how much of one point two hops of
// propagation bring to another. Its diagonal is 0, as that of an adjacency is. Where edges go one way, it is the mean
// of both ways. O(M·d² + M²) time for degrees of d.
func walks(neighbors func(v int32) []int32, points []int32) *mat.Dense {
	near := nearby(neighbors, points)
	place := make(map[int32]int, len(points))
	for i, v := range points {
		place[v] = i
	}
	out := mat.NewDense(len(points), len(points), nil)
	root := func(v int32) float64 { return math.Sqrt(float64(len(near[v]) + 1)) }
	// The second hop has wrong weights for nodes that near does not list. None of them is a point.
	hop := func(v int32, to func(u int32, weight float64)) {
		scale := 1 / root(v)
		to(v, scale*scale)
		for _, u := range near[v] {
			to(u, scale/root(u))
		}
	}
	parallel.Ranges(len(points), func(first, end int) {
		for i := first; i < end; i++ {
			row := out.RawRowView(i)
			hop(points[i], func(u int32, w float64) {
				hop(u, func(x int32, y float64) {
					if j, ok := place[x]; ok && j != i {
						row[j] += w * y
					}
				})
			})
		}
	})
	for i := range points {
		for j := range i {
			both := (out.At(i, j) + out.At(j, i)) / 2
			out.Set(i, j, both)
			out.Set(j, i, both)
		}
	}
	return out
}

// nearby lists the neighbors of points, and of their neighbors. It asks for those of each node once: to list them may
// take a hash of each edge.
func nearby(neighbors func(v int32) []int32, points []int32) map[int32][]int32 {
	near := make(map[int32][]int32, len(points))
	list := func(nodes []int32) {
		for _, v := range nodes {
			if _, ok := near[v]; !ok {
				near[v] = neighbors(v)
			}
		}
	}
	list(points)
	for _, v := range points {
		list(near[v])
	}
	return near
}

// structureFigures say how much of a plan the structure decides.
type structureFigures struct {
	// seen is the share of the variance of L⊗π that is left after its rows and columns are centered. A plan of fixed
	// marginals sees nothing else.
	seen float64
	// moved is the L1 distance between the plan and that of the features alone, from 0 to 2.
	moved float64
}

// structureFigures solves the problem of a result again, without the structure.
func (p *graphPlans) structureFigures(result *transport.GromovResult,
	feature *mat.Dense) (f structureFigures, err error) {
	n, m := result.Plan.Dims()
	structure := mat.NewDense(n, m, nil) // times (1−σ)
	structure.Scale(-p.sigma, feature)
	structure.Add(structure, result.Target)
	variance := func(x *mat.Dense) float64 { return stat.PopVariance(x.RawMatrix().Data, nil) }
	if total := variance(structure); total > 0 {
		f.seen = variance(centered(structure)) / total
	}
	none := transport.Sparse{Offsets: make([]int64, n+1)}
	var alone transport.GromovResult
	if err := p.solver.Solve(&alone, transport.GromovProblem{Feature: feature, Structure1: none,
		Structure2: none}); err != nil {
		return f, err
	}
	for i, x := range result.Plan.RawMatrix().Data {
		f.moved += math.Abs(x - alone.Plan.RawMatrix().Data[i])
	}
	return f, nil
}

// centered is J·x·J with J = I − 11ᵀ/n.
func centered(x *mat.Dense) *mat.Dense {
	n, m := x.Dims()
	rows, columns := make([]float64, n), make([]float64, m)
	for i := range n {
		for j, e := range x.RawRowView(i) {
			rows[i] += e / float64(m)
			columns[j] += e / float64(n)
		}
	}
	mean := mat.Sum(x) / float64(n*m)
	out := mat.NewDense(n, m, nil)
	out.Apply(func(i, j int, e float64) float64 { return e - rows[i] - columns[j] + mean }, x)
	return out
}
