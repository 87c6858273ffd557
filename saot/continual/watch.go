package continual

import (
	"context"
	"fmt"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// Watched is a Learner that makes plans between two views of a graph, and shows those of a few nodes while it learns.
// For other Learners, Run records what Embed returns while they learn, so Embed must not change what they learn.
type Watched interface {
	Learner
	// Watch prepares for looks at some nodes of a task's graph. Run calls it before Learn for the task, and Look before
	// Learn, within Learn's observe, and after Learn. Looking changes nothing that the learner learns or draws.
	Watch(ctx context.Context, task int, g *graph.Graph, nodes []int32) (Watch, error)
}

// Watch looks at the watched nodes of a task.
type Watch interface {
	// Views returns what stays the same through the task; nil if there are no views.
	Views() *WatchedViews
	// Look returns what the network makes of the nodes now; nil if it makes nothing of them yet.
	Look(ctx context.Context) (*Sight, error)
	Close()
}

// WatchedViews is two views of the watched nodes. A plan that the method does not make is nil.
type WatchedViews struct {
	Edges          [2]graph.Adjacency // among the nodes, by their places in the list
	Graph, Teacher *WatchedPlan       // π_G, and the plan between the embeddings of the frozen teacher
}

// Sight is a look at the watched nodes.
type Sight struct {
	Embedding *Embedding   // of the nodes in the graph as it is; a row for each
	Plan      *WatchedPlan // π_Z between the views; nil if the method makes none
}

// WatchedPlan is a transport plan [n, n] between n nodes in two views, row major, with masses of 1/n.
type WatchedPlan struct {
	Data          []float32
	MarginalError float64
}

// Nodes that are watched in a task: enough for structure, few enough for each to be seen in a picture.
const (
	watchedNodes  = 36
	watchedFanOut = 3 // neighbors of a drawn node that are watched with it; nodes drawn alone share hardly an edge
)

// watchedOf draws the watched nodes of a task's graph: in a random order, each with some of its neighbors. Of a graph
// that grows through the stream, nodes of earlier tasks have no label and are not watched.
func watchedOf(g *graph.Graph, labels []int32, seedValue uint64, task int) []int32 {
	rng := seed.Stream(seedValue, "record", task)
	want := min(watchedNodes, g.NumNodes())
	nodes, taken := make([]int32, 0, want), make(map[int32]bool, want)
	take := func(v int32) {
		if labels[v] >= 0 && !taken[v] && len(nodes) < want {
			taken[v], nodes = true, append(nodes, v)
		}
	}
	for _, v := range rng.Perm(g.NumNodes()) {
		if len(nodes) == want {
			break
		}
		if labels[v] < 0 {
			continue
		}
		take(int32(v))
		near := g.Adjacency.Neighborhood(v)
		for _, k := range seed.Distinct(nil, watchedFanOut, len(near), rng) {
			take(near[k])
		}
	}
	return nodes
}

// rowsWatch looks at rows of a matrix that a function makes of the whole graph. It sees nothing on its first look,
// which is before Learn: a method need not be able to embed before it has learned.
type rowsWatch struct {
	rows  func(ctx context.Context) (*Embedding, error) // nil, if there is none yet
	looks int
	task  int
	total int // nodes of the graph
	nodes []int32
}

func (w *rowsWatch) Views() *WatchedViews { return nil }
func (w *rowsWatch) Close()               {}

func (w *rowsWatch) Look(ctx context.Context) (*Sight, error) {
	if w.looks++; w.looks == 1 {
		return nil, nil
	}
	all, err := w.rows(ctx)
	if all == nil || err != nil {
		return nil, err
	}
	if err := checkEmbedding(w.task, all, w.total); err != nil {
		return nil, err
	}
	some := &Embedding{Rows: len(w.nodes), Cols: all.Cols}
	for _, v := range w.nodes {
		some.Data = append(some.Data, all.Data[int(v)*all.Cols:(int(v)+1)*all.Cols]...)
	}
	return &Sight{Embedding: some}, nil
}

func (s *selfSupervised) watch(ctx context.Context, t int, nodes []int32) (Watch, error) {
	task := &s.tasks[t]
	if l, ok := s.Learner.(Watched); ok {
		return l.Watch(ctx, t, lent(task), nodes)
	}
	rows := func(ctx context.Context) (*Embedding, error) { return s.Embed(ctx, lent(task)) }
	return &rowsWatch{rows: rows, task: t, total: len(task.Labels), nodes: nodes}, nil
}

// watch looks at the logits. There are none before the task is learned: the classifier has no columns for its classes.
func (s *supervised) watch(_ context.Context, t int, nodes []int32) (Watch, error) {
	task := &s.tasks[t]
	rows := func(ctx context.Context) (*Embedding, error) {
		if s.learned <= t {
			return nil, nil
		}
		return s.Logits(ctx, ClassIL, lent(task))
	}
	return &rowsWatch{rows: rows, task: t, total: len(task.Labels), nodes: nodes}, nil
}

// checkSight returns an error unless a look has the sizes of n nodes.
func checkSight(s *Sight, n int) error {
	if s == nil {
		return nil
	}
	if e := s.Embedding; e != nil && (e.Rows != n || len(e.Data) != n*e.Cols) {
		return fmt.Errorf("the embedding of %d watched nodes has %d rows and %d entries", n, e.Rows, len(e.Data))
	}
	return nil
}
