package baseline

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// smallCaT is CaT's fast settings, smaller still.
func smallCaT() *CaTSettings {
	s := catDefaults(datasets.RecipeSynthetic, method.Fast).(*CaTSettings)
	s.Hidden, s.Epochs, s.Encoders, s.Width, s.Budget = 16, 100, 20, 32, 8
	return s
}

// fineTuning trains CaT's network on one task's graph after the other and does nothing against forgetting.
type fineTuning struct {
	CaTSettings
	network *classifier
	trainer *lessonTrainer
	seen    int
	continual.Supervised
}

func newFineTuning(t *testing.T, b method.Build) *fineTuning {
	l := &fineTuning{CaTSettings: *b.Settings.(*CaTSettings)}
	var err error
	l.network, err = newClassifier(b, []int{l.Hidden}, 0, seed.Stream(b.Seed, "weights"))
	require.NoError(t, err)
	l.trainer, err = l.network.trainer("fine-tuning", train.Optimizer{LearningRate: l.LearningRate, L2: l.L2})
	require.NoError(t, err)
	return l
}

func (l *fineTuning) Learn(ctx context.Context, task int, t *continual.Labeled,
	_ func(continual.Step)) (*continual.TaskReport, error) {
	l.seen = t.End
	in, err := l.network.graphs.UploadInput(t.Graph)
	if err != nil {
		return nil, err
	}
	defer in.Release()
	report := &continual.TaskReport{Task: task}
	return report, l.network.teach(ctx, l.trainer, lessonPlan{Task: task, Steps: l.Epochs, Report: report}, in,
		trainRows(t, 0, t.End, continual.ClassIL))
}

func (l *fineTuning) Logits(ctx context.Context, _ continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.network.scores(ctx, g, l.seen)
}

func scoreOf(t *testing.T, stream *datasets.Stream, l continual.Supervised) *continual.Score {
	result, err := continual.Run(context.Background(), stream, l, continual.Options{})
	require.NoError(t, err)
	score, ok := result.Score(continual.ClassIL, continual.ProbeHead)
	require.True(t, ok)
	return score
}

// Methods with a memory forget less than the same network, trained for as long without one.
func TestMemoriesForgetLessThanFineTuning(t *testing.T) {
	e := enginetest.Go(t)
	stream := smallStream(t)
	plain := scoreOf(t, stream, newFineTuning(t, smallBuild(e, stream, smallCaT())))
	for m, s := range map[string]method.Settings{"cat": smallCaT(), "puma": smallPUMA(), "taco": smallTACO()} {
		got := scoreOf(t, stream, made[continual.Supervised](t, m, smallBuild(e, stream, s)))
		t.Logf("AP and AF: %s %.1f, %.1f; fine-tuning %.1f, %.1f", m, got.AP, got.AF, plain.AP, plain.AF)
		require.Greater(t, got.AF, plain.AF+20, m)
		if m == "cat" {
			require.Greater(t, got.AP, plain.AP+10)
		}
	}
}

// Rows of a memory are several times as long as those of a task, so that nothing may depend on their length: a graph's
// scores grow with its features. Biases, learned on the memory, would outweigh short rows.
func TestCaTDoesNotSeeTheLengthOfRows(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		tasks := twoLabeled(t, 15)
		s := smallCaT()
		s.Encoders, s.Epochs = 5, 30
		l := made[continual.Supervised](t, "cat", labeledBuild(e, s, tasks))
		mustLearn(t, l, 0, tasks[0])
		const short = 1. / 16
		long := *tasks[0].Graph
		shorter := long
		shorter.Features.Dense = make([]float32, len(long.Features.Dense))
		for i, v := range long.Features.Dense {
			shorter.Features.Dense[i] = short * v
		}
		want, err := l.Logits(context.Background(), continual.ClassIL, &long)
		require.NoError(t, err)
		got, err := l.Logits(context.Background(), continual.ClassIL, &shorter)
		require.NoError(t, err)
		for i, v := range want.Data {
			require.InDelta(t, short*v, got.Data[i], 1e-5)
		}
		require.NotZero(t, want.Data[0])
	})
}

// The memory has no edges and one label for every row, and holds the current task.
func TestMemoryGraph(t *testing.T) {
	bank := memoryBank{{Features: []float32{1, 2, 3, 4}, Columns: []int32{0, 1}},
		{Features: []float32{5, 6}, Columns: []int32{3}}}
	g, rows := bank.graph(2, 4)
	require.Equal(t, 3, g.NumNodes())
	require.Zero(t, g.Adjacency.NumEdges())
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, g.Features.Dense)
	require.Equal(t, []labeled{{row: 0, column: 0, end: 4, weight: 1}, {row: 1, column: 1, end: 4, weight: 1},
		{row: 2, column: 3, end: 4, weight: 1}}, rows)
}

func TestCaTDefaultsOfStreams(t *testing.T) {
	for dataset, want := range map[string][2]int{"cora-full": {4, 5000}, "cora": {4, 5000},
		"corafull-topology": {4, 5000}, "arxiv-topology": {29, 3000},
		"reddit": {40, 3000}, "ogbn-products": {318, 3000}, "uai": {0, 3000}} {
		s := catDefaults(datasets.RecipeOf(dataset), method.Default).(*CaTSettings)
		require.Equal(t, want, [2]int{s.Budget, s.Encoders}, dataset)
	}
	require.NoError(t, setting(catDefaults(datasets.NoRecipe, method.Fast), "encoder_width", "64"),
		"the shared settings are flat")
}
