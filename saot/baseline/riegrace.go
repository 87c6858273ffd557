package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
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

// RieGraceSettings are those of RieGrace. Its code is not public: the defaults are ours.
type RieGraceSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"d of the first layer, the low level"`
	Out          int     `json:"out" range:"[1,)" help:"d of the second layer, the high level"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"steps per task, of M nodes each"`
	Nodes        int     `json:"nodes" range:"[2,)" help:"M, nodes contrasted in a step"`
	Temperature  float64 `json:"temperature" range:"(0,)" help:"τ of InfoNCE"`
	Distillation float64 `json:"distillation" range:"[0,)" help:"λ, weight of the distillation from the last task"`

	HighestCurvature float64     `json:"highest_curvature" help:"upper limit on the observed κ that a task starts at"`
	Triangles        int         `json:"triangles" range:"[1,)" help:"triangles drawn to estimate a task's curvature"`
	Coordinates      Coordinates `json:"coordinates" help:"coordinates of the embeddings: lorentz or tangent"`

	WholeGraph int   `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, taken whole; 0 is no limit"`
	FanOut     []int `json:"fan_out" help:"neighbors drawn of each node of a larger one, by layer; 0 draws all"`
}

func rieGraceDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &RieGraceSettings{Hidden: 32, Out: 32, LearningRate: 0.01, Epochs: 200, Nodes: 512, Temperature: 0.2,
		Distillation:     1,
		HighestCurvature: -0.1, Triangles: 4096, WholeGraph: wholeGraph, FanOut: []int{10}}
	if p == method.Fast {
		s.Epochs, s.Nodes = 50, 256
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "riegrace", Paper: "RieGrace", Kind: method.SelfSupervised, Order: 6,
		Summary:  "hyperbolic embeddings with Lorentz distillation (Sun et al. 2023)",
		Defaults: rieGraceDefaults, New: newRieGrace,
		Load: func(s method.Settings) method.Load { return s.(*RieGraceSettings).load() }})
}

// load is the work of a task: a step of M nodes for each epoch, on graphs of every size.
func (s *RieGraceSettings) load() method.Load {
	near := encoder.Config{SampleFanOut: perLayer(s.FanOut, 2)}
	return method.Load{Epochs: s.Epochs, Hidden: s.Hidden, Out: s.Out, WholeGraph: s.WholeGraph, Batch: s.Nodes,
		Steps: 1, Spread: near.Spread()}
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

// rieGrace is RieGrace (Sun et al. 2023, "Self-Supervised Continual Graph Learning in Adaptive Riemannian Spaces"): a
// graph network in a space whose curvature follows the graphs, AdaRGCN, taught by itself and by its state after the
// last task. A layer is
//
//	h_i = W·log_o(x_i),   x'_i = centroid_j(exp_o(h_j); α_ij),
//	α_ij = softmax_j LeakyReLU(a·h_i + b·h_j),   j ∈ N(i) ∪ {i},
//
// where the features count as tangent vectors already. With x^L after one layer, x^H after two and those of the teacher
// x^T, the label-free Lorentz distillation is (in our notation)
//
//	J = J(x^H, P(x^L)) + λ·J(x^H, P(x^T)),   J(x, y) = −1/M Σ_i log( exp(−d²(x_i,y_i)/τ) / Σ_j exp(−d²(x_i,y_j)/τ) ),
//
// the first term intra-, the second inter-distillation, absent in the first task. P stands for the generalized Lorentz
// projection between spaces of different dimension and curvature: the space coordinates times a matrix, and the time
// that puts them on the student's model. It is trained for x^L, and the identity for x^T. docs/methods.md says where
// ours departs from the paper, whose code is not public.
type rieGrace struct {
	RieGraceSettings
	method.State
	net     *encoder.Net
	graphs  *encoder.Graphs
	seed    uint64
	trainer *train.Trainer[contrasted[*tensors.Tensor]]
	embed   *engine.Named[encoder.Input[*tensors.Tensor]]
	parts   rieGraceParts
}

type rieGraceParts struct {
	project [2]*engine.Func
	hidden  *engine.Func    // what ends the first layer
	out     [2]*engine.Func // what ends the second, by coordinates
}

// Variables next to weight1 and weight2.
const (
	logBend    = "log_bend"   // log(−κ), a scalar
	projection = "projection" // of the low level into the space of the high one [hidden, out]
)

// attentionNames returns the names of a layer's a, for the node that attends, and b, for the one attended to, [d, 1]
// both.
func attentionNames(layer int) (target, source string) {
	return fmt.Sprintf("target%d", layer), fmt.Sprintf("source%d", layer)
}

func newRieGrace(b method.Build) (continual.Method, error) {
	l := &rieGrace{RieGraceSettings: *b.Settings.(*RieGraceSettings), net: encoder.NewNet(b.Engine), seed: b.Seed,
		graphs: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, typicalSteps, b.Stream.Sizes))}
	l.State = method.State{Name: "riegrace", Nets: []*encoder.Net{l.net}}
	if largest := largestOf(b.Stream.Sizes); largest > 0 {
		l.Nodes = min(l.Nodes, largest)
	}
	if err := l.initialize(b.Stream.Features, seed.Stream(b.Seed, "weights")); err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	var err1, err2, err3 error
	l.embed, err1 = engine.NewNamed[encoder.Input[*tensors.Tensor]](b.Engine, "embed", l.net.Store(),
		func(in encoder.Input[*Node]) []*Node {
			space, _, high := l.encode(in)
			return []*Node{LorentzCoordinates: space.coordinates(high), TangentCoordinates: space.log(high)}
		})
	err2 = l.makeParts()
	l.trainer, err3 = train.New[contrasted[*tensors.Tensor]](l.net, "riegrace",
		train.Optimizer{LearningRate: l.LearningRate}, l.loss)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	return l, nil
}

