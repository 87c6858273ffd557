package baseline

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/internal/enum"
	"github.com/saot-go/saot/saot/internal/nn"
	"github.com/saot-go/saot/saot/internal/seed"
)

// Coordinates are those in which a hyperbolic method hands its embeddings out.
type Coordinates int

// The coordinates.
const (
	LorentzCoordinates Coordinates = iota // (x₀, x₁ … x_d), time first
	TangentCoordinates                    // the vectors of the log map at the origin, d numbers
)

var coordinates = []string{"lorentz", "tangent"}

// String returns "lorentz" or "tangent".
func (c Coordinates) String() string { return enum.Name("Coordinates", coordinates, c) }

// MarshalText writes the name.
func (c Coordinates) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name.
func (c *Coordinates) UnmarshalText(text []byte) (err error) {
	*c, err = enum.Parse[Coordinates]("coordinates", coordinates, string(text))
	return err
}

// RieGraceSettings are those of RieGrace. Its code is not public: constants without a source are ours.
type RieGraceSettings struct {
	Hidden           int         `json:"hidden"`            // d of the first layer, the low level; 32
	Out              int         `json:"out"`               // d of the second layer, the high level; 32
	LearningRate     float64     `json:"learning_rate"`     // of Adam; 0.01
	Epochs           int         `json:"epochs"`            // full-batch steps per task; 200
	Nodes            int         `json:"nodes"`             // M nodes contrasted in a step; 512
	Temperature      float64     `json:"temperature"`       // τ of InfoNCE; 0.2
	Distillation     float64     `json:"distillation"`      // λ of J_inter; 1
	HighestCurvature float64     `json:"highest_curvature"` // κ of a task starts no higher, whatever is observed; −0.1
	Triangles        int         `json:"triangles"`         // drawn to observe a task's curvature; 4096
	Coordinates      Coordinates `json:"coordinates"`       // of the embeddings; "lorentz"
}

func rieGraceDefaults(_ string, p Preset) Settings {
	s := &RieGraceSettings{Hidden: 32, Out: 32, LearningRate: 0.01, Epochs: 200, Nodes: 512, Temperature: 0.2, Distillation: 1,
		HighestCurvature: -0.1, Triangles: 4096}
	if p == FastPreset {
		s.Epochs, s.Nodes = 50, 256
	}
	return s
}

