package encoder

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Config is the shape of the encoder.
type Config struct {
	Hidden   int     `json:"hidden"`   // width of the hidden layer (paper: 512)
	Out      int     `json:"out"`      // width of the embeddings
	Momentum float64 `json:"momentum"` // weight of a new batch in BatchNorm's running averages
}

// DefaultConfig is 512 → 256 with PyTorch's BatchNorm momentum.
func DefaultConfig() Config { return Config{Hidden: 512, Out: 256, Momentum: 0.1} }

// Validate lists every field out of range.
func (c Config) Validate() error {
	var errs []error
	if c.Hidden < 1 {
		errs = append(errs, fmt.Errorf("encoder: hidden width is %d, want 1 or more", c.Hidden))
	}
	if c.Out < 1 {
		errs = append(errs, fmt.Errorf("encoder: output width is %d, want 1 or more", c.Out))
	}
	if !(c.Momentum > 0 && c.Momentum <= 1) {
		errs = append(errs, fmt.Errorf("encoder: momentum is %g, want a value in (0, 1]", c.Momentum))
	}
	return errors.Join(errs...)
}

// Names of the variables in the encoder's scope.
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

const normEpsilon = 1e-5 // added to the variance, as in PyTorch's BatchNorm1d

// initialise creates the variables in the scope: Xavier-uniform weights drawn on the host, so that every engine starts
// from the same numbers; PReLU's slope at 0.25 and the running averages at 0 and 1, as PyTorch has them.
func (c Config) initialise(scope *model.Scope, features int, rng *rand.Rand) error {
	h := c.Hidden
	for _, v := range []struct {
		name      string
		value     *tensors.Tensor
		trainable bool
	}{
		{inputWeight, xavier(features, h, rng), true},
		{normScale, filled(1, h), true},
		{normOffset, filled(0, h), true},
		{normMean, filled(0, h), false},
		{normVariance, filled(1, h), false},
		{slope, filled(0.25, 1), true},
		{outputWeight, xavier(h, c.Out, rng), true},
		{outputBias, filled(0, c.Out), true},
	} {
		variable, err := scope.CreateVariable(v.name, v.value)
		if err != nil {
			return fmt.Errorf("encoder: create %s: %w", v.name, err)
		}
		variable.SetTrainable(v.trainable)
	}
	return nil
}

// xavier draws [in, out] uniformly from ±√(6/(in+out)) (Glorot and Bengio 2010, Eq. 16).
func xavier(in, out int, rng *rand.Rand) *tensors.Tensor {
	bound := math.Sqrt(6 / float64(in+out))
	w := make([]float32, in*out)
	for i := range w {
		w[i] = float32((2*rng.Float64() - 1) * bound)
	}
	return tensors.FromFlatDataAndDimensions(w, in, out)
}

func filled(value float32, n int) *tensors.Tensor {
	return tensors.FromScalarAndDimensions(value, n)
}

// variable returns the value of one of the encoder's variables in the graph.
func variable(scope *model.Scope, g *Graph, name string) *Node {
	v := scope.GetVariable(name)
	if v == nil {
		exceptions.Panicf("encoder: scope %q has no variable %q", scope.Scope(), name)
	}
	return v.NodeValue(g)
}

// Project returns X·W₁, the first layer before propagation.
//
// Shapes: featuresT [F, N] (Xᵀ; see Batch for why it lies transposed); returns [N, hidden].
// The gradient flows to W₁. O(N·F·hidden) time.
func Project(scope *model.Scope, featuresT *Node) *Node {
	return Dot(featuresT, variable(scope, featuresT.Graph(), inputWeight)).General([]int{0}, nil, []int{0}, nil)
}

// MaskColumns turns X·W₁ into (X⊙m)·W₁ for a column mask m, by taking the masked columns' share off:
//
//	(X⊙m)·W₁ = X·W₁ − X[:,S]·W₁[S,:],   S the masked columns.
//
// So two views and a frozen teacher share one product over all columns and pay only for the masked ones.
//
// Shapes: projected [N, hidden], featuresT [F, N], columns [k] int32; returns [N, hidden].
// The gradient flows to W₁ and projected. O(N·k·hidden) time.
func MaskColumns(scope *model.Scope, projected, featuresT, columns *Node) *Node {
	if columns.Shape().Dim(0) == 0 {
		return projected
	}
	index := InsertAxes(columns, -1)
	weight := variable(scope, featuresT.Graph(), inputWeight)
	masked := Dot(Gather(featuresT, index), Gather(weight, index)).General([]int{0}, nil, []int{0}, nil)
	return Sub(projected, masked)
}

// Mode says which statistics BatchNorm uses.
type Mode int

// BatchNorm's modes.
const (
	Inference Mode = iota // running averages
	Training              // the batch's own statistics; updates the running averages
)

// Encode returns the embeddings of a two-layer graph convolutional network (Kipf and Welling 2017),
//
//	Z = Â · PReLU(BatchNorm(Â·X·W₁)) · W₂ + b₂,   Â = D^{−1/2}(A+I)D^{−1/2}.
//
// Shapes: projected [N, hidden] is X·W₁, mask [N, 1] is 1 on real nodes and 0 on padding; returns [N, out], whose padded
// rows mean nothing. Gradients flow to the variables and to projected. O((E+N)·(hidden+out) + N·hidden·out) time.
func (c Config) Encode(scope *model.Scope, projected *Node, p Propagation, mask *Node, mode Mode) *Node {
	g := projected.Graph()
	h := p.Apply(projected)
	h = c.batchNorm(scope, h, mask, mode)
	h = Add(Max(h, ZerosLike(h)), Mul(InsertAxes(variable(scope, g, slope), 0), Min(h, ZerosLike(h))))
	z := p.Apply(MatMul(h, variable(scope, g, outputWeight)))
	return Add(z, InsertAxes(variable(scope, g, outputBias), 0))
}

// batchNorm normalises each column over the real nodes. Running averages follow PyTorch: new = (1−m)·old + m·batch, with
// the unbiased variance.
func (c Config) batchNorm(scope *model.Scope, h, mask *Node, mode Mode) *Node {
	g := h.Graph()
	mean, variance := variable(scope, g, normMean), variable(scope, g, normVariance)
	if mode == Training {
		n := ReduceAllSum(mask)
		batchMean := Div(ReduceSum(Mul(h, mask), 0), n)
		centred := Mul(Sub(h, InsertAxes(batchMean, 0)), mask)
		squares := ReduceSum(Square(centred), 0)
		batchVariance := Div(squares, n)
		unbiased := Div(squares, MaxScalar(AddScalar(n, -1), 1))
		c.average(scope, normMean, mean, batchMean)
		c.average(scope, normVariance, variance, unbiased)
		mean, variance = batchMean, batchVariance
	}
	scale := Div(variable(scope, g, normScale), Sqrt(AddScalar(variance, normEpsilon)))
	return Add(Mul(Sub(h, InsertAxes(mean, 0)), InsertAxes(scale, 0)), InsertAxes(variable(scope, g, normOffset), 0))
}

func (c Config) average(scope *model.Scope, name string, old, batch *Node) {
	updated := Add(MulScalar(old, 1-c.Momentum), MulScalar(StopGradient(batch), c.Momentum))
	scope.GetVariable(name).SetNodeValue(updated)
}
