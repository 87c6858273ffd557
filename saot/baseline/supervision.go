package baseline

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
)

// supervision is what a classifier is trained towards, for rows of a graph of which some have labels.
type supervision[T any] struct {
	Target T // [N, classes], one-hot; 0 in rows without a label
	Open   T // [N, classes], added to the logits: 0 for classes that a row may be given, else closedLogit
	Weight T // [N, 1], the share of a row in the loss; they sum to 1
}

// lesson is a graph with supervision of its rows, of a sample of its targets.
type lesson[T any] struct {
	Labels supervision[T]
	Graph  encoder.Input[T]
}

// closedLogit takes a class out of a softmax.
const closedLogit = -1e9

// labelled is a row with a label: its class's column, and the columns that it may be given.
type labelled struct {
	row, column, first, end int
	weight                  float64 // relative to those of other rows
}

// trainRows returns the train nodes of a task as rows of a graph in which the task begins at an offset. In class-il a
// row may be given all columns up to seen, in task-il those of its task.
func trainRows(t *continual.Labeled, offset, seen int, s continual.Setting) []labelled {
	rows := make([]labelled, len(t.Train))
	for i, node := range t.Train {
		rows[i] = labelled{row: offset + int(node), column: int(t.Columns[node]), end: seen, weight: 1}
		if s == continual.TaskIL {
			rows[i].first, rows[i].end = t.First, t.End
		}
	}
	return rows
}

// balance weighs the rows of every class so that all classes count alike (CGLB's weights 1/n_c).
func balance(rows []labelled) {
	count := map[int]int{}
	for _, r := range rows {
		count[r.column]++
	}
	for i := range rows {
		rows[i].weight /= float64(count[rows[i].column])
	}
}

// newSupervision lays labelled rows out for a graph of n rows, padding included, and a number of classes.
func newSupervision(rows []labelled, n, classes int) supervision[*tensors.Tensor] {
	target, open, weight := make([]float32, n*classes), make([]float32, n*classes), make([]float32, n)
	total := 0.0
	for _, r := range rows {
		total += r.weight
	}
	for _, r := range rows {
		target[r.row*classes+r.column] = 1
		weight[r.row] = float32(r.weight / total)
		for c := range classes {
			if c < r.first || c >= r.end {
				open[r.row*classes+c] = closedLogit
			}
		}
	}
	return supervision[*tensors.Tensor]{
		Target: tensors.FromFlatDataAndDimensions(target, n, classes),
		Open:   tensors.FromFlatDataAndDimensions(open, n, classes),
		Weight: tensors.FromFlatDataAndDimensions(weight, n, 1),
	}
}

// crossEntropy returns Σ_i w_i·CE(softmax(logits_i + open_i), target_i).
//
// Shapes: logits [N, C]; returns a scalar in nats. The gradient flows to logits.
func crossEntropy(logits *Node, s supervision[*Node]) *Node {
	logp := LogSoftmax(Add(logits, s.Open), -1)
	return Neg(ReduceAllSum(Mul(Mul(s.Target, logp), s.Weight)))
}

// decayed is a variable and which of its entries weight decay acts on, as a mask that broadcasts to it.
type decayed struct{ variable, mask *Node }

// coupledDecay returns λ/2·Σ_p m_p·p², whose gradient λ·p is that of weight decay as PyTorch's Adam has it, for the
// weights p of mask 1. The masks spare weights that the task's loss does not depend on (docs/departures.md, twp).
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
