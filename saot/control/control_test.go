package control_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/control"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// tinyConfig is small enough for the pure-Go engine to run every method in a moment.
func tinyConfig() saot.Config {
	c := saot.DefaultConfig()
	c.Encoder.Hidden, c.Encoder.Out, c.Points, c.Epochs, c.Buffer = 8, 4, 16, 2, 10
	return c
}

// tinySettings are tinyConfig, or the same width for a method with settings of its own.
func tinySettings(t *testing.T, m string) method.Settings {
	if m == "propagated-hellinger" {
		return &control.HellingerSettings{Out: 4, Power: 0.5, IDF: true, Unit: true}
	}
	d, err := method.Lookup(m)
	require.NoError(t, err)
	c := tinyConfig()
	require.IsType(t, &c, d.Defaults("", method.Default))
	return &c
}

// tinyStream is two tasks of the generated dataset.
func tinyStream(t *testing.T) *datasets.Stream {
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 80, Classes: 4, Degree: 2, Vocabulary: 48,
		Words: 12})
	require.NoError(t, err)
	s, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	return s
}

// randomGraph is a graph with a node of no edges and features that fall off from column to column.
func randomGraph(t *testing.T, n, features int) *graph.Graph {
	rng := seed.Stream(3, "graph", n, features)
	var src, dst []int32
	for range 2 * n {
		src, dst = append(src, int32(rng.IntN(n-1))), append(dst, int32(rng.IntN(n-1)))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	x := make([]float32, n*features)
	for i := range x {
		x[i] = float32((rng.NormFloat64() + 1) * math.Exp(-0.2*float64(i%features)))
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: features, Dense: x}}
}

// directedGraph is randomGraph with two of three entries left and read as directed.
func directedGraph(t *testing.T, n, features int) *graph.Graph {
	g := randomGraph(t, n, features)
	rng := seed.Stream(4, "directions", n, features)
	a := graph.Adjacency{Offsets: []int64{0}, Directed: true}
	for i := range n {
		for _, j := range g.Adjacency.Neighborhood(i) {
			if rng.IntN(3) > 0 {
				a.Neighbors = append(a.Neighbors, j)
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Neighbors)))
	}
	require.NotEqual(t, a, a.Transposed())
	g.Adjacency = a
	return g
}

// twoHops is Â²X by dense matrices.
func twoHops(g *graph.Graph) *mat.Dense {
	hat := graphtest.Hat(&g.Adjacency)
	var out mat.Dense
	out.Product(hat, hat, g.Features.Matrix())
	return &out
}

func learner(t *testing.T, m string, e *engine.Engine, c saot.Config, g ...*graph.Graph) continual.Learner {
	return learnerOf(t, m, e, &c, g...)
}

func learnerOf(t *testing.T, m string, e *engine.Engine, c method.Settings, g ...*graph.Graph) continual.Learner {
	stream := method.Stream{Features: g[0].Features.Cols}
	for _, graph := range g {
		stream.Sizes = append(stream.Sizes, encoder.SizeOf(graph))
	}
	l, err := method.New(m, method.Build{Engine: e, Stream: stream, Settings: c, Seed: 7})
	require.NoError(t, err)
	return l.(continual.Learner)
}

func embed(t *testing.T, l continual.Learner, g *graph.Graph) *mat.Dense {
	e, err := l.Embed(context.Background(), g)
	require.NoError(t, err)
	require.Equal(t, g.NumNodes(), e.Rows)
	out := mat.NewDense(e.Rows, e.Cols, nil)
	for i, v := range e.Data {
		out.RawMatrix().Data[i] = float64(v)
	}
	return out
}

func learn(t *testing.T, l continual.Learner, task int, g *graph.Graph) {
	_, err := l.Learn(context.Background(), task, g, nil)
	require.NoError(t, err)
}

func TestOnlyMajorityTakesGraphsWithoutFeatures(t *testing.T) {
	for _, d := range method.All() {
		_, err := method.New(d.Name, method.Build{Settings: tinySettings(t, d.Name)})
		if d.Name == "majority" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, d.Name+" needs node features")
	}
}

