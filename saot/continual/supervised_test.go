package continual

import (
	"context"
	"encoding/gob"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
)

// nearestMean classifies a node by the nearest mean of the train nodes of each class.
type nearestMean struct {
	Means [][]float32
	seen  []*Labeled
}

func (l *nearestMean) Learn(ctx context.Context, task int, t *Labeled, observe func(Step)) (*TaskReport, error) {
	l.seen = append(l.seen, t)
	x := &t.Graph.Features
	for column := t.First; column < t.End; column++ {
		mean, n := make([]float32, x.Cols), float32(0)
		for _, i := range t.Train {
			if int(t.Columns[i]) == column {
				n++
				for k := range mean {
					mean[k] += x.Dense[int(i)*x.Cols+k]
				}
			}
		}
		for k := range mean {
			mean[k] /= n
		}
		l.Means = append(l.Means, mean)
	}
	observe(Step{Task: task, Done: 1, Steps: 1, Terms: []Term{{"total", 1}}})
	return &TaskReport{Task: task}, ctx.Err()
}

func (l *nearestMean) Logits(_ context.Context, _ Setting, g *graph.Graph) (*Embedding, error) {
	x := &g.Features
	e := &Embedding{Rows: x.Rows, Cols: len(l.Means), Data: make([]float32, x.Rows*len(l.Means))}
	for i := range x.Rows {
		for c := range l.Means {
			e.Data[i*e.Cols+c] = -l.distance(x, i, c)
		}
	}
	return e, nil
}

func (l *nearestMean) distance(x *graph.Features, i, c int) (d float32) {
	for k, m := range l.Means[c] {
		v := x.Dense[i*x.Cols+k] - m
		d += v * v
	}
	return d
}

func (l *nearestMean) Save(w io.Writer) error { return gob.NewEncoder(w).Encode(l.Means) }
func (l *nearestMean) Load(r io.Reader) error { return gob.NewDecoder(r).Decode(&l.Means) }

// The matrices and the accuracies on valid against those counted here: class-il over all classes seen, task-il over the
// task's own.
func TestSupervisedRun(t *testing.T) {
	stream := toyStream(3, 4, func(c int) int { return 40 + c }, 1.2)
	l := &nearestMean{}
	got, err := Run(context.Background(), stream, l, Options{})
	require.NoError(t, err)
	require.Len(t, got.Scores, 2)
	for _, s := range Settings() {
		score, ok := got.Score(s, ProbeHead)
		require.True(t, ok)
		for i, row := range score.Matrix {
			require.Len(t, row, i+1)
			valid := make([]float64, i+1)
			for j, accuracy := range row {
				task, first, end := stream.Tasks[j], 0, 2*i+2
				if s == TaskIL {
					first, end = 2*j, 2*j+2
				}
				require.InDelta(t, l.accuracy(&task, task.Split.Test, first, end), accuracy, 1e-9)
				valid[j] = l.accuracy(&task, task.Split.Valid, first, end)
			}
			if s == ClassIL { // one classifier, whose figure is the mean over the tasks
				valid = []float64{stat.Mean(valid, nil)}
			}
			require.Len(t, score.Fits[i], len(valid))
			for j, fit := range score.Fits[i] {
				require.InDelta(t, valid[j], fit.Valid, 1e-9)
			}
		}
	}
	classIL, _ := got.Score(ClassIL, ProbeHead)
	taskIL, _ := got.Score(TaskIL, ProbeHead)
	require.Less(t, classIL.AP, taskIL.AP)
	require.Less(t, taskIL.AP, 100.)
}

// Tasks without valid nodes take no part in the mean over tasks.
func TestSupervisedWithoutValidNodes(t *testing.T) {
	some, all := smallStream(), smallStream()
	some.Tasks[1].Split.Valid = nil
	last := func(stream *datasets.Stream, s Setting) *Score {
		r, err := Run(context.Background(), stream, &nearestMean{}, Options{})
		require.NoError(t, err)
		score, ok := r.Score(s, ProbeHead)
		require.True(t, ok)
		return score
	}
	own, without := last(all, TaskIL).Fits[2], last(some, TaskIL)
	require.Equal(t, []Fit{own[0], {NoValid: true}, own[2]}, without.Fits[2])
	chosenBy, ok := without.ValidAP()
	require.True(t, ok)
	require.InDelta(t, (own[0].Valid+own[2].Valid)/2, chosenBy, 1e-9)
	l := &nearestMean{}
	_, err := Run(context.Background(), all, l, Options{})
	require.NoError(t, err)
	mean := 0.0
	for _, j := range []int{0, 2} {
		task := &all.Tasks[j]
		mean += l.accuracy(task, task.Split.Valid, 0, 6) / 2
	}
	require.Positive(t, mean)
	require.InDelta(t, mean, last(some, ClassIL).Fits[2][0].Valid, 1e-9)
	for j := range some.Tasks {
		some.Tasks[j].Split.Valid = nil
	}
	require.Equal(t, []Fit{{NoValid: true}}, last(some, ClassIL).Fits[2])
}

