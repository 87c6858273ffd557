package baseline

import (
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// realRows are a task's nodes on the engine: its sparse graph, or rows of ÂX in blocks.
type realRows struct {
	features, classes int
	graph             *encoder.Uploaded
	rows, mean        []*tensors.Tensor // [n, F] and [C, n] of each block; the means' shares sum to 1 over all blocks
}

func (r *realRows) release() {
	if r.graph != nil {
		r.graph.Release()
	}
	engine.Release(r.rows, r.mean)
}

// wholeEmbedded bounds the embeddings of a sparse graph that is taken whole; the sums on the way to them take up to a
// few times as much.
const wholeEmbedded = 1 << 25

// upload lays out what the means of the nodes of each class are made of.
func (c *condenser) upload(g *graph.Graph, members [][]int32) (*realRows, error) {
	r := &realRows{features: g.Features.Cols, classes: len(members)}
	if g.NumNodes()*c.Width > c.most || c.graphs.SizeOf(g).Columns == nil { // large, or faster with dense rows
		c.uploadRows(r, g, members)
		return r, nil
	}
	var err error
	if r.graph, err = c.graphs.UploadInput(g); err != nil {
		return nil, err
	}
	r.mean = []*tensors.Tensor{meansOf(members, r.graph.Rows())}
	return r, nil
}

// uploadRows makes the rows of ÂX that belong to nodes of some class.
func (c *condenser) uploadRows(r *realRows, g *graph.Graph, members [][]int32) {
	var nodes []int32
	groups := make([][]int32, len(members)) // members by position
	for class, of := range members {
		for _, v := range of {
			groups[class] = append(groups[class], int32(len(nodes)))
			nodes = append(nodes, v)
		}
	}
	for first := 0; first < len(nodes); first += c.block {
		end := min(first+c.block, len(nodes))
		room := engine.Fit(c.rows, end-first)
		r.rows = append(r.rows, engine.Fill(func(rows []float32) {
			some := nodes[first:end]
			propagated(g, some, func(k int) []float32 { return rows[k*r.features : (k+1)*r.features] }, nil)
		}, room, r.features))
		r.mean = append(r.mean, meansBetween(groups, first, room))
	}
}

// propagated makes rows of ÂX, Â = D^{−1/2}(A+I)D^{−1/2}, for some nodes, on all cores: it adds row k to the slice that
// of(k) returns, which holds zeros at first, and then passes the row to seen.
func propagated(g *graph.Graph, nodes []int32, of func(k int) []float32, seen func(k int, row []float32)) {
	scale := g.Adjacency.DegreeScale()
	parallel.Ranges(len(nodes), func(first, end int) {
		for k := first; k < end; k++ {
			i, row := nodes[k], of(k)
			add := func(j int32) {
				g.Features.Each(int(j), func(c int, v float64) { row[c] += float32(scale[i] * scale[j] * v) })
			}
			add(i)
			for _, j := range g.Adjacency.Neighborhood(int(i)) {
				add(j)
			}
			if seen != nil {
				seen(k, row)
			}
		}
	})
}

// propagatedLengths returns the mean length of the rows of ÂX of each class.
func propagatedLengths(g *graph.Graph, members [][]int32) []float64 {
	means := make([]float64, len(members))
	for class, nodes := range members {
		lengths := make([]float64, len(nodes))
		propagated(g, nodes, func(int) []float32 { return make([]float32, g.Features.Cols) },
			func(k int, row []float32) { lengths[k] = float64(blas32.Nrm2(vector(row))) })
		for _, length := range lengths {
			means[class] += length / float64(len(nodes))
		}
	}
	return means
}

// meansOf returns the matrix that takes the mean of each group of rows. Shapes: returns [groups, rows].
func meansOf(groups [][]int32, rows int) *tensors.Tensor { return meansBetween(groups, 0, rows) }

// meansBetween returns a number of columns of that matrix from first on.
func meansBetween(groups [][]int32, first, columns int) *tensors.Tensor {
	m := make([]float32, len(groups)*columns)
	for class, group := range groups {
		for _, i := range group {
			if k := int(i) - first; k >= 0 && k < columns {
				m[class*columns+k] = 1 / float32(len(group))
			}
		}
	}
	return tensors.FromFlatDataAndDimensions(m, len(groups), columns)
}

func (c *condenser) means(real *realRows, weight *tensors.Tensor) (*tensors.Tensor, error) {
	if real.graph != nil {
		out, err := c.whole.Call(graphMeans[*tensors.Tensor]{Graph: real.graph.Input, Mean: real.mean[0],
			Weight: weight})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	sum := encoder.Filled(0, real.classes, c.Width)
	for i := range real.rows {
		out, err := c.real.Call(meanInputs[*tensors.Tensor]{Sum: sum, Mean: real.mean[i], Rows: real.rows[i],
			Weight: weight})
		engine.Release(sum)
		if err != nil {
			return nil, err
		}
		sum = out[0]
	}
	return sum, nil
}
