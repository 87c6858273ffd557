package kit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
)

func TestHatKeepsRootsOfDegrees(t *testing.T) {
	g := Stream(1).Tasks[0].Graph
	hat := Hat(&g.Adjacency)
	root := Build(g.NumNodes(), 1, func(i, _ int) float64 {
		return math.Sqrt(float64(len(g.Adjacency.Neighborhood(i)) + 1))
	})
	require.InDelta(t, 0, Distance(Product(hat, root), root), 1e-9)
	require.InDelta(t, 0, Distance(hat, mat.DenseCopyOf(hat.T())), 1e-12)
	require.InDelta(t, 0, Distance(Hops(g, 2), Product(hat, Product(hat, Features(g)))), 1e-9)
}

func TestGraphHelpers(t *testing.T) {
	g := Stream(1).Tasks[0].Graph
	require.Len(t, Edges(&g.Adjacency), g.Adjacency.NumEdges())
	require.Equal(t, g.Adjacency.NumEdges(), Common(&g.Adjacency, &g.Adjacency))
	a, b := Views(g, 0.5, 0, 1)
	require.Less(t, Common(&a.Adjacency, &b.Adjacency), a.Adjacency.NumEdges())
	around := Around(&g.Adjacency, 24)
	require.Len(t, around, 24)
	for _, node := range All(g) {
		require.LessOrEqual(t, len(g.Adjacency.Neighborhood(int(node))), len(g.Adjacency.Neighborhood(int(around[0]))))
	}
}

func TestCosinesAndPairs(t *testing.T) {
	z := Dense([][]float64{{2, 0}, {3, 0.1}, {0, 1}, {0, 0}})
	require.InDelta(t, 1, Unit(z).At(0, 0), 1e-15)
	require.Equal(t, []float64{0, 0}, Unit(z).RawRowView(3))
	self, same, other := Pairs(Cosines(z, z), []int32{0, 0, 1, 1})
	require.InDeltaSlice(t, []float64{1, 1, 1, 0}, self, 1e-12)
	require.Len(t, same, 4)
	require.Len(t, other, 8)
	require.Equal(t, 2, Together(z, 0.99))
	require.Equal(t, 1, Together(z, 0.9999))
	require.InDelta(t, 0.5, Nearest(Dense([][]float64{{1, 0}, {1, 0.1}, {0.1, 1}, {0, 1}}), []int32{0, 0, 1, 0}), 1e-15)
}

func TestCenteredLeavesWhatAPlanSees(t *testing.T) {
	m := Build(3, 4, func(i, j int) float64 { return float64(i*i) + math.Sqrt(float64(j)) + float64(i*j) })
	c := Centered(m)
	for i := range 3 {
		require.InDelta(t, 0, mat.Sum(c.RowView(i)), 1e-12)
	}
	for j := range 4 {
		require.InDelta(t, 0, mat.Sum(c.ColView(j)), 1e-12)
	}
	more := Build(3, 4, func(i, j int) float64 { return m.At(i, j) + float64(7*i-3*j) })
	require.InDelta(t, 0, Distance(c, Centered(more)), 1e-12)
	Keep("centered", c)
	require.True(t, mat.Equal(c, Kept("centered")))
}

func TestClassMeans(t *testing.T) {
	task := datasets.Task{Labels: []int32{4, 4, 7, 7}}
	task.Split.Train, task.Split.Test = []int32{0, 2}, []int32{1, 3}
	z := Dense([][]float64{{1, 0}, {0.9, 0.1}, {0, 2}, {1, 0.5}})
	means := FitMeans([]datasets.Task{task}, []*mat.Dense{z})
	require.Equal(t, ClassMeans{4: {1, 0}, 7: {0, 1}}, means)
	require.Equal(t, 50.0, means.Accuracy(task, z))
}

func TestLearnAllKeepsWhatTheEncoderShows(t *testing.T) {
	stream := LongStream()
	require.Len(t, stream.Tasks, 12)
	stream.Tasks = stream.Tasks[:2]
	l := Learner("random", stream, "encoder.hidden=8", "encoder.out=4")
	LearnAll("still", l, stream)
	require.True(t, mat.Equal(Embeddings("still", 1)[0], Embeddings("still", 2)[0]))
	require.True(t, mat.Equal(EmbeddingOf(l, stream.Tasks[1].Graph), Embeddings("still", 2)[1]))
}

// A setting that gives others new defaults leaves those that are asked for, wherever it stands.
func TestLearnerTakesChangesInAnyOrder(t *testing.T) {
	stream := LongStream()
	l := Learner("random", stream, "encoder.out=4", "encoder.hidden=8", "encoder.kind=gat")
	require.Equal(t, 4, EmbeddingOf(l, stream.Tasks[0].Graph).RawMatrix().Cols)
}

func TestResults(t *testing.T) {
	groups := Results("ablations", "cora-ml", "saot", "majority")
	require.Equal(t, []string{"saot", "majority"}, Names(groups))
	line := OnTask(groups[1], continual.ClassIL, 2)
	require.Equal(t, []float64{2, 3}, line.X)
	change := ChangeOnTasks(groups[1], continual.ClassIL, 3)
	require.InDelta(t, line.Y[1]-line.Y[0], change.Y[1], 1e-9)
	require.Zero(t, change.Y[2], "the newest task")
	bars := BarsOf("AP", groups, AP(continual.ClassIL))
	for i, g := range groups {
		score, ok := g.Runs[0].Score(continual.ClassIL, continual.ProbeConverged)
		require.True(t, ok)
		require.InDelta(t, score.AP, OverSeeds(g, AP(continual.ClassIL))[0], 1e-9)
		require.InDelta(t, score.AF, OverSeeds(g, AF(continual.ClassIL))[0], 1e-9)
		require.InDelta(t, Mean(g, AP(continual.ClassIL)), bars.Values[i], 1e-12)
	}
}

func TestRecorded(t *testing.T) {
	values, err := record.Quantize([]float32{0.5, 0, 0.25, 0.25})
	require.NoError(t, err)
	task := record.Task{
		Nodes: []int32{8, 3}, Classes: []int32{5, 4}, Terms: []string{"total"}, Figures: []string{"norm"},
		Graph: &record.Plan{Values: *values},
		Frames: []record.Frame{
			{}, {Step: 2, Terms: []record.Number{3}, Figures: []record.Number{7}},
			{Step: 5, Terms: []record.Number{2}, Figures: []record.Number{6}},
		},
	}
	r := &record.Recording{Tasks: []record.Task{task, task}}
	require.Equal(t, []float64{7, 6, 7, 6}, Recorded(r, "norm").Y)
	require.Equal(t, []float64{2, 5, 7, 10}, Recorded(r, "total").X)
	require.Empty(t, Recorded(r, "nothing").Y)
	require.Equal(t, []int{0, 1}, RecordedClasses(task))
	require.InDelta(t, 0.25, RecordedPlan(task, task.Graph).At(0, 0), 1e-4)
	require.InDelta(t, 0.5, RecordedPlan(task, task.Graph).At(1, 1), 1e-4)
}
