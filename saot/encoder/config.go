package encoder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/internal/enum"
)

// Kind is the architecture of an encoder.
type Kind int

// The architectures of the paper.
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
	Kind     Kind    `json:"kind"`
	Hidden   int     `json:"hidden"`   // width of the hidden layer (paper: 512); of a GAT, that of each head
	Out      int     `json:"out"`      // width of the embeddings
	Layers   int     `json:"layers"`   // of a GAT; a GCN has two
	Heads    int     `json:"heads"`    // of a GAT
	Momentum float64 `json:"momentum"` // weight of a new batch in BatchNorm's running averages

	// WholeGraph is the largest graph, in nodes, that is encoded at once. A larger one is trained on sampled neighbourhoods
	// and embedded layer by layer in chunks. 0 encodes every graph at once.
	WholeGraph int `json:"whole_graph"`
	// SampleFanOut lists how many neighbours are drawn for each node in a sampled neighbourhood, from the output layer to
	// the input; 0 takes all.
	SampleFanOut []int `json:"sample_fan_out"`
}

// DefaultConfig is a GCN 512 → 256 with PyTorch's BatchNorm momentum.
func DefaultConfig() Config {
	return Config{Hidden: 512, Out: 256, Momentum: 0.1, WholeGraph: 20_000, SampleFanOut: []int{10, 10}}
}

// DefaultGAT is the paper's encoder for Reddit: three layers of four heads, 256 wide each, BatchNorm as in TRACE.
func DefaultGAT() Config {
	return Config{Kind: GAT, Hidden: 256, Out: 256, Layers: 3, Heads: 4, Momentum: 0.01, WholeGraph: 5_000, SampleFanOut: []int{5, 5, 5}}
}

// Depth returns the number of layers. A graph convolutional network of Layers layers is not an encoder, but can be sampled for
// like one.
func (c Config) Depth() int {
	if c.Kind == GAT || c.Layers > 0 {
		return c.Layers
	}
	return 2
}

// Products returns how many matrices Project returns.
func (c Config) Products() int {
	if c.Kind == GAT {
		return 2
	}
	return 1
}

// Samples reports whether a graph of so many nodes is too large to be encoded at once.
func (c Config) Samples(nodes int) bool { return c.WholeGraph > 0 && nodes > c.WholeGraph }

// Validate lists every field out of range.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("encoder: "+format, args...))
		}
	}
	check(kinds.Has(c.Kind), "kind is %v, want one of %s", c.Kind, kinds.Choices())
	check(c.Hidden >= 1, "hidden width is %d, want 1 or more", c.Hidden)
	check(c.Out >= 1, "output width is %d, want 1 or more", c.Out)
	if c.Kind == GAT {
		check(c.Layers >= 1, "layers is %d, want 1 or more", c.Layers)
		check(c.Heads >= 1, "heads is %d, want 1 or more", c.Heads)
	} else {
		check(c.Layers == 0 || c.Layers == 2, "layers is %d, but a %v has two: leave it 0", c.Layers, c.Kind)
		check(c.Heads == 0, "heads is %d, but a %v has none: leave it 0", c.Heads, c.Kind)
	}
	check(c.Momentum > 0 && c.Momentum <= 1, "momentum is %g, want a value in (0, 1]", c.Momentum)
	check(c.WholeGraph >= 0, "whole_graph is %d nodes, want 0 or more", c.WholeGraph)
	check(c.WholeGraph == 0 || len(c.SampleFanOut) == c.Depth(),
		"sample_fan_out has %d numbers, want one for each of the %d layers", len(c.SampleFanOut), c.Depth())
	for hop, f := range c.SampleFanOut {
		check(f >= 0, "sample_fan_out[%d] is %d, want 0 (all neighbours) or more", hop, f)
	}
	return errors.Join(errs...)
}

// architecture is what a kind of encoder has to say.
type architecture interface {
	// variables draws the initial values, in a fixed order.
	variables(features int, rng *rand.Rand) []Variable
	// project returns the products of the first layer with the features, before propagation. featuresT is Xᵀ [F, N].
	project(scope *model.Scope, featuresT *Node) []*Node
	// maskColumns takes the share of masked columns [k] off the products.
	maskColumns(scope *model.Scope, projected []*Node, featuresT, columns *Node) []*Node
	// encode returns Z [N, out] of a whole graph.
	encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node
	// encodeSample returns Z [T, out] of a sample's targets.
	encodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node
	// embedLayerwise returns the embeddings [N, out] of a large graph; the engine's share of it is dense, in so many parts.
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

// Project returns the products of the first layer with the features, before propagation: X·W₁ for a GCN, X·W₁ and the skip's
// X·S₁ for a GAT.
//
// Shapes: featuresT [F, N] (Xᵀ; see Batch for why it lies transposed); returns matrices of N rows. The gradient flows to
// the weights. O(N·F·hidden) time.
func (c Config) Project(scope *model.Scope, featuresT *Node) []*Node {
	return c.architecture().project(scope, featuresT)
}

// MaskColumns turns the products of Project into those of the features with some columns masked, by taking the masked
// columns' share off:
//
//	(X⊙m)·W = X·W − X[:,S]·W[S,:],   S the masked columns.
//
// So two views and a frozen teacher share one product over all columns and pay only for the masked ones.
//
// Shapes: projected as Project returns it, featuresT [F, N], columns [k] int32; returns the shapes of projected.
// The gradient flows to the weights and to projected. O(N·k·hidden) time.
func (c Config) MaskColumns(scope *model.Scope, projected []*Node, featuresT, columns *Node) []*Node {
	if columns.Shape().Dim(0) == 0 {
		return projected
	}
	return c.architecture().maskColumns(scope, projected, featuresT, columns)
}

// Encode returns the embeddings of a whole graph from the products of Project.
//
// Shapes: mask [N, 1] is 1 on real nodes and 0 on padding; returns [N, out], whose padded rows mean nothing. Gradients flow
// to the variables and to projected.
func (c Config) Encode(scope *model.Scope, projected []*Node, p Propagation, mask *Node, mode Mode) *Node {
	return c.architecture().encode(scope, projected, p, mask, mode)
}

// EncodeSample returns the embeddings [T, out] of the targets of a sampled neighbourhood. Gradients flow to the variables.
func (c Config) EncodeSample(scope *model.Scope, in Sample[*Node], mode Mode) *Node {
	return c.architecture().encodeSample(scope, in, mode)
}

// valueOf returns the value of one of the encoder's variables in the graph.
func valueOf(scope *model.Scope, g *Graph, name string) *Node {
	v := scope.GetVariable(name)
	if v == nil {
		exceptions.Panicf("encoder: scope %q has no variable %q", scope.Scope(), name)
	}
	return v.NodeValue(g)
}

// product returns X·W for Xᵀ [F, N] and a weight [F, d].
func product(featuresT, weight *Node) *Node {
	return Dot(featuresT, weight).General([]int{0}, nil, []int{0}, nil)
}

// maskedProduct takes the share of masked columns off X·W (see MaskColumns).
func maskedProduct(projected, featuresT, weight, columns *Node) *Node {
	index := InsertAxes(columns, -1)
	return Sub(projected, product(Gather(featuresT, index), Gather(weight, index)))
}
