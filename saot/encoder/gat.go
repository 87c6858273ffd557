package encoder

import (
	"context"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/datasets/graph"
)

// Names of the variables of a GAT's layer, after its prefix; a layer but the last has BatchNorm's four as well.
const (
	layerWeight     = "weight"           // W [in, heads·d]
	attentionTarget = "attention_target" // a for the node that attends [heads, d]
	attentionSource = "attention_source" // a for the node attended to [heads, d]
	skipWeight      = "skip_weight"      // S [in, width]
	layerBias       = "bias"             // b [width]
)

// gat is a graph attention network (Veličković et al. 2018) with linear skips. A layer is
//
//	H = X·W,   Y = attention(H; s = a_target·H, t = a_source·H) + X·S + b,
//
// where each head attends by itself; its heads are joined side by side, BatchNorm and ELU follow, or, in the last
// layer, they are averaged and nothing follows.
//
// It is the network that Graph Barlow Twins (Bielak et al. 2022) and TRACE train on large graphs. There the attention
// and the skip each have a bias. Both are added, so one bias is enough here. Weights start Xavier-uniform and biases at
// 0, as in PyTorch Geometric's GATConv. Those of the skips start the same way, although PyTorch's Linear would draw
// both from ±1/√in.
type gat struct{ Config }

// layerName returns the name of a layer's variable; layers count from 0, names from 1.
func layerName(layer int, name string) string { return fmt.Sprintf("layer%d_%s", layer+1, name) }

// headWidth returns d, the width of one head in a layer.
func (c gat) headWidth(layer int) int {
	if layer == c.Layers-1 {
		return c.Out
	}
	return c.Hidden
}

func (c gat) width(layer int) int {
	if layer == c.Layers-1 {
		return c.Out
	}
	return c.Heads * c.Hidden
}

func (c gat) variables(features int, rng *rand.Rand) (all []Variable) {
	in := features
	for layer := range c.Layers {
		d, width := c.headWidth(layer), c.width(layer)
		add := func(v Variable) { all = append(all, Variable{layerName(layer, v.Name), v.Value, v.Fixed}) }
		add(Variable{layerWeight, Glorot(in, c.Heads*d, rng), false})
		add(Variable{attentionTarget, Glorot(c.Heads, d, rng), false})
		add(Variable{attentionSource, Glorot(c.Heads, d, rng), false})
		add(Variable{skipWeight, Glorot(in, width, rng), false})
		add(Variable{layerBias, Filled(0, width), false})
		if layer < c.Layers-1 {
			add(Variable{normScale, Filled(1, width), false})
			add(Variable{normOffset, Filled(0, width), false})
			add(Variable{normMean, Filled(0, width), true})
			add(Variable{normVariance, Filled(1, width), true})
		}
		in = width
	}
	return all
}

func (c gat) firstWeights(scope *model.Scope, g *Graph) []*Node {
	value := c.values(scope, g, 0)
	return []*Node{value(layerWeight), value(skipWeight)}
}

func (c gat) values(scope *model.Scope, g *Graph, layer int) func(name string) *Node {
	return func(name string) *Node { return valueOf(scope, g, layerName(layer, name)) }
}

// encode takes O(layers·(E+N)·heads·hidden + layers·N·(heads·hidden)²) time.
func (c gat) encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node {
	x := c.layer(scope, 0, projected, p, mask, mode)
	for layer := 1; layer < c.Layers; layer++ {
		value := c.values(scope, x.Graph(), layer)
		products := []*Node{MatMul(x, value(layerWeight)), MatMul(x, value(skipWeight))}
		x = c.layer(scope, layer, products, p, mask, mode)
	}
	return p.only(x)
}

// encodeSample attends over the drawn neighbors only. A layer skips from the nodes that are its targets.
func (c gat) encodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node {
	var x *Node
	for layer := range c.Layers {
		p := NewPropagation(in.Layers[layer])
		value := c.values(scope, p.forward.Roots.Graph(), layer)
		var products []*Node
		if layer == 0 {
			products = []*Node{sampleTimes(in, value(layerWeight)),
				sampleTimes(ofTargets(in, p.targets()), value(skipWeight))}
		} else {
			products = []*Node{MatMul(x, value(layerWeight)), MatMul(head(x, p.targets()), value(skipWeight))}
		}
		var mask *Node
		if layer < len(in.Real) {
			mask = in.Real[layer]
		}
		x = c.layer(scope, layer, products, p, mask, mode)
	}
	return x
}

