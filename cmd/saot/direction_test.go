package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// ownGraph writes a graph of two tasks, whose edges point from a class's earlier nodes to its later ones.
func ownGraph(t *testing.T) string {
	t.Helper()
	const classes, each = 4, 10
	var edges, labels, features strings.Builder
	for i := range classes * each {
		fmt.Fprintf(&labels, "%d\n", i/each)
		fmt.Fprintf(&features, "%d,%d,%d\n", i%3, i%5, i/each)
		if i%each > 0 {
			fmt.Fprintf(&edges, "%d,%d\n", i-1, i)
		}
	}
	dir := filepath.Join(t.TempDir(), "own")
	write(t, filepath.Join(dir, "edges.csv"), edges.String())
	write(t, filepath.Join(dir, "labels.csv"), labels.String())
	write(t, filepath.Join(dir, "features.csv"), features.String())
	return dir
}

// The direction is recorded, in the settings and as a note, taken up by --resume, and leaves no trace where it is the
// default.
func TestDirectionIsRecorded(t *testing.T) {
	data, dir := ownGraph(t), t.TempDir()
	run := func(name string, more ...string) (string, *continual.Result) {
		out := filepath.Join(dir, name)
		told(t, control("propagated", append(more, "--dataset", data, "--out", out)...)...)
		return out, scores(t, out)
	}
	out, directed := run("directed", "--direction", "directed")
	_, undirected := run("undirected", "--direction", "undirected")
	_, plain := run("plain")
	require.Contains(t, string(directed.Config), `"direction": "directed"`)
	require.Contains(t, strings.Join(directed.Dataset.Notes, "\n"), "edges are directed")
	require.NotContains(t, string(plain.Config), "direction")
	require.JSONEq(t, string(plain.Config), string(undirected.Config))
	require.Equal(t, plain.Scores, undirected.Scores)
	require.Equal(t, plain.Dataset.SplitHash, directed.Dataset.SplitHash)

	r, err := experiment.ReadRun(out)
	require.NoError(t, err)
	require.Equal(t, datasets.Directed, r.Direction)
	s, err := r.OpenStream()
	require.NoError(t, err)
	require.True(t, s.Tasks[0].Graph.Adjacency.Directed)
	require.NoError(t, os.Remove(filepath.Join(out, continual.ResultFile))) // so that all is done again
	told(t, "run", "--resume", out)
	again := scores(t, out)
	require.Equal(t, directed.Dataset, again.Dataset)
	require.Equal(t, directed.Scores, again.Scores)
	refused(t, exitUsage, "drop --direction", "run", "--resume", out, "--direction", "undirected")
}
