// Package graph is the one graph type of the module: a sparse adjacency and node features, and their algebra. Readers fill it,
// learners and encoders take it. It imports nothing else of this module but helpers in internal.
package graph

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