// layer returns a layer's output [T, width] from its products X·W [N, heads·d] and X·S [T, width].
func (c gat) layer(scope *model.Scope, layer int, products []*Node, p Propagation, mask *Node, mode Mode) *Node {
	h, s, t := c.attend(scope, layer, products[0])
	return c.finish(scope, layer, p.Attend(h, s, t), products[1], mask, mode)
}

// attend returns what Attend takes: X·W by heads [N, heads, d], and its products with the attention vectors [N, heads].
func (c gat) attend(scope *model.Scope, layer int, product *Node) (h, s, t *Node) {
	h = Reshape(product, product.Shape().Dim(0), c.Heads, c.headWidth(layer))
	value := c.values(scope, h.Graph(), layer)
	along := func(name string) *Node { return ReduceSum(Mul(h, InsertAxes(value(name), 0)), -1) }
	return h, along(attentionTarget), along(attentionSource)
}

// finish joins the heads [T, heads, d] with the skip [T, width]. The last layer needs no mask.
func (c gat) finish(scope *model.Scope, layer int, attended, skip, mask *Node, mode Mode) *Node {
	if layer == c.Layers-1 {
		attended = ReduceMean(attended, 1)
	} else {
		attended = Reshape(attended, skip.Shape().Dimensions...)
	}
	y := Add(attended, Add(skip, InsertAxes(c.values(scope, skip.Graph(), layer)(layerBias), 0)))
	if layer == c.Layers-1 {
		return y
	}
	return elu(c.batchNorm(scope, layerName(layer, ""), y, mask, mode))
}

// elu is x above 0, else exp(x) − 1.
func elu(x *Node) *Node {
	zero := ZerosLike(x)
	return Add(Max(x, zero), AddScalar(Exp(Min(x, zero)), -1))
}

// Every layer is two parts of layer-wise inference: its products, and what follows its attention.
func (c gat) denseParts() int { return 2 * c.Layers }

// dense turns rows [C, in] into X·W [C, heads·d] and [s, t] [C, 2·heads], or rows of the weighted means next to those
// of X [C, heads·d + in] into the layer's output [C, width].
func (c gat) dense(scope *model.Scope, part int, rows *Node) []*Node {
	layer := part / 2
	value := c.values(scope, rows.Graph(), layer)
	if part%2 == 0 {
		h := MatMul(rows, value(layerWeight))
		_, s, t := c.attend(scope, layer, h)
		return []*Node{h, Concatenate([]*Node{s, t}, -1)}
	}
	wide := c.Heads * c.headWidth(layer)
	attended := Reshape(lastAxis(rows, 0, wide), rows.Shape().Dim(0), c.Heads, c.headWidth(layer))
	skip := MatMul(lastAxis(rows, wide, rows.Shape().Dim(1)), value(skipWeight))
	return []*Node{c.finish(scope, layer, attended, skip, nil, Inference)}
}

// embedLayerwise returns the embeddings [N, out] of a large graph. It holds the rows of one layer and their products
// with W, [N, heads·hidden] each.
func (c gat) embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error) {
	n := g.NumNodes()
	x, h := &g.Features, make([]float32, n*c.Heads*max(c.headWidth(0), c.Out))
	for layer := range c.Layers {
		at := attendedLayer{gat: c, layer: layer, adjacency: &g.Adjacency, h: h, ends: make([]float32, 2*n*c.Heads)}
		if err := at.project(ctx, enc.dense[2*layer], x); err != nil {
			return nil, err
		}
		y := &graph.Features{Rows: n, Cols: c.width(layer)}
		if layer > 0 && x.Cols == y.Cols {
			y.Dense = x.Dense // a row is read for its own output alone
		} else {
			y.Dense = make([]float32, n*y.Cols)
		}
		if err := at.finish(ctx, enc.dense[2*layer+1], x, y); err != nil {
			return nil, err
		}
		x = y
	}
	return x.Dense, nil
}