// By hand: task 1 has classes 0 (6 train nodes) and 1 (3), task 2 has 2 (9) and 3 (3); the
// held-out nodes are 2 and 1, and 3 and 1. After task 1 class 0 wins everywhere: 2 of 3 right. After task 2 class 2 has
// the most train nodes of all, so Class-IL gives task 1 nothing and task 2 3 of 4; Task-IL keeps 2/3 and 3/4.
func TestMajorityByHand(t *testing.T) {
	// task, class: nodes of train, valid and test
	counts := [][2][3]int{{{6, 4, 2}, {3, 1, 1}}, {{9, 3, 3}, {3, 1, 1}}}
	s := &datasets.Stream{Dataset: "hand", NumClasses: 4}
	for k, classes := range counts {
		task := datasets.Task{Index: k, Classes: []int32{int32(2 * k), int32(2*k + 1)}}
		for c, count := range classes {
			for i := range count[0] + count[1] + count[2] {
				node := int32(len(task.Labels))
				task.Labels, task.Nodes = append(task.Labels, int32(2*k+c)), append(task.Nodes, node)
				switch {
				case i < count[0]:
					task.Split.Train = append(task.Split.Train, node)
				case i < count[0]+count[1]:
					task.Split.Valid = append(task.Split.Valid, node)
				default:
					task.Split.Test = append(task.Split.Test, node)
				}
			}
		}
		n := len(task.Labels)
		task.Graph = &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, n+1)},
			Features: graph.Features{Rows: n}}
		s.Tasks = append(s.Tasks, task)
	}
	c := saot.DefaultConfig()
	l, err := method.New("majority", method.Build{Settings: &c})
	require.NoError(t, err)
	result, err := continual.Run(context.Background(), s, l, continual.Options{})
	require.NoError(t, err)
	// The paper probe is scored on valid and test, the converged probe on test alone.
	for p, first := range map[continual.Probe]float64{continual.ProbePaper: 75, continual.ProbeConverged: 200 / 3.} {
		class, ok := result.Score(continual.ClassIL, p)
		require.True(t, ok)
		require.InDelta(t, (0+75)/2., class.AP, 1e-9)
		require.InDelta(t, -first, class.AF, 1e-9)
		task, ok := result.Score(continual.TaskIL, p)
		require.True(t, ok)
		require.InDelta(t, (first+75)/2, task.AP, 1e-9)
		require.InDelta(t, 0, task.AF, 1e-9)
	}
}

func TestFeaturesAndPropagatedAgainstDenseMatrices(t *testing.T) {
	// dense and sparse features
	for _, g := range []*graph.Graph{randomGraph(t, 12, 5), tinyStream(t).Tasks[0].Graph, directedGraph(t, 12, 5)} {
		x := embed(t, learner(t, "features", nil, tinyConfig(), g), g)
		row := make([]float32, g.Features.Cols)
		for i := range g.NumNodes() {
			g.Features.CopyRow(i, row)
			for c, v := range row {
				require.Equal(t, float64(v), x.At(i, c))
			}
		}
		got := embed(t, learner(t, "propagated", nil, tinyConfig(), g), g)
		require.True(t, mat.EqualApprox(twoHops(g), got, 1e-6))
	}
}

// With no more features than the width the projection is a rotation, so that all inner products stay; the rest is
// zeros.
func TestProjectionRotatesAndPads(t *testing.T) {
	g := randomGraph(t, 12, 5)
	c := tinyConfig()
	c.Encoder.Out = 7
	z := embed(t, learner(t, "propagated-random", nil, c, g), g)
	require.Equal(t, 7, z.RawMatrix().Cols)
	var want, got mat.Dense
	want.Mul(twoHops(g), twoHops(g).T())
	got.Mul(z, z.T())
	require.True(t, mat.EqualApprox(&want, &got, 1e-5))
	require.Zero(t, mat.Norm(z.Slice(0, 12, 5, 7), 1))

	c.Encoder.Out = 3
	require.Equal(t, 3, embed(t, learner(t, "propagated-random", nil, c, g), g).RawMatrix().Cols)
}

// The leading components against gonum's, which takes the singular vectors of the dense matrix. The coordinates are
// turned, so inner products are compared: those of the leading four components, and no others. 1,010
// features are numerous enough that the iteration is put to use.
func TestPCAAgainstGonum(t *testing.T) {
	for _, g := range []*graph.Graph{randomGraph(t, 40, 10), randomGraph(t, 40, 1010), directedGraph(t, 40, 10),
		directedGraph(t, 40, 1010)} {
		features := g.Features.Cols
		c := tinyConfig()
		l := learner(t, "propagated-pca", nil, c, g)
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		z := embed(t, l, g)
		require.Equal(t, c.Encoder.Out, z.RawMatrix().Cols)

		x := twoHops(g)
		var pc stat.PC
		require.True(t, pc.PrincipalComponents(x, nil))
		require.InDelta(t, floats.Sum(pc.VarsTo(nil)[:c.Encoder.Out]), report.Diagnostics["variance"], 1e-6)
		var vectors, scores, want, got mat.Dense
		pc.VectorsTo(&vectors)
		for j := range features {
			mean := stat.Mean(mat.Col(nil, j, x), nil)
			for i := range 40 {
				x.Set(i, j, x.At(i, j)-mean)
			}
		}
		scores.Mul(x, vectors.Slice(0, features, 0, c.Encoder.Out))
		want.Mul(&scores, scores.T())
		got.Mul(z, z.T())
		require.True(t, mat.EqualApprox(&want, &got, 1e-4), features)
	}
}

// Four equal rows have no variance: nothing is left to embed, and the width is kept.
func TestPCAOfConstantFeatures(t *testing.T) {
	g := randomGraph(t, 4, 3)
	g.Adjacency = graph.Adjacency{Offsets: make([]int64, 5)}
	for i := range g.Features.Dense {
		g.Features.Dense[i] = 1
	}
	l := learner(t, "propagated-pca", nil, tinyConfig(), g)
	_, err := l.Embed(context.Background(), g)
	require.ErrorContains(t, err, "learned no task")
	learn(t, l, 0, g)
	z := embed(t, l, g)
	require.Equal(t, 4, z.RawMatrix().Cols)
	require.InDelta(t, 0, mat.Norm(z, 1), 1e-6)
}