func largestOf(sizes []encoder.Size) (nodes int) {
	for _, s := range sizes {
		nodes = max(nodes, s.Nodes)
	}
	return nodes
}

func (l *rieGrace) initialize(features int, rng *rand.Rand) error {
	all := []encoder.Variable{{Name: logBend, Value: tensors.FromScalar(float32(0))},
		{Name: projection, Value: encoder.Glorot(l.Hidden, l.Out, rng)}}
	widths := []int{features, l.Hidden, l.Out}
	for layer := 1; layer < len(widths); layer++ {
		in, out := widths[layer-1], widths[layer]
		target, source := attentionNames(layer)
		all = append(all, encoder.Variable{Name: weightName(layer), Value: encoder.Glorot(in, out, rng)},
			encoder.Variable{Name: target, Value: encoder.Glorot(out, 1, rng)}, encoder.Variable{Name: source,
				Value: encoder.Glorot(out, 1, rng)})
	}
	return l.net.Add(all...)
}

func (l *rieGrace) makeParts() error {
	part := func(name string, f func(space lorentz, rows *Node) []*Node) (*engine.Func, error) {
		return l.net.ChunkFunc(name, func(rows *Node) []*Node { return f(l.space(rows.Graph()), rows) })
	}
	project := func(layer int, from func(space lorentz, rows *Node) *Node) (*engine.Func, error) {
		return part("project a chunk", func(space lorentz, rows *Node) []*Node {
			x, target, source := l.points(space, layer,
				MatMul(from(space, rows), l.net.Node(rows.Graph(), weightName(layer))))
			return []*Node{space.weighable(x), Concatenate([]*Node{target, source}, -1)}
		})
	}
	end := func(as func(space lorentz, x *Node) *Node) (*engine.Func, error) {
		return part("end a chunk", func(space lorentz,
			sums *Node) []*Node {
			return []*Node{as(space, space.center(sums))}
		})
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

func (l *rieGrace) space(g *Graph) lorentz {
	return lorentz{Exp(ClipScalar(l.net.Node(g, logBend), math.Log(leastBent), math.Log(mostBent)))}
}

// encode returns the space and, as points of it, the low level [N, hidden] and the high level [N, out] of a graph, or
// of a sample: the low level of all nodes that it is needed of, the targets first.
func (l *rieGrace) encode(in encoder.Input[*Node]) (space lorentz, low, high *Node) {
	g := in.Mask.Graph()
	space = l.space(g)
	nodes := encoder.NodesOf(in)
	near := [2]encoder.Propagation{nodes.Hat, nodes.Hat}
	if in.Sample != nil {
		near[0], near[1] = encoder.NewPropagation(in.Sample.Layers[0]), encoder.NewPropagation(in.Sample.Layers[1])
	}
	low = l.layer(space, 1, nodes.Times(l.net.Node(g, weightName(1))), near[0])
	high = l.layer(space, 2, MatMul(space.log(low), l.net.Node(g, weightName(2))), near[1])
	return space, low, high
}

// layer returns points from W·log(x) [N, d]. Attention and not Â weighs them, as in the paper.
func (l *rieGrace) layer(space lorentz, layer int, transformed *Node, near encoder.Propagation) *Node {
	x, target, source := l.points(space, layer, transformed)
	return space.centroid(near, x, target, source)
}

// points returns what centroid weighs, from W·log(x) [N, d]: points [N, d] and the attention scores [N, 1]. The scores
// come from the tangent vectors themselves, because the log maps of the points are these vectors.
func (l *rieGrace) points(space lorentz, layer int, transformed *Node) (x, target, source *Node) {
	h := space.within(transformed)
	targetName, sourceName := attentionNames(layer)
	score := func(name string) *Node { return MatMul(h, l.net.Node(h.Graph(), name)) }
	return space.exp(h), score(targetName), score(sourceName)
}

// Learn starts κ from the graph and continues the training, taught by the network as the last task left it. The
// report's diagnostics are observed_curvature and, after training, curvature.
func (l *rieGrace) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Diagnostics: map[string]float64{}}
	return report, l.Fault(task, l.learn(ctx, g, rieGracePlan{Task: task, Steps: l.Epochs, Report: report,
		Seen: observe}))
}

