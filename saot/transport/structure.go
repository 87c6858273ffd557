package transport

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
)

// Structure is a symmetric matrix A [n, n] that says how the nodes of a graph relate: Sparse or Dense.
type Structure interface {
	// NumNodes returns n.
	NumNodes() int

	check(name string, nodes int) error
	squareTimes(dst, x []float64)    // dst = (A∘A) x
	leftOf(dst, x *mat.Dense)        // dst = A x
	subtractTwice(dst, x *mat.Dense) // dst −= 2 x Aᵀ
}

// Sparse is the 0/1 adjacency of an undirected graph as a structure: transport.Sparse(g.Adjacency) shares its arrays.
// Solvers refuse a directed adjacency, which is not symmetric. They do not check that an undirected one is symmetric.
type Sparse graph.Adjacency

// NumNodes returns the number of rows.
func (a Sparse) NumNodes() int { return max(0, len(a.Offsets)-1) }

func (a Sparse) neighbors(i int) []int32 { return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]] }

func (a Sparse) check(name string, nodes int) error {
	switch {
	case a.NumNodes() != nodes:
		return fmt.Errorf("transport: %s has %d nodes and the feature cost %d: they must agree", name, a.NumNodes(),
			nodes)
	case a.Directed:
		return fmt.Errorf("transport: %s is directed: it must be symmetric, take its Undirected adjacency", name)
	}
	adjacency := graph.Adjacency(a)
	if err := adjacency.Validate(); err != nil {
		return fmt.Errorf("transport: %s: %w", name, err)
	}
	return nil
}

func (a Sparse) squareTimes(dst, x []float64) {
	for i := range dst {
		dst[i] = 0
		for _, j := range a.neighbors(i) {
			dst[i] += x[j]
		}
	}
}

func (a Sparse) leftOf(dst, x *mat.Dense) {
	for i := range a.NumNodes() {
		line := dst.RawRowView(i)
		fill(line, 0)
		for _, k := range a.neighbors(i) {
			floats.Add(line, x.RawRowView(int(k)))
		}
	}
}

func (a Sparse) subtractTwice(dst, x *mat.Dense) {
	rows, _ := dst.Dims()
	for i := range rows {
		line, from := dst.RawRowView(i), x.RawRowView(i)
		for j := range line {
			sum := 0.0
			for _, l := range a.neighbors(j) {
				sum += from[l]
			}
			line[j] -= 2 * sum
		}
	}
}

// Dense is any symmetric structure matrix, such as the distances within a point cloud.
type Dense struct{ Matrix *mat.Dense }

// NumNodes returns the number of rows.
func (d Dense) NumNodes() int {
	if d.Matrix == nil || d.Matrix.IsEmpty() {
		return 0
	}
	n, _ := d.Matrix.Dims()
	return n
}

func (d Dense) check(name string, nodes int) error {
	if d.NumNodes() != nodes {
		return fmt.Errorf("transport: %s has %d nodes and the feature cost %d: they must agree", name, d.NumNodes(),
			nodes)
	}
	if n, m := d.Matrix.Dims(); n != m {
		return fmt.Errorf("transport: %s is %d×%d: it must be square", name, n, m)
	}
	if err := checkCost(name, d.Matrix); err != nil {
		return err
	}
	largest := max(mat.Max(d.Matrix), -mat.Min(d.Matrix))
	for i := range nodes {
		for j, a := range d.Matrix.RawRowView(i)[:i] {
			if b := d.Matrix.At(j, i); math.Abs(a-b) > 1e-12*largest {
				return fmt.Errorf("transport: %s[%d, %d] is %v and [%d, %d] is %v: it must be symmetric", name, i, j, a,
					j, i, b)
			}
		}
	}
	return nil
}

func (d Dense) squareTimes(dst, x []float64) {
	for i := range dst {
		dst[i] = 0
		for j, a := range d.Matrix.RawRowView(i) {
			dst[i] += a * a * x[j]
		}
	}
}

func (d Dense) leftOf(dst, x *mat.Dense) { dst.Mul(d.Matrix, x) }

func (d Dense) subtractTwice(dst, x *mat.Dense) {
	blas64.Gemm(blas.NoTrans, blas.Trans, -2, x.RawMatrix(), d.Matrix.RawMatrix(), 1, dst.RawMatrix())
}
