package baseline

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// inBatches takes every graph for one too large for a step.
func inBatches(batch int) Sampling { return Sampling{WholeGraph: 1, Batch: batch, FanOut: []int{0}} }

// In the first batch of an untrained network, edges and non-edges each have a loss of ln 2.
func TestGAEBatchesHaveEdges(t *testing.T) {
	g := cliques(t, 4, 6)
	s := &GAESettings{Hidden: 16, Out: 8, LearningRate: 0.01, Epochs: 2, DenseNodes: 100, Pairs: 3,
		Sampling: inBatches(12)}
	report, err := built[*gae](t, enginetest.Go(t), s, newGAE, g, 0).Learn(context.Background(), 0, g, nil)
	require.NoError(t, err)
	require.InDelta(t, 2*math.Ln2, report.FirstLoss[0].Value, 0.2)
}

// A real graph and its shuffled one are told apart in batches too.
func TestDGITellsCorruptionApartInBatches(t *testing.T) {
	g := cliquesByColumn(t, 4, 6)
	s := &DGISettings{Out: 16, LearningRate: 0.01, Epochs: 150, Patience: 150, Sampling: inBatches(12)}
	report, err := built[*dgi](t, enginetest.Go(t), s, newDGI, g, 0).Learn(context.Background(), 0, g, nil)
	require.NoError(t, err)
	require.Less(t, report.Diagnostics["best_loss"], 0.5*math.Ln2)
}

// Patience counts epochs, by their mean losses.
func TestDGIPatienceInBatches(t *testing.T) {
	g := pairedGraph(t, 40, 6)
	s := &DGISettings{Out: 4, LearningRate: 0.3, Epochs: 500, Patience: 3, Sampling: inBatches(10)}
	var losses, means []float64
	report, err := built[*dgi](t, enginetest.Go(t), s, newDGI, g, 0).Learn(context.Background(), 0, g,
		func(s continual.Step) { losses = append(losses, s.Terms[0].Value) })
	require.NoError(t, err)
	for epoch := range slices.Chunk(losses, 4) {
		require.Len(t, epoch, 4)
		means = append(means, stat.Mean(epoch, nil))
	}
	best := slices.Index(means, slices.Min(means))
	require.Equal(t, best+1+s.Patience, len(means))
	require.Equal(t, float64(best+1), report.Diagnostics["best_step"])
	require.InDelta(t, means[best], report.Diagnostics["best_loss"], 1e-12)
}

// The importance of an epoch of two equal batches is that of the whole graph.
func TestTWPImportanceOfSeveralBatches(t *testing.T) {
	tasks := twoLabeled(t, 15) // with 8 train nodes
	l := mustTWP(t, enginetest.Go(t), tasks, func(s *TWPSettings) { s.Epochs = 3 })
	mustLearn(t, l, 0, tasks[0])
	c := l.networks[0]
	rows := trainRows(tasks[0], 0, 2, continual.ClassIL)
	in, err := c.graphs.UploadInput(tasks[0].Graph)
	require.NoError(t, err)
	defer in.Release()
	taught := lesson[*tensors.Tensor]{Labels: newSupervision(rows, in.Rows(), 4), Graph: in.Input}
	want, err := c.importance(t.Context(), in, taught, 1, 1)
	require.NoError(t, err)
	got, err := c.sampledImportance(t.Context(), batches{inBatches(4), tasks[0].Graph, rows, 7, "x"}, 0, 1, 1)
	require.NoError(t, err)
	for name := range want {
		require.InDeltaSlice(t, want[name], got[name], 0.01*slices.Max(want[name])+1e-9, name)
	}
}

// See TestGBTFirstRate: the slow encoder's first step, after 4 epochs of 3 batches of the fast one.
func TestTRACEFirstRateInBatches(t *testing.T) {
	l := tinyTRACE(t, enginetest.Go(t), func(s *TRACESettings) {
		s.Epochs, s.FastEpochs, s.WarmUp, s.LearningRate, s.Decay = 8, 4, 4, 0.02, 0
		s.Sampling = inBatches(10)
	})
	before, err := l.slow.Snapshot()
	require.NoError(t, err)
	var after map[string][]float32
	_, err = l.Learn(context.Background(), 0, taskPath(t, 0), func(s continual.Step) {
		if s.Done == 4*3+1 {
			after, err = l.slow.Snapshot()
			require.NoError(t, err)
		}
	})
	require.NoError(t, err)
	for i, w := range before["input_weight"] {
		require.InEpsilon(t, 0.02/4/3, math.Abs(float64(after["input_weight"][i]-w)), 2e-2)
	}
}

// Retention is measured against the similarity right after the task was learned.
func TestTRACESimilarityAfterLearning(t *testing.T) {
	l := tinyTRACE(t, enginetest.Go(t), func(s *TRACESettings) { s.LearningRate = 0.05 })
	learnPath(t, l, 0)
	after, err := l.similarity(l.memories[0])
	require.NoError(t, err)
	require.InDelta(t, after, l.memories[0].Similarity, 1e-6)
}
