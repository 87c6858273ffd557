package encoder

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/ml/model"
)

// Mode says which statistics BatchNorm uses.
type Mode int

// BatchNorm's modes.
const (
	Inference Mode = iota // running averages
	Training              // the batch's own statistics; updates the running averages
)

const normEpsilon = 1e-5 // added to the variance, as in PyTorch's BatchNorm1d

// batchNorm normalises each column over the real nodes. Running averages follow PyTorch: new = (1−m)·old + m·batch,
// with the unbiased variance. Its four variables are named as a GCN's, after a prefix.
func (c Config) batchNorm(scope *model.Scope, prefix string, h, mask *Node, mode Mode) *Node {
	g := h.Graph()
	mean, variance := valueOf(scope, g, prefix+normMean), valueOf(scope, g, prefix+normVariance)
	if mode == Training {
		n := ReduceAllSum(mask)
		batchMean := Div(ReduceSum(Mul(h, mask), 0), n)
		centred := Mul(Sub(h, InsertAxes(batchMean, 0)), mask)
		squares := ReduceSum(Square(centred), 0)
		batchVariance := Div(squares, n)
		unbiased := Div(squares, MaxScalar(AddScalar(n, -1), 1))
		c.average(scope, prefix+normMean, mean, batchMean)
		c.average(scope, prefix+normVariance, variance, unbiased)
		mean, variance = batchMean, batchVariance
	}
	scale := Div(valueOf(scope, g, prefix+normScale), Sqrt(AddScalar(variance, normEpsilon)))
	return Add(Mul(Sub(h, InsertAxes(mean, 0)), InsertAxes(scale, 0)), InsertAxes(valueOf(scope, g, prefix+normOffset),
		0))
}

func (c Config) average(scope *model.Scope, name string, old, batch *Node) {
	updated := Add(MulScalar(old, 1-c.Momentum), MulScalar(StopGradient(batch), c.Momentum))
	scope.GetVariable(name).SetNodeValue(updated)
}
