package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
)

const tasks, stepsPerTask = 3, 4

// script is what Run tells about a task: steps, a report, and a row for each setting.
func script(task int) []continual.Event {
	var events []continual.Event
	for done := 1; done <= stepsPerTask; done++ {
		total := 1 / float64(1+task*stepsPerTask+done)
		events = append(events, continual.StepEvent{Tasks: tasks, Step: continual.Step{Task: task, Done: done,
			Steps:         stepsPerTask,
			Terms:         []continual.Term{{Name: "total", Value: total}, {Name: "matching", Value: total / 3}},
			MarginalError: total * 1e-6}})
	}
	report := continual.TaskReport{Task: task, Nodes: 10 * (task + 1), Steps: stepsPerTask, Seconds: 0.5,
		Diagnostics: map[string]float64{"entropy": 2.5 - float64(task)}}
	done := continual.EvaluationFinished{Task: task, Tasks: tasks, Evaluation: continual.Evaluation{Task: task}}
	for i, s := range continual.Settings() {
		row := continual.Row{Setting: s, Probe: continual.ProbePaper}
		for j := range task + 1 {
			row.Accuracy = append(row.Accuracy, float64(90-10*(task-j)+i-j))
		}
		done.Rows = append(done.Rows, row)
	}
	return append(events, continual.TaskEvent{Report: report, Tasks: tasks}, continual.EvaluationStarted{Task: task,
		Tasks: tasks}, done)
}

// clock is a second later at each look.
func clock() func() time.Time {
	now := time.Unix(1_700_000_000, 0)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// write starts a run in dir and shows it events.
func write(t *testing.T, dir string, events ...continual.Event) {
	t.Helper()
	w, err := New(dir, Options{Now: clock()})
	require.NoError(t, err)
	for _, e := range events {
		w.Observe(e)
	}
	require.NoError(t, w.Close())
}

func wholeRun() []continual.Event { return slices.Concat(script(0), script(1), script(2)) }

// resumed is what a run tells that continues after some tasks.
func resumed(done int, events ...continual.Event) []continual.Event {
	return append([]continual.Event{continual.Resumed{Done: done, Tasks: tasks}}, events...)
}

// linesIn returns the lines in dir as text without their times.
func linesIn(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := readLines(filepath.Join(dir, LinesFile), func(l *Line, _ int64) {
		l.Time = time.Time{}
		text, err := json.Marshal(l)
		require.NoError(t, err)
		lines = append(lines, string(text))
	})
	require.NoError(t, err)
	return lines
}

func TestLines(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, wholeRun()...)
	data, err := os.ReadFile(filepath.Join(dir, LinesFile))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	require.Len(t, lines, tasks*(stepsPerTask+2))
	// Written by hand from the script: the fifth step of the run, and the report and scores of the second task.
	require.JSONEq(t, `{"kind":"step","time":"2023-11-14T22:13:28Z","step":5,"task":1,"tasks":3,"task_step":1,"task_steps":4,
		"terms":{"total":0.16666666666666666,"matching":0.05555555555555555},"marginal_error":1.6666666666666665e-7}`, lines[6])
	require.JSONEq(t, `{"kind":"task","time":"2023-11-14T22:13:32Z","step":8,"task":1,"tasks":3,"report":{"task":1,"nodes":20,"epochs":0,
		"steps":4,"seconds":0.5,"first_loss":null,"last_loss":null,"diagnostics":{"entropy":1.5}}}`, lines[10])
	require.JSONEq(t, `{"kind":"evaluation","time":"2023-11-14T22:13:33Z","step":8,"task":1,"tasks":3,"scores":[
		{"setting":"class-il","probe":"paper","ap":84.5,"af":-10,"accuracy":[80,89]},
		{"setting":"task-il","probe":"paper","ap":85.5,"af":-10,"accuracy":[81,90]}],
		"evaluation":{"task":1,"embed_seconds":0,"probes":null}}`, lines[11])
}

