package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// writeNPY writes an array of float32 as NumPy does.
func writeNPY(t *testing.T, path string, rows, cols int, data []float32) {
	t.Helper()
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	b := bytes.NewBufferString("\x93NUMPY\x01\x00")
	require.NoError(t, binary.Write(b, binary.LittleEndian, uint16(len(head))))
	b.WriteString(head)
	require.NoError(t, binary.Write(b, binary.LittleEndian, data))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// leaving is a learner that leaves its embeddings as another program would. It knows by the order of the calls of Embed
// which task a graph is of. What it does not know is NaN.
type leaving struct {
	continual.Learner
	t                 *testing.T
	stream            *datasets.Stream
	folder            string
	learned, embedded int
	rows              []float32
}

func (l *leaving) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	l.learned, l.embedded, l.rows = task+1, 0, nil
	return l.Learner.Learn(ctx, task, g, observe)
}

func (l *leaving) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	z, err := l.Learner.Embed(ctx, g)
	if err != nil {
		return nil, err
	}
	if l.rows == nil {
		l.rows = make([]float32, l.stream.Nodes*z.Cols)
		for i := range l.rows {
			l.rows[i] = float32(math.NaN())
		}
	}
	task := &l.stream.Tasks[l.embedded]
	for k, node := range task.Nodes {
		if task.Labels[k] >= 0 {
			copy(l.rows[int(node)*z.Cols:][:z.Cols], z.Data[k*z.Cols:])
		}
	}
	if l.embedded++; l.embedded == l.learned {
		name := filepath.Join(l.folder, fmt.Sprintf("%d.npy", l.learned))
		writeNPY(l.t, name, l.stream.Nodes, z.Cols, l.rows)
	}
	return z, nil
}

// opened is what continual.Run takes of a run.
func opened(t *testing.T, r *experiment.Run) (*datasets.Stream, continual.Method, continual.Options) {
	t.Helper()
	stream, err := r.OpenStream()
	require.NoError(t, err)
	e, err := r.OpenEngine()
	require.NoError(t, err)
	t.Cleanup(e.Close)
	m, err := r.NewLearner(e, stream)
	require.NoError(t, err)
	opt, err := r.Options()
	require.NoError(t, err)
	opt.Engine = e
	return stream, m, opt
}

// leave writes the embeddings of a method of saot on a stream.
func leave(t *testing.T, folder, name string, cut datasets.StreamOptions) {
	t.Helper()
	s, err := experiment.DefaultSettings("synthetic", name, 0)
	require.NoError(t, err)
	s.SetCut(cut)
	s.Probes = []continual.Probe{continual.ProbeConverged}
	stream, m, opt := opened(t, &experiment.Run{Settings: s, Place: experiment.Place{Engine: "go"}})
	_, err = continual.Run(t.Context(), stream, &leaving{Learner: m.(continual.Learner), t: t, stream: stream,
		folder: folder}, opt)
	require.NoError(t, err)
}

// Embeddings have the same scores to the last bit from a method and from the files that it left. Rows
// of classes that are left out, and of tasks to come, are not read.
func TestScoreIsThatOfTheRun(t *testing.T) {
	fixture.Cache(t)
	for _, keep := range []datasets.InterTask{datasets.CutEdges, datasets.KeepEdges} {
		cut := datasets.DefaultStreamOptions()
		cut.Order, cut.Classes, cut.InterTask = datasets.OrderGiven, []int32{5, 0, 2, 7, 1, 4}, keep
		flags := []string{"--engine", "go", "--class-order", "5,0,2,7,1,4", "--inter-task-edges", keep.String(),
			"--out"}
		dir := t.TempDir()
		leave(t, filepath.Join(dir, "z"), "propagated-pca", cut)
		ran, scored := filepath.Join(dir, "ran"), filepath.Join(dir, "scored")
		told(t, append([]string{"run", "--method", "propagated-pca"}, append(flags, ran)...)...)
		told(t, append([]string{"score", filepath.Join(dir, "z"), "--name", "mine"}, append(flags, scored)...)...)
		want, got := scores(t, ran), scores(t, scored)
		require.Len(t, got.Scores, 4)
		require.Equal(t, want.Scores, got.Scores)
		require.Equal(t, want.Dataset, got.Dataset)
		for k := range got.Evaluations {
			require.Equal(t, want.Evaluations[k].Structure, got.Evaluations[k].Structure)
		}
		require.Zero(t, got.TrainingSeconds()+float64(got.PeakBytes))
	}
}

