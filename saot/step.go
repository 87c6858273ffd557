package saot

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/transport/symbolic"
)

// inputs are those of a training step. What the settings have no use for is absent.
type inputs[T any] struct {
	Views             train.Views[T]
	GraphPlan, Target T   // π_G* and C* [M, M]
	Beta              T   // β, or 0 while there is no teacher
	Buffered          []T // rows [R, 1] of the aligned nodes between which alone is distilled; empty for all
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

	figureDistillationError = "distillation_marginal_error"
)

// loss is that of one training step (Eq. 13): both views through the encoder, and the losses between them.
func (l *Learner) loss(in inputs[*Node]) train.Loss {
	z := train.Embed(l.encoder, encoder.Scope, in.Views, nil, encoder.Training)
	if l.config.Objective == BarlowTwins {
		return train.Loss{Total: train.BarlowTwinsLoss(z[0], z[1], train.RealRows(in.Views, z[0]))}
	}
	var teacher [2]*Node
	if l.config.distills() {
		teacher = train.Embed(l.encoder, encoder.TeacherScope, in.Views, in.Projected, encoder.Inference)
	}
	return l.config.transportLoss(z, teacher, in)
}

// transportLoss returns L_total = L_mat + α·L_str + β·L_skd and, as its parts, the three without α and β, for the
// student's and the teacher's embeddings [M, out] of the aligned nodes in both views. Without distillation, no teacher
// is read.
func (c Config) transportLoss(z, teacher [2]*Node, in inputs[*Node]) train.Loss {
	zero := ScalarZero(z[0].Graph(), z[0].DType())
	cost := symbolic.CosineCost(z[0], z[1]) // R(Z₁, Z₂)
	plan, marginalError := symbolic.Sinkhorn(cost, c.sinkhorn())

	matching, structure, distillation := c.matchingLoss(in.GraphPlan, plan, cost), c.structureLoss(in.Target, cost),
		zero
	weighted, distillationError := [3]*Node{matching, MulScalar(structure, c.Alpha), zero}, zero
	if c.distills() {
		if len(in.Buffered) == 0 {
			distillation, distillationError = c.distillation(z, teacher, plan, cost)
		} else {
			distillation, distillationError = c.distillationBetween(in.Buffered[0], z, teacher)
		}
		weighted[2] = Mul(in.Beta, distillation)
	}
	total := Add(Add(weighted[0], weighted[1]), weighted[2])
	return train.Loss{
		Total: total,
		Parts: []train.Term{{Name: termMatching, Node: matching}, {Name: termStructure, Node: structure},
			{Name: termDistillation, Node: distillation}},
		Figures: append(gradientFigures(z, weighted), train.Term{Name: figureMarginalError, Node: marginalError},
			train.Term{Name: figureDiagonalMass, Node: symbolic.DiagonalMass(plan)},
			train.Term{Name: figureEntropy, Node: symbolic.Entropy(plan)},
			train.Term{Name: figureDistillationError, Node: distillationError}),
	}
}

// gradientNames lists the figures of gradientFigures.
func gradientNames() (names []string) {
	terms := []string{termMatching, termStructure, termDistillation}
	for i, a := range terms {
		names = append(names, "gradient_"+a)
		for _, b := range terms[:i] {
			names = append(names, "cosine_"+b+"_"+a)
		}
	}
	return names
}

// gradientFigures returns the norms of the gradients of the terms with respect to the embeddings [M, d] of both views,
// and the cosines between them: 0 for a term without a gradient. O(M²·d) for each term.
func gradientFigures(z [2]*Node, terms [3]*Node) (figures []train.Term) {
	names := gradientNames()
	add := func(x *Node) { figures = append(figures, train.Term{Name: names[len(figures)], Node: StopGradient(x)}) }
	var gradients, norms [3]*Node
	for i, term := range terms {
		g := Gradient(term, z[0], z[1])
		gradients[i] = Stack(g, 0)
		norms[i] = Sqrt(ReduceAllSum(Square(gradients[i])))
		add(norms[i])
		for j := range i {
			dot := ReduceAllSum(Mul(gradients[i], gradients[j]))
			add(Div(dot, AddScalar(Mul(norms[i], norms[j]), 1e-30)))
		}
	}
	return figures
}

// distillationBetween returns distillation for some rows of the embeddings, with the plan between these alone.
//
// Shapes: rows [R, 1], of M; z, teacher [M, d]; returns scalars. The gradient flows to z.
func (c Config) distillationBetween(rows *Node, z, teacher [2]*Node) (loss, marginalError *Node) {
	for i := range z {
		z[i], teacher[i] = Gather(z[i], rows), Gather(teacher[i], rows)
	}
	cost := symbolic.CosineCost(z[0], z[1])
	plan, missed := symbolic.Sinkhorn(cost, c.sinkhorn())
	loss, marginalError = c.distillation(z, teacher, plan, cost)
	if c.Distillation == DistillPlan {
		marginalError = Max(marginalError, missed)
	}
	return loss, marginalError
}

