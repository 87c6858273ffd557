package baseline

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// Coordinates are those in which a hyperbolic method hands its embeddings out.
type Coordinates int

// The coordinates.
const (
	LorentzCoordinates Coordinates = iota // (x₀, x₁ … x_d), time first
	TangentCoordinates                    // the vectors of the log map at the origin, d numbers
)

var coordinates = enum.Of[Coordinates]("coordinates", "lorentz", "tangent")

// String returns "lorentz" or "tangent".
func (c Coordinates) String() string                   { return coordinates.Name(c) }
func (c Coordinates) MarshalText() ([]byte, error)     { return coordinates.Marshal(c) }
func (c *Coordinates) UnmarshalText(text []byte) error { return coordinates.Unmarshal(c, text) }

// RieGraceSettings are those of RieGrace. Its code is not public: defaults without a source in the paper are ours.
type RieGraceSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"d of the first layer, the low level"`
	Out          int     `json:"out" range:"[1,)" help:"d of the second layer, the high level"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"of Adam"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"steps per task, of M nodes each"`
	Nodes        int     `json:"nodes" range:"[2,)" help:"M, nodes contrasted in a step"`
	Temperature  float64 `json:"temperature" range:"(0,)" help:"τ of InfoNCE"`
	Distillation float64 `json:"distillation" range:"[0,)" help:"λ, weight of the distillation from the last task"`

	HighestCurvature float64     `json:"highest_curvature" help:"κ of a task starts no higher, whatever is observed"`
	Triangles        int         `json:"triangles" range:"[1,)" help:"drawn to observe a task's curvature"`
	Coordinates      Coordinates `json:"coordinates" help:"of the embeddings: lorentz or tangent"`

	WholeGraph int   `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, that a step takes whole; 0 is no limit"`
	FanOut     []int `json:"fan_out" help:"neighbors drawn of each node of a larger one, by layer; 0 draws all"`
}

func rieGraceDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &RieGraceSettings{Hidden: 32, Out: 32, LearningRate: 0.01, Epochs: 200, Nodes: 512, Temperature: 0.2, Distillation: 1,
		HighestCurvature: -0.1, Triangles: 4096, WholeGraph: wholeGraph, FanOut: []int{10}}
	if p == method.Fast {
		s.Epochs, s.Nodes = 50, 256
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "riegrace", Paper: "RieGrace", Kind: method.SelfSupervised, Order: 6,
		Summary:  "hyperbolic embeddings with Lorentz distillation (Sun et al. 2023)",
		Defaults: rieGraceDefaults, New: newRieGrace})
}

// Validate lists every field out of range.
func (s *RieGraceSettings) Validate() error {
	l := check.In("baseline: riegrace").Ranges(s)
	l.That(s.HighestCurvature >= -mostBent && s.HighestCurvature <= -leastBent, "highest_curvature", s.HighestCurvature,
		fmt.Sprintf("a value in [%v, %v]: positive curvature is not supported", -mostBent, -leastBent))
	checkFanOut(l, s.FanOut, 2)
	l.That(coordinates.Has(s.Coordinates), "coordinates", s.Coordinates, coordinates.Choices())
	return l.Err()
}

// The range of −κ, which keeps training from making the space flat or a ball of radius 0.
const leastBent, mostBent = 0.01, 10.0

