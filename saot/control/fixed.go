package control

import (
	"context"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// fixed is a learner that learns nothing: an embedding that the node's own graph determines.
type fixed struct {
	method.State
	embed func(g *graph.Graph) *continual.Embedding
}

// Learn only reports the task.
func (*fixed) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	return &continual.TaskReport{Task: task, Nodes: g.NumNodes()}, ctx.Err()
}

func (f *fixed) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.embed(g), nil
}

func init() {
	majority := loading(define(0, "majority", "only class frequencies", nil, newMajority),
		func(*saot.Config) method.Load { return method.Load{Width: 1} })
	majority.Featureless = true
	method.Register(majority)
	method.Register(loading(define(1, "features", "raw features X", nil, newFeatures), asWide))
}

// newMajority embeds every node as nothing at all, so that a probe sees class frequencies alone.
func newMajority(method.Build, *saot.Config) (continual.Method, error) {
	return &fixed{embed: func(g *graph.Graph) *continual.Embedding {
		return &continual.Embedding{Rows: g.NumNodes()}
	}}, nil
}

// newFeatures embeds a node as its own features.
func newFeatures(method.Build, *saot.Config) (continual.Method, error) {
	return &fixed{embed: func(g *graph.Graph) *continual.Embedding { return rowsOf(&g.Features) }}, nil
}
