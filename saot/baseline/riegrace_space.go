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
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/train"
)

type contrasted[T any] struct {
	Graph  encoder.Input[T]
	Drawn  T // the rows of the nodes [M, 1] int32
	Share  T // of each in the loss [M, 1]; 0 on padding
	Points T // the teacher's [M, out]
	Lambda T // λ, or 0 on the first task
}

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
	absent := Transpose(MulScalar(OneMinus(PositiveIndicator(share)), continual.ClosedLogit), 0, 1)
	logp := LogSoftmax(Add(MulScalar(squared, -1/temperature), absent), -1)
	own := ReduceSum(Where(Diagonal(squared.Graph(), squared.Shape().Dim(0)), logp, ZerosLike(logp)), -1)
	return Neg(ReduceAllSum(Mul(own, Squeeze(share, -1))))
}

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
	if err != nil {
		on.Release()
		return nil, nil, err
	}
	return func(step int) (in contrasted[*tensors.Tensor], made any, err error) {
		nodes := c.nodes(seed.Stream(l.seed, "contrast", task, step))
		in = c.inputs(nodes, nodes)
		made = in
		in.Graph = on.Input
		return in, made, nil
	}, on.Release, nil
}

// attentive is what encodes: neighbors weigh by attention.
var attentive = encoder.Config{Kind: encoder.GAT}

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

// lorentz is the Lorentz model of the hyperbolic space with curvature κ = −k (RieGrace, Sun et al. 2023,
// preliminaries),
//
//	L^{d,κ} = {x ∈ R^{d+1} : ⟨x,x⟩ = 1/κ, x₀ > 0},   ⟨x,y⟩ = −x₀y₀ + Σ_i x_i y_i,   origin o = (1/√k, 0, …, 0).
//
// A point is carried by its space coordinates x = (x₁ … x_d) alone: time follows as x₀ = √(1/k + ‖x‖²), so that no
// rounding takes a point off the model. Every map is written as a smooth function of k‖·‖², for two reasons: neither
// the origin nor coinciding points divide by 0, and where k → 0, the Euclidean limit, no large 1/k cancels.
//
// κ > 0, the sphere, is left out: there, points have no global log map and its arccosine has no gradient at antipodes.
type lorentz struct {
	k *Node // −κ > 0, a scalar
}

// maxRadius bounds √k‖v‖ of tangent vectors. At 6 space coordinates are up to sinh 6 = 202 times 1/√k, and float32
// tells points there apart that are 0.2/√k away from each other.
const maxRadius = 6

// within shortens tangent vectors at the origin, [N, d], to the radius maxRadius.
func (l lorentz) within(v *Node) *Node {
	over := MulScalar(l.bend(v), 1.0/(maxRadius*maxRadius))
	return Div(v, Sqrt(Max(over, OnesLike(over))))
}

// exp is the exponential map at the origin, x = sinh(r)/r · v with r = √k‖v‖.
//
// Shapes: v [N, d], no longer than within allows; returns points [N, d]. Gradients flow to v and k.
func (l lorentz) exp(v *Node) *Node { return Mul(v, sinhOverRoot(l.bend(v))) }

// log is the logarithmic map at the origin and inverts exp, v = arsinh(s)/s · x with s = √k‖x‖.
//
// Shapes: x [N, d] points; returns tangent vectors [N, d], whose length is the distance to the origin. Gradients flow
// to x and k.
func (l lorentz) log(x *Node) *Node { return Mul(x, arsinhOverRoot(l.bend(x))) }

// coordinates returns points with their time coordinate first, [N, 1+d].
func (l lorentz) coordinates(x *Node) *Node {
	return Concatenate([]*Node{Div(l.factor(x), Sqrt(l.k)), x}, -1)
}