// All that a control knows after a task goes through Save and Load.
func TestControlsResume(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		s := tinyStream(t)
		first, second := s.Tasks[0].Graph, s.Tasks[1].Graph
		for _, m := range []string{"majority", "propagated-random", "propagated-pca", "propagated-hellinger",
			"random-calibrated"} {
			through := learnerOf(t, m, e, tinySettings(t, m), first, second)
			resumed := learnerOf(t, m, e, tinySettings(t, m), first, second)
			learn(t, through, 0, first)
			var state bytes.Buffer
			require.NoError(t, through.Save(&state), m)
			require.NoError(t, resumed.Load(&state), m)
			learn(t, through, 1, second)
			learn(t, resumed, 1, second)
			a, err := through.Embed(context.Background(), first)
			require.NoError(t, err)
			b, err := resumed.Embed(context.Background(), first)
			require.NoError(t, err)
			require.Equal(t, a, b, m)
		}
	})
}

func TestLoadRefusesDamagedState(t *testing.T) {
	g := randomGraph(t, 12, 5)
	err := learner(t, "propagated-pca", nil, tinyConfig(), g).Load(bytes.NewReader([]byte("no state")))
	require.ErrorContains(t, err, "propagated-pca: load")
}

func TestRandomIsWhereSAOTStarts(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := tinyStream(t).Tasks[0].Graph
		random, untrained := learner(t, "random", e, tinyConfig(), g), learner(t, "saot", e, tinyConfig(), g)
		learn(t, random, 0, g)
		require.Equal(t, embed(t, untrained, g), embed(t, random, g))
	})
}

// The one pass of the calibration goes as far as a pass for each view of each epoch.
func TestCalibrationGoesAsFarAsTraining(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := tinyStream(t).Tasks[0].Graph
		c := tinyConfig()
		c.Epochs = 5
		l := learner(t, "random-calibrated", e, c, g)
		before := embed(t, l, g)
		learn(t, l, 0, g)
		enc, err := encoder.New(e, c.Encoder, g.Features.Cols,
			encoder.NewBuckets(nil, 200, []encoder.Size{encoder.SizeOf(g)}),
			seed.Stream(7, "weights"))
		require.NoError(t, err)
		for range 2 * c.Epochs { // two views
			require.NoError(t, enc.Calibrate(g))
		}
		want, _, _, err := enc.Embed(context.Background(), g)
		require.NoError(t, err)
		after, err := l.Embed(context.Background(), g)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, after.Data, 1e-4)
		require.False(t, mat.EqualApprox(before, embed(t, l, g), 1e-2))
	})
}

// recorder keeps every embedding that a run asks for.
type recorder struct {
	continual.Learner
	seen []*continual.Embedding
}

func (r *recorder) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	e, err := r.Learner.Embed(ctx, g)
	r.seen = append(r.seen, e)
	return e, err
}

// No label reaches a learner, and nothing of which nodes are held out: with labels that are shuffled within each task,
// or with other train, valid and test nodes, embeddings are the same, while the scores change. So no learner can know
// more of a held-out node's task than the task's graph holds. What a learner is given does not depend on the method, so
// two stand for all.
func TestLabelsAndSplitsDoNotReachTheLearners(t *testing.T) {
	e := enginetest.Go(t)
	run := func(m string, s *datasets.Stream) ([]*continual.Embedding, string) {
		l, err := method.New(m, method.Build{Engine: e, Stream: method.StreamOf(s), Settings: tinySettings(t, m),
			Seed: 5})
		require.NoError(t, err)
		r := &recorder{Learner: l.(continual.Learner)}
		result, err := continual.Run(context.Background(), s, r,
			continual.Options{Engine: e, Probes: []continual.Probe{continual.ProbeConverged}})
		require.NoError(t, err, m)
		return r.seen, fmt.Sprint(result.Scores[0].Matrix, result.Scores[1].Matrix)
	}
	for _, m := range []string{"saot", "propagated-hellinger"} {
		clean, scores := run(m, tinyStream(t))
		mislabeled, resplit := tinyStream(t), tinyStream(t)
		for k := range mislabeled.Tasks {
			labels, rng := mislabeled.Tasks[k].Labels, seed.Stream(1, "poison", k)
			rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
			split := &resplit.Tasks[k].Split
			nodes := slices.Concat(split.Train, split.Valid, split.Test)
			rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			train, valid := len(split.Train), len(split.Train)+len(split.Valid)
			split.Train, split.Valid, split.Test = nodes[:train], nodes[train:valid], nodes[valid:]
		}
		for _, s := range []*datasets.Stream{mislabeled, resplit} {
			same, otherScores := run(m, s)
			require.Equal(t, clean, same, m)
			require.NotEqual(t, scores, otherScores, m)
		}
	}
}