// distillation returns L_skd (Eq. 12) or its stand-in of Table 4 for the embeddings of student and teacher in both
// views, and the marginal error of the plan that it makes, 0 if it makes none.
//
// Shapes: z, teacher [M, d], plan, cost [M, M]; returns scalars. The gradient flows as matchingLoss says, or, of
// cosine and mse, to z.
func (c Config) distillation(z, teacher [2]*Node, plan, cost *Node) (loss, marginalError *Node) {
	if c.Distillation != DistillPlan {
		loss = MulScalar(Add(c.pointDistillation(z[0], teacher[0]), c.pointDistillation(z[1], teacher[1])), 0.5)
		return loss, Scalar(loss.Graph(), loss.DType(), 0)
	}
	settings := c.sinkhorn()
	settings.Gradient = transport.Detached
	teacherPlan, marginalError := symbolic.Sinkhorn(
		symbolic.CosineCost(StopGradient(teacher[0]), StopGradient(teacher[1])), settings)
	return c.matchingLoss(teacherPlan, plan, cost), marginalError
}

// matchingLoss returns L_mat, which pulls the plan between embeddings to the plan between graphs,
//
//	L_mat = Θ(π_G*, π_Z*)        (SAOT Eq. 9)
//
// and serves as L_skd (Eq. 12) with the teacher's plan instead of π_G.
//
// Shapes: target, plan, cost [M, M], where plan is Sinkhorn's of cost at ε; returns a scalar: KL in nats, times ε if
// balanced, or M²·‖π_T − π‖²_F, over M if balanced. The gradient flows to cost (KL, exact at convergence: (π_T − π)/ε,
// or π_T − π if balanced) or to plan, and on as its mode says (Frobenius).
func (c Config) matchingLoss(target, plan, cost *Node) *Node {
	if c.Divergence == Frobenius {
		loss := symbolic.FrobeniusPlanLoss(target, plan)
		if c.Scaling == Balanced {
			loss = DivScalar(loss, float64(plan.Shape().Dim(0)))
		}
		return loss
	}
	loss := symbolic.KLPlanLoss(target, plan, cost, c.Epsilon)
	if c.Scaling == Balanced {
		loss = MulScalar(loss, c.Epsilon)
	}
	return loss
}

// structureLoss returns L_str, which calibrates the cost between embeddings by the fused cost between graphs,
//
//	L_str = Θ(σK + (1−σ)·L⊗π_G*, R)        (SAOT Eq. 10)
//
// with Θ the squared Frobenius distance, since KL is not defined between costs: (1/M)‖C* − R‖²_F balanced, and the mean
// over entries literally. Centered, it is that of J(C* − R)J, J = I − 11ᵀ/M: what a plan sees of a cost.
//
// Shapes: target C*, cost R [M, M]; returns a scalar in squared cost. The gradient flows to cost. O(M²).
func (c Config) structureLoss(target, cost *Node) *Node {
	difference := Sub(StopGradient(target), cost)
	if c.Centered {
		difference = Sub(difference, ReduceAndKeep(difference, ReduceMean, 0))
		difference = Sub(difference, ReduceAndKeep(difference, ReduceMean, 1))
	}
	mean := ReduceAllMean(Square(difference))
	if c.Scaling == Balanced {
		return MulScalar(mean, float64(cost.Shape().Dim(0)))
	}
	return mean
}

// pointDistillation returns the ablations of Table 4 that hold each node's embedding to the teacher's: the mean over
// nodes of 1 − cos(z, z') (DistillCosine) or of ‖z − z'‖²/d (DistillMSE).
//
// Shapes: z, teacher [M, d]; returns a scalar. The gradient flows to z. O(M·d).
func (c Config) pointDistillation(z, teacher *Node) *Node {
	teacher = StopGradient(teacher)
	if c.Distillation == DistillMSE {
		return ReduceAllMean(Square(Sub(z, teacher)))
	}
	const tiny = 1e-12
	dot := ReduceSum(Mul(z, teacher), -1)
	norms := Sqrt(AddScalar(Mul(ReduceSum(Square(z), -1), ReduceSum(Square(teacher), -1)), tiny))
	return OneMinus(ReduceAllMean(Div(dot, norms)))
}

// patchFanOut is how many neighbors of a node are at most aligned with it in a step on samples or patches. M nodes
// drawn at random from a large graph have hardly an edge among them, and L⊗π_G would say nothing.
const patchFanOut = 4

// patches deals the first nodes of a graph out in a random order, each with some of its neighbors. No edge may lead
// from them to the others.
type patches struct {
	adjacency *graph.Adjacency
	order     []int
	at        int // in the order
	rng       *rand.Rand
}

func newPatches(a *graph.Adjacency, nodes int, rng *rand.Rand) *patches {
	return &patches{adjacency: a, order: rng.Perm(nodes), rng: rng}
}

// next returns m different nodes; there must be at least m. When the order ends, it starts again.
func (p *patches) next(m int) []int32 {
	points := make([]int32, 0, m)
	taken := make(map[int32]bool, m)
	take := func(v int32) {
		if !taken[v] && len(points) < m {
			taken[v] = true
			points = append(points, v)
		}
	}
	for ; len(points) < m; p.at++ {
		v := int32(p.order[p.at%len(p.order)])
		take(v)
		near := p.adjacency.Neighborhood(int(v))
		for range min(patchFanOut, len(near)) {
			take(near[p.rng.IntN(len(near))])
		}
	}
	return points
}
