package main

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// toySettings are those of toy.
type toySettings struct {
	Width int     `json:"width" range:"[1,)" help:"columns of X that are kept"`
	Scale float64 `json:"scale" range:"(0,)" help:"what they are multiplied by"`
}

func (s *toySettings) Validate() error { return nil }

func init() {
	method.Register(method.Definition{Name: "toy", Kind: method.SelfSupervised, Order: 99,
		Summary:  "the first columns of X",
		Defaults: func(datasets.Recipe, method.Preset) method.Settings { return &toySettings{Width: 24, Scale: 1} },
		New: func(b method.Build) (continual.Method, error) {
			return &toy{toySettings: *b.Settings.(*toySettings)}, nil
		}})
}

// toy embeds nodes by the first columns of their features.
type toy struct {
	toySettings
	tasks int
}

func (l *toy) Learn(_ context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	l.tasks++
	if observe != nil {
		observe(continual.Step{Task: task, Done: 1, Steps: 1, Terms: []continual.Term{{Name: "total", Value: 1}}})
	}
	return &continual.TaskReport{Task: task, Nodes: g.NumNodes(), Epochs: 1, Steps: 1}, nil
}

func (l *toy) Embed(_ context.Context, g *graph.Graph) (*continual.Embedding, error) {
	e := &continual.Embedding{Rows: g.NumNodes(), Cols: min(l.Width, g.Features.Cols)}
	row := make([]float32, g.Features.Cols)
	for i := range e.Rows {
		g.Features.CopyRow(i, row)
		for _, v := range row[:e.Cols] {
			e.Data = append(e.Data, float32(l.Scale)*v)
		}
	}
	return e, nil
}

func (l *toy) Save(w io.Writer) error { return gob.NewEncoder(w).Encode(l.tasks) }
func (l *toy) Load(r io.Reader) error { return gob.NewDecoder(r).Decode(&l.tasks) }

// asCommand in the environment makes this test binary the program, toy included: a sweep starts a process for each run.
const asCommand = "SAOT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(withBuilds(m))
}

func withBuilds(m *testing.M) int {
	dir, err := os.MkdirTemp("", "saot-tests-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	builds = dir
	return m.Run()
}

// A method of one file, which no other file knows, is listed, set, run, swept, tabled, tuned and audited.
func TestAMethodOfOneFile(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	require.Regexp(t, `(?m)^toy +self-supervised +probes +the first columns`, told(t, "methods"))
	require.Regexp(t, `(?m)^scale +1 +what they are`, told(t, "methods", "toy"))

	run := filepath.Join(dir, "run")
	require.Contains(t, told(t, "run", "--method", "toy", "--width", "12", "--set", "scale=2", "--engine", "go",
		"--probe",
		"converged",
		"--keep-model", "--out", run), "toy on synthetic")
	config, err := os.ReadFile(filepath.Join(run, "config.json"))
	require.NoError(t, err)
	require.Regexp(t, `"settings": \{\s+"width": 12,\s+"scale": 2\s+\}`, string(config))
	require.Contains(t, told(t, "audit", run), run+": confirmed")
	for _, bad := range [][]string{{"--set", "wide=3"}, {"--width", "0"}, {"--epochs", "3"}} {
		status, _, stderr := call(t, append([]string{"run", "--method", "toy"}, bad...)...)
		require.Equal(t, exitUsage, status, stderr)
	}

	spec := filepath.Join(dir, "toys.yaml")
	require.NoError(t, os.WriteFile(spec, []byte(`
runs:
- {datasets: [synthetic], methods: [toy, majority], seeds: [0], probes: [converged], grid: {}}
- {datasets: [synthetic], methods: [toy], seeds: [0], probes: [converged], grid: {width: [6, 12]}}
`), 0o600))
	sweep := filepath.Join(dir, "sweep")
	require.Contains(t, told(t, "sweep", spec, "--engine", "go", "--out", sweep), "4 of 4 runs done")
	table := told(t, "table", sweep)
	for _, width := range []int{6, 12, 24} {
		require.Contains(t, table, fmt.Sprintf("| toy, width %d |", width))
	}
	require.Regexp(t, `methods: \[toy\]\n +seeds: \[0\]\n +set: \{width: \d+\}`, told(t, "tune", sweep))
}
