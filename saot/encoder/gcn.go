package encoder

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/saot/engine"
)

// Names of the variables of a GCN in the encoder's scope.
const (
	inputWeight  = "input_weight"  // W₁ [F, hidden]
	normScale    = "norm_scale"    // γ [hidden]
	normOffset   = "norm_offset"   // β [hidden]
	normMean     = "norm_mean"     // running mean [hidden], not trained
	normVariance = "norm_variance" // running variance [hidden], not trained
	slope        = "slope"         // PReLU's slope, shared [1]
	outputWeight = "output_weight" // W₂ [hidden, out]
	outputBias   = "output_bias"   // b₂ [out]
)

// gcn is a two-layer graph convolutional network (Kipf and Welling 2017),
//
//	Z = Â · PReLU(BatchNorm(Â·X·W₁)) · W₂ + b₂,   Â = D^{−1/2}(A+I)D^{−1/2}.
type gcn struct{ Config }

// variables are Xavier-uniform weights drawn on the host, so that every engine starts from the same numbers; PReLU's
// slope at 0.25 and the running averages at 0 and 1, as PyTorch has them.
func (c gcn) variables(features int, rng *rand.Rand) []Variable {
	h := c.Hidden
	return []Variable{
		{inputWeight, Glorot(features, h, rng), false},
		{normScale, Filled(1, h), false},
		{normOffset, Filled(0, h), false},
		{normMean, Filled(0, h), true},
		{normVariance, Filled(1, h), true},
		{slope, Filled(0.25, 1), false},
		{outputWeight, Glorot(h, c.Out, rng), false},
		{outputBias, Filled(0, c.Out), false},
	}
}

func (c gcn) firstWeights(scope *model.Scope, g *Graph) []*Node {
	return []*Node{valueOf(scope, g, inputWeight)}
}

// encode takes O((E+N)·(hidden+out) + N·hidden·out) time.
func (c gcn) encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node {
	h := c.activate(scope, p.Apply(projected[0]), mask, mode)
	return c.offset(scope, p.last(h, func(h *Node) *Node {
		return MatMul(h, valueOf(scope, h.Graph(), outputWeight))
	}))
}

// encodeSample takes O(n·F·hidden + T·hidden·out) time for n first-layer nodes. The targets being few, their sums are
// taken before the second product rather than after it.
func (c gcn) encodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node {
	g := in.Real[0].Graph()
	h := c.activate(scope, sampleTimes(in, valueOf(scope, g, inputWeight)), in.Real[0], mode)
	sums := NewPropagation(in.Layers[0]).Apply(h)
	return c.offset(scope, MatMul(sums, valueOf(scope, h.Graph(), outputWeight)))
}

// activate is PReLU(BatchNorm(h)).
func (c gcn) activate(scope *model.Scope, h, mask *Node, mode Mode) *Node {
	h = c.batchNorm(scope, "", h, mask, mode)
	return PReLU(h, valueOf(scope, h.Graph(), slope))
}

func (c gcn) offset(scope *model.Scope, z *Node) *Node {
	return Add(z, InsertAxes(valueOf(scope, z.Graph(), outputBias), 0))
}

func (gcn) denseParts() int { return 1 }

// dense is PReLU(BatchNorm(H·W₁))·W₂ for rows H [C, F] of Â·X.
func (c gcn) dense(scope *model.Scope, _ int, rows *Node) []*Node {
	g := rows.Graph()
	h := c.activate(scope, MatMul(rows, valueOf(scope, g, inputWeight)), nil, Inference)
	return []*Node{MatMul(h, valueOf(scope, g, outputWeight))}
}

// Mode says which statistics BatchNorm uses.
type Mode int

// BatchNorm's modes.
const (
	Inference Mode = iota // running averages
	Training              // the batch's own statistics; updates the running averages
)

const normEpsilon = 1e-5 // added to the variance, as in PyTorch's BatchNorm1d

// batchNorm normalizes each column over the real nodes, of all devices that the step is split over, and of each view by
// itself where the mask has views (see Encode). Running averages follow PyTorch: new = (1−m)·old + m·batch, with the
// unbiased variance, one view after the other. Its four variables are named as a GCN's, after a prefix.
func (c Config) batchNorm(scope *model.Scope, prefix string, h, mask *Node, mode Mode) *Node {
	rows, cols, views := h.Shape().Dim(0), h.Shape().Dim(1), 1
	value := func(name string) *Node { return Reshape(valueOf(scope, h.Graph(), prefix+name), 1, 1, cols) }
	mean, variance := value(normMean), value(normVariance)
	if mode == Training {
		if mask.Rank() == 3 {
			views = mask.Shape().Dim(0)
		}
		each, mask := Reshape(h, views, rows/views, cols), Reshape(mask, views, rows/views, 1)
		n := engine.Total(ReduceAndKeep(mask, ReduceSum, 1))
		mean = Div(engine.Total(ReduceAndKeep(Mul(each, mask), ReduceSum, 1)), n)
		squares := engine.Total(ReduceAndKeep(Square(Mul(Sub(each, mean), mask)), ReduceSum, 1))
		unbiased := Div(squares, MaxScalar(AddScalar(n, -1), 1))
		for view := range views {
			c.average(scope, prefix+normMean, pick(mean, 0, view))
			c.average(scope, prefix+normVariance, pick(unbiased, 0, view))
		}
		variance = Div(squares, n)
	}
	scale := Div(value(normScale), Sqrt(AddScalar(variance, normEpsilon)))
	each := Reshape(h, views, rows/views, cols)
	return Reshape(Add(Mul(Sub(each, mean), scale), value(normOffset)), rows, cols)
}

// average moves a running average [d] toward that of a batch [1, d].
func (c Config) average(scope *model.Scope, name string, batch *Node) {
	old := valueOf(scope, batch.Graph(), name)
	updated := Add(MulScalar(old, 1-c.Momentum), MulScalar(Reshape(StopGradient(batch), -1), c.Momentum))
	scope.GetVariable(name).SetNodeValue(updated)
}
