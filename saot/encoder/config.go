package encoder

import (
	"context"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
)

// Kind is the architecture of an encoder.
type Kind int

// The architectures.
const (
	GCN    Kind = iota // two graph convolutions with BatchNorm and PReLU between them
	GAT                // graph attention with several heads, linear skips, BatchNorm and ELU between the layers
	Linear             // two hops of propagation and one product, no non-linearity: not in the paper
)

var kinds = enum.Of[Kind]("encoder", "gcn", "gat", "linear")

// String returns the name used in flags and files.
func (k Kind) String() string                   { return kinds.Name(k) }
func (k Kind) MarshalText() ([]byte, error)     { return kinds.Marshal(k) }
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(k, text) }

// Config is the shape of the encoder, and how it deals with large graphs.
type Config struct {
	Kind     Kind    `json:"kind" help:"gcn, gat or linear; a switch to or from gat resets the other encoder settings"`
	Hidden   int     `json:"hidden" range:"[1,)" help:"width of the hidden layer; of each head of a gat"`
	Out      int     `json:"out" range:"[1,)" help:"width of the embeddings, also for controls that reduce features"`
	Layers   int     `json:"layers" help:"layers of a gat; a gcn has two"`
	Heads    int     `json:"heads" help:"attention heads of a gat"`
	Momentum float64 `json:"momentum" range:"(0,1]" help:"weight of a new batch in BatchNorm's running averages"`

	// WholeGraph bounds the graphs that are encoded at once. A larger one is trained on sampled neighborhoods and
	// embedded layer by layer in chunks.
	WholeGraph int `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, taken whole; 0 is no limit"`
	// SampleFanOut goes from the output layer to the input.
	SampleFanOut []int `json:"sample_fan_out" range:"[0,)" help:"neighbors drawn per layer in a sample; 0 is all"`
}

// Changed is called after a field has been set by name, by a flag or in a spec. If Kind was set to GAT, or from GAT to
// another kind, it gives the encoder the defaults of the new kind.
func (c *Config) Changed(name string) {
	switch {
	case name != "kind":
	case c.Kind == GAT:
		*c = DefaultGAT()
	case c.Heads > 0: // of a GAT
		kind := c.Kind
		*c = DefaultConfig()
		c.Kind = kind
	}
}

// DefaultConfig is a GCN 512 → 256 with PyTorch's BatchNorm momentum 0.1. Graphs of more than 20,000 nodes are sampled,
// 10 neighbors in each layer.
func DefaultConfig() Config {
	return Config{Hidden: 512, Out: 256, Momentum: 0.1, WholeGraph: 20_000, SampleFanOut: []int{10, 10}}
}

// DefaultGAT is the paper's encoder for Reddit: three layers of four heads, 256 wide each, BatchNorm momentum 0.01 as
// in TRACE. Graphs of more than 5,000 nodes are sampled, 5 neighbors in each layer.
func DefaultGAT() Config {
	return Config{Kind: GAT, Hidden: 256, Out: 256, Layers: 3, Heads: 4, Momentum: 0.01, WholeGraph: 5_000,
		SampleFanOut: []int{5, 5, 5}}
}

// Depth returns the number of layers. A graph convolutional network of Layers layers is not an encoder, but can be
// sampled for like one.
func (c Config) Depth() int {
	if c.Kind == GAT || c.Layers > 0 {
		return c.Layers
	}
	return 2
}

// skips reports whether layers skip from their targets. What propagates as a GAT does and has layers of its own names
// no heads.
func (c Config) skips() bool { return c.Kind == GAT && c.Heads > 0 }

// GATWidths returns the widths of a GCN that takes about as many operations for a node as a GAT of these layers, heads
// and skips.
func (c Config) GATWidths() (hidden, out int) {
	width := c.Heads * c.Hidden
	return width, 2 * (max(0, c.Layers-2)*width + c.Heads*c.Out)
}

// GATWeights returns how many weights a GAT has for each feature column, and how many others, except for a few of each
// layer's width.
func (c Config) GATWeights() (column, others int) {
	width, last := c.Heads*c.Hidden, (c.Heads+1)*c.Out
	if c.Layers < 2 {
		return last, 0
	}
	return 2 * width, 2*width*width*(c.Layers-2) + width*last
}

// Spread returns how many nodes a sample holds before its outermost hop, for each node that it embeds: those whose
// hidden layers are computed. Neighbors drawn twice count twice, and where all neighbors are taken none count.
func (c Config) Spread() int {
	spread := 1
	for _, drawn := range c.SampleFanOut[:max(0, len(c.SampleFanOut)-1)] {
		spread *= 1 + drawn
	}
	return spread
}

// Samples reports whether a graph of a number of nodes is too large to be encoded at once.
func (c Config) Samples(nodes int) bool { return c.WholeGraph > 0 && nodes > c.WholeGraph }