// leaveNumbers writes embeddings of the generated stream of 4 tasks: each node's number, and a seed.
func leaveNumbers(t *testing.T, folder string, seed float32) (rows int) {
	t.Helper()
	stream, err := (&experiment.Run{Settings: experiment.ExternalSettings("synthetic", "any")}).OpenStream()
	require.NoError(t, err)
	var data []float32
	for i := range stream.Nodes {
		data = append(data, float32(i), seed, float32(i%7))
	}
	for k := range stream.Tasks {
		writeNPY(t, filepath.Join(folder, fmt.Sprintf("%d.npy", k+1)), stream.Nodes, 3, data)
	}
	return stream.Nodes
}

func scoreNumbers(folder, out string, more ...string) []string {
	return append([]string{"score", folder, "--engine", "go", "--probe", "converged", "--name", "my method",
		"--out", out}, more...)
}

// What reads results takes those of another program's method as a row by its name, over its seeds.
func TestScoredRunsAreRowsOfTables(t *testing.T) {
	fixture.Cache(t)
	t.Chdir(t.TempDir())
	for seed := range 3 {
		leaveNumbers(t, fmt.Sprint("z", seed), float32(seed))
		told(t, scoreNumbers(fmt.Sprint("z", seed), fmt.Sprint("runs/mine-s", seed), "--seed", fmt.Sprint(seed))...)
		for _, name := range []string{"features", "majority"} {
			told(t, control(name, "--probe", "converged", "--seed", fmt.Sprint(seed), "--features", "raw",
				"--out", fmt.Sprint("runs/", name, "-s", seed))...)
		}
	}
	table := told(t, "table", "runs")
	require.Regexp(t, `(?m)^\| my method \| 3 \| 0–2 \|.*\| – \| – \|$`, table)
	require.Equal(t, "all.jsonl.gz: 9 results\n", told(t, "pack", "runs", "-o", "all.jsonl.gz"))
	require.Equal(t, "again: 9 results written, 0 were there\n", told(t, "unpack", "all.jsonl.gz", "again"))
	for _, path := range []string{"all.jsonl.gz", "again"} {
		require.Equal(t, table, told(t, "table", path))
		require.Regexp(t, `(?m)^\| my method \|`, told(t, "table", "--across", path))
		require.Regexp(t, `(?m)^my method +\d`, told(t, "overview", path))
	}
	told(t, "report", "runs", "--output", "page.html")
	page, err := os.ReadFile("page.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "my method")
	require.NotContains(t, string(page), "methods: [my method]", "no spec runs it")
	require.Contains(t, told(t, "figures", "runs", "--out", "figures"), "progress-")
	require.Equal(t, "store: 9 runs\n", told(t, "export", "runs", "--out", "store"))
	require.Contains(t, told(t, "show", "runs/mine-s0"), "my method on synthetic-citation (4 tasks")
	require.FileExists(t, "runs/mine-s0/"+matrixFile)
	require.Contains(t, told(t, "audit", "runs/mine-s0"), "another program's and cannot be audited")
	refused(t, exitFailure, "has no encoder: it scored the embeddings in ", "embed", "runs/mine-s0", "-o", "x.csv")

	told(t, "score", "z0", "--engine", "go", "--probe", "paper", "--name", "my method", "--out", "more/same")
	require.Regexp(t, `(?m)^\| my method \| 1 \| 0 \|(.*\d){8}.*\| – \| – \|$`, told(t, "table", "runs/mine-s0",
		"more"))
	told(t, "score", "z1", "--engine", "go", "--probe", "paper", "--name", "my method", "--out", "more/other")
	// Scores of one seed by two probes, of different embeddings.
	refused(t, exitFailure, "are the same run (seed 0) with different numbers or embeddings", "table", "runs/mine-s0",
		"more/other")
}

// A scored run stops and continues as others do, and only with the same files.
func TestScoreResumes(t *testing.T) {
	fixture.Cache(t)
	dir := t.TempDir()
	z, whole, stopped := filepath.Join(dir, "z"), filepath.Join(dir, "whole"), filepath.Join(dir, "stopped")
	leaveNumbers(t, z, 1)
	told(t, scoreNumbers(z, whole)...)

	r := &experiment.Run{Settings: experiment.ExternalSettings("synthetic", "my method"),
		Place: experiment.Place{Engine: "go", Embeddings: z}}
	r.Probes = []continual.Probe{continual.ProbeConverged}
	stream, m, opt := opened(t, r)
	f, err := experiment.NewFolder(stopped, r)
	require.NoError(t, err)
	opt.Dir = stopped
	ctx, cancel := context.WithCancel(t.Context())
	opt.Observe = func(e continual.Event) {
		if done, ok := e.(continual.EvaluationFinished); ok && done.Task == 1 {
			cancel()
		}
	}
	_, err = continual.Run(ctx, stream, m, opt)
	require.ErrorIs(t, err, context.Canceled)
	f.Release()

	first, err := os.ReadFile(filepath.Join(z, "1.npy"))
	require.NoError(t, err)
	leaveNumbers(t, z, 2)
	refused(t, exitFailure, "have changed since the run began", "run", "--resume", stopped)
	leaveNumbers(t, z, 1)
	again, err := os.ReadFile(filepath.Join(z, "1.npy"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	refused(t, exitUsage, "--keep-model and --record are for what saot trains", "run", "--resume", stopped,
		"--keep-model")
	told(t, "run", "--resume", stopped)
	got, want := scores(t, stopped), scores(t, whole)
	require.Equal(t, 1, got.Resumed)
	require.Equal(t, want.Scores, got.Scores)
	require.Equal(t, want.Config, got.Config)
	var config struct {
		External bool
		Settings experiment.Embeddings
	}
	require.NoError(t, json.Unmarshal(got.Config, &config))
	require.True(t, config.External)
	require.Len(t, config.Settings.Checksum, 64)
}

// What is wrong with the files is told with the file and the row, before anything is scored.
func TestScoreBadInput(t *testing.T) {
	fixture.Cache(t)
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	rows := leaveNumbers(t, good, 1)
	stream, err := (&experiment.Run{Settings: experiment.ExternalSettings("synthetic", "any")}).OpenStream()
	require.NoError(t, err)
	node := int(stream.Tasks[1].Nodes[3])
	with := func(node int, v float32) []float32 {
		data := make([]float32, 3*rows)
		data[3*node+2] = v
		return data
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	count := 0
	for want, change := range map[string]func(folder string){
		"3.npy is missing: the stream has 4 tasks, and each wants a file, 1.npy to 4.npy": func(folder string) {
			require.NoError(t, os.Remove(filepath.Join(folder, "3.npy")))
			require.NoError(t, os.Remove(filepath.Join(folder, "4.npy")))
		},
		"0.npy is of no task": func(f string) { writeNPY(t, filepath.Join(f, "0.npy"), 1, 1, []float32{1}) },
		"5.npy is of no task": func(f string) { writeNPY(t, filepath.Join(f, "5.npy"), 1, 1, []float32{1}) },
		fmt.Sprintf("2.npy: %d rows, want %d: one for each node", rows-1, rows): func(f string) {
			writeNPY(t, filepath.Join(f, "2.npy"), rows-1, 3, make([]float32, 3*(rows-1)))
		},
		"4.npy: 2 columns, want the 3 of 1.npy": func(f string) {
			writeNPY(t, filepath.Join(f, "4.npy"), rows, 2, make([]float32, 2*rows))
		},
		fmt.Sprintf("2.npy: row %d, a node of task 2, has NaN in column 2", node): func(f string) {
			writeNPY(t, filepath.Join(f, "1.npy"), rows, 3, with(node, nan)) // not read yet
			writeNPY(t, filepath.Join(f, "2.npy"), rows, 3, with(node, nan))
		},
		fmt.Sprintf("3.npy: row %d, a node of task 2, has -Inf in column 2", node): func(f string) {
			writeNPY(t, filepath.Join(f, "3.npy"), rows, 3, with(node, inf))
		},
	} {
		count++
		folder := filepath.Join(dir, fmt.Sprint("bad", count))
		require.NoError(t, os.CopyFS(folder, os.DirFS(good)))
		change(folder)
		out := filepath.Join(dir, "out")
		refused(t, exitFailure, want, scoreNumbers(folder, out)...)
		require.NoDirExists(t, out)
	}
	for want, args := range map[string][]string{
		"--name NAME":                           {good},
		"the name saot is taken":                {good, "--name", "saot"},
		`"mine " is empty, or begins or ends`:   {good, "--name", "mine "},
		"the name SAOT is taken":                {good, "--name", "SAOT"},
		`"a/b" cannot be part of a file's name`: {good, "--name", "a/b"},
		`"a\x1b[31m" cannot be part`:            {good, "--name", "a\x1b[31m"},
		`"a\u202eb" cannot be part`:             {good, "--name", "a\u202eb"},
		"longer than 100 bytes":                 {good, "--name", strings.Repeat("a", 101)},
		"unknown probe":                         {good, "--name", "mine", "--probe", "kNN"},
		"the probe head scores only":            {good, "--name", "mine", "--probe", "head"},
	} {
		refused(t, exitUsage, want, append([]string{"score"}, args...)...)
	}
	refused(t, exitFailure, "the folder must be there and hold 1.npy, 2.npy", scoreNumbers(filepath.Join(good, "1.npy"),
		filepath.Join(dir, "out"))...)
}