func TestScalars(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, wholeRun()...)
	got := scalarsIn(t, dir)
	require.Equal(t, scalarsOfLines(t, dir), got)
	require.Equal(t, []point{{4, 90}, {8, 84.5}, {12, 79}}, got["class-il/paper/AP"])
	require.Equal(t, []point{{4, 0}, {8, -10}, {12, -15}}, got["class-il/paper/AF"])
	require.Equal(t, []point{{8, 89}, {12, 79}}, got["class-il/paper/accuracy/task-02"])
	require.Equal(t, []point{{4, 2.5}, {8, 1.5}, {12, 0.5}}, got["diagnostics/entropy"])
	require.Len(t, got["loss/total"], tasks*stepsPerTask)
	require.Len(t, got, 2+1+2+1+2*(2+tasks))
}

// Whatever of the last record of either file a kill leaves, and wherever in the run it comes, the resumed run ends with
// the files of one that was never stopped.
func TestKilledAnywhere(t *testing.T) {
	whole := t.TempDir()
	write(t, whole, wholeRun()...)
	wantLines, wantScalars := linesIn(t, whole), scalarsIn(t, whole)
	all := wholeRun()
	perTask := len(all) / tasks
	for n := 1; n <= len(all); n++ {
		if _, ok := all[n-1].(continual.EvaluationStarted); ok {
			continue // writes nothing
		}
		done := n / perTask // tasks in the checkpoint, which follows the evaluation
		killed := t.TempDir()
		write(t, killed, all[:n]...)
		lines, err := os.ReadFile(filepath.Join(killed, LinesFile))
		require.NoError(t, err)
		events, err := os.ReadFile(eventFilesIn(t, killed)[0])
		require.NoError(t, err)
		lastLine, lastRecord := lastLength(lines), lastRecordLength(t, events)
		if n%perTask == 0 {
			done-- // or it was killed before the checkpoint
		}
		for cut := 0; cut <= max(lastLine, lastRecord); cut += cutStep(n) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, LinesFile), lines[:len(lines)-min(cut, lastLine)],
				0o600))
			name := filepath.Base(eventFilesIn(t, killed)[0])
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), events[:len(events)-min(cut, lastRecord)], 0o600))
			write(t, dir, resumed(done, all[done*perTask:]...)...)
			require.Equal(t, wantLines, linesIn(t, dir), "killed after event %d, %d bytes cut", n, cut)
			require.Equal(t, wantScalars, scalarsIn(t, dir), "killed after event %d, %d bytes cut", n, cut)
		}
	}
}

// cutStep has every byte tried after a step, a report and an evaluation of the second task, and every 37th elsewhere.
func cutStep(event int) int {
	if testing.Short() {
		return 37
	}
	if event == 10 || event == 12 || event == 14 {
		return 1
	}
	return 37
}

func lastLength(lines []byte) int {
	return len(lines) - 1 - strings.LastIndexByte(string(lines[:len(lines)-1]), '\n')
}

// A run that is stopped and resumed by Run itself counts every step once.
func TestResumedRun(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	run := func(dir string, stopAt int) error {
		w, err := New(dir, Options{Now: clock()})
		require.NoError(t, err)
		_, err = continual.Run(context.Background(), stream(t), &learner{stopAt: stopAt},
			continual.Options{Dir: dir, Resume: true, Observe: w.Observe, Manifest: continual.Manifest{Method: "toy"}})
		require.NoError(t, w.Close())
		return err
	}
	require.NoError(t, run(whole, -1))
	require.ErrorIs(t, run(dir, 2), errStopped)
	require.NoError(t, run(dir, 0)) // the first task is not learned again
	require.Len(t, eventFilesIn(t, dir), 2)
	require.Equal(t, stepsOf(t, whole), stepsOf(t, dir))
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, stepsOf(t, dir))
	want, got := scalarsIn(t, whole), scalarsIn(t, dir)
	require.Len(t, got["task/seconds"], len(want["task/seconds"]))
	delete(want, "task/seconds") // no run takes as long as another
	delete(got, "task/seconds")
	require.Equal(t, want, got)

	before, err := os.ReadFile(filepath.Join(dir, LinesFile))
	require.NoError(t, err)
	require.NoError(t, run(dir, -1)) // had already finished: nothing may change
	after, err := os.ReadFile(filepath.Join(dir, LinesFile))
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Len(t, eventFilesIn(t, dir), 2)
}

