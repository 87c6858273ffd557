package baseline

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// CondensationSettings say how a task is condensed; CaT's and PUMA's differ.
type CondensationSettings struct {
	Budget      int     `json:"budget" range:"[0,)" help:"condensed nodes of a task; 0 is 0.5 % of the train nodes"`
	Encoders    int     `json:"encoders" range:"[1,)" help:"random encoders drawn for a task"`
	Width       int     `json:"encoder_width" range:"[1,)" help:"width of the random encoders' output"`
	FeatureRate float64 `json:"feature_rate" range:"(0,1)" help:"Adam's learning rate for the condensed features"`
	WholeGraph  int     `json:"whole_graph" range:"[0,)" help:"largest graph classified at once; 0 is no limit"`
}

// load is that of a task with some epochs on the memory, after each of some condensations.
func (s CondensationSettings) load(epochs, inner, passes int) method.Load {
	return method.Load{Epochs: passes * epochs, Hidden: 1, Out: 1, Encoders: passes * s.Encoders, EncoderWidth: s.Width,
		EncoderSteps: inner, EncoderNodes: max(realBlock, wholeEmbedded/s.Width)}
}

func condensedBudget(recipe datasets.Recipe) int {
	switch recipe {
	case datasets.RecipeCoraFull:
		return 4
	case datasets.RecipeArxiv, datasets.RecipeArxivStandIn:
		return 29
	case datasets.RecipeReddit:
		return 40
	case datasets.RecipeProducts:
		return 318
	}
	return 0
}

// condenser makes a few labeled nodes without edges that stand for a task's graph, by matching the class means of
// random embeddings (CaT, Liu, Qiu and Huang 2023, distribution matching):
//
//	min over X̃ of E_W Σ_c ‖mean_{i∈c} f_W(ÂX)_i − mean_{j∈c} f_W(X̃)_j‖²,   f_W(H)_i = ReLU(H·W)_i / ‖ReLU(H·W)_i‖.
//
// W is newly drawn for every encoder. Sparse features stay so: Â(XW) takes a fraction of the operations of (ÂX)W. Of
// others ÂX is made once, and only the rows of nodes that take part in a mean. f_W does not see the length of a row, so
// PUMA's rows get that of the real ones in the end (docs/methods.md).
type condenser struct {
	CondensationSettings
	engine *engine.Engine
	inner  int   // steps for each encoder, with a new Adam; 0 is one step each, and Adam continues
	block  int   // real nodes embedded at once
	most   int   // embeddings of a sparse graph that is taken whole
	rows   []int // padded sizes of blocks
	real   *engine.Named[meanInputs[*tensors.Tensor]]
	graphs *encoder.Graphs // sparse ones, taken whole
	whole  *engine.Named[graphMeans[*tensors.Tensor]]
	nets   map[int]*condensedNet // by room for condensed nodes
}

// realBlock bounds the memory that embeddings of real nodes take: they are up to 4,096 wide.
const realBlock = 1 << 14

// newCondenser prepares for tasks of which at most a share of the nodes takes part in the means.
func newCondenser(b method.Build, s CondensationSettings, inner int, share float64) (*condenser, error) {
	c := &condenser{CondensationSettings: s, engine: b.Engine, inner: inner, block: realBlock, most: wholeEmbedded,
		graphs: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, s.Encoders, b.Stream.Sizes)),
		nets:   map[int]*condensedNet{}}
	var rows []int
	for _, size := range b.Stream.Sizes {
		rows = append(rows, min(c.block, int(math.Ceil(share*float64(size.Nodes)))))
	}
	c.rows = engine.Budgets(rows, 3, 0)
	var err error
	c.real, err = engine.NewNamed[meanInputs[*tensors.Tensor]](b.Engine, "class means", nil,
		func(in meanInputs[*Node]) []*Node {
			return []*Node{Add(in.Sum, embeddedMeans(in.Mean, in.Rows, in.Weight))}
		})
	if err != nil {
		return nil, err
	}
	c.whole, err = engine.NewNamed[graphMeans[*tensors.Tensor]](b.Engine, "class means of a graph", nil,
		func(in graphMeans[*Node]) []*Node {
			return []*Node{classMeans(in.Mean, encoder.NodesOf(in.Graph).First(in.Weight))}
		})
	return c, err
}

type graphMeans[T any] struct {
	Graph  encoder.Input[T]
	Mean   T // [C, N]
	Weight T // [F, d]
}

type meanInputs[T any] struct {
	Sum        T // [C, d]
	Mean, Rows T // see embeddedMeans
	Weight     T
}

