// Package datasets turns files and generators into task streams: a graph in, a sequence of small labelled graphs out.
// It imports nothing else of this module.
package datasets

// Graph is an attributed graph, undirected unless its adjacency says otherwise. It has no labels on purpose: it is the type
// that a self-supervised learner receives, so that no learner can read what it must not.
type Graph struct {
	Adjacency Adjacency
	Features  Features
}

// NumNodes returns the number of nodes.
func (g *Graph) NumNodes() int { return g.Adjacency.NumNodes() }

// Adjacency is a 0/1 adjacency matrix in compressed sparse rows, without duplicates and without self-loops: the neighbours
// of node i are Neighbors[Offsets[i]:Offsets[i+1]], ascending. They are the nodes from which i receives messages.
//
// Undirected, the zero value of the flag, it is symmetric, so that every edge stands twice. Directed, an edge stands once, in
// the row of the node that it points at: u → v puts u into v's row, which is how CGLB and DGL aggregate.
type Adjacency struct {
	Offsets   []int64 // length NumNodes+1
	Neighbors []int32 // length NumEdges if directed, else twice that
	Directed  bool    // a row lists the nodes whose edges point at its own
}

// NumNodes returns the number of rows.
func (a *Adjacency) NumNodes() int { return max(0, len(a.Offsets)-1) }

// NumEdges returns the number of edges: each counts once, whether it is directed or not.
func (a *Adjacency) NumEdges() int {
	if a.Directed {
		return len(a.Neighbors)
	}
	return len(a.Neighbors) / 2
}

// Neighborhood returns the neighbours of node i in ascending order, of a directed graph those whose edges point at i. The
// slice aliases the adjacency.
func (a *Adjacency) Neighborhood(i int) []int32 { return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]] }

// Features is a node-feature matrix [Rows, Cols], float32, either dense (Dense set, row major) or in compressed sparse
// rows (Offsets, Columns and Values set; columns ascend within a row).
type Features struct {
	Rows, Cols int
	Dense      []float32 // Rows × Cols, or nil
	Offsets    []int64   // length Rows+1
	Columns    []int32
	Values     []float32
}

// IsDense reports whether the matrix is stored densely.
func (f *Features) IsDense() bool { return f.Dense != nil }

// Dataset is a whole labelled graph before it is cut into tasks. Its arrays are to be read only: they may be pages of a file that
// all processes share (see Cache), where a write ends the program. Whoever wants to change one clones it first.
type Dataset struct {
	Name       string
	Graph      Graph
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
	Graph   *Graph
	Nodes   []int32 // the task's nodes as ids of the whole dataset
	Labels  []int32 // class ids of the whole dataset, one a node; −1 for a node of an earlier task (KeepEdges)
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
	Notes      []string // what was dropped or repaired, a line each
}