// Validate lists every field out of range.
func (s *RieGraceSettings) Validate() error {
	r := ranges{method: "riegrace"}
	r.common(s.LearningRate, s.Epochs)
	r.check(s.Hidden >= 1, "hidden", s.Hidden, "1 or more")
	r.check(s.Out >= 1, "out", s.Out, "1 or more")
	r.check(s.Nodes >= 2, "nodes", s.Nodes, "2 or more")
	r.check(s.Temperature > 0, "temperature", s.Temperature, "more than 0")
	r.check(s.Distillation >= 0, "distillation", s.Distillation, "0 or more")
	r.check(s.HighestCurvature >= -mostBent && s.HighestCurvature <= -leastBent, "highest_curvature", s.HighestCurvature,
		fmt.Sprintf("a value in [%v, %v]: positive curvature is not supported", -mostBent, -leastBent))
	r.check(s.Triangles >= 1, "triangles", s.Triangles, "1 or more")
	r.check(s.Coordinates >= 0 && int(s.Coordinates) < len(coordinates), "coordinates", s.Coordinates, "lorentz or tangent")
	return r.err()
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
// the label-free Lorentz distillation is (in our notation; the paper's equation numbers are not given)
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
//   - M nodes drawn afresh for each step stand for all nodes of a graph in J.
type rieGrace struct {
	RieGraceSettings
	*nn.Net
	features int
	seed     uint64
	buckets  *encoder.Buckets
	trainer  *nn.Trainer
	embed    *engine.Func
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

func newRieGrace(b Build) (continual.Learner, error) {
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

// encode returns the space and, as points of it, the low level [N, hidden] and the high level [N, out] of a graph, whose
// features and operator are the inputs.
func (l *rieGrace) encode(in []*Node) (space lorentz, low, high *Node) {
	g, near := in[0].Graph(), encoder.NewPropagation(in[1:])
	space = lorentz{Exp(ClipScalar(l.Node(g, logBend), math.Log(leastBent), math.Log(mostBent)))}
	low = l.layer(space, 1, nn.Nodes{FeaturesT: in[0]}.Times(l.Node(g, weightName(1))), near)
	high = l.layer(space, 2, MatMul(space.log(low), l.Node(g, weightName(2))), near)
	return space, low, high
}

// layer returns points from W·log(x) [N, d]. Attention and not Â weighs them, as in the paper; what it is taken of are the log
// maps of the transformed points, which undo the exponential map just taken.
func (l *rieGrace) layer(space lorentz, layer int, transformed *Node, near encoder.Propagation) *Node {
	h := space.within(transformed)
	target, source := attentionNames(layer)
	score := func(name string) *Node { return MatMul(h, l.Node(h.Graph(), name)) }
	return space.centroid(near, space.exp(h), score(target), score(source))
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
func (l *rieGrace) Learn(ctx context.Context, task int, g *datasets.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	report, err := l.learn(ctx, task, g, observe)
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: task %d: %w", task+1, err)
	}
	return report, nil
}

func (l *rieGrace) learn(ctx context.Context, task int, g *datasets.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	in, err := l.upload(g)
	if err != nil {
		return nil, err
	}
	defer nn.Release(in...)
	draw, err := l.contrasts(task, g.NumNodes(), in)
	if err != nil {
		return nil, err
	}
	observed := observedCurvature(&g.Adjacency, l.Triangles, seed.Stream(l.seed, "triangles", task))
	if err := l.bend(min(observed, l.HighestCurvature)); err != nil {
		return nil, err
	}
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Diagnostics: map[string]float64{"observed_curvature": observed}}
	err = l.trainer.Train(ctx, nn.Plan{Task: task, Steps: l.Epochs, Report: report, Seen: observe,
		Inputs: func(step int) (all, release []*tensors.Tensor, err error) {
			release = draw(seed.Stream(l.seed, "contrast", task, step))
			return slices.Concat(release, in), release, nil
		}})
	if err != nil {
		return nil, err
	}
	report.Diagnostics["curvature"], err = l.curvature()
	return report, err
}

// upload returns what encode takes for a graph.
func (l *rieGrace) upload(g *datasets.Graph) ([]*tensors.Tensor, error) {
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

// contrasts returns what draws the nodes of a step: their indices, their shares, the teacher's points of them and λ. A graph of fewer
// than M nodes is drawn whole; the rest of the indices point at a row of padding with the share 0.
func (l *rieGrace) contrasts(task, n int, in []*tensors.Tensor) (func(rng *rand.Rand) []*tensors.Tensor, error) {
	teacher, lambda := make([]float32, n*(1+l.Out)), 0.0
	if task > 0 {
		var err error
		if teacher, _, err = l.points(in, n, LorentzCoordinates); err != nil {
			return nil, fmt.Errorf("teacher: %w", err)
		}
		lambda = l.Distillation
	}
	padding := int32(in[0].Shape().Dim(1) - 1)
	return func(rng *rand.Rand) []*tensors.Tensor {
		drawn, share, points := slices.Repeat([]int32{padding}, l.Nodes), make([]float32, l.Nodes), make([]float32, l.Nodes*l.Out)
		m := min(l.Nodes, n)
		for i, node := range rng.Perm(n)[:m] {
			drawn[i], share[i] = int32(node), 1/float32(m)
			copy(points[i*l.Out:(i+1)*l.Out], teacher[node*(1+l.Out)+1:])
		}
		return []*tensors.Tensor{tensors.FromFlatDataAndDimensions(drawn, l.Nodes, 1), tensors.FromFlatDataAndDimensions(share, l.Nodes, 1),
			tensors.FromFlatDataAndDimensions(points, l.Nodes, l.Out), tensors.FromScalar(float32(lambda))}
	}, nil
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

// points returns the high level of the first n nodes of an uploaded graph, row major, and the number of columns.
func (l *rieGrace) points(in []*tensors.Tensor, n int, c Coordinates) (data []float32, cols int, err error) {
	out, err := l.embed.Call(in...)
	if err != nil {
		return nil, 0, err
	}
	defer nn.Release(out...)
	cols = out[c].Shape().Dim(1)
	err = tensors.ConstFlatData(out[c], func(flat []float32) { data = slices.Clone(flat[:n*cols]) })
	return data, cols, err
}

// Embed returns the high level in the coordinates of the settings, [N, out+1] or [N, out].
func (l *rieGrace) Embed(ctx context.Context, g *datasets.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in, err := l.upload(g)
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	defer nn.Release(in...)
	data, cols, err := l.points(in, g.NumNodes(), l.Coordinates)
	if err != nil {
		return nil, fmt.Errorf("baseline: riegrace: %w", err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: data}, nil
}

// Save writes the network. The teacher of the next task is the network itself, and needs no place of its own.
func (l *rieGrace) Save(w io.Writer) error { return l.Net.Save(gob.NewEncoder(w)) }

// Load restores it.
func (l *rieGrace) Load(r io.Reader) error { return l.Net.Load(gob.NewDecoder(r)) }
