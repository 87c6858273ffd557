package continual

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
)

// subject is what a run takes through its stream: a method, and how it is scored.
type subject interface {
	Method
	learn(ctx context.Context, task int, observe func(Step)) (*TaskReport, error)
	// watch prepares for looks at some nodes of a task that is about to be learned.
	watch(ctx context.Context, task int, nodes []int32) (Watch, error)
	// rows scores the seen tasks: a row for each score of the run. It notes timings in e and the embeddings' sketches
	// in p.
	rows(ctx context.Context, seen int, p *partial, e *Evaluation) ([]Row, [][]Fit, error)
}

// newSubject returns the subject of a method that Options.settle takes.
func newSubject(m Method, tasks []datasets.Task, ev *evaluator) subject {
	switch m := m.(type) {
	case Learner:
		return &selfSupervised{m, probed{tasks, ev}}
	case External:
		return &external{m, probed{tasks, ev}}
	}
	return &supervised{Supervised: m.(Supervised), tasks: tasks, layout: newLayout(tasks)}
}

// probed scores embeddings.
type probed struct {
	tasks []datasets.Task
	ev    *evaluator
}

type selfSupervised struct {
	Learner
	probed
}

func (s *selfSupervised) learn(ctx context.Context, t int, observe func(Step)) (*TaskReport, error) {
	report, err := s.Learn(ctx, t, lent(&s.tasks[t]), observe)
	return inspected(s.Learner, report, err)
}

func (s *selfSupervised) rows(ctx context.Context, seen int, p *partial, e *Evaluation) ([]Row, [][]Fit, error) {
	start := time.Now()
	embed := make([]*Embedding, seen)
	for j := range embed {
		task := &s.tasks[j]
		var err error
		if embed[j], err = s.Embed(ctx, lent(task)); err != nil {
			return nil, nil, fmt.Errorf("embed task %d: %w", j+1, err)
		}
		if err := checkColumns(j, embed, len(task.Labels)); err != nil {
			return nil, nil, err
		}
	}
	e.EmbedSeconds = time.Since(start).Seconds()
	return s.score(ctx, embed, p, e)
}

// score measures the embeddings of the seen tasks, and fits the probes.
func (s *probed) score(ctx context.Context, embed []*Embedding, p *partial, e *Evaluation) ([]Row, [][]Fit, error) {
	own := make([]*Embedding, len(embed))
	for j, all := range embed {
		own[j] = all.own(s.tasks[j].Labels)
	}
	var err error
	if e.Structure, err = p.structure(own); err != nil {
		return nil, nil, err
	}
	return s.probe(ctx, p.Scores, embed, e)
}

// probe fits the probes. The settings of the paper probe are fitted side by side: its problems are small, and an engine
// runs them on one core. The converged probe uses all cores by itself.
func (s *probed) probe(ctx context.Context, scores []Score, embed []*Embedding, e *Evaluation) ([]Row, [][]Fit,
	error) {
	rows := make([]Row, len(scores))
	fits := make([][]Fit, len(rows))
	e.Probes = make([]ProbeTiming, len(rows))
	fit := func(i int) (err error) {
		setting, p, start := scores[i].Setting, scores[i].Probe, time.Now()
		rows[i] = Row{Setting: setting, Probe: p}
		rows[i].Accuracy, fits[i], err = s.ev.fit(ctx, p, setting, embed)
		e.Probes[i] = ProbeTiming{Setting: setting, Probe: p, Seconds: time.Since(start).Seconds()}
		return err
	}
	var paper []int
	for i := range scores {
		if scores[i].Probe == ProbePaper {
			paper = append(paper, i)
		} else if err := fit(i); err != nil {
			return nil, nil, err
		}
	}
	return rows, fits, parallel.Each(len(paper), func(k int) error { return fit(paper[k]) })
}

// lent returns a task's graph in a struct of its own: a method that replaces the features of what it gets, for instance
// by Features.Normalize, does not change the stream.
func lent(task *datasets.Task) *graph.Graph {
	g := *task.Graph
	return &g
}

// Supervised is a method of continual learning that trains on labels and classifies by itself. Run calls Learn once per
// task, in order. After each task it calls Logits for every task seen so far: once for each setting, or once for both
// (OneHead). With Options.Record, Run calls Logits once more right after Learn, for the task in class-il. Graphs are
// the stream's, as for a Learner.
type Supervised interface {
	Method
	// Learn trains on the next task, calling observe (which may be nil) once per step. It returns ctx.Err() when
	// canceled; the learner is then in an undefined state and must be restored with Load.
	Learn(ctx context.Context, task int, t *Labeled, observe func(Step)) (*TaskReport, error)
	// Logits returns a score of each node of g for each class seen so far, [nodes, End of the last task]. The evaluator
	// compares those of all columns in class-il and those of the task's own columns in task-il; a method may train a
	// network for each setting.
	Logits(ctx context.Context, s Setting, g *graph.Graph) (*Embedding, error)
}

