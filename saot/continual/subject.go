package continual

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/parallel"
)

// subject is what a run takes through its stream: a method, and how it is scored.
type subject interface {
	Method
	learn(ctx context.Context, task int, observe func(Step)) (*TaskReport, error)
	// rows scores the seen tasks: a row for each score of the run. It notes timings in e and the embeddings' sketches
	// in p.
	rows(ctx context.Context, seen int, p *partial, e *Evaluation) ([]Row, [][]Fit, error)
}

// newSubject returns the subject of a method that Options.settle takes.
func newSubject(m Method, tasks []datasets.Task, ev *evaluator) subject {
	if l, ok := m.(Learner); ok {
		return &selfSupervised{Learner: l, tasks: tasks, ev: ev}
	}
	return &supervised{Supervised: m.(Supervised), tasks: tasks, layout: newLayout(tasks)}
}

// selfSupervised is a learner that probes score.
type selfSupervised struct {
	Learner
	tasks []datasets.Task
	ev    *evaluator
}

func (s *selfSupervised) learn(ctx context.Context, t int, observe func(Step)) (*TaskReport, error) {
	return s.Learn(ctx, t, s.tasks[t].Graph, observe)
}

// rows embeds the seen tasks and fits the probes.
func (s *selfSupervised) rows(ctx context.Context, seen int, p *partial, e *Evaluation) ([]Row, [][]Fit, error) {
	start := time.Now()
	embed := make([]*Embedding, seen)
	for j := range embed {
		task := &s.tasks[j]
		var err error
		if embed[j], err = s.Embed(ctx, task.Graph); err != nil {
			return nil, nil, fmt.Errorf("embed task %d: %w", j+1, err)
		}
		if err := checkEmbedding(j, embed[j], len(task.Labels)); err != nil {
			return nil, nil, err
		}
		if embed[j].Cols != embed[0].Cols {
			return nil, nil, fmt.Errorf("the embedding of task %d has %d columns, that of task 1 has %d", j+1,
				embed[j].Cols, embed[0].Cols)
		}
	}
	e.EmbedSeconds = time.Since(start).Seconds()
	var err error
	if e.Structure, err = p.structure(embed); err != nil {
		return nil, nil, err
	}
	return s.probe(ctx, p.Scores, embed, e)
}

// probe fits the probes. The settings of one are fitted side by side: they are independent, and an engine that runs
// such small problems on one core leaves the others idle.
func (s *selfSupervised) probe(ctx context.Context, scores []Score, embed []*Embedding, e *Evaluation) ([]Row, [][]Fit,
	error) {
	rows := make([]Row, len(scores))
	fits := make([][]Fit, len(rows))
	e.Probes = make([]ProbeTiming, len(rows))
	for _, p := range probesOf(scores) {
		err := parallel.Each(len(rows), func(i int) (err error) {
			if scores[i].Probe != p {
				return nil
			}
			setting, start := scores[i].Setting, time.Now()
			rows[i] = Row{Setting: setting, Probe: p}
			rows[i].Accuracy, fits[i], err = s.ev.fit(ctx, p, setting, embed)
			e.Probes[i] = ProbeTiming{Setting: setting, Probe: p, Seconds: time.Since(start).Seconds()}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return rows, fits, nil
}

// probesOf lists the probes of scores, each once.
func probesOf(scores []Score) (probes []Probe) {
	for i := range scores {
		if !slices.Contains(probes, scores[i].Probe) {
			probes = append(probes, scores[i].Probe)
		}
	}
	return probes
}
