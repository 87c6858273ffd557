package saot

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/transport"
)

// What a training step returns, in one vector.
const (
	outTotal = iota
	outMatching
	outStructure
	outDistillation
	outMarginalError
	outDiagonalMass
	outEntropy
	numOutputs
)

var lossNames = [...]string{outTotal: "total", outMatching: "matching", outStructure: "structure", outDistillation: "distillation"}

// stepInputs are the tensors of one training step in the order in which the graph takes them. Those that the settings
// have no use for are absent.
type stepInputs[T any] struct {
	featuresT, mask   T      // Xᵀ [F, N] and the real nodes [N, 1]
	operators         [2][]T // Â of both views; their length grows with the largest degree
	masked            [2]T   // feature columns that each view masks [k]
	points            T      // the M aligned nodes [M, 1]
	graphPlan, target T      // π_G* and C* [M, M]
	weights           T      // β, or 0 while there is no teacher
	projected         []T    // the teacher's products with the features (encoder.Config.Project)
}

// fields lists the inputs that a step with these settings has.
func (in *stepInputs[T]) fields(c Config, features int) []*T {
	list := []*T{&in.featuresT, &in.mask}
	for view := range in.operators {
		for i := range in.operators[view] {
			list = append(list, &in.operators[view][i])
		}
	}
	if c.view().MaskedColumns(features) > 0 {
		list = append(list, &in.masked[0], &in.masked[1])
	}
	if c.Objective == Transport {
		list = append(list, &in.points, &in.graphPlan, &in.target)
	}
	if c.distils() {
		list = append(list, &in.weights)
		for i := range in.projected {
			list = append(list, &in.projected[i])
		}
	}
	return list
}

// flatten returns the tensors in order.
func flatten(in *stepInputs[*tensors.Tensor], c Config, features int) []*tensors.Tensor {
	var out []*tensors.Tensor
	for _, field := range in.fields(c, features) {
		out = append(out, *field)
	}
	return out
}

// stepInputs names the nodes of a training step's graph. All that the operators don't take has a fixed number.
func (l *Learner) stepInputs(nodes []*Node) *stepInputs[*Node] {
	in := new(stepInputs[*Node])
	if l.config.distils() {
		in.projected = make([]*Node, l.config.Encoder.Products())
	}
	depth := (len(nodes) - len(in.fields(l.config, l.encoder.Features))) / 2
	in.operators = [2][]*Node{make([]*Node, depth), make([]*Node, depth)}
	for i, field := range in.fields(l.config, l.encoder.Features) {
		*field = nodes[i]
	}
	return in
}

// step builds one training step (Eq. 13): both views through the encoder, the losses, and Adam's update. It returns one
// vector of numOutputs figures.
func (l *Learner) step(_ *model.Scope, nodes []*Node) []*Node {
	in := l.stepInputs(nodes)
	scope := l.encoder.Store().Scope(encoder.Scope)
	projected := l.config.Encoder.Project(scope, in.featuresT)
	z1 := l.encodeView(encoder.Scope, projected, in, 0, encoder.Training)
	z2 := l.encodeView(encoder.Scope, projected, in, 1, encoder.Training)

	out := newOutputs(z1.Graph())
	if l.config.Objective == BarlowTwins {
		out[outTotal] = BarlowTwinsLoss(z1, z2, in.mask)
	} else {
		l.transportLosses(out, l.aligned(z1, z2, in))
	}
	return l.update(out)
}

// newOutputs returns numOutputs zeros.
func newOutputs(g *Graph) []*Node {
	out := make([]*Node, numOutputs)
	for i := range out {
		out[i] = Scalar(g, dtypes.Float32, 0)
	}
	return out
}

// update takes Adam's step on the total, and returns the outputs as one vector.
func (l *Learner) update(out []*Node) []*Node {
	total := out[outTotal]
	optimizer.Adam().LearningRate(l.config.LearningRate).Epsilon(1e-8).Done().
		UpdateGraph(l.encoder.Store().RootScope(), total.Graph(), total)
	return []*Node{Stack(out, 0)}
}

// encodeView embeds one view with the encoder whose variables stand in the scope.
func (l *Learner) encodeView(scopePath string, projected []*Node, in *stepInputs[*Node], view int, mode encoder.Mode) *Node {
	scope := l.encoder.Store().Scope(scopePath)
	if in.masked[view] != nil {
		projected = l.config.Encoder.MaskColumns(scope, projected, in.featuresT, in.masked[view])
	}
	return l.config.Encoder.Encode(scope, projected, encoder.NewPropagation(in.operators[view]), in.mask, mode)
}

// aligned is what the transport losses compare: the M nodes of both views.
type aligned struct {
	z                 [2]*Node             // [M, out]
	teacher           func(view int) *Node // the teacher's embeddings [M, out]
	graphPlan, target *Node                // π_G* and C* [M, M]
	beta              *Node                // β, or 0 while there is no teacher
}

// aligned picks the aligned nodes from the embeddings of a whole graph.
func (l *Learner) aligned(z1, z2 *Node, in *stepInputs[*Node]) aligned {
	return aligned{
		z: [2]*Node{Gather(z1, in.points), Gather(z2, in.points)},
		teacher: func(view int) *Node {
			return Gather(l.encodeView(encoder.TeacherScope, in.projected, in, view, encoder.Inference), in.points)
		},
		graphPlan: in.graphPlan, target: in.target, beta: in.weights,
	}
}

// transportLosses fills in L_total = L_mat + α·L_str + β·L_skd and its parts.
func (l *Learner) transportLosses(out []*Node, a aligned) {
	c := l.config
	cost := transport.CosineCost(a.z[0], a.z[1]) // R(Z₁, Z₂)
	plan, marginalError := transport.Sinkhorn(cost, c.sinkhorn())

	out[outMatching] = c.MatchingLoss(a.graphPlan, plan, cost)
	out[outStructure] = c.StructureLoss(a.target, cost)
	total := Add(out[outMatching], MulScalar(out[outStructure], c.Alpha))
	if c.distils() {
		out[outDistillation] = l.distillation(a.z[0], a.z[1], a.teacher(0), a.teacher(1), plan, cost)
		total = Add(total, Mul(a.beta, out[outDistillation]))
	}
	out[outTotal] = total
	out[outMarginalError] = marginalError
	out[outDiagonalMass] = transport.DiagonalMass(plan)
	out[outEntropy] = transport.Entropy(plan)
}

// distillation returns L_skd (Eq. 12) or its stand-in of Table 4; t1 and t2 are the teacher's embeddings.
func (l *Learner) distillation(z1, z2, t1, t2, plan, cost *Node) *Node {
	c := l.config
	if c.Distillation != DistillPlan {
		return MulScalar(Add(c.PointDistillation(z1, t1), c.PointDistillation(z2, t2)), 0.5)
	}
	settings := c.sinkhorn()
	settings.Gradient = transport.Detached
	teacherPlan, _ := transport.Sinkhorn(transport.CosineCost(StopGradient(t1), StopGradient(t2)), settings)
	return c.MatchingLoss(teacherPlan, plan, cost)
}
