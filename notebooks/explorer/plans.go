package explorer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/notebooks/kit"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/view"
)

// scene is all that the pictures of a method show.
type scene struct {
	run     *run
	at      place
	now     *look
	teacher *look // of the encoder when the current task began; nil in the first task, and without a teacher
	begun   int   // the epoch of that
}

// scene returns what a run shows at an epoch.
func (r *run) scene(ctx context.Context, epoch int, c Choice) (s *scene, err error) {
	s = &scene{run: r, at: place{epoch, c.Task}}
	s.begun = min(epoch/Epochs, len(r.stream.Tasks)-1) * Epochs
	if s.begun > 0 && r.settings.teaches() { // before now, which comes later in the run
		if s.teacher, err = r.at(ctx, place{s.begun, c.Task}); err != nil {
			return nil, err
		}
	}
	s.now, err = r.at(ctx, s.at)
	return s, err
}

// drawn are the two views of a task that all pictures show.
func drawn(t datasets.Task) [2]view.View {
	c := saot.DefaultConfig()
	a, b := kit.Views(t.Graph, c.EdgeDrop, c.FeatureMask, 1)
	return [2]view.View{a, b}
}

func viewsOf(t datasets.Task) []*graph.Graph {
	v := drawn(t)
	return []*graph.Graph{kit.Seen(t.Graph, v[0]), kit.Seen(t.Graph, v[1])}
}

// nodesOf are the nodes that plans show, half of them of each class.
func nodesOf(t datasets.Task, c Choice) []int32 { return kit.NodesOf(t, (c.Points+1)/2) }

// graphPlan returns π_G (Eq. 7) between the views of a task.
func graphPlan(t datasets.Task, c Choice) (*mat.Dense, error) {
	nodes, views := nodesOf(t, c), drawn(t)
	var x [2]*mat.Dense
	var a [2]transport.Sparse
	for i, g := range viewsOf(t) {
		induced := views[i].Adjacency.Induced(nodes)
		x[i], a[i] = kit.FeaturesOf(g, nodes), transport.Sparse(induced.Undirected())
	}
	k, err := transport.Cost(transport.Cosine, x[0], x[1])
	if err != nil {
		return nil, err
	}
	settings := transport.DefaultFGW()
	settings.Epsilon, settings.Sigma = c.Epsilon, c.Sigma
	result, err := transport.FusedGromov(k, a[0], a[1], settings)
	if err != nil {
		return nil, err
	}
	return result.Plan, nil
}

// mostSweeps is how many sweeps π_Z takes at most.
func mostSweeps() int { return transport.DefaultSinkhorn().Sweeps }

// embeddingPlan returns π_Z (Eq. 8) between the embeddings of the views, after some sweeps; 0 is the last.
func embeddingPlan(views [2]*continual.Embedding, nodes []int32, epsilon float64, sweeps int,
) (*transport.Result, error) {
	rows := func(z *continual.Embedding) *mat.Dense { return kit.RowsOf(z.Data, z.Cols, nodes) }
	cost, err := transport.Cost(transport.Cosine, rows(views[0]), rows(views[1]))
	if err != nil {
		return nil, err
	}
	settings := transport.DefaultSinkhorn()
	settings.Epsilon = epsilon
	if sweeps > 0 {
		settings.Sweeps = sweeps
	}
	return transport.Solve(transport.Problem{Cost: cost}, settings)
}
