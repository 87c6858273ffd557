// Package continual is the protocol of continual graph learning: a method sees one task after another; after each, it
// is scored on every task seen so far. A self-supervised learner sees no labels, and linear probes score its frozen
// embeddings; a supervised method is its own classifier. It imports datasets, drift, engine and transport, and knows no
// method.
package continual

import (
	"context"
	"io"

	"github.com/saot-go/saot/datasets/graph"
)

// Method is what Run takes through a stream: a Learner or a Supervised.
type Method interface {
	// Save writes all that learning and scoring later tasks depend on; Load restores it exactly.
	Save(w io.Writer) error
	Load(r io.Reader) error
}

// Learner is a method of self-supervised continual learning. Run calls Learn once per task, in order, and Embed for
// every task seen so far after each. The graphs carry no labels.
type Learner interface {
	Method
	// Learn trains on the next task, calling observe (which may be nil) once per step. It returns ctx.Err() when
	// cancelled; the learner is then in an undefined state and must be restored with Load.
	Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error)
	// Embed returns one row per node of g, from the frozen encoder in inference mode.
	Embed(ctx context.Context, g *graph.Graph) (*Embedding, error)
}

// Embedding is a matrix of node embeddings [Rows, Cols], row major. Cols may be 0: then the probe sees only class
// frequencies, which is the majority predictor.
type Embedding struct {
	Rows, Cols int
	Data       []float32
}

// Term is one named figure of a training step, such as a loss term.
type Term struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Step is what a learner tells an observer after a training step.
type Step struct {
	Task          int     // from 0
	Done, Steps   int     // steps of the task taken, this one included, and all of them
	Terms         []Term  // loss terms in a fixed order, the total first
	MarginalError float64 // of the Sinkhorn plan between embeddings; 0 where none is solved
}

// TaskReport is what a learner records about one task; it goes into the Result as it is.
type TaskReport struct {
	Task        int                `json:"task"`
	Nodes       int                `json:"nodes"` // nodes of the batched graph, replay included
	Epochs      int                `json:"epochs"`
	Steps       int                `json:"steps"`       // training steps taken; 0 in results that do not record it
	Seconds     float64            `json:"seconds"`     // wall time of Learn, which Run measures
	FirstLoss   []Term             `json:"first_loss"`  // terms of the first step
	LastLoss    []Term             `json:"last_loss"`   // terms of the last step
	Diagnostics map[string]float64 `json:"diagnostics"` // solver and timing figures by name, documented by the learner
}
