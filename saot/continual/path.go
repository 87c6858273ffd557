package continual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/engine"
)

// PathPoint is what the converged probe makes of the nodes that it is not fitted on, at one strength.
type PathPoint struct {
	Fit
	Held []HeldNode
}

// HeldNode is a valid or a test node under a probe.
type HeldNode struct {
	Task    int
	Test    bool // else valid
	Right   bool
	LogLoss float64 // −log of the probability of its class, in nats
}

// Path fits the converged probe on the embeddings of all tasks, at falling strengths, and starts each fit at the
// solution before it. It chooses no strength: it is for studies of how to choose. Node i of one point is node i of all
// points. In task-il every point has the nodes of all heads, and the Fit of the first. It returns an error if e is nil,
// if the embeddings do not fit the tasks, if a fit fails, and ctx.Err() when canceled.
func Path(ctx context.Context, e *engine.Engine, tasks []datasets.Task, embed []*Embedding, s Setting,
	strengths []float64) ([]PathPoint, error) {
	if err := checkPath(e, tasks, embed); err != nil {
		return nil, fmt.Errorf("continual: %w", err)
	}
	ev, err := newEvaluator(e, tasks, 0)
	if err != nil {
		return nil, err
	}
	points := make([]PathPoint, len(strengths))
	for _, group := range ev.groups(ProbeConverged, s, len(tasks)) {
		first, end := group[0], group[1]
		d, err := newDesign(tasks[first:end], embed[first:end], origin{step: len(tasks), first: first})
		if err != nil {
			return nil, err
		}
		if err := ev.path(ctx, s, d, strengths, points); err != nil {
			return nil, err
		}
	}
	return points, nil
}

func checkPath(e *engine.Engine, tasks []datasets.Task, embed []*Embedding) error {
	if len(tasks) == 0 || len(embed) != len(tasks) {
		return fmt.Errorf("there are %d embeddings of %d tasks: want one of each, and a task", len(embed), len(tasks))
	}
	for j := range tasks {
		if err := checkColumns(j, embed, tasks[j].Graph.NumNodes()); err != nil {
			return err
		}
	}
	if e == nil {
		return errors.New("there is no engine to fit probes on")
	}
	return nil
}

func (ev *evaluator) path(ctx context.Context, s Setting, d *design, strengths []float64, points []PathPoint) error {
	pr := ev.newLogistic(s, d)
	defer pr.release()
	for k, strength := range strengths {
		fit, err := pr.solve(ctx, strength)
		if err != nil {
			return err
		}
		if points[k].Strength == 0 {
			points[k].Fit = fit
		}
		logits := pr.logits(d.held)
		for i, node := range d.held {
			first, end := d.layout.columns(s, node.task, d.seen)
			best, loss := judge(logits(i), node.column, first, end)
			points[k].Held = append(points[k].Held, HeldNode{Task: d.origin.first + node.task,
				Test: node.part == partTest, Right: best == node.column, LogLoss: loss})
		}
	}
	return nil
}

// judge returns the first best of the columns from first to end, and the log-loss of a column among them.
func judge(row []float64, column, first, end int) (best int, loss float64) {
	best = highest(row, first, end)
	sum := 0.0
	for c := first; c < end; c++ {
		sum += math.Exp(row[c] - row[best])
	}
	return best, row[best] + math.Log(sum) - row[column]
}

// LoadKept restores into m the learner that Options.Keep left in a folder. It returns an error if there is none, if it
// is damaged, or if m refuses the state. It does not compare method and settings with those of the run: result.json has
// them. Before m embeds a graph, its features must be scaled as in training: call graph.Features.Normalize with the
// field "features" of the config. If this is forgotten, there is no error.
func LoadKept(dir string, m Method) error {
	model, err := readCheckpoint(filepath.Join(dir, ModelFile))
	if err == nil {
		err = model.stored.read(m.Load)
	}
	if err != nil {
		return fmt.Errorf("continual: load the learner kept in %s: %w", dir, err)
	}
	return nil
}