// OneHead is a Supervised method whose Logits are the same in both settings: each task is classified once, and the time
// counts in class-il.
type OneHead interface {
	Supervised
	OneHead()
}

// Labeled is a task as a supervised learner sees it: the whole graph, and the labels of its train and valid nodes.
// Train and Valid belong to the stream and must not be written to.
type Labeled struct {
	Graph        *graph.Graph
	Train, Valid []int32 // nodes
	// Columns is the column of each node's class: classes are numbered through the stream as they come. It is −1 for
	// all nodes but those of Train and Valid.
	Columns    []int32
	First, End int // the task's own columns
}

// labeled hides what the learner must not see.
func labeled(task *datasets.Task, first int) *Labeled {
	l := &Labeled{Graph: lent(task), Train: task.Split.Train, Valid: task.Split.Valid,
		Columns: make([]int32, len(task.Labels)), First: first, End: first + len(task.Classes)}
	column := make(map[int32]int32, len(task.Classes))
	for c, class := range task.Classes {
		column[class] = int32(first + c)
	}
	for i := range l.Columns {
		l.Columns[i] = -1
	}
	for _, part := range [][]int32{l.Train, l.Valid} {
		for _, node := range part {
			l.Columns[node] = column[task.Labels[node]]
		}
	}
	return l
}

type supervised struct {
	Supervised
	tasks   []datasets.Task
	layout  layout
	learned int // tasks learned so far
}

func (s *supervised) learn(ctx context.Context, t int, observe func(Step)) (*TaskReport, error) {
	report, err := s.Learn(ctx, t, labeled(&s.tasks[t], s.layout.offset[t]), observe)
	report, err = inspected(s.Supervised, report, err)
	if err == nil {
		s.learned = t + 1
	}
	return report, err
}

func (s *supervised) rows(ctx context.Context, seen int, _ *partial, e *Evaluation) ([]Row, [][]Fit, error) {
	settings := Settings()
	rows, valid, fits := make([]Row, len(settings)), make([][]float64, len(settings)), make([][]Fit, len(settings))
	e.Probes = make([]ProbeTiming, len(settings))
	for i, setting := range settings {
		rows[i] = Row{Setting: setting, Probe: ProbeHead, Accuracy: make([]float64, seen)}
		valid[i], e.Probes[i] = make([]float64, seen), ProbeTiming{Setting: setting, Probe: ProbeHead}
	}
	_, once := s.Supervised.(OneHead)
	for j := range seen {
		var logits *Embedding
		for i, setting := range settings {
			start := time.Now()
			var err error
			if logits == nil || !once {
				if logits, err = s.Logits(ctx, setting, lent(&s.tasks[j])); err != nil {
					return nil, nil, fmt.Errorf("classify task %d: %w", j+1, err)
				}
			}
			rows[i].Accuracy[j], valid[i][j], err = s.layout.score(setting, &s.tasks[j], logits, seen)
			if err != nil {
				return nil, nil, err
			}
			e.Probes[i].Seconds += time.Since(start).Seconds()
		}
	}
	for i, setting := range settings {
		fits[i] = headFits(setting, valid[i])
	}
	return rows, fits, nil
}

// headFits records the accuracy on valid: one classifier over all tasks in class-il, one for each task in task-il. The
// accuracy of a task without valid nodes is NaN.
func headFits(s Setting, valid []float64) []Fit {
	if s == ClassIL {
		valid = slices.DeleteFunc(slices.Clone(valid), math.IsNaN)
		valid = []float64{mean(valid)}
	}
	fits := make([]Fit, len(valid))
	for j, v := range valid {
		if fits[j].NoValid = math.IsNaN(v); !fits[j].NoValid {
			fits[j].Valid = v
		}
	}
	return fits
}

// score returns the micro accuracies in percent of logits on a task's test and valid nodes; that of no valid nodes is
// NaN.
func (l layout) score(s Setting, task *datasets.Task, logits *Embedding, seen int) (test, valid float64, err error) {
	if err := checkEmbedding(task.Index, logits, len(task.Labels)); err != nil {
		return 0, 0, err
	}
	if want := l.offset[seen]; logits.Cols != want {
		return 0, 0, fmt.Errorf("task %d: the logits have %d columns for %d classes", task.Index+1, logits.Cols, want)
	}
	own := l.offset[task.Index : task.Index+2]
	_, held, err := samplesOf(task, 0, own[0])
	if err != nil {
		return 0, 0, err
	}
	d := &design{layout: layout{offset: own}, seen: 1, width: logits.Cols, embed: []*Embedding{logits}, held: held}
	if s == ClassIL {
		d.layout.offset = []int{0, logits.Cols} // the one head of all classes
	}
	row := func(i int) []float32 { return d.row(d.held[i]) }
	return accuracy(d, s, ProbeHead.scored(), row)[0], accuracy(d, s, partValid, row)[0], nil
}
