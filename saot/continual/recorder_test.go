package continual

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// figuresOf drops from a result what no two runs have in common: times, memory, how many graphs were compiled, and how
// often it was resumed.
func figuresOf(r *Result) Result {
	out := *r
	out.Started, out.Finished = time.Time{}, time.Time{}
	out.Seconds, out.PeakBytes, out.Compiled, out.Resumed = 0, 0, 0, 0
	out.Tasks, out.Evaluations = nil, nil
	for _, t := range r.Tasks {
		t.Seconds = 0
		out.Tasks = append(out.Tasks, t)
	}
	for _, e := range r.Evaluations {
		out.Evaluations = append(out.Evaluations, Evaluation{Task: e.Task, Structure: e.Structure})
	}
	return out
}

func TestRecordingChangesNoFigure(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		opt := Options{Engine: e, Seed: 4, Probes: []Probe{ProbeConverged}, Manifest: named}
		plain, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		opt.Dir, opt.Record = filepath.Join(t.TempDir(), "run"), 2
		recorded, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		require.Equal(t, figuresOf(plain), figuresOf(recorded))
	})
}

func stepsOf(t *record.Task) (steps []int) {
	for _, f := range t.Frames {
		steps = append(steps, f.Step)
	}
	return steps
}

func TestFramesOfARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	stream := smallStream()
	opt := Options{Engine: enginetest.Go(t), Seed: 4, Probes: []Probe{ProbeConverged}, Dir: dir, Record: 2, Manifest: manifest(`{}`)}
	result, err := Run(context.Background(), stream, &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	r, err := record.Read(dir)
	require.NoError(t, err)
	require.Equal(t, record.Head{Format: record.Format, Version: record.Version, Method: "toy", Dataset: "toy", Seed: 4,
		Every: 2, Tasks: 3}, r.Head)
	require.Len(t, r.Tasks, 3)
	for i := range r.Tasks {
		task := &r.Tasks[i]
		require.Equal(t, []int{2, 4, 5}, stepsOf(task), "every two steps, and the last")
		require.Len(t, task.Nodes, watchedNodes)
		for k, v := range task.Nodes {
			require.Equal(t, stream.Tasks[i].Labels[v], task.Classes[k])
		}
		require.Equal(t, []string{"total"}, task.Terms)
		require.InEpsilon(t, 1/float64(5*i+4), float64(task.Frames[1].Terms[0]), 1e-6)
		require.Nil(t, task.Frames[0].Plan, "the learner makes no plan")
		require.Len(t, task.Scores, 2)
		for _, s := range task.Scores {
			setting, err := ParseSetting(s.Setting)
			require.NoError(t, err)
			score, ok := result.Score(setting, ProbeConverged)
			require.True(t, ok)
			for j, v := range score.Matrix[i] {
				require.InDelta(t, v, float64(s.Accuracy[j]), 1e-5)
			}
		}
	}
	// The variance of the first frame's coordinates is that of the watched nodes' embeddings in two components.
	points, err := r.Tasks[0].Frames[0].Points.Values(2 * watchedNodes)
	require.NoError(t, err)
	sum := 0.0
	for _, v := range points {
		sum += v * v
	}
	l := &toyLearner{width: 3, steps: 2}
	z, err := l.Embed(context.Background(), stream.Tasks[0].Graph)
	require.NoError(t, err)
	total := 0.0
	for c := range 3 {
		mean := 0.0
		for _, v := range r.Tasks[0].Nodes {
			mean += float64(z.Data[int(v)*3+c]) / watchedNodes
		}
		for _, v := range r.Tasks[0].Nodes {
			total += (float64(z.Data[int(v)*3+c]) - mean) * (float64(z.Data[int(v)*3+c]) - mean)
		}
	}
	shares := r.Tasks[0].Frames[0].Shares
	require.InEpsilon(t, total*float64(shares[0]+shares[1]), sum, 1e-3)
}

