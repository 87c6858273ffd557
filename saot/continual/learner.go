// Package continual is the protocol of continual graph learning: a method sees one task after another; after each, it
// is scored on every task seen so far. A self-supervised learner sees no labels, and linear probes score its frozen
// embeddings; a supervised method is its own classifier. It imports datasets, drift, engine, record and transport, and
// knows no method.
package continual

import (
	"context"
	"fmt"
	"io"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/continual/record"
)

// Method is what Run takes through a stream: a Learner, a Supervised or an External.
type Method interface {
	// Save writes all that learning and scoring later tasks depend on; Load restores it exactly.
	Save(w io.Writer) error
	Load(r io.Reader) error
}

// Learner is a method of self-supervised continual learning. Run calls Learn once per task, in order, and after each it
// calls Embed once for every task seen so far, from the first to the newest. By this order a Learner that wraps another
// knows which task a graph is of, for a probe of its own. A run that is resumed calls Load first and continues with the
// next task; Options.Record adds calls of Embed while Learn runs and just after it. Audit calls Load, and Embed for
// every task in order. The graphs carry no labels. Their arrays belong to the stream: a learner may replace them in the
// graph that it gets, as Features.Normalize does, but must not write into them.
type Learner interface {
	Method
	// Learn trains on the next task, calling observe (which may be nil) once per step. It returns ctx.Err() when
	// canceled; the learner is then in an undefined state and must be restored with Load.
	Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error)
	// Embed returns one row per node of g, from the frozen encoder in inference mode, in memory that no other call
	// uses: Run keeps the matrices of all tasks. With Options.Record, Run also calls it from within observe, while
	// Learn runs: it must change nothing. The features of g must be scaled as those of Learn's graphs, which Embed
	// cannot check: on others it returns other numbers.
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
	Task          int     // from 0; Run sets it
	Done, Steps   int     // steps taken, this one included, and all; a method that trains in parts counts each part
	Terms         []Term  // loss terms in a fixed order, the total first; cat and puma condense by a "discrepancy"
	MarginalError float64 // of the Sinkhorn plan between embeddings; 0 where none is solved
	Figures       []Term  // further figures in a fixed order, such as norms of gradients; for recordings
}

// TaskReport is what a learner records about one task; it goes into the Result as it is.
type TaskReport struct {
	Task        int                `json:"task"`  // from 0; Run sets it
	Nodes       int                `json:"nodes"` // of the graph of the steps, with what replay joins to it
	Epochs      int                `json:"epochs"`
	Steps       int                `json:"steps"`       // training steps taken; 0 in results that do not record it
	Seconds     float64            `json:"seconds"`     // wall time of Learn, which Run measures
	FirstLoss   []Term             `json:"first_loss"`  // terms of the first step
	LastLoss    []Term             `json:"last_loss"`   // of the last step; class-il's where each setting has a network
	Diagnostics map[string]float64 `json:"diagnostics"` // solver and timing figures by name, documented by the learner
}

// Event is what Run tells an observer: StepEvent, FrameEvent, TaskEvent, EvaluationStarted, EvaluationFinished or
// Resumed.
type Event interface{ event() }

// StepEvent follows a training step.
type StepEvent struct {
	Step
	Tasks int // tasks of the stream
}

// FrameEvent follows a frame of the recording (Options.Record). It comes before the StepEvent of its step, except for
// the last frame of a part of the training, which comes when the next step is taken or Learn has returned. The frame of
// step 0 has no StepEvent.
type FrameEvent struct {
	Task  record.Task // with the names so far, without frames; it and its content must not be changed
	Frame record.Frame
}

// TaskEvent follows the training of a task.
type TaskEvent struct {
	Report TaskReport
	Tasks  int
}

// EvaluationStarted announces that the seen tasks are about to be embedded and probed.
type EvaluationStarted struct{ Task, Tasks int }