// rieGrace is RieGrace (Sun et al. 2023, "Self-Supervised Continual Graph Learning in Adaptive Riemannian Spaces"): a graph
// network in a space whose curvature follows the graphs, AdaRGCN, taught by itself and by its state after the last task. A
// layer is
//
//	h_i = W·log_o(x_i),   x'_i = centroid_j(exp_o(h_j); α_ij),   α_ij = softmax_j LeakyReLU(a·h_i + b·h_j),   j ∈ N(i) ∪ {i},
//
// where the features count as tangent vectors already. With x^L after one layer, x^H after two and those of the teacher x^T,
// the label-free Lorentz distillation is (in our notation)
//
//	J = J(x^H, P(x^L)) + λ·J(x^H, P(x^T)),   J(x, y) = −1/M Σ_i log( exp(−d²(x_i,y_i)/τ) / Σ_j exp(−d²(x_i,y_j)/τ) ),
//
// the first term intra-, the second inter-distillation, absent in the first task. P stands for the generalised Lorentz
// projection between spaces of different dimension and curvature: the space coordinates times a matrix, and the time that
// puts them on the student's model. For x^L it is trained; for x^T, of the student's dimension, it is the identity, since a
// trained one would follow the very drift that the term is there to prevent.
//
// Departures, the paper's code not being public:
//   - CurvNet, a network that regresses the observed curvature of a graph, is left out. A task's κ starts at the observed
//     curvature itself (observedCurvature) and is trained along with the weights.
//   - κ stays below 0: graphs whose observed curvature is above HighestCurvature start there (see lorentz).
//   - There is one κ at a time: that of the last task embeds the graphs of all tasks, as one probe reads them all.
//   - M nodes drawn afresh for each step stand for all nodes of a graph in J. In graphs too large for a step, they attend over
//     sampled neighbours; an epoch is one step there too.
type rieGrace struct {
	RieGraceSettings
	*nn.Net
	features int
	seed     uint64
	buckets  *encoder.Buckets
	trainer  *nn.Trainer
	embed    *engine.Func
	parts    rieGraceParts
}

// rieGraceParts are the layers as encoder.AttendLayerwise takes them.
type rieGraceParts struct {
	project [2]*engine.Func
	hidden  *engine.Func    // what ends the first layer
	out     [2]*engine.Func // what ends the second, by coordinates
}

// Variables beside weight1 and weight2.
const (
	logBend    = "log_bend"   // log(−κ), a scalar
	projection = "projection" // of the low level into the space of the high one [hidden, out]
)

// attentionNames returns the names of a layer's a, for the node that attends, and b, for the one attended to, [d, 1] both.
func attentionNames(layer int) (target, source string) {
	return fmt.Sprintf("target%d", layer), fmt.Sprintf("source%d", layer)
}

func newRieGrace(b method.Build) (continual.Method, error) {
	l := &rieGrace{RieGraceSettings: *b.Settings.(*RieGraceSettings), Net: nn.New(b.Engine),
		features: b.Stream.Features, seed: b.Seed, buckets: encoder.NewBuckets(b.Stream.Sizes)}
	if largest := largestOf(b.Stream.Sizes); largest > 0 {
		l.Nodes = min(l.Nodes, largest)
	}
	if err := l.initialise(seed.Stream(b.Seed, "weights")); err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	var err error
	l.embed, err = l.Func("embed", func(in []*Node) []*Node {
		space, _, high := l.encode(in)
		return []*Node{space.coordinates(high), space.log(high)}
	})
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	if err := l.makeParts(); err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	l.trainer, err = l.Trainer("riegrace", nn.Optimizer{LearningRate: l.LearningRate}, []string{"total", "intra", "inter"}, l.loss)
	return l, err
}

func largestOf(sizes []encoder.Size) (nodes int) {
	for _, s := range sizes {
		nodes = max(nodes, s.Nodes)
	}
	return nodes
}

// initialise creates the variables.
func (l *rieGrace) initialise(rng *rand.Rand) error {
	all := []nn.Named{{Name: logBend, Value: tensors.FromScalar(float32(0))},
		{Name: projection, Value: nn.Glorot(l.Hidden, l.Out, rng)}}
	widths := []int{l.features, l.Hidden, l.Out}
	for layer := 1; layer < len(widths); layer++ {
		in, out := widths[layer-1], widths[layer]
		target, source := attentionNames(layer)
		all = append(all, nn.Named{Name: weightName(layer), Value: nn.Glorot(in, out, rng)},
			nn.Named{Name: target, Value: nn.Glorot(out, 1, rng)}, nn.Named{Name: source, Value: nn.Glorot(out, 1, rng)})
	}
	return l.AddAll(all...)
}

