// Package datasets turns files and generators into task streams: a graph in, a sequence of small labelled graphs out.
// Open reads a graph by name or path, NewStream cuts it, a Store fetches and checks its files. It imports
// datasets/graph, datasets/fetch and helpers in internal.
package datasets

import (
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/memory"
)

// Dataset is a whole labelled graph before it is cut into tasks. Its arrays are read-only: they may be pages of a file
// that several processes share (see Cache), where a write ends the program. To change one, clone it first.
type Dataset struct {
	Name       string
	Graph      graph.Graph
	Labels     []int32 // class of each node, in [0, NumClasses)
	NumClasses int
	Checksum   string // SHA-256 of the source file, or of the generator's settings
	Synthetic  bool   // made by a generator, not read from a public source
	Notes      []string
}

// Split divides the nodes of a task, as indices into the task's own graph, ascending.
type Split struct {
	Train, Valid, Test []int32
}

// Task is one step of a stream: the subgraph that a few classes induce. Only the evaluator reads Labels and Split.
type Task struct {
	Index   int // position in the stream, from 0
	Classes []int32
	Graph   *graph.Graph
	Nodes   []int32 // the task's nodes as ids of the whole dataset
	Labels  []int32 // class ids of the whole dataset, one per node; −1 for a node of an earlier task (KeepEdges)
	Split   Split
}

// Stream is a sequence of tasks.
type Stream struct {
	Dataset    string
	Checksum   string
	Synthetic  bool
	Options    StreamOptions // how it was cut, complete; of a split from a file: what the file says
	NumClasses int           // classes used by the tasks
	Tasks      []Task
	SplitHash  string   // SHA-256 over every task's node ids and split, and the order of the classes
	Notes      []string // what was dropped or repaired, one line each
}

// withFeatures completes a dataset: its features are read and scaled, or left out and the name says so.
func (ds *Dataset) withFeatures(opt Options, read func() error) (*Dataset, error) {
	if opt.TopologyOnly {
		ds.Name += "-topology"
		ds.Graph.Features = graph.Features{Rows: ds.Graph.NumNodes()}
		return ds, nil
	}
	if err := read(); err != nil {
		return nil, err
	}
	return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
}

// setEdges builds the adjacency of n nodes and notes what was repaired. An entry (i, j) is an edge from i to j.
func (ds *Dataset) setEdges(n int, list graph.EdgeList, direction Direction) {
	a, fixed := graph.Build(n, list, direction == Directed)
	memory.Release(4 * fixed.Stored) // of the list
	ds.Graph.Adjacency = a
	if a.Directed {
		ds.Notes = append(ds.Notes, "edges are directed: a node receives from those that point at it")
	}
	ds.Notes = append(ds.Notes, fixed.Notes()...)
}

func (ds *Dataset) setLabels(labels []int32) {
	ds.Labels = labels
	ds.NumClasses = int(slices.Max(labels)) + 1
}
