package encoder

import (
	"context"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
)

// linear is two hops of propagation and a product (Simple Graph Convolution, Wu et al. 2019), without BatchNorm, bias
// or non-linearity,
//
//	Z = Â·Â·X·W,   W [F, out] with orthonormal columns (rows, where F < out) at the start.
//
// Untrained it is a random projection of Â²X that keeps distances as well as that number of columns can.
type linear struct{ Config }

func (c linear) variables(features int, rng *rand.Rand) []Variable {
	return []Variable{{inputWeight, orthonormal(features, c.Out, rng), false}}
}

// orthonormal draws a matrix [rows, cols] whose shorter side is orthonormal, uniformly.
func orthonormal(rows, cols int, rng *rand.Rand) *tensors.Tensor {
	q := mat.Matrix(linalg.Orthonormal(linalg.Gaussian(max(rows, cols), min(rows, cols), rng)))
	if rows < cols {
		q = q.T()
	}
	data := make([]float32, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			data = append(data, float32(q.At(i, j)))
		}
	}
	return tensors.FromFlatDataAndDimensions(data, rows, cols)
}

func (c linear) project(scope *model.Scope, featuresT *Node) []*Node {
	return gcn(c).project(scope, featuresT)
}

func (c linear) maskColumns(scope *model.Scope, projected []*Node, featuresT, columns *Node) []*Node {
	return gcn(c).maskColumns(scope, projected, featuresT, columns)
}

// encode takes O((E+N)·out) time.
func (c linear) encode(_ *model.Scope, projected []*Node, p Propagation, _ *Node, _ Mode) *Node {
	return p.Apply(p.Apply(projected[0]))
}

// encodeSample takes O(n·F·out) time for n first-layer nodes.
func (c linear) encodeSample(scope *model.Scope, in Sample[*Node], _ Mode) *Node {
	return NewPropagation(in.Layers[0]).Apply(MatMul(in.Rows, valueOf(scope, in.Rows.Graph(), inputWeight)))
}

func (c linear) denseParts() int { return 1 }

// dense is H·W for rows H [C, F] of Â·X.
func (c linear) dense(scope *model.Scope, _ int, rows *Node) []*Node {
	return []*Node{MatMul(rows, valueOf(scope, rows.Graph(), inputWeight))}
}

// embedLayerwise returns the embeddings [N, out] of a large graph.
func (c linear) embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error) {
	return propagateTwice(ctx, enc, g, make([]float32, c.Out))
}