// makeParts makes the functions of layer-wise inference.
func (l *rieGrace) makeParts() error {
	part := func(name string, f func(space lorentz, rows *Node) []*Node) (*engine.Func, error) {
		return l.Func(name, func(in []*Node) []*Node { return f(l.space(in[0].Graph()), in[0]) })
	}
	project := func(layer int, from func(space lorentz, rows *Node) *Node) (*engine.Func, error) {
		return part("project a chunk", func(space lorentz, rows *Node) []*Node {
			x, target, source := l.points(space, layer, MatMul(from(space, rows), l.Node(rows.Graph(), weightName(layer))))
			return []*Node{space.weighable(x), Concatenate([]*Node{target, source}, -1)}
		})
	}
	end := func(as func(space lorentz, x *Node) *Node) (*engine.Func, error) {
		return part("end a chunk", func(space lorentz, sums *Node) []*Node { return []*Node{as(space, space.centre(sums))} })
	}
	same := func(_ lorentz, x *Node) *Node { return x }
	var err [5]error
	l.parts.project[0], err[0] = project(1, same)
	l.parts.project[1], err[1] = project(2, lorentz.log)
	l.parts.hidden, err[2] = end(same)
	l.parts.out[LorentzCoordinates], err[3] = end(lorentz.coordinates)
	l.parts.out[TangentCoordinates], err[4] = end(lorentz.log)
	return errors.Join(err[:]...)
}

// space returns the space as it is now.
func (l *rieGrace) space(g *Graph) lorentz {
	return lorentz{Exp(ClipScalar(l.Node(g, logBend), math.Log(leastBent), math.Log(mostBent)))}
}

// encode returns the space and, as points of it, the low level [N, hidden] and the high level [N, out] of a graph, whose
// features and operator are the inputs, or of a sample: the low level of all nodes that it is needed of, the targets first.
func (l *rieGrace) encode(in []*Node) (space lorentz, low, high *Node) {
	g := in[0].Graph()
	space = l.space(g)
	if in[0].Shape().Dim(1) == 1 {
		sample := nn.TakeKind(encoder.GAT, in).Sample
		low = l.layer(space, 1, MatMul(sample.Rows, l.Node(g, weightName(1))), encoder.NewPropagation(sample.Layers[0]))
		high = l.layer(space, 2, MatMul(space.log(low), l.Node(g, weightName(2))), encoder.NewPropagation(sample.Layers[1]))
		return space, low, high
	}
	near := encoder.NewPropagation(in[1:])
	low = l.layer(space, 1, nn.Nodes{FeaturesT: in[0]}.Times(l.Node(g, weightName(1))), near)
	high = l.layer(space, 2, MatMul(space.log(low), l.Node(g, weightName(2))), near)
	return space, low, high
}

// layer returns points from W·log(x) [N, d]. Attention and not Â weighs them, as in the paper.
func (l *rieGrace) layer(space lorentz, layer int, transformed *Node, near encoder.Propagation) *Node {
	x, target, source := l.points(space, layer, transformed)
	return space.centroid(near, x, target, source)
}

// points returns what centroid weighs, from W·log(x) [N, d]: points [N, d] and the scores [N, 1] of attention, which is taken of the
// log maps of the transformed points; they undo the exponential map just taken.
func (l *rieGrace) points(space lorentz, layer int, transformed *Node) (x, target, source *Node) {
	h := space.within(transformed)
	targetName, sourceName := attentionNames(layer)
	score := func(name string) *Node { return MatMul(h, l.Node(h.Graph(), name)) }
	return space.exp(h), score(targetName), score(sourceName)
}

// loss takes the nodes drawn [M, 1], their shares [M, 1], the teacher's points of them [M, out], λ, and what encode takes.
func (l *rieGrace) loss(in []*Node) []*Node {
	drawn, share, teacher, lambda := in[0], in[1], in[2], in[3]
	space, low, high := l.encode(in[4:])
	student := Gather(high, drawn)
	projected := MatMul(Gather(low, drawn), l.Node(low.Graph(), projection))
	intra := infoNCE(space.squaredDistances(student, projected), share, l.Temperature)
	inter := infoNCE(space.squaredDistances(student, teacher), share, l.Temperature)
	inter = Where(GreaterThan(lambda, ZerosLike(lambda)), inter, ZerosLike(inter))
	return []*Node{Add(intra, Mul(lambda, inter)), intra, inter}
}

