package baseline

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/saot/encoder"
)

// decayed is a variable and which of its entries weight decay acts on, as a mask that broadcasts to it.
type decayed struct{ variable, mask *Node }

// coupledDecay returns λ/2·Σ_p m_p·p², whose gradient λ·p is that of weight decay as PyTorch's Adam has it, for the
// weights p of mask 1.
//
// The masks are for learners that train on one task alone. There, weights exist that the task's loss does not depend
// on: those of words that none of its nodes has, and those of other tasks' classes. Decay would be all of their
// gradient, and an Adam that starts afresh with the task divides it by its own size: whatever λ is, they lose a
// learning rate a step and are 0 before the task ends, and with them what earlier tasks know. One Adam for all tasks,
// as CGLB has it, remembers larger gradients and forgets more slowly. So such weights are left alone.
func coupledDecay(lambda float64, of ...decayed) *Node {
	sum := ScalarZero(of[0].variable.Graph(), of[0].variable.DType())
	for _, d := range of {
		sum = Add(sum, ReduceAllSum(Mul(Square(d.variable), d.mask)))
	}
	return MulScalar(sum, lambda/2)
}

// wordsOf is 1 for the features that some node of a graph, or of a sample's first layer, has, and 0 for the others.
//
// Shapes: returns [F, 1]. No gradient flows.
func wordsOf(in encoder.Nodes) *Node {
	if in.Sample != nil {
		return StopGradient(Transpose(PositiveIndicator(ReduceAndKeep(Abs(in.Sample.Rows), ReduceMax, 0)), 0, 1))
	}
	return StopGradient(PositiveIndicator(ReduceAndKeep(Abs(in.FeaturesT), ReduceMax, -1)))
}

// columnsOf is 1 for the classes that some labelled row may be given, and 0 for the others; see supervision.
//
// Shapes: returns [1, C]. No gradient flows.
func columnsOf(s supervision[*Node]) *Node {
	may := Mul(PositiveIndicator(s.Weight), PositiveIndicator(AddScalar(s.Open, -closedLogit/2)))
	return StopGradient(ReduceAndKeep(may, ReduceMax, 0))
}
