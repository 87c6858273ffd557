package saot

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
)

// inputs are those of a training step. What the settings have no use for is absent.
type inputs[T any] struct {
	Views             train.Views[T]
	Points            T   // the M aligned nodes of a whole graph [M, 1]; of samples, the targets are aligned
	GraphPlan, Target T   // π_G* and C* [M, M]
	Beta              T   // β, or 0 while there is no teacher
	Projected         []T // the teacher's products with the features (encoder.Config.Project) of a whole graph
}

// Names of what a step returns next to the total.
const (
	termMatching     = "matching"
	termStructure    = "structure"
	termDistillation = "distillation"

	figureMarginalError = "marginal_error"
	figureDiagonalMass  = "diagonal_mass"
	figureEntropy       = "entropy"
)

// loss is that of one training step (Eq. 13): both views through the encoder, and the losses between them.
func (l *Learner) loss(in inputs[*Node]) train.Loss {
	z := train.Embed(l.encoder, encoder.Scope, in.Views, nil, encoder.Training)
	zero := Scalar(z[0].Graph(), dtypes.Float32, 0)
	if l.config.Objective == BarlowTwins {
		return train.Loss{Total: BarlowTwinsLoss(z[0], z[1], train.RealRows(in.Views, z[0])),
			Parts: []train.Term{{Name: termMatching, Node: zero}, {Name: termStructure, Node: zero},
				{Name: termDistillation, Node: zero}}}
	}
	return l.transportLoss(aligned(z, in.Points), in, zero)
}

// aligned returns the embeddings [M, out] of the M aligned nodes in both views.
func aligned(z [2]*Node, points *Node) [2]*Node {
	if points == nil {
		return z
	}
	return [2]*Node{Gather(z[0], points), Gather(z[1], points)}
}

// transportLoss returns L_total = L_mat + α·L_str + β·L_skd and its parts, for the embeddings [M, out] of the aligned
// nodes.
func (l *Learner) transportLoss(z [2]*Node, in inputs[*Node], zero *Node) train.Loss {
	c := l.config
	cost := transport.CosineCost(z[0], z[1]) // R(Z₁, Z₂)
	plan, marginalError := transport.Sinkhorn(cost, c.sinkhorn())

	matching, structure, distillation := c.MatchingLoss(in.GraphPlan, plan, cost), c.StructureLoss(in.Target, cost),
		zero
	total := Add(matching, MulScalar(structure, c.Alpha))
	if c.distils() {
		teacher := aligned(train.Embed(l.encoder, encoder.TeacherScope, in.Views, in.Projected, encoder.Inference),
			in.Points)
		distillation = c.distillation(z, teacher, plan, cost)
		total = Add(total, Mul(in.Beta, distillation))
	}
	return train.Loss{
		Total: total,
		Parts: []train.Term{{Name: termMatching, Node: matching}, {Name: termStructure, Node: structure},
			{Name: termDistillation, Node: distillation}},
		Figures: []train.Term{{Name: figureMarginalError, Node: marginalError},
			{Name: figureDiagonalMass, Node: transport.DiagonalMass(plan)},
			{Name: figureEntropy, Node: transport.Entropy(plan)}},
	}
}

// distillation returns L_skd (Eq. 12) or its stand-in of Table 4 for the embeddings of student and teacher in both
// views.
func (c Config) distillation(z, teacher [2]*Node, plan, cost *Node) *Node {
	if c.Distillation != DistillPlan {
		return MulScalar(Add(c.PointDistillation(z[0], teacher[0]), c.PointDistillation(z[1], teacher[1])), 0.5)
	}
	settings := c.sinkhorn()
	settings.Gradient = transport.Detached
	teacherPlan, _ := transport.Sinkhorn(transport.CosineCost(StopGradient(teacher[0]), StopGradient(teacher[1])),
		settings)
	return c.MatchingLoss(teacherPlan, plan, cost)
}
