package continual

// Event is what Run tells an observer: StepEvent, TaskEvent, EvaluationStarted, EvaluationFinished or Resumed.
type Event interface{ event() }

// StepEvent follows a training step.
type StepEvent struct {
	Step
	Tasks int // tasks of the stream
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
	Accuracy []float64 // percent, one a seen task
}

func (StepEvent) event()          {}
func (TaskEvent) event()          {}
func (EvaluationStarted) event()  {}
func (EvaluationFinished) event() {}
func (Resumed) event()            {}
