package kit

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/experiment"
)

func TestGrade(t *testing.T) {
	for _, c := range []struct {
		name   string
		check  func(c *Claims)
		want   string
		passed bool
	}{
		{"unwritten", func(*Claims) { panic(TODO) }, "Exercise 3: write the function above", false},
		{"panicking", func(*Claims) { var rows [][]float64; _ = rows[0][0] }, "✗ it stops: runtime error", false},
		{"failing", func(*Claims) { Must(0, errors.New("no such file")) },
			"✗ it stops: no such file\nExercise 3: it stops.", false},
		{"empty", func(*Claims) {}, "nothing is claimed", false},
		{"wrong", func(c *Claims) { c.That("one", true); c.Near("two", 2.5, 2, 0.1) },
			"✓ one\n✗ two (yours: 2.5)\nExercise 3: 1 of 2 do not hold yet.", false},
		{"not a number", func(c *Claims) { c.Near("it", math.NaN(), 2, 0.1) }, "1 of 1 do not hold", false},
		{"right", func(c *Claims) { c.Near("two", 2.05, 2, 0.1) }, "✓ two (yours: 2.05)\nExercise 3: passed.", true},
	} {
		var out strings.Builder
		require.Equal(t, c.passed, grade(&out, 3, c.check), c.name)
		require.Contains(t, out.String(), c.want, c.name)
	}
}

// A cell that writes a run folder can run a second time.
func TestFresh(t *testing.T) {
	t.Setenv("GONB_TMP_DIR", t.TempDir())
	require.NoError(t, os.MkdirAll(Saved("run"), 0o755))
	earlier := filepath.Join(Saved("run"), "checkpoint")
	require.NoError(t, os.WriteFile(earlier, nil, 0o600))
	require.Equal(t, Saved("run"), Fresh("run"))
	require.NoFileExists(t, earlier)
	require.Equal(t, Saved("run"), Fresh("run"), "nothing is there")
}

func TestStream(t *testing.T) {
	require.Len(t, Stream(0).Tasks, 4)
	require.Len(t, Stream(9).Tasks, 4)
	task := Stream(1).Tasks[0]
	nodes := NodesOf(task, 5)
	require.Len(t, nodes, 10)
	for i, node := range nodes {
		require.Equal(t, task.Classes[i/5], task.Labels[node])
	}
	require.Len(t, NodesOf(task, 1_000_000), task.Graph.NumNodes())
}

func TestViewsRepeatAndMask(t *testing.T) {
	g := Stream(1).Tasks[0].Graph
	a, b := Views(g, 0.2, 0.1, 1)
	again, _ := Views(g, 0.2, 0.1, 1)
	require.Equal(t, a, again)
	require.NotEqual(t, a.Masked, b.Masked)
	nodes := []int32{3, 1}
	all, seen := FeaturesOf(g, nodes), FeaturesOf(Seen(g, a), nodes)
	masked := map[int]bool{}
	for _, c := range a.Masked {
		masked[int(c)] = true
	}
	for i := range nodes {
		for c := range g.Features.Cols {
			want := all.At(i, c)
			if masked[c] {
				want = 0
			}
			require.Equal(t, want, seen.At(i, c))
		}
	}
	require.Equal(t, a.Adjacency, Seen(g, a).Adjacency)
}

func TestRowsOf(t *testing.T) {
	require.Equal(t, []float64{4, 5, 0, 1}, RowsOf([]float32{0, 1, 2, 3, 4, 5}, 2, []int32{2, 0}).RawMatrix().Data)
	g := &graph.Graph{Features: graph.Features{Rows: 2, Cols: 2, Dense: []float32{1, 2, 3, 4}}}
	require.Equal(t, []float64{3, 4}, FeaturesOf(g, []int32{1}).RawMatrix().Data)
}

func TestMatrices(t *testing.T) {
	x := Build(2, 3, func(i, j int) float64 { return float64(10*i + j) })
	require.True(t, mat.Equal(x, Dense(Rows(x))))
	require.InDelta(t, 1, mat.Sum(mat.NewVecDense(7, Equal(7))), 1e-15)
	require.True(t, mat.Equal(Dense([][]float64{{0, 0.5}, {0.5, 0}}), Permutation([]int{1, 0})))
	require.Equal(t, 6.0, Distance(x, Build(2, 3, func(i, j int) float64 { return float64(10*i+j) + 1 })))
	require.Equal(t, 0.0+1+4+100+121+144, Dot(x, x))
	require.Equal(t, 0.0, mat.Sum(Difference(x, x)))
	require.InDeltaSlice(t, []float64{0.01, 0.1, 1}, Logarithmic(0.01, 1, 3), 1e-15)
	require.Equal(t, []float64{0, 1, 2}, Linear(0, 2, 3))
	// Half of the mass of the independent plan stays within its class, all of the identity's does.
	require.InDelta(t, 0.5, Within(Build(4, 4, func(int, int) float64 { return 1. / 16 })), 1e-15)
	require.InDelta(t, 1, Within(Dense([][]float64{{0.5, 0}, {0, 0.5}})), 1e-15)
}

func TestWith(t *testing.T) {
	groups := []*experiment.Group{{Settings: map[string]string{"a": "1"}},
		{Settings: map[string]string{"a": "1", "b": "2"}}}
	require.Same(t, groups[0], With(groups, "a=1"))
	require.Same(t, groups[1], With(groups, "a=1", "b=2"))
}