// squaredDistances returns d²(x_i, y_j) = arcosh²(1 + u)/k with u = k⟨x_i, y_j⟩·(−1) − 1. With γ = √(1 + k‖·‖²),
//
//	w = u/k = (‖x‖² + ‖y‖² + k‖x‖²‖y‖²)/(γ_x γ_y + 1) − x·y,   d² = w · arcosh²(1 + kw)/(kw),
//
// in which nothing cancels as k → 0: w is then ½‖x − y‖². Rounding may take w below 0, the argument of arcosh below 1:
// there the distance is 0 with the gradient 0.
//
// Shapes: x [N, d], y [M, d] points; returns [N, M]. Gradients flow to x, y and k. O(N·M·d).
func (l lorentz) squaredDistances(x, y *Node) *Node {
	p, q := squaredNorms(x), Transpose(squaredNorms(y), 0, 1)
	both := Add(Add(p, q), Mul(l.k, Mul(p, q)))
	w := Sub(Div(both, AddScalar(Mul(l.factor(x), Transpose(l.factor(y), 0, 1)), 1)), MatMul(x, Transpose(y, 0, 1)))
	w = Max(w, ZerosLike(w))
	return Mul(w, squaredArcoshOver(Mul(l.k, w)))
}

// centroid returns the Lorentz centroid of each node and its neighbors, weighted by attention,
//
//	c_i = s_i / (√k·√(−⟨s_i, s_i⟩)),   s_i = Σ_j α_ij x_j,
//
// (RieGrace, attentive aggregation; the center of mass of Law et al. 2019). With the times √k·x₀ = γ the root is one
// of γ_s² − k‖s‖², which is 1 or more as the weights sum to 1, and is kept so where rounding says less.
//
// Shapes: x [N, d] points, target and source [N, 1] the attention scores (see encoder.Propagation.Attend); returns
// points [N, d]. Gradients flow to x, the scores and k.
func (l lorentz) centroid(near encoder.Propagation, x, target, source *Node) *Node {
	return l.center(Squeeze(near.Attend(InsertAxes(l.weighable(x), 1), target, source), 1))
}

// weighable returns points with γ first, [N, 1+d], of which centroids are weighted sums.
func (l lorentz) weighable(x *Node) *Node { return Concatenate([]*Node{l.factor(x), x}, -1) }

func (l lorentz) center(sums *Node) *Node {
	time, space := SliceAxis(sums, -1, AxisRange(0, 1)), SliceAxis(sums, -1, AxisRange(1))
	square := Sub(Square(time), l.bend(space))
	return Div(space, Sqrt(Max(square, OnesLike(square))))
}

// bend is k‖x‖², [N, 1].
func (l lorentz) bend(x *Node) *Node { return Mul(l.k, squaredNorms(x)) }

// factor is γ = √(1 + k‖x‖²) = √k·x₀, [N, 1].
func (l lorentz) factor(x *Node) *Node { return Sqrt(AddScalar(l.bend(x), 1)) }

func squaredNorms(x *Node) *Node { return InsertAxes(ReduceSum(Square(x), -1), -1) }

// sinhOverRoot is sinh(√q)/√q for q ≥ 0, by its Taylor series below 1, where the difference of exponentials cancels.
func sinhOverRoot(q *Node) *Node {
	return series(q, 1, []float64{1, 1. / 6, 1. / 120, 1. / 5040, 1. / 362880, 1. / 39916800}, func(q *Node) *Node {
		r := Sqrt(q)
		return Div(MulScalar(Sub(Exp(r), Exp(Neg(r))), 0.5), r)
	})
}

// arsinhOverRoot is arsinh(√q)/√q for q ≥ 0.
func arsinhOverRoot(q *Node) *Node {
	return series(q, 1./16, []float64{1, -1. / 6, 3. / 40, -5. / 112, 35. / 1152, -63. / 2816}, func(q *Node) *Node {
		r := Sqrt(q)
		return Div(Log(Add(r, Sqrt(AddScalar(q, 1)))), r)
	})
}

// squaredArcoshOver is arcosh²(1+u)/u for u ≥ 0, 2 at 0. From arcsin² x = ½·Σ (2x)^{2n}/(n²·C(2n,n)) and
// arcosh(1+u) = 2·arsinh √(u/2), its series is 2·Σ (−1)^{n+1} 2ⁿu^{n−1}/(n²·C(2n,n)).
func squaredArcoshOver(u *Node) *Node {
	return series(u, 1./8, []float64{2, -1. / 3, 4. / 45, -1. / 35, 16. / 1575, -8. / 2079}, func(u *Node) *Node {
		return Div(Square(Log(Add(AddScalar(u, 1), Sqrt(Mul(u, AddScalar(u, 2)))))), u)
	})
}

