package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/experiment"
)

// embedded is a file of embeddings, its lines by the first cell.
func embedded(t *testing.T, args ...string) (head []string, lines map[string][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "z.csv")
	for range 2 { // the second time in the first one's place
		told(t, append([]string{"embed", "-o", path}, args...)...)
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	all, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	lines = map[string][]string{}
	for _, line := range all[1:] {
		require.Nil(t, lines[line[0]], "a node has one line")
		lines[line[0]] = line
	}
	return all[0], lines
}

// requireRow compares the cells of an embedding with the row of a node, to some rounding.
func requireRow(t *testing.T, z *continual.Embedding, k int, cells []string, rounding float64) {
	t.Helper()
	require.Len(t, cells, z.Cols)
	for c, cell := range cells {
		v, err := strconv.ParseFloat(cell, 32)
		require.NoError(t, err)
		require.InDelta(t, z.Data[k*z.Cols+c], float32(v), rounding)
	}
}

// A line holds the row that Embed gives for the node in the graph of its own task, with the node's place in the stream.
func TestEmbed(t *testing.T) {
	for _, more := range [][]string{nil, {"--inter-task-edges", "keep"}} {
		dir := runKept(t, append(more, tinyLearner...)...)
		head, lines := embedded(t, dir)
		require.Equal(t, strings.Split("node,task,label,part,z0,z1,z2,z3,z4,z5,z6,z7", ","), head)
		r, err := experiment.ReadRun(dir)
		require.NoError(t, err)
		s, err := r.OpenStream()
		require.NoError(t, err)
		l, err := r.NewLearner(enginetest.Go(t), s)
		require.NoError(t, err)
		require.NoError(t, continual.LoadKept(dir, l))
		require.Len(t, lines, 40)
		for i := range s.Tasks {
			task := &s.Tasks[i]
			z, err := l.(continual.Learner).Embed(t.Context(), task.Graph)
			require.NoError(t, err)
			for part, nodes := range map[string][]int32{"train": task.Split.Train, "valid": task.Split.Valid,
				"test": task.Split.Test} {
				require.NotEmpty(t, nodes)
				for _, k := range nodes {
					node := task.Nodes[k]
					line := lines[strconv.Itoa(int(node))]
					label := strconv.Itoa(int(node) / 10)
					require.Equal(t, []string{strconv.Itoa(int(node)), strconv.Itoa(i + 1), label, part}, line[:4])
					requireRow(t, z, int(k), line[4:], 0)
				}
			}
		}
	}
}

// Another graph is embedded whole, its features scaled as the run's: ten times as large, they are the same.
func TestEmbedAnotherGraph(t *testing.T) {
	dir, other := runKept(t, tinyLearner...), filepath.Join(t.TempDir(), "other")
	write(t, filepath.Join(other, "edges.csv"), "0,1\n1,2\n")
	write(t, filepath.Join(other, "labels.csv"), "0\n1\n0\n")
	write(t, filepath.Join(other, "features.csv"), "10,20,20\n0,0,30\n0,0,0\n")
	head, lines := embedded(t, dir, "--dataset", other)
	require.Equal(t, strings.Split("node,label,z0,z1,z2,z3,z4,z5,z6,z7", ","), head)
	require.Len(t, lines, 3)
	r, err := experiment.ReadRun(dir)
	require.NoError(t, err)
	l, err := saot.New(enginetest.Go(t), *r.Of.(*saot.Config), 3, nil, 0) // as a program without the run's dataset
	require.NoError(t, err)
	require.NoError(t, continual.LoadKept(dir, l))
	a, err := graph.NewAdjacency(3, []int32{0, 1}, []int32{1, 2})
	require.NoError(t, err)
	g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: 3, Cols: 3,
		Dense: []float32{1. / 3, 2. / 3, 2. / 3, 0, 0, 1, 0, 0, 0}}}
	z, err := l.Embed(t.Context(), g)
	require.NoError(t, err)
	for k, label := range []string{"0", "1", "0"} {
		line := lines[strconv.Itoa(k)]
		require.Equal(t, label, line[1])
		requireRow(t, z, k, line[2:], 1e-6)
	}

	write(t, filepath.Join(other, "features.csv"), "1,2\n0,3\n0,0\n")
	path := filepath.Join(t.TempDir(), "z.csv")
	refused(t, exitFailure, other+" has 2 feature columns, and the encoder in "+dir+" takes another number", "embed",
		dir, "--dataset", other, "-o", path)
	require.NoFileExists(t, path)
}

func TestEmbedRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.csv")
	refused := func(status int, want string, args ...string) {
		t.Helper()
		got, _, stderr := call(t, append([]string{"embed"}, args...)...)
		require.Equal(t, status, got, stderr)
		require.Contains(t, stderr, want)
		require.NoFileExists(t, path)
	}
	refused(exitUsage, "name the file to write", "x")
	refused(exitUsage, "want a name that ends in .csv", "x", "-o", "z.npz")
	refused(exitUsage, "choose one of --dataset, --split", "x", "-o", path, "--dataset", "uai", "--split", "s.json")
	refused(exitFailure, "name the folder of a finished run", t.TempDir(), "-o", path)

	dir := runKept(t, tinyLearner...)
	refused(exitUsage, `unknown engine "abacus"`, dir, "-o", path, "--engine", "abacus")
	r, err := experiment.ReadRun(dir)
	require.NoError(t, err)
	write(t, filepath.Join(r.Dataset, "features.csv"), strings.Repeat("1,2,3\n", 40))
	refused(exitFailure, "the result is not of this stream: dataset checksum was ", dir, "-o", path)
	model := filepath.Join(dir, continual.ModelFile)
	require.NoError(t, os.Rename(model, filepath.Join(dir, continual.CheckpointFile)))
	refused(exitFailure, "kept no encoder, and the checkpoint of a finished run is removed: do it again with "+
		"--keep-model", dir, "-o", path)
	require.NoError(t, os.Remove(filepath.Join(dir, continual.ResultFile)))
	refused(exitFailure, "is not finished, 2 of 2 tasks are done: saot run --resume "+dir+
		" continues; add --keep-model for saot embed", dir, "-o", path)

	dir = runKept(t, "--method", "er-gnn", "--preset", "fast")
	refused(exitFailure, "er-gnn is its own classifier", dir, "-o", path)
	dir = runKept(t, "--method", "propagated-pca")
	refused(exitFailure, "propagated-pca is a control, which trains none", dir, "-o", path)
}

// A run folder from elsewhere may claim widths for which no machine has the memory.
func TestKeptRunThatDoesNotFit(t *testing.T) {
	dir := runKept(t, tinyLearner...)
	path := filepath.Join(dir, experiment.ConfigFile)
	config, err := os.ReadFile(path)
	require.NoError(t, err)
	wide := strings.NewReplacer(`"hidden": 16`, `"hidden": 3000000`, `"out": 8`, `"out": 3000000`).Replace(string(config))
	require.NotEqual(t, string(config), wide)
	require.NoError(t, os.WriteFile(path, []byte(wide), 0o600))
	status, _, stderr := call(t, "embed", dir, "-o", filepath.Join(t.TempDir(), "z.csv"))
	require.NotZero(t, status)
	require.Contains(t, stderr, "of memory: lower hidden, out or whole_graph")
}