// embeddedMeans returns M·f_W(H), the class means of a random encoder's embeddings.
//
// Shapes: mean M [C, N], rows that sum to 1, or shares of such; rows H [N, F], weight W [F, d]; returns [C, d]. The
// gradient flows to H.
func embeddedMeans(mean, rows, weight *Node) *Node { return classMeans(mean, MatMul(rows, weight)) }

// classMeans returns the class means of the embeddings, given ÂX·W [N, d].
func classMeans(mean, h *Node) *Node {
	// Slope 0 at 0, where Max has 1: a row without features would get a gradient over the least norm, 1e-12.
	return MatMul(mean, unitRows(Mul(h, PositiveIndicator(h))))
}

// unitRows divides each row by its Euclidean norm, or by 1e-12 where that is more, as PyTorch's normalize does.
func unitRows(h *Node) *Node {
	return Div(h, Sqrt(MaxScalar(ReduceAndKeep(Square(h), ReduceSum, -1), 1e-24)))
}

// condensedNet learns the features of condensed nodes, of which there may be fewer than it has room for.
type condensedNet struct {
	*encoder.Net
	trainer *condensedTrainer
}

type matched[T any] struct {
	Real   T // class means of the real nodes' embeddings [C, d]
	Mean   T // takes the class means of condensed nodes [C, room]
	Weight T // W [F, d]
}

type (
	condensedTrainer = train.Trainer[matched[*tensors.Tensor]]
	condensedPlan    = train.Plan[matched[*tensors.Tensor]]
)

// net returns a net with room for condensed nodes; rooms are powers of two, since engines compile for each.
func (c *condenser) net(nodes, features int) (*condensedNet, int, error) {
	room := 1 << bits.Len(uint(nodes-1))
	if n := c.nets[room]; n != nil {
		return n, room, nil
	}
	n := &condensedNet{Net: encoder.NewNet(c.engine)}
	if err := n.Add(encoder.Variable{Name: "features", Value: encoder.Filled(0, room, features)}); err != nil {
		return nil, 0, err
	}
	var err error
	n.trainer, err = train.New[matched[*tensors.Tensor]](n.Net, "condense",
		train.Optimizer{LearningRate: c.FeatureRate},
		func(in matched[*Node]) train.Loss {
			made := embeddedMeans(in.Mean, n.Node(in.Real.Graph(), "features"), in.Weight)
			return train.Loss{Total: ReduceAllSum(Square(Sub(in.Real, made)))}
		})
	c.nets[room] = n
	return n, room, err
}

// condensed is what is kept of a task: labeled nodes without edges.
type condensed struct {
	Features packed.Floats[float32] // [len(Columns), F], row major
	Columns  []int32                // of the nodes' classes
}

type condensation struct {
	task    int
	labeled *continual.Labeled
	members [][]int32 // the nodes in the mean of each class of the task; those drawn to begin with are train nodes
	stream  func(name ...any) *rand.Rand
	observe func(continual.Step)
}

// condense condenses a task. What it reports goes into diagnostics under a prefix: "discrepancy_first" and
// "discrepancy_last", the objective at the first and the last encoder, and "condensation_seconds".
func (c *condenser) condense(ctx context.Context, p condensation, prefix string,
	diagnostics map[string]float64) (*condensed, error) {
	start := time.Now()
	set := c.drawn(p.labeled, p.stream("nodes"))
	features := p.labeled.Graph.Features.Cols
	net, room, err := c.net(len(set.Columns), features)
	if err != nil {
		return nil, err
	}
	x := make([]float32, room*features)
	copy(x, set.Features)
	if err := net.SetValue("features", x); err != nil {
		return nil, err
	}
	real, err := c.upload(p.labeled.Graph, p.members)
	if err != nil {
		return nil, err
	}
	defer real.release()
	mean := meansOf(set.groups(p.labeled), room)
	defer engine.Release(mean)
	weights, err := c.weights(features)
	if err != nil {
		return nil, err
	}
	defer engine.Release(weights)
	report := &continual.TaskReport{}
	plan := condensedPlan{Task: p.task, Steps: c.Encoders, Report: report, Seen: p.observe, After: asDiscrepancy}
	if err := c.match(ctx, net.trainer, plan, c.draw(p, real, mean, weights)); err != nil {
		return nil, fmt.Errorf("condense: %w", err)
	}
	diagnostics[prefix+"discrepancy_first"] = report.FirstLoss[0].Value
	diagnostics[prefix+"discrepancy_last"] = report.LastLoss[0].Value
	diagnostics[prefix+"condensation_seconds"] = time.Since(start).Seconds()
	if x, err = net.Value("features"); err == nil {
		set.Features = slices.Clone(x[:len(set.Features)])
		if c.inner > 0 { // Adam afresh, as PUMA has it: see condenser
			set.setLengths(propagatedLengths(p.labeled.Graph, p.members), p.labeled.First)
		}
	}
	return set, err
}