// series is a power series in q below a bound and a closed form from it on. Each is only handed numbers of its own
// range, so that the gradient of the other is never NaN.
func series(q *Node, bound float64, coefficients []float64, closed func(q *Node) *Node) *Node {
	edge := Scalar(q.Graph(), q.DType(), bound)
	small, sum := Min(q, edge), Scalar(q.Graph(), q.DType(), 0)
	for _, c := range slices.Backward(coefficients) {
		sum = AddScalar(Mul(sum, small), c)
	}
	return Where(LessThan(q, edge), sum, closed(Max(q, edge)))
}

// trianglesPerReference is how many triangles share a reference node, and with it the search for its distances.
const trianglesPerReference = 64

// observedCurvature estimates the curvature of a graph by how far its triangles miss the parallelogram law (Gu et al.
// 2019; RieGrace's observed curvature). For a node m, two of its neighbors b and c, and a reference node a,
//
//	ξ(m; b, c; a) = [ d²(a,m) + d²(b,c)/4 − (d²(a,b) + d²(a,c))/2 ] / (2·d(a,m)),
//
// in hops: 0 on a line, −1 where a tree branches, 1/8 in a clique. It returns the mean over triangles drawn at random,
// of nodes in one component, and 0 for a graph without any. Directions of edges don't count. O(triangles/64 · (nodes +
// edges)).
func observedCurvature(ctx context.Context, a *graph.Adjacency, triangles int, rng *rand.Rand) (float64, error) {
	undirected := a.Undirected()
	if undirected.NumNodes() == 0 {
		return 0, nil
	}
	sum, count := 0.0, 0
	for drawn := 0; drawn < triangles; drawn += trianglesPerReference {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		reference := int32(rng.IntN(undirected.NumNodes()))
		hops, reached := hopsFrom(&undirected, reference)
		for range min(trianglesPerReference, triangles-drawn) {
			m := reached[rng.IntN(len(reached))]
			b, c, ok := twoOf(undirected.Neighborhood(int(m)), rng)
			if !ok || m == reference || b == reference || c == reference {
				continue
			}
			sum += deviation(hops[m], hops[b], hops[c], apart(&undirected, b, c))
			count++
		}
	}
	return sum / float64(max(1, count)), nil
}

// deviation is ξ from the distances of a to m, b and c, and of b to c.
func deviation(am, ab, ac, bc int32) float64 {
	square := func(x int32) float64 { return float64(x) * float64(x) }
	return (square(am) + square(bc)/4 - (square(ab)+square(ac))/2) / (2 * float64(am))
}

// apart is the distance of two nodes that have a neighbor in common.
func apart(a *graph.Adjacency, b, c int32) int32 {
	if _, adjacent := slices.BinarySearch(a.Neighborhood(int(b)), c); adjacent {
		return 1
	}
	return 2
}

// twoOf draws two of the neighbors, unless there are fewer.
func twoOf(neighbors []int32, rng *rand.Rand) (b, c int32, ok bool) {
	if len(neighbors) < 2 {
		return 0, 0, false
	}
	i, j := rng.IntN(len(neighbors)), rng.IntN(len(neighbors)-1)
	if j >= i {
		j++
	}
	return neighbors[i], neighbors[j], true
}

// hopsFrom returns the distance of each node from one of them, breadth first, and the nodes within reach.
func hopsFrom(a *graph.Adjacency, from int32) (hops, reached []int32) {
	hops, reached = slices.Repeat([]int32{-1}, a.NumNodes()), []int32{from}
	hops[from] = 0
	for next := 0; next < len(reached); next++ {
		i := reached[next]
		for _, j := range a.Neighborhood(int(i)) {
			if hops[j] < 0 {
				hops[j] = hops[i] + 1
				reached = append(reached, j)
			}
		}
	}
	return hops, reached
}