func stepsOf(t *testing.T, dir string) []int64 {
	var steps []int64
	err := readLines(filepath.Join(dir, LinesFile), func(l *Line, _ int64) {
		if l.Kind == StepLine {
			steps = append(steps, l.Step)
		}
	})
	require.NoError(t, err)
	return steps
}

// Tasks without training steps still stand at steps of their own.
func TestNoSteps(t *testing.T) {
	dir := t.TempDir()
	var events []continual.Event
	for task := range tasks {
		report := continual.TaskReport{Task: task}
		events = append(events, continual.TaskEvent{Report: report, Tasks: tasks},
			continual.EvaluationFinished{Task: task, Tasks: tasks,
				Rows: []continual.Row{{Accuracy: make([]float64, task+1)}}})
	}
	write(t, dir, events...)
	require.Equal(t, []point{{1, 0}, {2, 0}, {3, 0}}, scalarsIn(t, dir)["class-il/paper/AP"])
}

// Without earlier rows there is no forgetting to tell, and steps count from where metrics begin.
func TestMetricsBeginLate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, resumed(1, script(1)...)...)
	require.Equal(t, []int64{1, 2, 3, 4}, stepsOf(t, dir))
	got := scalarsIn(t, dir)
	require.Contains(t, got, "class-il/paper/AP")
	require.NotContains(t, got, "class-il/paper/AF")
}

// A run from the first task on starts the files over.
func TestStartOver(t *testing.T) {
	want, dir := t.TempDir(), t.TempDir()
	write(t, want, script(0)...)
	write(t, dir, wholeRun()...)
	write(t, dir, script(0)...)
	require.Equal(t, linesIn(t, want), linesIn(t, dir))
	require.Equal(t, scalarsIn(t, want), scalarsIn(t, dir))
}

// What is not finite is absent from the lines, which stay JSON, and shown by TensorBoard.
func TestNotFinite(t *testing.T) {
	dir := t.TempDir()
	nan := func() float64 { zero := 0.0; return zero / zero }()
	write(t, dir, continual.StepEvent{Tasks: 1, Step: continual.Step{Done: 1, Steps: 1, MarginalError: nan,
		Terms: []continual.Term{{Name: "total", Value: nan}, {Name: "matching", Value: 1}}}})
	lines := linesIn(t, dir)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `"terms":{"matching":1}`)
	require.NotContains(t, lines[0], "marginal_error")
	require.Len(t, scalarsIn(t, dir)["sinkhorn/marginal_error"], 1)
}

