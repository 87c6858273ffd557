package kit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
)

// Features returns the features X [nodes, columns] of a graph.
func Features(g *graph.Graph) *mat.Dense { return FeaturesOf(g, All(g)) }

// All lists the nodes of a graph.
func All(g *graph.Graph) []int32 {
	nodes := make([]int32, g.NumNodes())
	for i := range nodes {
		nodes[i] = int32(i)
	}
	return nodes
}

// Hat returns Â = D^(−1/2)(A+I)D^(−1/2) [n, n], with D the row sums of A+I: one product with it is one hop.
func Hat(a *graph.Adjacency) *mat.Dense {
	n := a.NumNodes()
	degree := func(i int) float64 { return float64(len(a.Neighborhood(i)) + 1) }
	hat := mat.NewDense(n, n, nil)
	for i := range n {
		hat.Set(i, i, 1/degree(i))
		for _, j := range a.Neighborhood(i) {
			hat.Set(i, int(j), 1/math.Sqrt(degree(i)*degree(int(j))))
		}
	}
	return hat
}

// Hops returns ÂᵏX of a graph.
func Hops(g *graph.Graph, k int) *mat.Dense {
	x, hat := Features(g), Hat(&g.Adjacency)
	for range k {
		x = Product(hat, x)
	}
	return x
}

// Product is AB.
func Product(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// Unit returns the rows scaled to length 1; a row of zeros stays.
func Unit(z *mat.Dense) *mat.Dense {
	u := mat.DenseCopyOf(z)
	n, _ := u.Dims()
	for i := range n {
		row := u.RowView(i).(*mat.VecDense)
		if length := row.Norm(2); length > 0 {
			row.ScaleVec(1/length, row)
		}
	}
	return u
}

// Cosines returns the cosine of each row of a with each row of b.
func Cosines(a, b *mat.Dense) *mat.Dense { return Product(Unit(a), Unit(b).T()) }

// Pairs sorts the entries [n, n] between two embeddings of the same nodes: of a node with itself, with others of its
// class, and with nodes of other classes.
func Pairs(m *mat.Dense, labels []int32) (self, same, other []float64) {
	for i := range labels {
		for j := range labels {
			switch v := m.At(i, j); {
			case i == j:
				self = append(self, v)
			case labels[i] == labels[j]:
				same = append(same, v)
			default:
				other = append(other, v)
			}
		}
	}
	return self, same, other
}

// Together is the largest number of rows whose cosine with one of them is at least a bound.
func Together(z *mat.Dense, bound float64) int {
	cosines, most := Cosines(z, z), 0
	for i := range cosines.RawMatrix().Rows {
		count := 0
		for _, cosine := range cosines.RawRowView(i) {
			if cosine >= bound {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// Nearest is the share of nodes whose nearest other node, by cosine, has their class.
func Nearest(z *mat.Dense, labels []int32) float64 {
	cos, hits := Cosines(z, z), 0
	for i := range labels {
		best := -1
		for j := range labels {
			if j != i && (best < 0 || cos.At(i, j) > cos.At(i, best)) {
				best = j
			}
		}
		if labels[best] == labels[i] {
			hits++
		}
	}
	return float64(hits) / float64(len(labels))
}

// Centered subtracts the mean of every row, and then the mean of every column. A transport plan does not depend on what
// it subtracts.
func Centered(m *mat.Dense) *mat.Dense {
	c := mat.DenseCopyOf(m)
	rows, cols := c.Dims()
	for i := range rows {
		row := c.RawRowView(i)
		mean := stat.Mean(row, nil)
		for j := range row {
			row[j] -= mean
		}
	}
	for j := range cols {
		mean := stat.Mean(mat.Col(nil, j, c), nil)
		for i := range rows {
			c.Set(i, j, c.At(i, j)-mean)
		}
	}
	return c
}

// Embedder is a frozen encoder.
type Embedder interface {
	Embed(ctx context.Context, g *graph.Graph) (data []float32, rows, cols int, err error)
}

// Embed returns the embeddings Z [nodes, width] of a graph, or stops the cell.
func Embed(e Embedder, g *graph.Graph) *mat.Dense {
	data, _, cols, err := e.Embed(context.Background(), g)
	Check(err)
	return RowsOf(data, cols, All(g))
}

// Keep writes a matrix to a file that outlives its cell.
func Keep(name string, m *mat.Dense) {
	Check(os.WriteFile(Saved(name), Must(m.MarshalBinary()), 0o600))
}

func readSaved(name string) ([]byte, error) {
	data, err := os.ReadFile(Saved(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("kit: %s is not there yet: run the cells above, in order", name)
	}
	return data, err
}

// Kept reads what Keep wrote.
func Kept(name string) *mat.Dense {
	var m mat.Dense
	Check(m.UnmarshalBinary(Must(readSaved(name))))
	return &m
}

// Around picks n nodes by breadth-first search from the node with the most neighbors.
func Around(a *graph.Adjacency, n int) []int32 {
	start := 0
	for i := range a.NumNodes() {
		if len(a.Neighborhood(i)) > len(a.Neighborhood(start)) {
			start = i
		}
	}
	nodes := []int32{int32(start)}
	for k := 0; k < len(nodes); k++ {
		for _, j := range a.Neighborhood(int(nodes[k])) {
			if !slices.Contains(nodes, j) && len(nodes) < n {
				nodes = append(nodes, j)
			}
		}
	}
	return nodes
}

// Edges lists the edges of a graph, each once.
func Edges(a *graph.Adjacency) (edges [][2]int) {
	for i := range a.NumNodes() {
		for _, j := range a.Neighborhood(i) {
			if i < int(j) {
				edges = append(edges, [2]int{i, int(j)})
			}
		}
	}
	return edges
}

// Common counts the edges that two graphs on the same nodes share.
func Common(a, b *graph.Adjacency) int {
	count := 0
	for _, e := range Edges(a) {
		if slices.Contains(b.Neighborhood(e[0]), int32(e[1])) {
			count++
		}
	}
	return count
}

// ClassesOf are the classes of a task's nodes, for the colors of a picture.
func ClassesOf(t datasets.Task) []int {
	classes := make([]int, len(t.Labels))
	for i, label := range t.Labels {
		classes[i] = int(label)
	}
	return classes
}
