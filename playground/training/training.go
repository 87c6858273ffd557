// Package training is the learner of the playground: it takes a method through a stream as "saot run" does, in a run
// folder, and tells what happens as messages that a page can draw. The folder holds what "saot run" leaves, except
// metrics, TensorBoard's log and the picture, so that saot audit, saot show and saot run --resume read it.
package training

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all" // the methods by name
)

// Request is a run that is asked for. Its fields are flags of "saot run"; Probes is --probe.
type Request struct {
	Dataset string      `json:"dataset"`
	Method  string      `json:"method"`
	Seed    uint64      `json:"seed"`
	Set     [][2]string `json:"set"`    // name and value; a setting that the method does not have is passed over
	Probes  []string    `json:"probes"` // none means both
	Record  int         `json:"record"` // steps from frame to frame
}

// Message is what a run tells. Kind says which of the other fields it has.
type Message struct {
	Kind string `json:"kind"`

	Head   *record.Head      `json:"head,omitempty"`   // "start": the head of the recording
	Done   int               `json:"done,omitempty"`   // "start": tasks that an earlier worker finished
	Engine string            `json:"engine,omitempty"` // "start"
	Task   *record.Task      `json:"task,omitempty"`   // "frame": its task, without frames
	Frame  *record.Frame     `json:"frame,omitempty"`  // "frame"
	Index  int               `json:"index,omitempty"`  // "step", "scoring", "scores": the task, from 0
	Step   int               `json:"step,omitempty"`   // "step": taken in the task
	Steps  int               `json:"steps,omitempty"`  // "step": of the task
	Scores []record.Score    `json:"scores,omitempty"` // "scores": rows of the matrices
	Result *continual.Result `json:"result,omitempty"` // "result"
}

// Settings returns the run's settings as "saot run" would settle them, with the engine in pure Go. It returns an error
// if a name or a value is wrong.
func (q Request) Settings() (*experiment.Run, error) {
	settings, err := experiment.DefaultSettings(q.Dataset, q.Method, method.Default)
	if err != nil {
		return nil, err
	}
	r := &experiment.Run{Settings: settings, Place: experiment.Place{Engine: "go", Keep: true}}
	r.Seed = q.Seed
	has := map[string]bool{}
	for _, f := range fields.All(r.Of) {
		has[f.Path] = true
	}
	var changes []fields.Change
	for _, pair := range q.Set {
		if has[pair[0]] {
			changes = append(changes, fields.Change{Path: pair[0], Value: fields.Value{Text: pair[1]}})
		}
	}
	if err := r.Change(changes...); err != nil {
		return nil, err
	}
	if len(q.Probes) > 0 {
		r.Probes = nil
	}
	for _, name := range q.Probes {
		p, err := continual.ParseProbe(name)
		if err != nil {
			return nil, err
		}
		r.Probes = append(r.Probes, p)
	}
	return r, r.Validate()
}

// Run does the run that is asked for in the folder dir, or continues the one that is there after the last finished
// task. It calls tell from one goroutine, and waits for it: training rests until tell returns. The folder then holds
// config.json, result.json, the recording and the model.
//
// It returns an error if a setting is wrong, if the run fails, and the context's if it is canceled.
func Run(ctx context.Context, dir string, q Request, tell func(Message)) error {
	if err := run(ctx, dir, q, tell); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	return nil
}

func run(ctx context.Context, dir string, q Request, tell func(Message)) error {
	if q.Record < 1 {
		return fmt.Errorf("record is %d, want 1 or more steps from frame to frame", q.Record)
	}
	r, err := q.Settings()
	if err != nil {
		return err
	}
	stream, err := r.OpenStream()
	if err != nil {
		return err
	}
	e, err := r.OpenEngine()
	if err != nil {
		return err
	}
	defer e.Close()
	learner, err := r.NewLearner(e, stream)
	if err != nil {
		return err
	}
	folder, resume, err := open(dir, r)
	if err != nil {
		return err
	}
	defer folder.Release()
	opt, err := r.Options()
	if err != nil {
		return err
	}
	opt.Engine, opt.Dir, opt.Keep, opt.Record, opt.Resume = e, dir, true, q.Record, resume
	start := Message{Kind: "start", Engine: e.Info().String(), Head: headOf(r, stream, q.Record)}
	opt.Observe = func(event continual.Event) {
		if resumed, ok := event.(continual.Resumed); ok {
			start.Done = resumed.Done
		}
		if start.Kind != "" {
			tell(start)
			start.Kind = ""
		}
		observe(event, tell)
	}
	result, err := continual.Run(ctx, stream, learner, opt)
	if err != nil {
		return err
	}
	tell(Message{Kind: "result", Result: result})
	return nil
}

// open makes the folder of a new run, or takes up the run that is there.
func open(dir string, r *experiment.Run) (folder *experiment.Folder, resume bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, experiment.ConfigFile)); err != nil {
		folder, err = experiment.NewFolder(dir, r)
		return folder, false, err
	}
	was, err := experiment.ReadRun(dir)
	if err != nil {
		return nil, false, err
	}
	if was.Hash() != r.Hash() {
		return nil, false, errors.New("the run folder holds a run with different settings")
	}
	folder = &experiment.Folder{Path: dir}
	return folder, true, folder.Claim()
}

func headOf(r *experiment.Run, s *datasets.Stream, every int) *record.Head {
	return &record.Head{Format: record.Format, Version: record.Version, Method: r.Method, Dataset: s.Dataset,
		Seed: r.Seed, Every: every, Tasks: len(s.Tasks)}
}

func observe(event continual.Event, tell func(Message)) {
	switch e := event.(type) {
	case continual.FrameEvent:
		tell(Message{Kind: "frame", Task: &e.Task, Frame: &e.Frame})
	case continual.StepEvent:
		tell(Message{Kind: "step", Index: e.Task, Step: e.Done, Steps: e.Steps})
	case continual.EvaluationStarted:
		tell(Message{Kind: "scoring", Index: e.Task})
	case continual.EvaluationFinished:
		tell(Message{Kind: "scores", Index: e.Task, Scores: continual.ScoresOf(e.Rows)})
	}
}

// JSON returns the message as a page reads it.
func (m Message) JSON() (string, error) {
	text, err := json.Marshal(&m)
	if err != nil {
		return "", fmt.Errorf("training: message %s: %w", m.Kind, err)
	}
	return string(text), nil
}
