package baseline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/train"
)

// contrasted is a graph with the nodes that a step contrasts.
type contrasted[T any] struct {
	Graph  encoder.Input[T]
	Drawn  T // the rows of the nodes [M, 1] int32
	Share  T // of each in the loss [M, 1]; 0 on padding
	Points T // the teacher's [M, out]
	Lambda T // λ, or 0 on the first task
}

// loss returns J and its two terms.
func (l *rieGrace) loss(in contrasted[*Node]) train.Loss {
	space, low, high := l.encode(in.Graph)
	student := Gather(high, in.Drawn)
	projected := MatMul(Gather(low, in.Drawn), l.net.Node(low.Graph(), projection))
	intra := infoNCE(space.squaredDistances(student, projected), in.Share, l.Temperature)
	inter := infoNCE(space.squaredDistances(student, in.Points), in.Share, l.Temperature)
	inter = Where(GreaterThan(in.Lambda, ZerosLike(in.Lambda)), inter, ZerosLike(inter))
	return train.Loss{Total: Add(intra, Mul(in.Lambda, inter)),
		Parts: []train.Term{{Name: "intra", Node: intra}, {Name: "inter", Node: inter}}}
}

// infoNCE returns Σ_i w_i·CE(softmax_j(−d²_ij/τ), i) over the pairs whose share w is not 0 (van den Oord et al. 2018,
// Eq. 4).
//
// Shapes: squared distances [M, M], share [M, 1], summing to 1; returns a scalar in nats. The gradient flows to the
// distances.
func infoNCE(squared, share *Node, temperature float64) *Node {
	absent := Transpose(MulScalar(OneMinus(PositiveIndicator(share)), closedLogit), 0, 1)
	logp := LogSoftmax(Add(MulScalar(squared, -1/temperature), absent), -1)
	own := ReduceSum(Where(Diagonal(squared.Graph(), squared.Shape().Dim(0)), logp, ZerosLike(logp)), -1)
	return Neg(ReduceAllSum(Mul(own, Squeeze(share, -1))))
}

// stepInputs makes the inputs of a step.
type stepInputs func(step int) (in contrasted[*tensors.Tensor], made any, err error)

// wholeInputs returns what makes the inputs of steps on a whole graph, and what releases those that all steps share.
func (l *rieGrace) wholeInputs(task int, g *graph.Graph) (stepInputs, func(), error) {
	on, err := l.graphs.UploadFor(g, attentive)
	if err != nil {
		return nil, nil, err
	}
	c, err := l.contrasts(task, g.NumNodes(), on.Rows()-1, func() ([]float32, error) {
		return l.pointsOf(on, LorentzCoordinates)
	})
	return func(step int) (in contrasted[*tensors.Tensor], made any, err error) {
		nodes := c.nodes(seed.Stream(l.seed, "contrast", task, step))
		in = c.inputs(nodes, nodes)
		made = in
		in.Graph = on.Input
		return in, made, nil
	}, on.Release, err
}

// attentive is what encodes: neighbors weigh by attention.
var attentive = encoder.Config{Kind: encoder.GAT}

// sampledInputs returns what makes the inputs of steps on a graph too large for one.
func (l *rieGrace) sampledInputs(ctx context.Context, task int, g *graph.Graph) (stepInputs, error) {
	c, err := l.contrasts(task, g.NumNodes(), 0, func() ([]float32, error) {
		return l.pointsOfLarge(ctx, g,
			LorentzCoordinates)
	})
	if err != nil {
		return nil, err
	}
	samples, err := l.graphs.Samples(g, attentive.Kind, perLayer(l.FanOut, 2))
	return func(step int) (in contrasted[*tensors.Tensor], made any, err error) {
		rng := seed.Stream(l.seed, "contrast", task, step)
		nodes := c.nodes(rng)
		in = c.inputs(nodes, consecutive(len(nodes)))
		in.Graph, err = samples.Input(samples.Draw(nodes, rng))
		return in, in, err
	}, err
}

func consecutive(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// contrast draws the nodes of the steps of a task.
type contrast struct {
	m, of, n int       // at most m nodes of the n, in lists of m
	width    int       // of a point
	padding  int32     // fills the lists
	teacher  []float32 // the points with their times, [n, 1+width]
	lambda   float64
}

// contrasts prepares the contrasts of a task whose graph has n nodes, given the row that fills lists of indices. teach
// returns the teacher's points, with time first.
func (l *rieGrace) contrasts(task, n, padding int, teach func() ([]float32, error)) (*contrast, error) {
	c := &contrast{m: l.Nodes, of: min(l.Nodes, n), n: n, width: l.Out, padding: int32(padding)}
	if task == 0 {
		c.teacher = make([]float32, n*(1+l.Out))
		return c, nil
	}
	var err error
	if c.teacher, err = teach(); err != nil {
		return nil, fmt.Errorf("teacher: %w", err)
	}
	c.lambda = l.Distillation
	return c, nil
}

// nodes draws the nodes of a step.
func (c *contrast) nodes(rng *rand.Rand) []int32 {
	nodes := make([]int32, c.of)
	for i, node := range rng.Perm(c.n)[:c.of] {
		nodes[i] = int32(node)
	}
	return nodes
}

// inputs returns the rows in which the nodes stand, their shares, the teacher's points of them and λ. A graph of fewer
// than M nodes is drawn whole; the rest of the rows are a row of padding with the share 0.
func (c *contrast) inputs(nodes, rows []int32) contrasted[*tensors.Tensor] {
	drawn, share, points := slices.Repeat([]int32{c.padding}, c.m), make([]float32, c.m), make([]float32, c.m*c.width)
	copy(drawn, rows)
	for i, node := range nodes {
		share[i] = 1 / float32(c.of)
		copy(points[i*c.width:(i+1)*c.width], c.teacher[int(node)*(1+c.width)+1:])
	}
	return contrasted[*tensors.Tensor]{
		Drawn:  tensors.FromFlatDataAndDimensions(drawn, c.m, 1),
		Share:  tensors.FromFlatDataAndDimensions(share, c.m, 1),
		Points: tensors.FromFlatDataAndDimensions(points, c.m, c.width),
		Lambda: tensors.FromScalar(float32(c.lambda)),
	}
}