// infoNCE returns Σ_i w_i·CE(softmax_j(−d²_ij/τ), i) over the pairs whose share w is not 0 (van den Oord et al. 2018, Eq. 4).
//
// Shapes: squared distances [M, M], share [M, 1], summing to 1; returns a scalar in nats. The gradient flows to the distances.
func infoNCE(squared, share *Node, temperature float64) *Node {
	absent := Transpose(MulScalar(OneMinus(PositiveIndicator(share)), closedLogit), 0, 1)
	logp := LogSoftmax(Add(MulScalar(squared, -1/temperature), absent), -1)
	own := ReduceSum(Where(Diagonal(squared.Graph(), squared.Shape().Dim(0)), logp, ZerosLike(logp)), -1)
	return Neg(ReduceAllSum(Mul(own, Squeeze(share, -1))))
}

// Learn starts κ from the graph and trains on, taught by the network as the last task left it. The report's diagnostics are
// observed_curvature and, after training, curvature.
func (l *rieGrace) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report, err := l.learn(ctx, task, g, observe)
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: task %d: %w", task+1, err)
	}
	return report, nil
}

func (l *rieGrace) learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	inputs, release, err := l.inputs(ctx, task, g)
	if err != nil {
		return nil, err
	}
	defer release()
	observed := observedCurvature(&g.Adjacency, l.Triangles, seed.Stream(l.seed, "triangles", task))
	if err := l.bend(min(observed, l.HighestCurvature)); err != nil {
		return nil, err
	}
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Diagnostics: map[string]float64{"observed_curvature": observed}}
	err = l.trainer.Train(ctx, nn.Plan{Task: task, Steps: l.Epochs, Report: report, Seen: observe,
		Inputs: func(step int) (all, drawn []*tensors.Tensor, err error) {
			return inputs(seed.Stream(l.seed, "contrast", task, step))
		}})
	if err != nil {
		return nil, err
	}
	report.Diagnostics["curvature"], err = l.curvature()
	return report, err
}

// upload returns what encode takes for a graph.
func (l *rieGrace) upload(g *graph.Graph) ([]*tensors.Tensor, error) {
	if g.Features.Cols != l.features {
		return nil, fmt.Errorf("the graph has %d feature columns, the learner was made for %d", g.Features.Cols, l.features)
	}
	b, err := encoder.NewBatch(g, l.buckets.Fit(encoder.SizeOf(g)))
	if err != nil {
		return nil, err
	}
	op, err := encoder.Config{Kind: encoder.GAT}.NewOperator(&g.Adjacency, b.Size)
	if err != nil {
		b.Finalize()
		return nil, err
	}
	nn.Release(b.Mask)
	return slices.Concat([]*tensors.Tensor{b.FeaturesT}, op.Tensors()), nil
}

