package metrics

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
)

// Options of a Writer; the zero value is ready to use.
type Options struct {
	Now func() time.Time // the clock; nil is time.Now
}

// flushAfter bounds how far the files are behind a run whose tasks take long.
const flushAfter = 5 * time.Second

// Writer writes the metrics of one run. It is not safe for concurrent use; continual.Run does not use it so.
type Writer struct {
	dir     string
	opt     Options
	past    []past        // lines that were there before
	lines   *os.File      // nil before the first event
	out     *bufio.Writer // to lines
	events  *eventFile
	flushed time.Time
	closed  bool
	err     error // the first

	task   int   // of the last event
	before int64 // global step at which the task started
	pass   int64 // global step at which the current training of the task started: a task may have several
	done   int   // steps of this training
	step   int64 // global step now

	matrices map[matrixKey]continual.Matrix
}

type matrixKey struct {
	setting continual.Setting
	probe   continual.Probe
}

// New returns a Writer into dir, which it creates where it is missing. It reads what an earlier start of the run left
// there, but changes nothing before the first event: a run that had already finished leaves everything as it is. It
// fails where dir cannot be made, or metrics.jsonl not read, or where a line of that is not one of metrics.
func New(dir string, o Options) (*Writer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	past, err := readPast(filepath.Join(dir, LinesFile))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Writer{dir: dir, opt: o, past: past, matrices: map[matrixKey]continual.Matrix{}}, nil
}

// Observe writes an event; it is meant for continual.Options.Observe. After an error, which Close returns, it does
// nothing: a run does not fail for want of its metrics.
func (w *Writer) Observe(e continual.Event) {
	if w.err == nil && !w.closed {
		if err := w.observe(e); err != nil {
			w.err = fmt.Errorf("metrics: %w", err)
		}
	}
}

// Close writes what is buffered and returns the first error of the Writer's life.
func (w *Writer) Close() error {
	if w.closed || w.lines == nil {
		w.closed = true
		return w.err
	}
	w.closed = true
	err := errors.Join(w.out.Flush(), w.lines.Close(), w.events.close())
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("metrics: %w", err)
	}
	return w.err
}

func (w *Writer) observe(e continual.Event) error {
	switch e := e.(type) {
	case continual.Resumed:
		return w.enter(e.Done)
	case continual.StepEvent:
		return w.observeStep(&e)
	case continual.TaskEvent:
		return w.observeTask(&e)
	case continual.EvaluationFinished:
		return w.observeEvaluation(&e)
	}
	return nil
}

func (w *Writer) observeStep(e *continual.StepEvent) error {
	if err := w.enter(e.Task); err != nil {
		return err
	}
	if e.Done <= w.done {
		w.pass = w.step
	}
	w.done = e.Done
	w.step = max(w.step, w.pass+int64(e.Done))
	line := Line{Kind: StepLine, Task: e.Task, Tasks: e.Tasks, TaskStep: e.Done, TaskSteps: e.Steps,
		Terms: map[string]float64{}}
	var scalars []scalar
	for _, t := range e.Terms {
		scalars = append(scalars, scalar{"loss/" + t.Name, t.Value})
		if finite(t.Value) {
			line.Terms[t.Name] = t.Value
		}
	}
	if e.MarginalError != 0 {
		scalars = append(scalars, scalar{"sinkhorn/marginal_error", e.MarginalError})
		if finite(e.MarginalError) {
			line.MarginalError = e.MarginalError
		}
	}
	return w.write(line, scalars)
}

func (w *Writer) observeTask(e *continual.TaskEvent) error {
	r := &e.Report
	if err := w.enter(r.Task); err != nil {
		return err
	}
	w.step = max(w.step, w.before+max(1, int64(r.Steps)))
	scalars := []scalar{{"task/nodes", float64(r.Nodes)}, {"task/seconds", r.Seconds}}
	for _, name := range slices.Sorted(maps.Keys(r.Diagnostics)) {
		scalars = append(scalars, scalar{"diagnostics/" + name, r.Diagnostics[name]})
	}
	return w.write(Line{Kind: TaskLine, Task: r.Task, Tasks: e.Tasks, Report: r}, scalars)
}

func (w *Writer) observeEvaluation(e *continual.EvaluationFinished) error {
	if err := w.enter(e.Task); err != nil {
		return err
	}
	line := Line{Kind: EvaluationLine, Task: e.Task, Tasks: e.Tasks, Evaluation: &e.Evaluation}
	var scalars []scalar
	for _, row := range e.Rows {
		s := Score{Setting: row.Setting, Probe: row.Probe, Accuracy: row.Accuracy,
			AP: continual.Matrix{row.Accuracy}.AveragePerformance()}
		name := fmt.Sprintf("%v/%v/", s.Setting, s.Probe)
		scalars = append(scalars, scalar{name + "AP", s.AP})
		if m := w.addRow(s); len(m) == e.Task+1 {
			af := m.AverageForgetting()
			s.AF, scalars = &af, append(scalars, scalar{name + "AF", af})
		}
		for j, accuracy := range s.Accuracy {
			scalars = append(scalars, scalar{fmt.Sprintf("%saccuracy/task-%02d", name, j+1), accuracy})
		}
		line.Scores = append(line.Scores, s)
	}
	return w.write(line, scalars)
}

func (w *Writer) addRow(s Score) continual.Matrix {
	key := matrixKey{s.Setting, s.Probe}
	w.matrices[key] = append(w.matrices[key], slices.Clone(s.Accuracy))
	return w.matrices[key]
}

// enter opens the files at the first event and counts steps on where a task begins.
func (w *Writer) enter(task int) error {
	if w.lines == nil {
		if err := w.open(task); err != nil {
			return err
		}
	}
	if task != w.task {
		w.begin(task)
	}
	return nil
}

func (w *Writer) begin(task int) {
	w.task, w.before, w.pass, w.done = task, w.step, w.step, 0
}

// open starts the run at a task: it takes up the lines of earlier tasks and cuts off what follows them, a torn line
// included.
func (w *Writer) open(task int) error {
	end := int64(0)
	for _, p := range w.past {
		if p.task >= task {
			break
		}
		end, w.step = p.end, max(w.step, p.step)
		for _, s := range p.scores {
			w.addRow(s)
		}
	}
	w.begin(task)
	w.past = nil

	// Not O_APPEND: with it Windows opens a file that cannot be truncated.
	lines, err := file.OpenOwn(filepath.Join(w.dir, LinesFile), os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	err = lines.Truncate(end)
	if err == nil {
		_, err = lines.Seek(end, io.SeekStart)
	}
	if err == nil {
		w.flushed = w.opt.Now()
		w.events, err = newEventFile(w.dir, w.flushed, w.step+1)
	}
	if err != nil {
		return errors.Join(err, lines.Close())
	}
	w.lines, w.out = lines, bufio.NewWriter(lines)
	return nil
}

// write adds a line, at the present step and time, and its scalars. What ends a task goes to the files at once.
func (w *Writer) write(line Line, scalars []scalar) error {
	now := w.opt.Now().UTC()
	line.Time, line.Step = now, w.step
	text, err := json.Marshal(&line)
	if err != nil {
		return fmt.Errorf("%v of task %d: %w", line.Kind, line.Task+1, err)
	}
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := w.events.scalars(now, w.step, scalars); err != nil {
		return err
	}
	if line.Kind == StepLine && now.Sub(w.flushed) < flushAfter {
		return nil
	}
	w.flushed = now
	return errors.Join(w.out.Flush(), w.events.out.Flush())
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
