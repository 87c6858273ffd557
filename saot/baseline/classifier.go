package baseline

import (
	"context"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// classifier is a graph convolutional network (Kipf and Welling 2017) that scores nodes for all classes of a stream,
//
//	logits = Â·ReLU(… Â·ReLU(Â·X·W₁ + b₁)·W₂ …)·W_L + b_L.
type classifier struct {
	*encoder.Net
	graphs *encoder.Graphs
	widths []int // of the input, the hidden layers and the output
	layers *encoder.Layers
	whole  int // the largest graph, in nodes, that is scored at once; 0 scores any
}

// typicalSteps is how many steps most methods take on a task.
const typicalSteps = 200

// newClassifier makes a network with hidden layers of these widths; its variables are weight1, bias1, weight2 and so
// on. A graph of more nodes than whole is scored layer by layer.
func newClassifier(b method.Build, hidden []int, whole int, rng *rand.Rand) (*classifier, error) {
	c := &classifier{whole: whole, Net: encoder.NewNet(b.Engine), graphs: encoder.NewGraphs(b.Stream.Features,
		encoder.NewBuckets(b.Engine, typicalSteps, b.Stream.Sizes))}
	c.widths = append(append([]int{b.Stream.Features}, hidden...), b.Stream.Classes)
	for l := 1; l < len(c.widths); l++ {
		if err := c.Add(encoder.Variable{Name: weightName(l), Value: encoder.Glorot(c.widths[l-1], c.widths[l], rng)},
			encoder.Variable{Name: biasName(l), Value: encoder.Filled(0, c.widths[l])}); err != nil {
			return nil, err
		}
	}
	var after []func(h *Node) *Node
	for l := 1; l < len(c.widths); l++ {
		after = append(after, func(h *Node) *Node { return c.after(l, h) })
	}
	var err error
	c.layers, err = c.Layers("classify", weightName(1), after...)
	return c, err
}

func weightName(layer int) string { return fmt.Sprintf("weight%d", layer) }
func biasName(layer int) string   { return fmt.Sprintf("bias%d", layer) }

func (c *classifier) redraw(rng *rand.Rand) error {
	for l := 1; l < len(c.widths); l++ {
		w, err := tensors.CopyFlatData[float32](encoder.Glorot(c.widths[l-1], c.widths[l], rng))
		if err == nil {
			err = c.SetValue(weightName(l), w)
		}
		if err == nil {
			err = c.SetValue(biasName(l), make([]float32, c.widths[l]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logits returns the scores [N, classes], of a sample for its targets alone.
func (c *classifier) logits(in encoder.Nodes) *Node { return c.layers.Forward(in) }

// after is what follows the propagation of a layer, up to that of the next.
func (c *classifier) after(layer int, h *Node) *Node {
	g := h.Graph()
	h = Add(h, InsertAxes(c.Node(g, biasName(layer)), 0))
	if layer == len(c.widths)-1 {
		return h
	}
	return MatMul(encoder.ReLU(h), c.Node(g, weightName(layer+1)))
}

func (c *classifier) scores(ctx context.Context, g *graph.Graph, seen int) (*continual.Embedding, error) {
	data, cols, err := c.layers.Embed(ctx, c.graphs, g, !beyond(g, c.whole))
	if err != nil {
		return nil, err
	}
	return firstColumns(data, cols, seen), nil
}

func firstColumns(data []float32, cols, first int) *continual.Embedding {
	rows := len(data) / cols
	e := &continual.Embedding{Rows: rows, Cols: first, Data: make([]float32, 0, rows*first)}
	for i := range rows {
		e.Data = append(e.Data, data[i*cols:i*cols+first]...)
	}
	return e
}

// oneHead scores the classes seen, whatever the setting.
type oneHead struct {
	head *classifier
	seen int
}

// OneHead says that a setting changes no logits.
func (h *oneHead) OneHead() {}

func (h *oneHead) Logits(ctx context.Context, _ continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return h.head.scores(ctx, g, h.seen)
}

type bySetting[T any] [2]T

// eachSetting trains the networks of both settings, one after the other. The last losses in the report stay those of
// the first, class-il, as do the first ones: the two networks have softmaxes of different sizes.
func eachSetting(report *continual.TaskReport, learn func(continual.Setting) error) error {
	for k, s := range continual.Settings() {
		last := report.LastLoss
		if err := learn(s); err != nil {
			return err
		}
		if k > 0 {
			report.LastLoss = last
		}
	}
	return nil
}

// What trains on lessons, and the plan of a task.
type (
	lessonTrainer = train.Trainer[lesson[*tensors.Tensor]]
	lessonPlan    = train.Plan[lesson[*tensors.Tensor]]
)

func (c *classifier) trainer(name string, o train.Optimizer) (*lessonTrainer, error) {
	return train.New[lesson[*tensors.Tensor]](c.Net, name, o, func(in lesson[*Node]) train.Loss {
		return train.Loss{Total: crossEntropy(c.logits(encoder.NodesOf(in.Graph)), in.Labels)}
	})
}

// teach carries a plan out on labeled rows of an uploaded graph, all in each step.
func (c *classifier) teach(ctx context.Context, t *lessonTrainer, p lessonPlan, in *encoder.Uploaded,
	rows []labeled) error {
	all := lesson[*tensors.Tensor]{Labels: newSupervision(rows, in.Rows(), c.classes()), Graph: in.Input}
	defer engine.Release(all.Labels)
	p.Inputs = func(int) (lesson[*tensors.Tensor], any, error) { return all, nil, nil }
	return t.Train(ctx, p)
}

func (c *classifier) classes() int { return c.widths[len(c.widths)-1] }

// wordsRead is 1 for the features that the scores of a task's train nodes depend on [F, 1]: those of some node within
// as many hops as the network has layers.
func (c *classifier) wordsRead(t *continual.Labeled) *tensors.Tensor {
	g := t.Graph
	words := make([]float32, g.Features.Cols)
	for _, node := range around(&g.Adjacency, t.Train, len(c.widths)-1, g.NumNodes(), nil) {
		g.Features.Each(int(node), func(column int, value float64) {
			if value != 0 {
				words[column] = 1
			}
		})
	}
	return tensors.FromFlatDataAndDimensions(words, len(words), 1)
}

// decay is the weight decay of what the loss of labeled rows depends on, for a network of two layers; see
// coupledDecay. The mask of words is as wordsRead has it.
func (c *classifier) decay(l2 float64, words *Node, labels supervision[*Node]) *Node {
	g, columns := labels.Weight.Graph(), columnsOf(labels)
	return coupledDecay(l2,
		decayed{c.Node(g, weightName(1)), words},
		decayed{c.Node(g, biasName(1)), ScalarOne(g, labels.Weight.DType())},
		decayed{c.Node(g, weightName(2)), columns},
		decayed{c.Node(g, biasName(2)), Squeeze(columns, 0)})
}
