package transport

import (
	"context"
	"iter"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const (
	// massUnits is the number of units in the mass 1. Every sum of masses fits int64, and every float64 above 2^-9 is a
	// whole number of units.
	massUnits = 1 << 62
	// massDust is 2^-52 in units, the rounding of a mass near 1. It is left over if a part of μ equals a part of ν up
	// to rounding (3/6 and 2/4).
	massDust = massUnits >> 52
)

// exactFlow returns an optimal plan and optimal dual potentials of optimal transport without entropy,
//
//	min_{π ≥ 0, π1 = μ, πᵀ1 = ν} ⟨C, π⟩ = max_{f_i + g_j ≤ C_ij} ⟨f, μ⟩ + ⟨g, ν⟩
//
// by the network simplex method (Dantzig 1951; Ahuja, Magnanti, Orlin 1993, ch. 11) on strongly feasible trees
// (Cunningham 1976), which don't cycle on the many ties of uniform marginals and integer costs. Masses and costs are
// counted in whole units, so that the proof that it ends holds on the machine too.
//
// The potentials certify the plan: f_i = min_j (C_ij − g_j), so f_i + g_j ≤ C_ij up to one rounding, with equality
// where π_ij > 0 up to 2e-14·max|C| (min(n, m) ≤ 4096). They are finite where masses are 0. The plan has at most n + m
// − 1 entries. Those up to 2^-52 are dropped as rounding of the marginals, which hold to about 1e-15.
//
// Shapes: cost [n, m], mu [n], nu [m], finite; mu and nu ≥ 0 and of mass 1 up to rounding, which the caller checks. In
// practice it takes a few times n + m pivots, of O(n + m) time plus the pricing of a few rows. O(nm) memory. It returns
// an error only if ctx ends.
func exactFlow(ctx context.Context, cost *mat.Dense, mu, nu []float64) (plan *mat.Dense, f, g []float64, err error) {
	s := newSimplex(cost, mu, nu)
	s.start()
	for row, col := s.price(); row >= 0; row, col = s.price() {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		s.pivot(row, col)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	n, m := cost.Dims()
	plan = mat.NewDense(n, m, nil)
	s.writePlan(plan)
	f, g = s.certificate(cost)
	return plan, f, g, nil
}

// simplex is a feasible flow on a spanning tree. Its nodes are the rows and then the columns that have mass. Its arcs
// run from rows to columns, and its root is a column. The flow is strongly feasible: from every node, more could flow
// along the tree to the root. So an arc from a row up to its parent may carry 0, but one from a row down to a child may
// not.
type simplex struct {
	rows, cols []int     // the index in the cost of each row and column that has mass
	cost       [][]int64 // [rows][cols] in units of the scale
	scale      float64   // cost units in 1
	supply     []int64   // of rows, in mass units
	demand     []int64   // of columns, in mass units
	flow       [][]int64 // [rows][cols] in mass units, 0 off the tree

	tree      [][]int // neighbors of each node
	parent    []int   // of each node; −1 for the root
	depth     []int
	potential []int64 // cost units: potential[row] + potential[column] = cost on the arcs of the tree
	stack     []int   // scratch
	next      int     // row to price next
}

// newSimplex counts masses and costs in units, leaving out rows and columns without mass.
func newSimplex(cost *mat.Dense, mu, nu []float64) *simplex {
	s := new(simplex)
	s.rows, s.supply = inUnits(mu)
	s.cols, s.demand = inUnits(nu)
	balance(s.supply, s.demand)
	n, m := len(s.rows), len(s.cols)
	largest := math.Max(math.Abs(mat.Max(cost)), math.Abs(mat.Min(cost)))
	_, exponent := math.Frexp(largest)
	// A path of the tree has at most 2·min(n, m) arcs, so potentials are at most that many costs and a reduced cost
	// 4·min(n, m) + 1: they stay below 2^62. The scale is a power of 2, so that integer costs remain exact, and finite.
	s.scale = math.Ldexp(1, min(1000, 62-bits.Len(uint(4*min(n, m)+1))-exponent))
	s.cost, s.flow = make([][]int64, n), make([][]int64, n)
	for i, row := range s.rows {
		s.cost[i], s.flow[i] = make([]int64, m), make([]int64, m)
		for j, col := range s.cols {
			s.cost[i][j] = int64(math.Round(cost.At(row, col) * s.scale))
		}
	}
	s.tree, s.potential = make([][]int, n+m), make([]int64, n+m)
	s.parent, s.depth = make([]int, n+m), make([]int, n+m)
	return s
}

// inUnits returns the places with mass and their masses in units.
func inUnits(mass []float64) (places []int, units []int64) {
	for k, x := range mass {
		if u := int64(math.Round(x * massUnits)); u > 0 {
			places, units = append(places, k), append(units, u)
		}
	}
	return places, units
}

// balance makes both sums equal to the unit. Rounding parts them by little, so the largest mass takes the difference.
func balance(a, b []int64) {
	missing := int64(0)
	for _, x := range a {
		missing += x
	}
	for _, x := range b {
		missing -= x
	}
	if missing < 0 {
		b, missing = a, -missing
	}
	b[slices.Index(b, slices.Max(b))] += missing
}

// start makes the first tree: each row in turn ships to its cheapest columns that are still open. One row or one column
// closes at each step. If both could, the column does, so that an arc without flow joins the row to another column.
func (s *simplex) start() {
	supply, demand := slices.Clone(s.supply), slices.Clone(s.demand)
	open := make([]int, len(s.cols))
	for j := range open {
		open[j] = j
	}
	for i := range s.rows {
		for {
			at := 0
			for k, j := range open {
				if s.cost[i][j] < s.cost[i][open[at]] {
					at = k
				}
			}
			j := open[at]
			amount := min(supply[i], demand[j])
			s.flow[i][j] = amount
			s.link(i, len(s.rows)+j)
			supply[i] -= amount
			demand[j] -= amount
			if demand[j] > 0 || len(open) == 1 {
				break
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	// Totals agree, so the last column stays open to the end. As the root it needs no arc that carries flow.
	s.hang(len(s.rows)+open[0], -1)
}

func (s *simplex) link(a, b int) {
	s.tree[a] = append(s.tree[a], b)
	s.tree[b] = append(s.tree[b], a)
}

func (s *simplex) unlink(a, b int) {
	k := slices.Index(s.tree[a], b)
	s.tree[a] = slices.Delete(s.tree[a], k, k+1)
	k = slices.Index(s.tree[b], a)
	s.tree[b] = slices.Delete(s.tree[b], k, k+1)
}

// hang sets parent, depth and potential of a node and of all nodes below it.
func (s *simplex) hang(node, parent int) {
	s.parent[node] = parent
	s.stack = append(s.stack[:0], node)
	for len(s.stack) > 0 {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if p := s.parent[v]; p >= 0 {
			row, col := s.arc(v)
			s.depth[v] = s.depth[p] + 1
			s.potential[v] = s.cost[row][col] - s.potential[p]
		} else {
			s.depth[v], s.potential[v] = 0, 0
		}
		for _, w := range s.tree[v] {
			if w != s.parent[v] {
				s.parent[w] = v
				s.stack = append(s.stack, w)
			}
		}
	}
}

// arc returns row and column of the arc between a node and its parent.
func (s *simplex) arc(v int) (row, col int) {
	if n := len(s.rows); v >= n {
		return s.parent[v], v - n
	}
	return v, s.parent[v] - len(s.rows)
}

// price returns the arc of the most negative reduced cost in the next row that has a negative one. It returns row −1 if
// no row has one: the flow is then optimal.
func (s *simplex) price() (row, col int) {
	g := s.potential[len(s.rows):]
	for range s.rows {
		row = s.next
		s.next = (s.next + 1) % len(s.rows)
		least, at := s.potential[row], -1
		for j, c := range s.cost[row][:len(g)] {
			if c -= g[j]; c < least {
				least, at = c, j
			}
		}
		if at >= 0 {
			return row, at
		}
	}
	return -1, -1
}

// pivot brings an arc into the tree, ships as much as possible along the cycle that it closes, and drops an arc whose
// flow falls to 0. Among several it drops the last one on the way from the apex of the cycle in the direction of the
// new arc. This rule of Cunningham keeps the tree strongly feasible. A pivot that ships nothing then lowers the sum of
// the potentials, and any other lowers the cost, so that no tree comes back.
func (s *simplex) pivot(row, col int) {
	n := len(s.rows)
	amount, leaving := int64(math.MaxInt64), -1
	for v, against := range s.cycle(row, col) {
		if i, j := s.arc(v); against && (s.flow[i][j] < amount || s.flow[i][j] == amount && v >= n) {
			amount, leaving = s.flow[i][j], v
		}
	}
	s.flow[row][col] = amount
	for v, against := range s.cycle(row, col) {
		if i, j := s.arc(v); against {
			s.flow[i][j] -= amount
		} else {
			s.flow[i][j] += amount
		}
	}
	s.unlink(leaving, s.parent[leaving])
	s.link(row, n+col)
	// The arc that left was above the row if it hung on a row, else above the column. That end of the new arc is cut
	// off.
	if leaving < n {
		s.hang(row, n+col)
	} else {
		s.hang(n+col, row)
	}
}

// cycle yields the arcs of the tree that an arc off the tree would close a cycle with, from the row and from the column
// up to the apex. It names each by the node below it, and says whether the cycle passes it against its direction: from
// the apex down to the row it does so at rows, from the column up to the apex at columns.
func (s *simplex) cycle(row, col int) iter.Seq2[int, bool] {
	n := len(s.rows)
	return func(yield func(v int, against bool) bool) {
		for u, v := row, n+col; u != v; {
			if s.depth[u] >= s.depth[v] {
				if !yield(u, u < n) {
					return
				}
				u = s.parent[u]
			} else {
				if !yield(v, v >= n) {
					return
				}
				v = s.parent[v]
			}
		}
	}
}

func (s *simplex) writePlan(plan *mat.Dense) {
	for i, row := range s.flow {
		for j, flow := range row {
			if flow > massDust {
				plan.Set(s.rows[i], s.cols[j], float64(flow)/massUnits)
			}
		}
	}
}

// certificate returns the potentials of all rows and columns in the unit of the cost, each as large as the others
// allow.
func (s *simplex) certificate(cost *mat.Dense) (f, g []float64) {
	n, m := cost.Dims()
	f, g = make([]float64, n), make([]float64, m)
	fill(g, math.Inf(1))
	for i, row := range s.rows {
		potential := float64(s.potential[i]) / s.scale
		for j, c := range cost.RawRowView(row) {
			g[j] = min(g[j], c-potential)
		}
	}
	for i := range f {
		f[i] = math.Inf(1)
		for j, c := range cost.RawRowView(i) {
			f[i] = min(f[i], c-g[j])
		}
	}
	return f, g
}