// inputs returns what makes the inputs of a step, and what releases those that all steps share.
func (l *rieGrace) inputs(ctx context.Context, task int, g *graph.Graph) (
	draw func(rng *rand.Rand) (in, drawn []*tensors.Tensor, err error), release func(), err error) {
	n := g.NumNodes()
	if beyond(g, l.WholeGraph) {
		c, err := l.contrasts(task, n, 0, func() ([]float32, error) { return l.pointsOfLarge(ctx, g, LorentzCoordinates) })
		if err != nil {
			return nil, nil, err
		}
		samples, err := nn.NewGraphs(l.features, nil).Samples(g, encoder.GAT, perLayer(l.FanOut, 2))
		return func(rng *rand.Rand) (in, drawn []*tensors.Tensor, err error) {
			nodes := c.nodes(rng)
			in, err = samples.Inputs(samples.Draw(nodes, rng))
			in = slices.Concat(c.tensors(nodes, consecutive(len(nodes))), in)
			return in, in, err
		}, func() {}, err
	}
	in, err := l.upload(g)
	if err != nil {
		return nil, nil, err
	}
	c, err := l.contrasts(task, n, in[0].Shape().Dim(1)-1, func() ([]float32, error) {
		data, _, err := l.pointsOf(in, n, LorentzCoordinates)
		return data, err
	})
	return func(rng *rand.Rand) (all, drawn []*tensors.Tensor, err error) {
		nodes := c.nodes(rng)
		drawn = c.tensors(nodes, nodes)
		return slices.Concat(drawn, in), drawn, nil
	}, func() { nn.Release(in...) }, err
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

// contrasts prepares the contrasts of a task whose graph has n nodes, given the row that fills lists of indices. teach returns the
// teacher's points, with time first.
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

// tensors returns the rows in which the nodes stand, their shares, the teacher's points of them and λ. A graph of fewer than M nodes
// is drawn whole; the rest of the rows are a row of padding with the share 0.
func (c *contrast) tensors(nodes, rows []int32) []*tensors.Tensor {
	drawn, share, points := slices.Repeat([]int32{c.padding}, c.m), make([]float32, c.m), make([]float32, c.m*c.width)
	copy(drawn, rows)
	for i, node := range nodes {
		share[i] = 1 / float32(c.of)
		copy(points[i*c.width:(i+1)*c.width], c.teacher[int(node)*(1+c.width)+1:])
	}
	return []*tensors.Tensor{tensors.FromFlatDataAndDimensions(drawn, c.m, 1), tensors.FromFlatDataAndDimensions(share, c.m, 1),
		tensors.FromFlatDataAndDimensions(points, c.m, c.width), tensors.FromScalar(float32(c.lambda))}
}

// bend sets κ.
func (l *rieGrace) bend(curvature float64) error {
	return l.SetValue(logBend, []float32{float32(math.Log(min(max(-curvature, leastBent), mostBent)))})
}

// curvature returns κ.
func (l *rieGrace) curvature() (float64, error) {
	v, err := l.Value(logBend)
	if err != nil {
		return 0, err
	}
	return -min(max(math.Exp(float64(v[0])), leastBent), mostBent), nil
}

// pointsOf returns the high level of the first n nodes of an uploaded graph, row major, and the number of columns.
func (l *rieGrace) pointsOf(in []*tensors.Tensor, n int, c Coordinates) (data []float32, cols int, err error) {
	out, err := l.embed.Call(in...)
	if err != nil {
		return nil, 0, err
	}
	defer nn.Release(out...)
	cols = out[c].Shape().Dim(1)
	err = tensors.ConstFlatData(out[c], func(flat []float32) { data = slices.Clone(flat[:n*cols]) })
	return data, cols, err
}

// pointsOfLarge returns the high level of a graph, layer by layer with all neighbours.
func (l *rieGrace) pointsOfLarge(ctx context.Context, g *graph.Graph, c Coordinates) ([]float32, error) {
	if g.Features.Cols != l.features {
		return nil, fmt.Errorf("the graph has %d feature columns, the learner was made for %d", g.Features.Cols, l.features)
	}
	low, err := encoder.AttendLayerwise(ctx, &g.Adjacency, &g.Features, 1+l.Hidden, l.Hidden, l.parts.project[0], l.parts.hidden)
	if err != nil {
		return nil, err
	}
	high, err := encoder.AttendLayerwise(ctx, &g.Adjacency, low, 1+l.Out, l.columns(c), l.parts.project[1], l.parts.out[c])
	if err != nil {
		return nil, err
	}
	return high.Dense, nil
}

// columns returns the width of the embeddings.
func (l *rieGrace) columns(c Coordinates) int {
	if c == LorentzCoordinates {
		return 1 + l.Out
	}
	return l.Out
}

// Embed returns the high level in the coordinates of the settings, [N, out+1] or [N, out].
func (l *rieGrace) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := l.embedding(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: l.columns(l.Coordinates), Data: data}, nil
}

func (l *rieGrace) embedding(ctx context.Context, g *graph.Graph) ([]float32, error) {
	if beyond(g, l.WholeGraph) {
		return l.pointsOfLarge(ctx, g, l.Coordinates)
	}
	in, err := l.upload(g)
	if err != nil {
		return nil, err
	}
	defer nn.Release(in...)
	data, _, err := l.pointsOf(in, g.NumNodes(), l.Coordinates)
	return data, err
}

// Save writes the network. The teacher of the next task is the network itself, and needs no place of its own.
func (l *rieGrace) Save(w io.Writer) error { return l.Net.Save(gob.NewEncoder(w)) }

// Load restores it.
func (l *rieGrace) Load(r io.Reader) error { return l.Net.Load(gob.NewDecoder(r)) }