// Lines are in the file once their task is done, and after a while within a task.
func TestFlush(t *testing.T) {
	dir := t.TempDir()
	w, err := New(dir, Options{Now: clock()})
	require.NoError(t, err)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, LinesFile))
		require.NoError(t, err)
		return info.Size()
	}
	events := script(0)
	for _, e := range events[:4] {
		w.Observe(e)
	}
	require.Zero(t, size())
	w.Observe(events[4])
	require.Len(t, linesIn(t, dir), 5)
	for range 5 {
		w.Observe(script(1)[0])
	}
	require.Len(t, linesIn(t, dir), 10)
	require.NoError(t, w.Close())
	w.Observe(events[0])
	require.NoError(t, w.Close())
	require.Len(t, linesIn(t, dir), 10)
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := New(file, Options{})
	require.ErrorContains(t, err, "metrics: mkdir "+file)

	broken := t.TempDir()
	text := `{"kind":"step","step":1}` + "\n" + `{"kind":"stop"}` + "\n" + `{"kind":"st`
	require.NoError(t, os.WriteFile(filepath.Join(broken, LinesFile), []byte(text), 0o600))
	_, err = New(broken, Options{})
	require.ErrorContains(t, err,
		`metrics.jsonl:2: not a line of metrics: unknown kind of line "stop" (did you mean "step"?): choose one of step, task, evaluation`)
	left, err := os.ReadFile(filepath.Join(broken, LinesFile))
	require.NoError(t, err)
	require.Equal(t, text, string(left))

	// A line without end is not read into memory as a whole.
	long := slices.Concat([]byte(`{"kind":"step","step":1}`+"\n"), make([]byte, longest+1))
	require.NoError(t, os.WriteFile(filepath.Join(broken, LinesFile), long, 0o600))
	_, err = Read(broken)
	require.ErrorContains(t, err, "metrics.jsonl:2: not a line of metrics: it has more than 16777216 bytes")

	// A folder that goes away fails at Close, not before.
	gone := filepath.Join(dir, "gone")
	w, err := New(gone, Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(gone))
	for _, e := range wholeRun() {
		w.Observe(e)
	}
	require.ErrorIs(t, w.Close(), os.ErrNotExist)
	require.ErrorContains(t, w.Close(), "metrics: open "+filepath.Join(gone, LinesFile))

	// So does a link that leads elsewhere: in a folder of somebody else it may lead to any file.
	linked := t.TempDir()
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(linked, LinesFile)))
		w, err = New(linked, Options{})
		require.NoError(t, err)
		w.Observe(script(0)[0])
		require.Error(t, w.Close())
		require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
	}

	// So does a file that cannot be written, the first error kept.
	w, err = New(t.TempDir(), Options{})
	require.NoError(t, err)
	w.Observe(script(0)[0])
	require.NoError(t, w.lines.Close())
	for _, e := range wholeRun() {
		w.Observe(e)
	}
	require.ErrorIs(t, w.Close(), os.ErrClosed)
}

func stream(t *testing.T) *datasets.Stream {
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 300, Classes: 2 * tasks})
	require.NoError(t, err)
	s, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	return s
}

var errStopped = errors.New("stopped")

// learner learns nothing in stepsPerTask steps; it is the probe's majority predictor. It stops in a task halfway.
type learner struct{ stopAt int }

func (l *learner) Learn(_ context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	for done := 1; done <= stepsPerTask; done++ {
		observe(continual.Step{Task: task, Done: done, Steps: stepsPerTask,
			Terms: []continual.Term{{Name: "total", Value: float64(done)}}})
		if task == l.stopAt && done == stepsPerTask/2 {
			return nil, errStopped
		}
	}
	return &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Steps: stepsPerTask}, nil
}

func (l *learner) Embed(_ context.Context, g *graph.Graph) (*continual.Embedding, error) {
	return &continual.Embedding{Rows: g.NumNodes()}, nil
}

func (l *learner) Save(w io.Writer) error { _, err := fmt.Fprint(w, "learner"); return err }
func (l *learner) Load(io.Reader) error   { return nil }

// A task that trains twice counts the steps of both trainings.
func TestTwoTrainings(t *testing.T) {
	dir := t.TempDir()
	var events []continual.Event
	for range 2 {
		for done := 1; done <= 3; done++ {
			events = append(events, continual.StepEvent{Tasks: 2, Step: continual.Step{Done: done, Steps: 3}})
		}
	}
	events = append(events, continual.TaskEvent{Tasks: 2, Report: continual.TaskReport{Steps: 6}},
		continual.StepEvent{Tasks: 2, Step: continual.Step{Task: 1, Done: 1, Steps: 3}})
	write(t, dir, events...)
	var steps []int64
	err := readLines(filepath.Join(dir, LinesFile), func(l *Line, _ int64) { steps = append(steps, l.Step) })
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 6, 7}, steps)
}