// asDiscrepancy names the objective of a step. Observers must not take it for the total loss of a classifier.
func asDiscrepancy(s *continual.Step, _ map[string]float64) error {
	s.Terms[0].Name = "discrepancy"
	return nil
}

// setLengths scales the rows of each class of a task, which begin at column first, to a length. A row of zeros stays.
func (s *condensed) setLengths(lengths []float64, first int) {
	features := len(s.Features) / len(s.Columns)
	for i, column := range s.Columns {
		row := vector(s.Features[i*features : (i+1)*features])
		if length := blas32.Nrm2(row); length > 0 {
			blas32.Scal(float32(lengths[int(column)-first])/length, row)
		}
	}
}

func vector(row []float32) blas32.Vector { return blas32.Vector{N: len(row), Inc: 1, Data: row} }

// weights returns tensors [features, Width] into which encoders are drawn in turn. PUMA, with its inner steps, needs
// one. CaT needs three: one in the step, one that waits, and one that is drawn. On XLA's CPU they are the engine's own
// memory, so nothing is copied.
func (c *condenser) weights(features int) ([]*tensors.Tensor, error) {
	made := make([]*tensors.Tensor, 3)
	if c.inner > 0 {
		made = made[:1]
	}
	shape := shapes.Make(dtypes.Float32, features, c.Width)
	for k := range made {
		var err error
		if made[k], err = tensors.FromShapeForBackend(c.engine.Backend(), 0, shape); err != nil {
			engine.Release(made)
			return nil, err
		}
	}
	return made, nil
}

func (c *condenser) draw(p condensation, real *realRows, mean *tensors.Tensor, weights []*tensors.Tensor) func(e int) (
	in matched[*tensors.Tensor], made any, err error) {
	return func(e int) (in matched[*tensors.Tensor], made any, err error) {
		in.Mean, in.Weight = mean, weights[e%len(weights)]
		if err := drawEncoder(in.Weight, p.stream("encoder", e)); err != nil {
			return in, nil, err
		}
		in.Real, err = c.means(real, in.Weight)
		return in, in.Real, err
	}
}

func (c *condenser) match(ctx context.Context, t *condensedTrainer, p condensedPlan,
	draw func(e int) (in matched[*tensors.Tensor], made any, err error)) error {
	if c.inner == 0 {
		p.Inputs = draw
		return t.Train(ctx, p)
	}
	observe := p.Seen
	p.Steps = c.inner
	for e := range c.Encoders {
		in, made, err := draw(e)
		if err == nil {
			p.Seen = shifted(observe, e*c.inner, c.Encoders*c.inner)
			p.Inputs = func(int) (matched[*tensors.Tensor], any, error) { return in, nil, nil }
			err = t.Train(ctx, p)
		}
		engine.Release(made)
		if err != nil {
			return err
		}
	}
	return nil
}

// shifted tells an observer of steps that are a part of more.
func shifted(observe func(continual.Step), done, steps int) func(continual.Step) {
	if observe == nil {
		return nil
	}
	return func(s continual.Step) {
		s.Done, s.Steps = s.Done+done, steps
		observe(s)
	}
}

// encoderBlock is how many weights one goroutine draws at a time.
const encoderBlock = 1 << 16

// drawEncoder draws W [in, out] as encoder.Glorot does, on all cores: there are up to tens of millions of weights, and
// a new encoder at every step (CaT) or every few steps (PUMA). The weights are the same on any number of cores.
func drawEncoder(weight *tensors.Tensor, rng *rand.Rand) error {
	sides := weight.Shape().Dimensions
	base, bound := rng.Uint64(), float32(math.Sqrt(6/float64(sides[0]+sides[1])))
	return tensors.MutableFlatData(weight, func(w []float32) {
		var group sync.WaitGroup
		for block := range slices.Chunk(w, encoderBlock) {
			source := rand.New(rand.NewPCG(base, rng.Uint64()))
			group.Go(func() {
				for i := range block {
					block[i] = (2*source.Float32() - 1) * bound
				}
			})
		}
		group.Wait()
	})
}