// EvaluationFinished carries the rows that an evaluation added to the matrices.
type EvaluationFinished struct {
	Task, Tasks int
	Rows        []Row
	Evaluation  Evaluation
}

// Resumed says that a run continues after the first Done tasks.
type Resumed struct{ Done, Tasks int }

// Row is one row of a performance matrix.
type Row struct {
	Setting  Setting
	Probe    Probe
	Accuracy []float64 // in percent, one for each task seen
}

func (StepEvent) event()          {}
func (FrameEvent) event()         {}
func (TaskEvent) event()          {}
func (EvaluationStarted) event()  {}
func (EvaluationFinished) event() {}
func (Resumed) event()            {}

// Setting says what the head of a probe must tell apart.
type Setting int

const (
	// ClassIL is class-incremental: one head over all classes seen so far.
	ClassIL Setting = iota
	// TaskIL is task-incremental: the task is known, one head per task over its own classes.
	TaskIL
)

// Settings returns every setting, in the order of the tables.
func Settings() []Setting { return []Setting{ClassIL, TaskIL} }

// ParseSetting is the inverse of String.
func ParseSetting(text string) (Setting, error) { return settingNames.Parse(text) }

// Label is what pictures call the setting: "Class-IL" or "Task-IL".
func (s Setting) Label() string {
	return map[Setting]string{ClassIL: "Class-IL", TaskIL: "Task-IL"}[s]
}

func (s Setting) String() string                   { return settingNames.Name(s) }
func (s Setting) MarshalText() ([]byte, error)     { return settingNames.Marshal(s) }
func (s *Setting) UnmarshalText(text []byte) error { return settingNames.Unmarshal(s, text) }

// Probe says how a linear head is fitted to frozen embeddings and on which nodes it is scored.
type Probe int

const (
	// ProbePaper is the probe behind the published tables: AdamW on raw embeddings, stopped by the accuracy on the very
	// nodes it is scored on (valid ∪ test). It is optimistic and sensitive to the scale of the embeddings.
	ProbePaper Probe = iota
	// ProbeConverged is multinomial logistic regression on standardized embeddings, solved to convergence, its strength
	// chosen on valid, scored on test alone.
	ProbeConverged
	// ProbeHead is no probe of embeddings but a supervised learner's own classifier, scored on test alone.
	ProbeHead
)

// Probes returns the probes of embeddings, in the order of the tables.
func Probes() []Probe { return []Probe{ProbePaper, ProbeConverged} }

// AllProbes returns those of Probes and ProbeHead, in the order of the tables.
func AllProbes() []Probe { return append(Probes(), ProbeHead) }

// ParseProbe is the inverse of String.
func ParseProbe(text string) (Probe, error) { return probeNames.Parse(text) }

// ParseLinearProbe is ParseProbe only for the probes of embeddings, those of Probes.
func ParseLinearProbe(text string) (Probe, error) {
	p, err := ParseProbe(text)
	switch {
	case err != nil:
		return p, &enum.Unknown{Kind: "probe", Text: text, Names: probeNames.Names()[:ProbeHead]}
	case p == ProbeHead:
		return p, fmt.Errorf("the probe %v scores only supervised methods: choose paper, converged or both", p)
	}
	return p, nil
}

// Label is what tables and pictures call the probe: "converged probe", "paper probe" or "own classifier".
func (p Probe) Label() string {
	if p == ProbeHead {
		return "own classifier"
	}
	return p.String() + " probe"
}

func (p Probe) String() string                   { return probeNames.Name(p) }
func (p Probe) MarshalText() ([]byte, error)     { return probeNames.Marshal(p) }
func (p *Probe) UnmarshalText(text []byte) error { return probeNames.Unmarshal(p, text) }

var (
	settingNames = enum.Of[Setting]("setting", "class-il", "task-il")
	probeNames   = enum.Of[Probe]("probe", "paper", "converged", "head")
)
