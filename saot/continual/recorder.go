package continual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual/record"
)

// recorder writes frames of a run (Options.Record). A nil recorder does nothing.
type recorder struct {
	run    *run
	writer *record.Writer
	every  int
	ctx    context.Context // of the task being learned

	nodes []int32
	task  record.Task // without frames
	watch Watch
	plane record.Plane
	last  *Step // the last step seen
	held  *held // the frame of the last step of a training; nil if that was not its turn
	count int   // steps before those that the learner counts: one that trains twice may count from 1 again

	terms, figures []string // names so far
}

// held is a frame that waits for what follows its step.
type held struct {
	step  *Step
	sight *Sight
}

// startRecorder starts the recording, or continues it after the tasks that are done. A run whose interrupted stretch
// was recorded is recorded to its end, whether or not the options ask for it.
func (r *run) startRecorder() error {
	every := r.opt.Record
	if every == 0 && r.opt.Resume && r.opt.Dir != "" {
		h, err := record.ReadHead(r.opt.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			every = h.Every
		}
	}
	if every == 0 {
		return nil
	}
	h := record.Head{Method: r.opt.Manifest.Method, Dataset: r.identity.Dataset.Name, Seed: r.opt.Seed, Every: every,
		Tasks: len(r.stream.Tasks)}
	c := &recorder{run: r, every: every}
	var err error
	if r.opt.Resume {
		c.writer, err = record.Resume(r.opt.Dir, h, r.done)
	} else {
		c.writer, err = record.Create(r.opt.Dir, h)
	}
	if err == nil {
		r.recorder = c
	}
	return err
}