type rieGracePlan = train.Plan[contrasted[*tensors.Tensor]]

func (l *rieGrace) learn(ctx context.Context, g *graph.Graph, p rieGracePlan) (err error) {
	var release func()
	if beyond(g, l.WholeGraph) {
		p.Inputs, err = l.sampledInputs(ctx, p.Task, g)
	} else if p.Inputs, release, err = l.wholeInputs(p.Task, g); err == nil {
		defer release()
	}
	if err != nil {
		return err
	}
	d := p.Report.Diagnostics
	d["observed_curvature"], err = observedCurvature(ctx, &g.Adjacency, l.Triangles,
		seed.Stream(l.seed, "triangles", p.Task))
	if err != nil {
		return err
	}
	if err := l.bend(min(d["observed_curvature"], l.HighestCurvature)); err != nil {
		return err
	}
	if err := l.trainer.Train(ctx, p); err != nil {
		return err
	}
	d["curvature"], err = l.curvature()
	return err
}

func (l *rieGrace) bend(curvature float64) error {
	return l.net.SetValue(logBend, []float32{float32(math.Log(min(max(-curvature, leastBent), mostBent)))})
}

func (l *rieGrace) curvature() (float64, error) {
	v, err := l.net.Value(logBend)
	if err != nil {
		return 0, err
	}
	return -min(max(math.Exp(float64(v[0])), leastBent), mostBent), nil
}

// pointsOf returns the high level of the nodes of an uploaded graph, row major.
func (l *rieGrace) pointsOf(on *encoder.Uploaded, c Coordinates) ([]float32, error) {
	out, err := l.embed.Call(on.Input)
	if err != nil {
		return nil, err
	}
	other := out[1-c]
	data, _, err := encoder.RowsOf(out[c:c+1], on.Graph.NumNodes())
	engine.Release(other)
	return data, err
}

// pointsOfLarge returns the high level of a graph, layer by layer with all neighbors.
func (l *rieGrace) pointsOfLarge(ctx context.Context, g *graph.Graph, c Coordinates) ([]float32, error) {
	if err := l.graphs.Check(g); err != nil {
		return nil, err
	}
	low, err := encoder.AttendLayerwise(ctx, &g.Adjacency, &g.Features, 1+l.Hidden, l.Hidden,
		[2]*engine.Func{l.parts.project[0], l.parts.hidden})
	if err != nil {
		return nil, err
	}
	high, err := encoder.AttendLayerwise(ctx, &g.Adjacency, low, 1+l.Out, l.columns(c),
		[2]*engine.Func{l.parts.project[1], l.parts.out[c]})
	if err != nil {
		return nil, err
	}
	return high.Dense, nil
}

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
	on, err := l.graphs.UploadFor(g, attentive)
	if err != nil {
		return nil, err
	}
	defer on.Release()
	return l.pointsOf(on, l.Coordinates)
}