// recordingFiles returns the content of the files of a recording by name.
func recordingFiles(t *testing.T, dir string) map[string]string {
	entries, err := os.ReadDir(filepath.Join(dir, record.Folder))
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, record.Folder, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// A run that is stopped in its second task keeps the frames of both tasks. When it is resumed, with or without being
// told to record, its recording is that of a run that was not stopped.
func TestRecordingSurvivesResume(t *testing.T) {
	opt := Options{Engine: enginetest.Go(t), Seed: 4, Probes: []Probe{ProbeConverged}, Record: 1, Manifest: manifest(`{}`),
		Dir: filepath.Join(t.TempDir(), "whole")}
	_, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	want := recordingFiles(t, opt.Dir)
	require.Len(t, want, 4)

	for _, again := range []int{0, 1} {
		opt.Dir, opt.Resume, opt.Record = filepath.Join(t.TempDir(), "run"), false, 1
		ctx, cancel := context.WithCancel(context.Background())
		_, err = Run(ctx, smallStream(), &toyLearner{width: 3, cancel: cancel, failAt: 1}, opt)
		require.ErrorIs(t, err, context.Canceled)
		r, err := record.Read(opt.Dir)
		require.NoError(t, err)
		require.Len(t, r.Tasks, 2)
		require.Equal(t, []int{1, 2, 3, 4, 5}, stepsOf(&r.Tasks[0]))
		require.Equal(t, []int{1, 2, 3, 4}, stepsOf(&r.Tasks[1]), "stopped after the fourth step")
		require.Empty(t, r.Tasks[1].Scores)

		opt.Resume, opt.Record = true, again
		_, err = Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		require.Equal(t, want, recordingFiles(t, opt.Dir))
	}
}

func TestRecordingRefuses(t *testing.T) {
	opt := Options{Engine: enginetest.Go(t), Seed: 4, Probes: []Probe{ProbeConverged}, Record: 3, Manifest: named}
	_, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.ErrorContains(t, err, "Options.Record is 3: want 0 or more, and Options.Dir")
	opt.Dir, opt.Record = t.TempDir(), -1
	_, err = Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.ErrorContains(t, err, "Options.Record is -1")

	// Another run's frames are not written over, and a resumed run keeps its distance between frames.
	opt.Record = 2
	ctx, cancel := context.WithCancel(context.Background())
	_, err = Run(ctx, smallStream(), &toyLearner{width: 3, cancel: cancel}, opt)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.Remove(filepath.Join(opt.Dir, CheckpointFile)))
	_, err = Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.ErrorContains(t, err, "already holds the file "+record.Folder)
	opt.Record, opt.Resume = 3, true
	_, err = Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.ErrorContains(t, err, "has a frame every 2 steps, not 3")

	// An embedding that is not finite ends the run where it is seen.
	opt = Options{Engine: opt.Engine, Seed: 4, Probes: []Probe{ProbeConverged}, Record: 1, Manifest: named,
		Dir: t.TempDir()}
	l := &toyLearner{width: 3, nanEmbed: true, steps: 6}
	_, err = Run(context.Background(), smallStream(), l, opt)
	require.ErrorContains(t, err, "watch: task 1: the embedding of node 1 has +Inf in column 1")
}

// restarter trains twice in a task, and counts its steps again. Its second training has another term.
type restarter struct{ toyLearner }

func (l *restarter) Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error) {
	for _, term := range []string{"first", "second"} {
		for i := range 3 {
			observe(Step{Task: task, Done: i + 1, Steps: 3, Terms: []Term{{"total", float64(i)}, {term, 7}}})
		}
	}
	return &TaskReport{Task: task, Steps: 6}, nil
}

// brief tells of its steps no more than it has to.
type brief struct {
	toyLearner
	first int
}

func (l *brief) Learn(_ context.Context, _ int, _ *graph.Graph, observe func(Step)) (*TaskReport, error) {
	for i := range 3 {
		observe(Step{Done: l.first + i, Terms: []Term{{"total", 1}}})
	}
	return &TaskReport{}, nil
}

// Run knows the task, and steps whose number nobody knows are recorded as others are.
func TestStepsOfABriefLearner(t *testing.T) {
	var tasks []int
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Record: 1, Dir: t.TempDir(),
		Manifest: named, Observe: func(e Event) {
			if s, ok := e.(StepEvent); ok {
				require.Equal(t, s.Done, s.Steps)
				tasks = append(tasks, s.Task)
			}
		}}
	result, err := Run(context.Background(), smallStream(), &brief{toyLearner{width: 3}, 1}, opt)
	require.NoError(t, err)
	require.Equal(t, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}, tasks)
	require.Equal(t, 2, result.Tasks[2].Task)
	r, err := record.Read(opt.Dir)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, stepsOf(&r.Tasks[1]))

	_, err = Run(context.Background(), smallStream(), &brief{toyLearner{width: 3}, 0}, Options{})
	require.ErrorContains(t, err, "the learner told of step 0: Step.Done counts from 1")
}

