package baseline

import (
	"context"
	"testing"

	"github.com/saot-go/saot/saot/engine/enginetest"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// smallPUMA is PUMA's fast settings, smaller still.
func smallPUMA() *PUMASettings {
	s := pumaDefaults(datasets.RecipeSynthetic, method.Fast).(*PUMASettings)
	s.Hidden, s.Epochs, s.Encoders, s.InnerSteps, s.Width, s.Budget = 16, 100, 3, 5, 32, 8
	return s
}

// By hand: of seven nodes, 0 is train and 1 valid; the task's classes are columns 2 and 3.
func TestPseudoLabelsByHand(t *testing.T) {
	task := &continual.Labeled{Train: []int32{0}, Valid: []int32{1}, First: 2, End: 4}
	logits := &continual.Embedding{Rows: 7, Cols: 4, Data: []float32{
		0, 0, 9, 0, // train
		0, 0, 9, 0, // valid
		0, 0, 9, 0, // class 2, nearly sure
		0, 0, 1, 9, // class 3, nearly sure
		9, 0, 1, 2, // an earlier task's
		0, 0, 1, 0, // class 2 with e/(e+3) = 0.475
		0, 0, 0, 0, // nothing to tell: the first column, an earlier task's
	}}
	require.Equal(t, [][]int32{{2, 5}, {3}}, pseudoLabels(task, logits, 0))
	require.Equal(t, [][]int32{{2, 5}, {3}}, pseudoLabels(task, logits, 0.47))
	require.Equal(t, [][]int32{{2}, {3}}, pseudoLabels(task, logits, 0.48))
}

// What joins the condensation is the train nodes with their labels and nodes without one, never a valid node.
func TestPseudoLabelsJoinTheTrainNodes(t *testing.T) {
	e := enginetest.Go(t)
	stream := smallStream(t)
	task := shownTasks(t, stream)[0]
	b := smallBuild(e, stream, smallPUMA())
	made, err := newPUMA(b)
	require.NoError(t, err)
	l := made.(*puma)
	report, err := l.Learn(context.Background(), 0, task, nil)
	require.NoError(t, err)
	train, diagnostics := trainByClass(task), map[string]float64{}
	members, err := l.withPseudoLabels(context.Background(), task, train, diagnostics)
	require.NoError(t, err)
	hidden := task.Graph.NumNodes() - len(task.Train) - len(task.Valid)
	require.Equal(t, float64(hidden), diagnostics["pseudo_labels"],
		"threshold 0 and no earlier task: every node without a label")
	require.Equal(t, float64(hidden), report.Diagnostics["pseudo_labels"])
	for class := range members {
		require.Equal(t, train[class], members[class][:len(train[class])])
		for _, node := range members[class][len(train[class]):] {
			require.Equal(t, int32(-1), task.Columns[node])
		}
	}
	require.NotEqual(t, l.plain[0].Features, l.bank[0].Features)
}

// Without edges and with biases of 0 the network that is trained is the one that classifies, and training leaves the
// biases at 0.
func TestEdgeFreeTrainingIsExactOnAMemory(t *testing.T) {
	e := enginetest.Go(t)
	stream := smallStream(t)
	made, err := newPUMA(smallBuild(e, stream, smallPUMA()))
	require.NoError(t, err)
	l := made.(*puma)
	for k, task := range shownTasks(t, stream) {
		_, err := l.Learn(context.Background(), k, task, nil)
		require.NoError(t, err)
	}
	c := l.network.classifier
	for layer := 1; layer <= 3; layer++ {
		bias, err := c.Value(biasName(layer))
		require.NoError(t, err)
		require.Equal(t, make([]float32, len(bias)), bias)
	}
	memory, rows := l.bank.graph(c.widths[0], l.seen)
	in, err := c.graphs.UploadInput(memory)
	require.NoError(t, err)
	defer in.Release()
	f, err := engine.NewNamed[encoder.Input[*tensors.Tensor]](e, "edge-free", c.Store(),
		func(in encoder.Input[*Node]) []*Node {
			return []*Node{edgeFreeLogits(c, encoder.NodesOf(in))}
		})
	require.NoError(t, err)
	out, err := f.Call(in.Input)
	require.NoError(t, err)
	got, _, err := encoder.RowsOf(out, memory.NumNodes())
	require.NoError(t, err)
	want, _, err := c.layers.Of(in)
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-5)
	require.Len(t, rows, 16)
}

// The network begins with new weights after each of a task's two condensations, on all that the bank holds.
func TestPUMAStartsAgainOnEveryBank(t *testing.T) {
	stream := smallStream(t)
	tasks := shownTasks(t, stream)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		s := smallPUMA()
		s.Epochs, s.Encoders = 3, 1
		b := smallBuild(e, stream, s)
		l := made[*puma](t, "puma", b)
		for k, task := range tasks {
			var first []continual.Step // of a condensation, a network, a condensation and a network
			_, err := l.Learn(context.Background(), k, task, func(s continual.Step) {
				if s.Done == 1 {
					first = append(first, s)
				}
			})
			require.NoError(t, err)
			require.Len(t, first, 4)
			for i, bank := range []memoryBank{l.plain, l.bank} {
				name := []string{"plain_", ""}[i]
				c, err := newClassifier(b, []int{s.Hidden, s.Hidden}, 0, seed.Stream(b.Seed, "weights", name, k))
				require.NoError(t, err)
				memory, rows := bank.graph(c.widths[0], task.End)
				want := meanCrossEntropy(edgeFreeByHand(t, c, memory), rows)
				require.InDelta(t, want, first[2*i+1].Terms[0].Value, 1e-4, "%stask %d", name, k)
			}
		}
	})
}

// edgeFreeByHand are the scores that a network of three layers gives nodes, as if they had neither edges nor biases.
func edgeFreeByHand(t *testing.T, c *classifier, g *graph.Graph) *mat.Dense {
	wide := func(narrow []float32) (x []float64) {
		for _, v := range narrow {
			x = append(x, float64(v))
		}
		return x
	}
	h := mat.NewDense(g.NumNodes(), c.widths[0], wide(g.Features.Dense))
	for layer := 1; layer <= 3; layer++ {
		w, err := c.Value(weightName(layer))
		require.NoError(t, err)
		next := mat.NewDense(g.NumNodes(), c.widths[layer], nil)
		next.Mul(h, mat.NewDense(c.widths[layer-1], c.widths[layer], wide(w)))
		if layer < 3 {
			next.Apply(func(_, _ int, x float64) float64 { return max(0, x) }, next)
		}
		h = next
	}
	return h
}

// meanCrossEntropy is that of rows which all count alike.
func meanCrossEntropy(logits *mat.Dense, rows []labeled) (sum float64) {
	for _, r := range rows {
		open := logits.RawRowView(r.row)[r.first:r.end]
		sum += (floats.LogSumExp(open) - open[r.column-r.first]) / float64(len(rows))
	}
	return sum
}
