// Package explorer is what is behind the live explorer, notebooks/live_explorer.ipynb: one or two runs that wait for
// the reader, a position in them that moves on and back, and the pictures of where they are. It needs no kernel, which
// only shows the pictures and says what the reader does.
package explorer

import (
	"context"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/plotting/nb"
	"github.com/saot-go/saot/saot/engine"
)

// Epochs are those of a task.
const Epochs = 20

// Position is where the reader is.
type Position struct {
	Epoch int // of all tasks together
	Sweep int // after which π_Z is shown; 0 is the last sweep
}

// Action is a button of the panel.
type Action int

// None is no button: a knob was moved.
const None Action = -1

// The buttons, in their order.
const (
	StepSweep Action = iota
	StepEpoch
	StepTask
	Back
	StartOver
)

// Buttons returns the labels of the buttons.
func Buttons() []string {
	return []string{"step a sweep", "step an epoch", "step a task", "step back", "start over"}
}

// Explorer holds the state between two turns of the reader. It is not safe for concurrent use.
type Explorer struct {
	engine *engine.Engine
	knobs  []nb.Knob
	names  []string // of the datasets

	choice Choice
	stream *datasets.Stream
	now    Position
	past   []Position // to step back to, the last one first to go
	sides  [2]*run    // the second is nil if one method runs alone
}

// New returns an explorer with the datasets that are there: the generated ones, and real ones with files in dir; "" is
// none.
func New(e *engine.Engine, dir string) (*Explorer, error) {
	names, err := available(dir)
	if err != nil {
		return nil, err
	}
	return &Explorer{engine: e, names: names, knobs: knobs(names), choice: Choice{Dir: dir}}, nil
}

// Knobs returns the knobs of the panel, in the order in which Turn reads them.
func (x *Explorer) Knobs() []nb.Knob { return slices.Clone(x.knobs) }

// First is a turn without the reader: the knobs where they start, and a button.
func (x *Explorer) First(a Action) nb.Input {
	in := nb.Input{Pressed: int(a)}
	for _, k := range x.knobs {
		in.At = append(in.At, k.At)
	}
	return in
}

// Turn does what the reader asks for and returns the pictures of where the runs then are. Where only knobs have moved,
// the position stays: a run that a knob changes starts again and is replayed up to there. Another dataset starts over.
// A run that fails, as one that diverges does, has its error instead of pictures, until a knob makes another one.
func (x *Explorer) Turn(in nb.Input) ([]nb.Part, error) {
	if err := x.choose(x.choiceAt(in.At)); err != nil {
		return nil, err
	}
	x.press(Action(in.Pressed))
	ctx := context.Background()
	p := x.painter()
	var sides [2]side
	var shown [2]*scene
	for i, r := range x.sides {
		if r == nil {
			continue
		}
		if r.broken == nil || x.now.Epoch < r.brokenAt {
			s, err := r.scene(ctx, x.now.Epoch, x.choice)
			if err == nil {
				shown[i], sides[i] = s, p.of(s)
				continue
			}
			r.close()
			r.broken, r.brokenAt = err, x.now.Epoch
		}
		sides[i] = p.failed(r.name(), r.broken)
	}
	return p.parts(sides[0], sides[1], p.difference(shown[0], shown[1])), nil
}

// choose starts the runs that a choice asks for, and keeps those that it leaves as they are.
func (x *Explorer) choose(c Choice) error {
	if x.stream == nil || c.Dataset != x.choice.Dataset {
		x.Close()
		stream, err := open(c.Dataset, c.Dir)
		if err != nil {
			return err
		}
		x.stream, x.now, x.past = stream, Position{}, nil
	}
	c.Task = min(c.Task, len(x.stream.Tasks)-1)
	x.choice = c
	for i, name := range []string{c.Method, c.Other} {
		s := c.settings(name)
		if r := x.sides[i]; r != nil && r.settings != s {
			r.close()
			x.sides[i] = nil
		}
		if x.sides[i] == nil && name != Alone {
			x.sides[i] = &run{engine: x.engine, stream: x.stream, settings: s}
		}
	}
	return nil
}

// Close ends the runs.
func (x *Explorer) Close() {
	for i, r := range x.sides {
		if r != nil {
			r.close()
			x.sides[i] = nil
		}
	}
}

// press moves the position.
func (x *Explorer) press(a Action) {
	next := Position{Epoch: x.now.Epoch}
	switch a {
	case StepSweep:
		next.Sweep = min(x.now.Sweep+1, mostSweeps())
	case StepEpoch:
		next.Epoch++
	case StepTask:
		next.Epoch = (x.now.Epoch/Epochs + 1) * Epochs
	case StartOver:
		next.Epoch = 0
	case Back:
		if last := len(x.past) - 1; last >= 0 {
			x.now, x.past = x.past[last], x.past[:last]
		}
		return
	default:
		return
	}
	next.Epoch = min(next.Epoch, Epochs*len(x.stream.Tasks))
	if next != x.now {
		x.past = append(x.past, x.now)
		x.now = next
	}
}

// Example is what a reader might look at: the plans and the buffer of SAOT next to Graph Barlow Twins, five epochs into
// the second task.
func (x *Explorer) Example() (parts []nb.Part, err error) {
	in := x.First(StepTask)
	in.At[1], in.At[3] = 1, slices.Index(x.knobs[3].Values, "gbt")
	for range 6 {
		if parts, err = x.Turn(in); err != nil {
			return nil, err
		}
		in.Pressed = int(StepEpoch)
	}
	return parts[:6], nil
}
