package kit

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/view"
)

// Stream returns the first tasks of the generated stream, a citation-like graph with planted classes, two to a task; 0
// returns all four.
func Stream(tasks int) *datasets.Stream {
	dataset := Must(datasets.Open("synthetic", "", datasets.Options{}))
	stream := Must(datasets.NewStream(dataset, datasets.DefaultStreamOptions()))
	if tasks > 0 {
		stream.Tasks = stream.Tasks[:min(tasks, len(stream.Tasks))]
	}
	return stream
}

// NodesOf picks the first k nodes of each class of a task, class by class; fewer where a class has fewer.
func NodesOf(t datasets.Task, k int) []int32 {
	var nodes []int32
	for _, class := range t.Classes {
		left := k
		for i, label := range t.Labels {
			if label == class && left > 0 {
				nodes = append(nodes, int32(i))
				left--
			}
		}
	}
	return nodes
}

// Views draws two views of a graph, the same two for the same seed: each loses a share of its edges and of its feature
// columns.
func Views(g *graph.Graph, edgeDrop, featureMask float64, seed uint64) (a, b view.View) {
	return view.Pair(g, view.Config{EdgeDrop: edgeDrop, FeatureMask: featureMask}, rand.New(rand.NewPCG(seed, 0)))
}

// Seen returns the graph that a view shows: its edges, and the features with zeros in the masked columns.
func Seen(g *graph.Graph, v view.View) *graph.Graph {
	f := graph.Features{Rows: g.Features.Rows, Cols: g.Features.Cols}
	f.Dense = make([]float32, f.Rows*f.Cols)
	for i := range f.Rows {
		row := f.Dense[i*f.Cols : (i+1)*f.Cols]
		g.Features.CopyRow(i, row)
		for _, c := range v.Masked {
			row[c] = 0
		}
	}
	return &graph.Graph{Adjacency: v.Adjacency, Features: f}
}

// FeaturesOf returns the features of the chosen nodes [len(nodes), columns].
func FeaturesOf(g *graph.Graph, nodes []int32) *mat.Dense {
	x := mat.NewDense(len(nodes), g.Features.Cols, nil)
	row := make([]float32, g.Features.Cols)
	for i, node := range nodes {
		g.Features.CopyRow(int(node), row)
		for c, value := range row {
			x.Set(i, c, float64(value))
		}
	}
	return x
}

// RowsOf returns the chosen rows of embeddings that are stored row by row, cols numbers each, such as those of
// Learner.Embed.
func RowsOf(data []float32, cols int, nodes []int32) *mat.Dense {
	x := mat.NewDense(len(nodes), cols, nil)
	for i, node := range nodes {
		for c, value := range data[int(node)*cols : (int(node)+1)*cols] {
			x.Set(i, c, float64(value))
		}
	}
	return x
}
