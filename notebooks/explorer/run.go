package explorer

import (
	"context"
	"errors"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// run is a run that stands still between two steps. continual.Run tells an observer what happens and waits for it to
// return; the observer returns when the next step is asked for. What the reader has looked at is kept: a look back at
// it needs no training. Any other look back starts the run again, which repeats it bit for bit.
type run struct {
	engine   *engine.Engine
	stream   *datasets.Stream
	settings settings
	looks    map[place]*look
	broken   error // why it cannot be seen from an epoch on
	brokenAt int

	learner continual.Learner // nil before the start
	cancel  context.CancelFunc
	next    chan struct{} // a step is asked for
	done    chan struct{} // it is taken; closed at the end of the run
	err     error         // of the run, once done is closed
	clock   float64       // epochs taken, all tasks together
	before  float64       // the clock before the last step, which may be as long as a task
	losses  []plotting.Series
	matrix  continual.Matrix // class-IL, under the converged probe
	kept    [][]int32        // of each task learned, the nodes in the buffer
}

// place is a place that can be looked at.
type place struct{ epoch, task int }

// look is what is seen of a task: its embeddings, and those of its views.
type look struct {
	whole  *continual.Embedding
	views  [2]*continual.Embedding
	losses []plotting.Series
	matrix continual.Matrix
	kept   [][]int32
	clock  float64
}

// keeper is a learner with a buffer of nodes.
type keeper interface {
	Kept(task int, g *graph.Graph) []int32
}

func (r *run) name() string { return r.settings.method }

// start starts the run from its seed.
func (r *run) start() (err error) {
	r.close()
	if r.learner, err = r.settings.learner(r.engine, r.stream); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.next, r.done = cancel, make(chan struct{}), make(chan struct{})
	r.err, r.clock, r.before, r.losses, r.matrix, r.kept = nil, 0, -1, nil, nil, nil
	go func() {
		defer close(r.done)
		if !r.awaitNext(ctx) {
			return
		}
		_, err := continual.Run(ctx, r.stream, r.learner, continual.Options{
			Engine: r.engine, Probes: []continual.Probe{continual.ProbeConverged},
			Observe: func(event continual.Event) { r.observe(ctx, event) },
		})
		if !errors.Is(err, context.Canceled) {
			r.err = err
		}
	}()
	return nil
}

// close ends the run and waits for it. Its looks stay.
func (r *run) close() {
	if r.learner == nil {
		return
	}
	r.cancel()
	for range r.done {
	}
	r.learner = nil
}

// observe runs in the goroutine of the run, which waits in it.
func (r *run) observe(ctx context.Context, event continual.Event) {
	switch event := event.(type) {
	case continual.StepEvent:
		r.step(event.Step)
		if event.Done == event.Steps {
			return // the evaluation comes next
		}
	case continual.EvaluationFinished:
		r.evaluated(event)
	default:
		return
	}
	select {
	case r.done <- struct{}{}:
		r.awaitNext(ctx)
	case <-ctx.Done():
	}
}

func (r *run) step(s continual.Step) {
	r.clock = max(r.clock, Epochs*(float64(s.Task)+float64(s.Done)/float64(s.Steps)))
	terms := s.Terms
	if len(terms) > 1 {
		terms = terms[1:] // the first is their sum
	}
	if r.losses == nil {
		r.losses = make([]plotting.Series, len(terms))
	}
	for i, term := range terms {
		l := &r.losses[i]
		l.Name, l.X, l.Y = term.Name, append(l.X, r.clock), append(l.Y, term.Value)
	}
}

func (r *run) evaluated(event continual.EvaluationFinished) {
	r.clock = float64(Epochs * (event.Task + 1))
	for _, row := range event.Rows {
		if row.Setting == continual.ClassIL {
			r.matrix = append(r.matrix, row.Accuracy)
		}
	}
	if k, ok := r.learner.(keeper); ok {
		r.kept = append(r.kept, k.Kept(event.Task, r.stream.Tasks[event.Task].Graph))
	}
}

func (r *run) awaitNext(ctx context.Context) bool {
	select {
	case <-r.next:
		return true
	case <-ctx.Done():
		return false
	}
}

// at returns the look at a place. The run takes steps until it is there; if it is past it, it starts again.
func (r *run) at(ctx context.Context, p place) (*look, error) {
	if seen := r.looks[p]; seen != nil {
		return seen, nil
	}
	if r.learner == nil || r.before >= float64(p.epoch) {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	for r.clock < float64(p.epoch) {
		r.before = r.clock
		r.next <- struct{}{}
		if _, running := <-r.done; !running {
			err := errors.Join(errors.New("the run has ended"), r.err)
			r.close() // no goroutine takes steps now: the next look starts again
			return nil, err
		}
	}
	if r.looks == nil {
		r.looks = map[place]*look{}
	}
	first, end := p.task, p.task+1
	if p.epoch%Epochs == 0 { // the next task's teacher, which any task may be looked at with later
		first, end = 0, len(r.stream.Tasks)
	}
	for task := first; task < end; task++ {
		seen, err := r.look(ctx, task)
		if err != nil {
			return nil, err
		}
		r.looks[place{p.epoch, task}] = seen
	}
	return r.looks[p], nil
}

// look is what the run shows of a task now.
func (r *run) look(ctx context.Context, task int) (*look, error) {
	// The lists of the run only grow: what is in these copies stays.
	l := &look{losses: slices.Clone(r.losses), matrix: r.matrix, kept: r.kept, clock: r.clock}
	t := r.stream.Tasks[task]
	graphs := append([]*graph.Graph{t.Graph}, viewsOf(t)...)
	for i, into := range []**continual.Embedding{&l.whole, &l.views[0], &l.views[1]} {
		var err error
		if *into, err = r.learner.Embed(ctx, graphs[i]); err != nil {
			return nil, err
		}
	}
	return l, nil
}
