package experiment

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/method"
)

// Widths that no machine has room for are refused by an error that names them.
func TestFits(t *testing.T) {
	t.Setenv("SAOT_UNBOUNDED", "")
	s, err := DefaultSettings("synthetic", "saot", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	stream, err := r.OpenStream()
	require.NoError(t, err)
	const machine = 8e9
	require.NoError(t, r.Fits(stream, machine))
	require.NoError(t, r.Fits(stream, 0), "not known")
	require.Error(t, r.Fits(stream, 1e6))
	for _, hidden := range []string{"1000000000", "1000000000000000000"} {
		require.NoError(t, r.Change(fields.Change{Path: "encoder.hidden", Value: fields.Value{Text: hidden}}))
		require.ErrorContains(t, r.Fits(stream, machine), "lower hidden, out or whole_graph (encoder.hidden")
	}
	t.Setenv("SAOT_UNBOUNDED", "1")
	require.NoError(t, r.Fits(stream, machine))
}

// The columns of sparse features take no room in a file, and much in the first layer.
func TestFitsOfManyColumns(t *testing.T) {
	t.Setenv("SAOT_UNBOUNDED", "")
	for _, name := range []string{"saot", "dgi", "random"} {
		s, err := DefaultSettings("synthetic", name, method.Default)
		require.NoError(t, err)
		r := &Run{Settings: s}
		stream, err := r.OpenStream()
		require.NoError(t, err)
		require.NoError(t, r.Fits(stream, 8e9))
		for i := range stream.Tasks {
			stream.Tasks[i].Graph.Features.Cols = math.MaxInt32
		}
		require.ErrorContains(t, r.Fits(stream, 8e9), "the run is estimated to take")
	}
}

// Ten times the random encoders take nearly ten times as long, whatever the epochs on the few nodes that are kept.
func TestEstimateOfCondensation(t *testing.T) {
	e := &estimator{shapes: map[string]*shape{}}
	seconds := func(name, encoders string) float64 {
		s, err := DefaultSettings("cora-full", name, method.Fast)
		require.NoError(t, err)
		r := &Run{Settings: s}
		require.NoError(t, r.Change(fields.Change{Path: "encoders", Value: fields.Value{Text: encoders}},
			fields.Change{Path: "epochs", Value: fields.Value{Text: "1"}}))
		return e.model(r).training
	}
	for name, few := range map[string]string{"cat": "300", "puma": "20"} {
		compiled := 35 * taskSeconds
		require.InDelta(t, 10, (seconds(name, few+"0")-compiled)/(seconds(name, few)-compiled), 0.5, name)
	}
}

// An epoch of riegrace is one step, on graphs that are not taken whole too.
func TestEstimateOfOneStep(t *testing.T) {
	s, err := DefaultSettings("arxiv", "riegrace", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	require.NoError(t, r.Change(fields.Change{Path: "whole_graph", Value: fields.Value{Text: "100"}}))
	of := &shape{tasks: []extent{{nodes: 100_000, train: 1}}}
	larger := &shape{tasks: []extent{{nodes: 1_000_000, train: 1}}}
	require.InDelta(t, of.estimate(r).training, larger.estimate(r).training, 1e-9)
}

// Where half of the nodes of a step are buffered, a later task takes twice the steps on samples.
func TestEstimateOfBufferedHalves(t *testing.T) {
	training := func(buffered string, nodes ...int) float64 {
		s, err := DefaultSettings("arxiv", "saot", method.Default)
		require.NoError(t, err)
		r := &Run{Settings: s}
		require.NoError(t, r.Change(fields.Change{Path: "distill_buffered", Value: fields.Value{Text: buffered}}))
		of := &shape{}
		for _, n := range nodes {
			of.tasks = append(of.tasks, extent{nodes: n, train: n})
		}
		return of.estimate(r).training
	}
	const large = 1_000_000
	first := training("true", large)
	require.InDelta(t, training("false", large), first, 1e-9)
	require.InDelta(t, 3*first, training("true", large, large), 0.01*first)
	require.InDelta(t, 2*first, training("false", large, large), 0.01*first)
}

// TRACE's networks of past tasks and what a step replays of them count: those of the paper's CoraFull have 20.59
// million weights.
func TestEstimateOfSnapshots(t *testing.T) {
	s, err := DefaultSettings("cora-full", "trace", method.Paper)
	require.NoError(t, err)
	r := &Run{Settings: s}
	of := published(r)
	of.columns = 8710
	change := func(path, text string) Estimate {
		require.NoError(t, r.Change(fields.Change{Path: path, Value: fields.Value{Text: text}}))
		return of.estimate(r)
	}
	one := 4 * float64(8710*2*1024+2*1024*1024+1024*5*128)
	most, two := of.estimate(r), change("replay", "2")
	copies := 34 - 3.0 // encoders in a step
	nodes := copies * float64(of.tasks[0].nodes) * nodeBytes * (1024 + 3072) / defaultWidthSum
	require.InDelta(t, copies*one+nodes, float64(most.Bytes-two.Bytes), 10)
	require.Greater(t, most.training, 2*two.training)
	few := change("encoders", "8")
	require.InDelta(t, (34-9)*one, float64(two.Bytes-few.Bytes), 10)
}

// The weights between two wide layers count, with their gradient, Adam's moments and the teacher's copy: a slip of the
// keyboard must not end in a machine without memory.
func TestEstimateOfWideLayers(t *testing.T) {
	s, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	for _, path := range []string{"encoder.hidden", "encoder.out"} {
		require.NoError(t, r.Change(fields.Change{Path: path, Value: fields.Value{Text: "300000"}}))
	}
	of := &shape{columns: 10, tasks: []extent{{nodes: 10, train: 6, classes: 2}}}
	require.Greater(t, of.estimate(r).Bytes, int64(5*4*300_000*300_000))
}

// An estimate without the data counts the tasks as a stream does.
func TestPublishedShapeOfFirstTasks(t *testing.T) {
	s, err := DefaultSettings("cora-full", "saot", method.Default)
	require.NoError(t, err)
	for _, share := range []float64{0, 0.01, 0.2, 0.21, 1} {
		s.Stream.First = share
		require.Len(t, published(&Run{Settings: s}).tasks, s.Stream.Kept(35), share)
	}
	s.Stream = datasets.StreamOptions{ClassesPerTask: 20}
	of := published(&Run{Settings: s})
	const n = 20 * 19793 / 70
	require.Equal(t, slices.Repeat([]extent{{n, n * 6 / 10, 20, n * 100}}, 3), of.tasks)
	require.EqualValues(t, 2*63421/3, of.edges)
	s.Stream.ClassesPerTask = 71
	require.Nil(t, published(&Run{Settings: s}))
}

// The probes keep no more train nodes than they are fitted to.
func TestEstimateOfProbeRows(t *testing.T) {
	s, err := DefaultSettings("cora-full", "saot", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	bytes := func(rows, train int) int64 {
		r.ProbeRows = rows
		return (&shape{tasks: []extent{{nodes: 10, train: train}}}).estimate(r).Bytes
	}
	require.Equal(t, bytes(0, 1000), bytes(1000, 2_000_000))
	require.Greater(t, bytes(0, 2_000_000), bytes(1000, 2_000_000))
}

// A later task costs joint more, whose steps take all tasks seen; embeddings as wide as the features cost the probes
// more, and factoring these costs time without a step.
func TestEstimateKnowsTheMethod(t *testing.T) {
	of := &shape{columns: 8000, tasks: slices.Repeat([]extent{{nodes: 500, train: 300, classes: 2, entries: 5000}}, 20)}
	estimate := func(name string) Estimate {
		s, err := DefaultSettings("cora-full", name, method.Default)
		require.NoError(t, err)
		return of.estimate(&Run{Settings: s})
	}
	first := &shape{columns: of.columns, tasks: of.tasks[:1]}
	s, err := DefaultSettings("cora-full", "joint", method.Default)
	require.NoError(t, err)
	require.Greater(t, estimate("joint").training, 30*first.estimate(&Run{Settings: s}).training)
	features, pca, majority := estimate("features"), estimate("propagated-pca"), estimate("majority")
	require.Greater(t, features.Seconds, 20*(pca.Seconds-pca.training))
	require.Greater(t, features.Bytes, pca.Bytes)
	require.Zero(t, features.training)
	require.InEpsilon(t, factoredSeconds*8000*500*20, pca.training, 1e-9)
	require.Less(t, majority.Seconds, pca.Seconds/5)
}