func TestRecordingOfStepsThatStartAgain(t *testing.T) {
	var told []int
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Record: 1, Dir: t.TempDir(),
		Manifest: named, Observe: func(e Event) {
			if f, ok := e.(FrameEvent); ok {
				told = append(told, f.Frame.Step)
			}
		}}
	_, err := Run(context.Background(), smallStream(), &restarter{toyLearner{width: 3}}, opt)
	require.NoError(t, err)
	r, err := record.Read(opt.Dir)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6}, stepsOf(&r.Tasks[1]))
	require.Equal(t, []record.Number{2, 7}, r.Tasks[1].Frames[2].Terms, "of the first training's last step")
	require.NotNil(t, r.Tasks[1].Frames[2].Points)
	require.Equal(t, slices.Repeat([]int{1, 2, 3, 4, 5, 6}, 3), told, "each once")
	require.Equal(t, []string{"total", "first", "second"}, r.Tasks[1].Terms)
	require.Equal(t, []record.Number{0, 7}, r.Tasks[1].Frames[0].Terms)
	last := r.Tasks[1].Frames[5].Terms
	require.Len(t, last, 3)
	require.True(t, math.IsNaN(float64(last[1])))
	require.EqualValues(t, 7, last[2])
}

// A supervised method has losses while it learns, and logits after.
func TestSupervisedRecording(t *testing.T) {
	dir := t.TempDir()
	opt := Options{Seed: 4, Manifest: named, Dir: dir, Record: 1}
	_, err := Run(context.Background(), smallStream(), &nearestMean{}, opt)
	require.NoError(t, err)
	r, err := record.Read(dir)
	require.NoError(t, err)
	require.Len(t, r.Tasks, 3)
	for i := range r.Tasks {
		frames := r.Tasks[i].Frames
		require.NotEmpty(t, frames)
		require.NotNil(t, frames[len(frames)-1].Points)
		for _, f := range frames[:len(frames)-1] {
			require.Nil(t, f.Points)
		}
		require.Equal(t, "head", r.Tasks[i].Scores[0].Probe)
	}
}

// Watched nodes come with neighbors, differ by seed and task, and are all nodes of a small graph.
func TestWatchedNodes(t *testing.T) {
	ring := graph.Adjacency{Offsets: []int64{0}}
	const n = 400
	for i := range n {
		ring.Neighbors = append(ring.Neighbors, int32((i+n-1)%n), int32((i+1)%n))
		ring.Offsets = append(ring.Offsets, int64(len(ring.Neighbors)))
	}
	for i := 0; i < n; i += n - 1 { // lists are ascending
		row := ring.Neighborhood(i)
		row[0], row[1] = min(row[0], row[1]), max(row[0], row[1])
	}
	g := &graph.Graph{Adjacency: ring}
	labels := make([]int32, n)
	nodes := watchedOf(g, labels, 1, 0)
	require.Len(t, nodes, watchedNodes)
	seen := map[int32]bool{}
	for _, v := range nodes {
		require.False(t, seen[v])
		seen[v] = true
	}
	induced := ring.Induced(nodes)
	require.GreaterOrEqual(t, len(edgesOf(&induced)), watchedNodes/2, "nodes drawn alone would have three edges")
	require.Equal(t, nodes, watchedOf(g, labels, 1, 0))
	require.NotEqual(t, nodes, watchedOf(g, labels, 2, 0))
	require.NotEqual(t, nodes, watchedOf(g, labels, 1, 1))
	first := smallStream().Tasks[0]
	require.Len(t, watchedOf(first.Graph, first.Labels, 1, 0), watchedNodes)
	for v := range labels[:n-20] { // nodes of earlier tasks
		labels[v] = -1
	}
	few := watchedOf(g, labels, 1, 0)
	require.Len(t, few, 20)
	require.GreaterOrEqual(t, slices.Min(few), int32(n-20))
	require.NoError(t, checkSight(&Sight{Embedding: &Embedding{Rows: 36}}, 36))
	require.ErrorContains(t, checkSight(&Sight{Embedding: &Embedding{Rows: 35}}, 36), "36 watched nodes has 35 rows")
}