// A valid AP of 0 counts if there is a figure after an earlier task: results of early programs have none.
func TestValidAPOfZero(t *testing.T) {
	s := &Score{Probe: ProbeHead, Fits: [][]Fit{{{Valid: 60}}, {{}}}}
	ap, ok := s.ValidAP()
	require.True(t, ok)
	require.Zero(t, ap)
	for _, without := range []*Score{{Probe: ProbeHead}, {Probe: ProbeHead, Fits: [][]Fit{{{}}, {{}}}},
		{Probe: ProbeHead, Fits: [][]Fit{{{Valid: 60}}, {{NoValid: true}}}}, {Probe: ProbePaper, Fits: s.Fits}} {
		_, ok = without.ValidAP()
		require.False(t, ok)
	}
}

// accuracy is that of the nearest mean among the classes from first to before end, which are the toy's columns, in
// percent.
func (l *nearestMean) accuracy(task *datasets.Task, nodes []int32, first, end int) float64 {
	right := 0
	for _, node := range nodes {
		best := first
		for c := first; c < end; c++ {
			if l.distance(&task.Graph.Features, int(node), c) < l.distance(&task.Graph.Features, int(node), best) {
				best = c
			}
		}
		if best == int(task.Labels[node]) {
			right++
		}
	}
	return 100 * float64(right) / float64(len(nodes))
}

// A learner sees the labels of train and valid nodes, numbered as they come, and no others.
func TestSupervisedSeesTrainAndValidLabelsAlone(t *testing.T) {
	seen := func(poison bool) []*Labeled {
		stream := smallStream()
		stream.Tasks[1].Classes = []int32{3, 2} // columns follow the order of the stream, not the class
		if poison {
			for _, task := range stream.Tasks {
				for _, node := range task.Split.Test {
					task.Labels[node] = task.Classes[0]
				}
			}
		}
		l := &nearestMean{}
		_, err := Run(context.Background(), stream, l, Options{})
		require.NoError(t, err)
		return l.seen
	}
	clean := seen(false)
	require.Equal(t, clean, seen(true))
	task := clean[1]
	require.Equal(t, []int{2, 4}, []int{task.First, task.End})
	hidden := map[int32]bool{}
	for _, node := range smallStream().Tasks[1].Split.Test {
		hidden[node] = true
	}
	for node, column := range task.Columns {
		switch {
		case hidden[int32(node)]:
			require.EqualValues(t, -1, column)
		case node < 20: // of class 2
			require.EqualValues(t, 3, column)
		default:
			require.EqualValues(t, 2, column)
		}
	}
}

func TestSupervisedResumes(t *testing.T) {
	want, err := Run(context.Background(), smallStream(), &nearestMean{}, Options{})
	require.NoError(t, err)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err = Run(ctx, smallStream(), &nearestMean{}, Options{Manifest: named, Dir: dir, Observe: func(e Event) {
		if step, ok := e.(StepEvent); ok && step.Task == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	got, err := Run(context.Background(), smallStream(), &nearestMean{},
		Options{Manifest: named, Dir: dir, Resume: true})
	require.NoError(t, err)
	require.Equal(t, 1, got.Resumed)
	for i := range want.Scores {
		require.Equal(t, want.Scores[i].Matrix, got.Scores[i].Matrix)
	}
	again, err := Run(context.Background(), smallStream(), &nearestMean{},
		Options{Manifest: named, Dir: dir, Resume: true})
	require.NoError(t, err)
	require.Equal(t, got.Scores, again.Scores, "a finished run is read, not run again")
}

// forgetful has no column for the classes of the last task.
type forgetful struct{ nearestMean }

func (l *forgetful) Logits(ctx context.Context, s Setting, g *graph.Graph) (*Embedding, error) {
	e, err := l.nearestMean.Logits(ctx, s, g)
	return &Embedding{Rows: e.Rows, Cols: 2, Data: e.Data[:2*e.Rows]}, err
}

// counted counts how often it classifies a task.
type counted struct {
	nearestMean
	calls int
}

func (l *counted) Logits(ctx context.Context, s Setting, g *graph.Graph) (*Embedding, error) {
	l.calls++
	return l.nearestMean.Logits(ctx, s, g)
}

type oneHead struct{ counted }

func (l *oneHead) OneHead() {}

// A method of one head classifies a task once for both settings, and has the same scores.
func TestOneHead(t *testing.T) {
	one, two := &oneHead{}, &counted{}
	want, err := Run(context.Background(), smallStream(), two, Options{})
	require.NoError(t, err)
	got, err := Run(context.Background(), smallStream(), one, Options{})
	require.NoError(t, err)
	require.Equal(t, want.Scores, got.Scores)
	require.Equal(t, two.calls, 2*one.calls)
}

func TestSupervisedRefuses(t *testing.T) {
	_, err := Run(context.Background(), smallStream(), &forgetful{}, Options{})
	require.ErrorContains(t, err, "the logits have 2 columns for 4 classes")
	_, err = Run(context.Background(), smallStream(), &toyLearner{}, Options{Probes: []Probe{ProbeHead}})
	require.ErrorContains(t, err, "head belongs to supervised methods")
}