// begin chooses the nodes of a task and takes the frame before the first step.
func (c *recorder) begin(ctx context.Context, t int) (err error) {
	if c == nil {
		return nil
	}
	task := &c.run.stream.Tasks[t]
	c.ctx, c.last, c.count, c.plane = ctx, &Step{Task: t}, 0, record.Plane{}
	c.terms, c.figures, c.held = []string{}, []string{}, nil
	c.nodes = watchedOf(task.Graph, task.Labels, c.run.opt.Seed, t)
	if c.watch, err = c.run.subject.watch(ctx, t, c.nodes); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	induced := task.Graph.Adjacency.Induced(c.nodes)
	r := record.Task{Task: t, Nodes: c.nodes, Edges: edgesOf(&induced)}
	for _, v := range c.nodes {
		r.Classes = append(r.Classes, task.Labels[v])
	}
	if v := c.watch.Views(); v != nil {
		r.Views = [][]record.Edge{edgesOf(&v.Edges[0]), edgesOf(&v.Edges[1])}
		var err1, err2 error
		r.Graph, err1 = recordedPlan(v.Graph)
		r.Teacher, err2 = recordedPlan(v.Teacher)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	c.task = r
	if err := c.writer.Begin(r); err != nil {
		return err
	}
	return c.frame(c.last)
}

// step takes a frame if it is the step's turn. The frame of the last step of a training waits. If another step follows,
// it is added. Otherwise end takes another frame of that step when Learn has returned.
func (c *recorder) step(s Step) error {
	if c == nil {
		return nil
	}
	if c.held != nil {
		if err := c.add(c.held.step, c.held.sight); err != nil {
			return err
		}
	}
	if s.Done <= c.last.Done {
		c.count += c.last.Done
	}
	c.last, c.held = &s, nil
	if (c.count+s.Done)%c.every != 0 {
		return nil
	}
	if s.Done < s.Steps {
		return c.frame(&s)
	}
	sight, err := c.look()
	c.held = &held{&s, sight}
	return err
}

// end takes the frame after the last step: of what the method keeps, which may be an earlier state.
func (c *recorder) end() error {
	if c == nil {
		return nil
	}
	defer c.release()
	return c.frame(c.last)
}

func (c *recorder) release() {
	if c != nil && c.watch != nil {
		c.watch.Close()
		c.watch = nil
	}
}

// scored completes a task.
func (c *recorder) scored(rows []Row) error {
	if c == nil {
		return nil
	}
	return c.writer.End(ScoresOf(rows))
}

// ScoresOf returns rows as a recording has them.
func ScoresOf(rows []Row) (scores []record.Score) {
	for _, row := range rows {
		scores = append(scores, record.Score{Setting: row.Setting.String(), Probe: row.Probe.String(),
			Accuracy: numbers(row.Accuracy)})
	}
	return scores
}

// flush keeps the frames of a task whose learning was stopped.
func (c *recorder) flush() error {
	if c == nil {
		return nil
	}
	return c.writer.Flush()
}

func (c *recorder) frame(s *Step) error {
	sight, err := c.look()
	if err != nil {
		return err
	}
	return c.add(s, sight)
}

func (c *recorder) look() (*Sight, error) {
	sight, err := c.watch.Look(c.ctx)
	if err == nil {
		err = checkSight(sight, len(c.nodes))
	}
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return sight, nil
}

func (c *recorder) add(s *Step, sight *Sight) (err error) {
	if sight == nil && len(s.Terms) == 0 {
		return nil
	}
	f := record.Frame{Step: c.count + s.Done, MarginalError: record.Number(s.MarginalError)}
	f.Terms, f.Figures = valuesOf(&c.terms, s.Terms), valuesOf(&c.figures, s.Figures)
	if err := c.writer.Names(c.terms, c.figures); err != nil {
		return err
	}
	if sight != nil {
		if f.Plan, err = recordedPlan(sight.Plan); err != nil {
			return err
		}
		if err := c.place(&f, sight.Embedding); err != nil {
			return err
		}
	}
	if err := c.writer.Add(f); err != nil {
		return err
	}
	c.task.Terms, c.task.Figures = slices.Clone(c.terms), slices.Clone(c.figures)
	c.run.opt.Observe(FrameEvent{Task: c.task, Frame: f})
	return nil
}

// place adds the coordinates of an embedding to a frame.
func (c *recorder) place(f *record.Frame, e *Embedding) error {
	if e == nil {
		return nil
	}
	for _, v := range e.Data {
		if v-v != 0 {
			return Divergedf("watch: an embedding is not finite: lower learning_rate")
		}
	}
	points, shares, err := c.plane.Place(e.Data, e.Rows, e.Cols)
	if err != nil {
		return err
	}
	f.Shares = numbers(shares[:])
	f.Points, err = record.Quantize(points)
	return err
}

func recordedPlan(p *WatchedPlan) (*record.Plan, error) {
	if p == nil {
		return nil, nil
	}
	values, err := record.Quantize(p.Data)
	if err != nil {
		return nil, fmt.Errorf("a plan of the watched nodes: %w", err)
	}
	return &record.Plan{Values: *values, MarginalError: p.MarginalError}, nil
}

// edgesOf lists the edges of an adjacency, each edge of an undirected graph once.
func edgesOf(a *graph.Adjacency) []record.Edge {
	edges := []record.Edge{}
	for i := range a.NumNodes() {
		for _, j := range a.Neighborhood(i) {
			if a.Directed || int(j) > i {
				edges = append(edges, record.Edge{int32(i), j})
			}
		}
	}
	return edges
}

// valuesOf returns the values of terms in the order of names, to which it adds new ones. A name without a value gets
// NaN if a later name has a value. Otherwise it is left out.
func valuesOf(names *[]string, terms []Term) (values []record.Number) {
	for _, t := range terms {
		i := slices.Index(*names, t.Name)
		if i < 0 {
			i = len(*names)
			*names = append(*names, t.Name)
		}
		for len(values) <= i {
			values = append(values, record.Number(math.NaN()))
		}
		values[i] = record.Number(t.Value)
	}
	return values
}

func numbers(x []float64) []record.Number {
	out := make([]record.Number, len(x))
	for i, v := range x {
		out[i] = record.Number(v)
	}
	return out
}