// Validate lists every field out of range.
func (c Config) Validate() error {
	l := check.In("encoder").Ranges(&c)
	l.That(kinds.Has(c.Kind), "kind", c.Kind, "one of "+kinds.Choices())
	if c.Kind == GAT {
		l.That(c.Layers >= 1, "layers", c.Layers, "1 or more")
		l.That(c.Heads >= 1, "heads", c.Heads, "1 or more")
	} else {
		l.That(c.Layers == 0 || c.Layers == 2, "layers", c.Layers, fmt.Sprintf("0: a %v has two", c.Kind))
		l.That(c.Heads == 0, "heads", c.Heads, fmt.Sprintf("0: a %v has none", c.Kind))
	}
	l.That(c.WholeGraph == 0 || len(c.SampleFanOut) == c.Depth(), "sample_fan_out", c.SampleFanOut,
		fmt.Sprintf("a number for each of the %d layers", c.Depth()))
	return l.Err()
}

type architecture interface {
	// variables draws the initial values, in a fixed order.
	variables(features int, rng *rand.Rand) []Variable
	// firstWeights returns the weights [F, ·] that multiply the features in the first layer.
	firstWeights(scope *model.Scope, g *Graph) []*Node
	// encode returns Z [N, out] of a whole graph.
	encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node
	// encodeSample returns Z [T, out] of a sample's targets.
	encodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node
	// embedLayerwise returns the embeddings [N, out] of a large graph; the engine computes its dense parts, of which
	// there are denseParts.
	embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error)
	denseParts() int
	dense(scope *model.Scope, part int, rows *Node) []*Node
}

func (c Config) architecture() architecture {
	switch c.Kind {
	case GAT:
		return gat{c}
	case Linear:
		return linear{c}
	}
	return gcn{c}
}

// Project returns the products of the first layer with the features, before propagation: X·W₁ for a GCN, X·W₁ and the
// skip's X·S₁ for a GAT.
//
// Shapes: x [N, F]; returns [N, hidden] for a GCN, [N, out] for a linear encoder, and for a GAT X·W₁ [N, heads·hidden]
// and X·S₁ [N, heads·hidden], or with one layer [N, heads·out] and [N, out]. The gradient flows to the weights.
// O(entries·hidden) time; for dense features, entries that are 0 count too. Panics if the scope lacks a weight.
func (c Config) Project(scope *model.Scope, x Features[*Node]) (projected []*Node) {
	for _, weight := range c.architecture().firstWeights(scope, x.graph()) {
		projected = append(projected, times(x, weight))
	}
	return projected
}

// ProjectViews returns the products of Project for two views, each of which masks some columns S of the features. The
// views share the product over all columns, and each subtracts the part of the columns that it masks:
//
//	(X⊙m)·W = X·W − X[:,S]·W[S,:].
//
// Shapes: projected as Project returns it, nil to be computed; masked as Batch.Masked returns it. Returns matrices of
// 2N rows, the second view's below the first's. The gradient flows to the weights and, of dense features, to projected.
func (c Config) ProjectViews(scope *model.Scope, x Features[*Node], projected []*Node,
	masked Masked[*Node]) (views []*Node) {
	if projected == nil {
		projected = c.Project(scope, x)
	}
	for k, weight := range c.architecture().firstWeights(scope, x.graph()) {
		if x.Sparse != nil && masked.Entries != nil {
			views = append(views, timesBoth(x, projected[k], weight, masked))
			continue
		}
		both := []*Node{projected[k], projected[k]}
		for i, columns := range masked.Columns {
			if columns != nil {
				both[i] = maskedProduct(projected[k], x.Transposed, weight, columns)
			}
		}
		views = append(views, Concatenate(both, 0))
	}
	return views
}

// Encode returns the embeddings of a whole graph from the products of Project, or of several views of it from those of
// ProjectViews.
//
// Shapes: mask [N, 1] is 1 on real nodes and 0 on padding; of several views [views, N, 1], and BatchNorm normalizes
// each by itself. Returns [N, out] or [views·N, out], whose padded rows mean nothing, or, where nodes are aligned,
// [views·M, out]. Gradients flow to the variables and to projected.
func (c Config) Encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node {
	return c.architecture().encode(scope, projected, p, mask, mode)
}

// EncodeSample returns the embeddings [T, out] of the T targets of a sampled neighborhood; Sample gives the shapes of
// in. Gradients flow to the variables. Panics if the scope lacks a variable.
func (c Config) EncodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node {
	return c.architecture().encodeSample(scope, in, mode)
}

func valueOf(scope *model.Scope, g *Graph, name string) *Node {
	v := scope.GetVariable(name)
	if v == nil {
		exceptions.Panicf("encoder: scope %q has no variable %q", scope.Scope(), name)
	}
	return v.NodeValue(g)
}

// maskedProduct takes the share of masked columns [k] off X·W, for Xᵀ [F, N].
func maskedProduct(projected, featuresT, weight, columns *Node) *Node {
	index := InsertAxes(columns, -1)
	return Sub(projected, times(Features[*Node]{Transposed: Gather(featuresT, index)}, Gather(weight, index)))
}
