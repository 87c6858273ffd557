package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
)

// LinesFile is the name of the file of JSON lines.
const LinesFile = "metrics.jsonl"

// Kind says what a Line is about.
type Kind int

// What a Line tells.
const (
	StepLine       Kind = iota // a training step
	TaskLine                   // a task was learned
	EvaluationLine             // the tasks seen so far were scored
)

var kindNames = enum.Of[Kind]("kind of line", "step", "task", "evaluation")

func (k Kind) String() string                   { return kindNames.Name(k) }
func (k Kind) MarshalText() ([]byte, error)     { return kindNames.Marshal(k) }
func (k *Kind) UnmarshalText(text []byte) error { return kindNames.Unmarshal(k, text) }

// Line is one line of metrics.jsonl.
type Line struct {
	Kind  Kind      `json:"kind"`
	Time  time.Time `json:"time"` // wall time, UTC, RFC 3339
	Step  int64     `json:"step"` // global step: see the package's doc
	Task  int       `json:"task"` // from 0
	Tasks int       `json:"tasks"`

	// Of a step.
	TaskStep  int                `json:"task_step,omitempty"`  // steps of the task taken, this one included
	TaskSteps int                `json:"task_steps,omitempty"` // all steps of the task
	Terms     map[string]float64 `json:"terms,omitempty"`      // loss terms by name
	// MarginalError is that of the Sinkhorn plan between embeddings; absent where none is solved, and where it is 0.
	MarginalError float64 `json:"marginal_error,omitempty"`

	// Of a task: nodes, epochs, steps, seconds, first and last loss, diagnostics.
	Report *continual.TaskReport `json:"report,omitempty"`

	// Of an evaluation.
	Scores     []Score               `json:"scores,omitempty"`     // one a setting and probe
	Evaluation *continual.Evaluation `json:"evaluation,omitempty"` // its cost
}

// Score is a row that an evaluation added to a performance matrix, and what the matrix comes to so far.
type Score struct {
	Setting  continual.Setting `json:"setting"`
	Probe    continual.Probe   `json:"probe"`
	AP       float64           `json:"ap"`           // average performance in percent
	AF       *float64          `json:"af,omitempty"` // in percentage points; absent where earlier rows are unknown
	Accuracy []float64         `json:"accuracy"`     // percent, one a seen task
}

// Read returns the lines of a run folder, in their order, without a last one that was cut short. Its error is
// fs.ErrNotExist where the folder has none, and names the line that is not one of metrics.
func Read(dir string) (lines []*Line, err error) {
	err = readLines(filepath.Join(dir, LinesFile), func(l *Line, _ int64) { lines = append(lines, l) })
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return lines, nil
}

// longest bounds the bytes of a line. In a stream of a thousand tasks a line has about a hundred thousand.
const longest = 16 << 20

// ended splits a file into lines with their ends. It passes over a last line that is not ended.
func ended(data []byte, _ bool) (advance int, line []byte, err error) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 {
		return 0, nil, nil
	}
	return end, data[:end], nil
}

// readLines calls each for every line of a file, with the place where it ends. It passes over a last line that is not
// ended.
func readLines(path string, each func(l *Line, end int64)) error {
	f, err := file.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	in := bufio.NewScanner(f)
	in.Buffer(nil, longest)
	in.Split(ended)
	end, n := int64(0), 1
	for ; in.Scan(); n++ {
		line := &Line{}
		if err := json.Unmarshal(in.Bytes(), line); err != nil {
			return notALine(path, n, err)
		}
		end += int64(len(in.Bytes()))
		each(line, end)
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return notALine(path, n, fmt.Errorf("it has more than %d bytes", longest))
	}
	return in.Err()
}

func notALine(path string, n int, err error) error {
	return fmt.Errorf("%s:%d: not a line of metrics: %w: repair the line or move the file away", path, n, err)
}

// past is what a start of the run needs to know of a line that an earlier one wrote.
type past struct {
	task   int
	step   int64
	end    int64 // in the file
	scores []Score
}

func readPast(path string) ([]past, error) {
	var lines []past
	err := readLines(path, func(l *Line, end int64) {
		lines = append(lines, past{task: l.Task, step: l.Step, end: end, scores: l.Scores})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return lines, err
}
