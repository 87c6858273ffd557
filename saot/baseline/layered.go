package baseline

import (
	"context"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// layered is a self-supervised learner whose embeddings are the output of graph convolutions.
type layered struct {
	method.State
	seed   uint64
	whole  int // the largest graph, in nodes, that is embedded at once; 0 embeds any
	net    *encoder.Net
	graphs *encoder.Graphs
	layers *encoder.Layers
}

// newLayered makes a learner of a name with variables, but for its layers.
func newLayered(b method.Build, name string, s Sampling, variables ...encoder.Variable) (layered, error) {
	l := layered{seed: b.Seed, whole: s.WholeGraph, net: encoder.NewNet(b.Engine),
		graphs: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Stream.Sizes))}
	l.State = method.State{Name: name, Nets: []*encoder.Net{l.net}}
	return l, l.net.Add(variables...)
}

// node returns a variable in the graph of another node.
func (l *layered) node(like *Node, name string) *Node { return l.net.Node(like.Graph(), name) }

// Embed returns the output for all nodes of a graph, layer by layer if the graph is a large one.
func (l *layered) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	data, cols, err := l.layers.Rows(ctx, l.graphs, g, !beyond(g, l.whole))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: data}, nil
}
