package experiment

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
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
	half := shapeOfStream(stream).estimate(r).Bytes / 2
	require.NoError(t, r.Fits(stream, half+1))
	require.Error(t, r.Fits(stream, half-1))
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
	require.InDelta(t, copies*(one+pastBytes)+nodes, float64(most.Bytes-two.Bytes), 10)
	require.Greater(t, most.training, 2*two.training)
	few := change("encoders", "8")
	require.InDelta(t, (34-9)*one, float64(two.Bytes-few.Bytes), 10)
	change("fast_epochs", "1")
	first, later := &shape{tasks: of.tasks[:1]}, &shape{tasks: of.tasks[:2]}
	more := func() float64 { return later.estimate(r).training - 2*first.estimate(r).training }
	change("epochs", "1")
	require.Greater(t, more(), 1.0, "the networks are compiled, however few the steps")
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
		of := published(&Run{Settings: s})
		require.Len(t, of.tasks, s.Stream.Kept(35), share)
		require.EqualValues(t, 2*63421/35, of.edges, "of one task, however many there are")
	}
	s.Stream = datasets.StreamOptions{ClassesPerTask: 20}
	of := published(&Run{Settings: s})
	const n = 20 * 19793 / 70
	require.Equal(t, slices.Repeat([]extent{{n, n * 6 / 10, 20, n * 100}}, 3), of.tasks)
	require.EqualValues(t, 2*63421/3, of.edges)
	require.EqualValues(t, 3*n*100*8+2*63421*4, of.bytes, "words are stored as columns and values")
	s.Stream.ClassesPerTask = 71
	require.Nil(t, published(&Run{Settings: s}))
	s.Dataset, s.Stream = "ogbn-arxiv", datasets.StreamOptions{ClassesPerTask: 40}
	require.EqualValues(t, 169343*128*4+2*1157799*4, published(&Run{Settings: s}).bytes, "dense features")
}

// The probes keep no more train nodes than they are fitted to.
func TestEstimateOfProbeRows(t *testing.T) {
	s, err := DefaultSettings("cora-full", "saot", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	const nodes = 2_000_000
	bytes := func(rows, train int) int64 {
		r.ProbeRows = rows
		return (&shape{tasks: []extent{{nodes: nodes, train: train}}}).estimate(r).Bytes
	}
	require.Equal(t, bytes(0, 1000)-heldBytes*256*(nodes-1000), bytes(1000, nodes))
	require.Greater(t, bytes(0, nodes), bytes(1000, nodes))
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

// storeResult gives a run of a sweep a result.
func storeResult(t *testing.T, s *Sweep, run int, r continual.Result) {
	t.Helper()
	r.Schema = continual.ResultSchema
	require.NoError(t, r.WriteFile(filepath.Join(s.Folder(run), continual.ResultFile)))
}

// A finished run counts for those of its method that are evaluated in the same way on the same tasks.
func TestEstimateFromRunsLikeIt(t *testing.T) {
	for _, c := range []struct {
		basis  string
		change func(r *Run)
	}{
		{"1 finished runs like it", func(r *Run) { r.Seed = 7 }},
		{"model", func(r *Run) { r.Method = "features" }},
		{"model", func(r *Run) { r.Probes = r.Probes[:1] }},
		{"model", func(r *Run) { r.ProbeRows = 10 }},
		{"model", func(r *Run) { r.Stream.First = 0.5 }},
		{"model", func(r *Run) { r.Engine = "go,float64" }},
	} {
		runs := seeds(t, 2)
		c.change(&runs[1])
		s, err := NewSweep(t.TempDir(), runs)
		require.NoError(t, err)
		storeResult(t, s, 0, continual.Result{Seconds: 1})
		require.Equal(t, c.basis, s.Estimates()[1].Basis)
	}
}

func TestEstimateInFloat64(t *testing.T) {
	runs := seeds(t, 2)
	runs[1].Engine = "xla:cpu,float64"
	s, err := FindSweep(t.TempDir(), runs)
	require.NoError(t, err)
	both := s.Estimates()
	require.Positive(t, both[0].Seconds)
	require.InEpsilon(t, 2*both[0].Seconds, both[1].Seconds, 1e-9)
	require.Equal(t, 2*both[0].Bytes, both[1].Bytes)
}

// Epochs of every name may differ between runs of the same settings.
func TestEstimateFromOtherEpochs(t *testing.T) {
	var runs []Run
	for _, change := range []fields.Change{{Path: "hidden", Value: fields.Value{Text: "8"}},
		{Path: "fast_epochs", Value: fields.Value{Text: "5"}}, {Path: "epochs", Value: fields.Value{Text: "5"}}} {
		s, err := DefaultSettings("synthetic", "trace", method.Default)
		require.NoError(t, err)
		require.NoError(t, s.Change(change))
		runs = append(runs, Run{Settings: s})
	}
	s, err := NewSweep(t.TempDir(), runs)
	require.NoError(t, err)
	storeResult(t, s, 0, continual.Result{Seconds: 1})
	require.Equal(t, "1 finished runs like it", s.Estimates()[2].Basis, "of other settings")
	storeResult(t, s, 1, continual.Result{Seconds: 1})
	require.Equal(t, "1 finished runs like it", s.Estimates()[2].Basis, "the one of the same settings")
}

// By hand: the mean time and the largest memory of two runs. Twice the epochs take twice the training, and the probes
// once. Nothing is known of the dataset but its name.
func TestEstimateOfRunsByHand(t *testing.T) {
	var runs []Run
	for seed, epochs := range []string{"50", "50", "50", "100"} {
		s, err := DefaultSettings("gone.npz", "gbt", method.Default)
		require.NoError(t, err)
		require.NoError(t, s.Change(fields.Change{Path: "epochs", Value: fields.Value{Text: epochs}}))
		s.Seed = uint64(seed)
		runs = append(runs, Run{Settings: s})
	}
	s, err := NewSweep(t.TempDir(), runs)
	require.NoError(t, err)
	storeResult(t, s, 0, continual.Result{Seconds: 10, PeakBytes: 2e9, Tasks: []continual.TaskReport{{Seconds: 3},
		{Seconds: 5}}})
	storeResult(t, s, 1, continual.Result{Seconds: 30, PeakBytes: 1e9, Tasks: []continual.TaskReport{{Seconds: 20}}})
	want := Estimate{Seconds: 20, Bytes: 2e9, Basis: "2 finished runs like it"}
	require.Equal(t, want, s.Estimates()[2])
	want.Seconds = (10 + 8 + 30 + 20) / 2.0
	require.Equal(t, want, s.Estimates()[3])
}

// Runs of one sweep that cut a dataset differently are of different sizes.
func TestEstimateOfOtherCuts(t *testing.T) {
	runs := seeds(t, 2)
	runs[1].Stream.First = 0.5
	all := (&Sweep{Dir: t.TempDir(), Runs: runs}).Estimates()
	require.Less(t, all[1].Seconds, 0.6*all[0].Seconds)
}

// By hand: a triangle of dense features, and then two nodes of sparse ones and no edge.
func TestShapeOfStream(t *testing.T) {
	triangle, err := graph.NewAdjacency(3, []int32{0, 1, 2}, []int32{1, 2, 0})
	require.NoError(t, err)
	stream := &datasets.Stream{Tasks: []datasets.Task{
		{Graph: &graph.Graph{Adjacency: triangle,
			Features: graph.Features{Rows: 3, Cols: 2, Dense: make([]float32, 6)}},
			Labels: []int32{0, 0, 0}, Classes: []int32{0}, Split: datasets.Split{Train: []int32{0, 1}}},
		{Graph: &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, 3)}, Features: graph.Features{Rows: 2,
			Cols: 2, Offsets: []int64{0, 1, 3}, Columns: []int32{0, 0, 1}, Values: []float32{1, 1, 1}}},
			Labels: []int32{1, 2}, Classes: []int32{1, 2}, Split: datasets.Split{Train: []int32{0}}},
	}}
	const first, second = 8*4 + 4*6 + 4*6, 8*3 + 8*3 + 4*3 + 4*3 // offsets of 8 bytes, all else of 4
	require.Equal(t, &shape{tasks: []extent{{3, 2, 1, 6}, {2, 1, 2, 3}}, columns: 2, edges: 6, bytes: first + second},
		shapeOfStream(stream))
}

// After task k the probes are fitted to the nodes of k tasks, for as many classes: over three equal tasks the nodes add
// up to 1+2+3 times those of one, and nodes times classes to 1+4+9 times.
func TestEstimateOfProbes(t *testing.T) {
	s, err := DefaultSettings("cora-full", "random", method.Default)
	require.NoError(t, err)
	require.NoError(t, s.Change(fields.Change{Path: "encoder.out", Value: fields.Value{Text: "100"}}))
	const entries = 300 * 100
	want := 0.0
	for _, p := range s.Probes {
		c := probeSeconds[p]
		want += 3*c.once + 6*entries*c.entry + 14*2*entries*c.class
	}
	of := &shape{tasks: slices.Repeat([]extent{{nodes: 500, train: 300, classes: 2}}, 3)}
	require.InEpsilon(t, want, of.estimate(&Run{Settings: s}).Seconds, 1e-9)
}

// The largest task counts, wherever it stands. An encoder that is not trained has no gradients, and a node takes a
// quarter, up to the largest graph that it takes whole. Without an encoder, a node takes what is made of its features.
// All nodes' embeddings are held.
func TestEstimateOfTheLargestTask(t *testing.T) {
	bytes := func(name string, nodes ...int) int64 {
		s, err := DefaultSettings("cora-full", name, method.Default)
		require.NoError(t, err)
		of := &shape{columns: 10}
		for _, n := range nodes {
			of.tasks = append(of.tasks, extent{nodes: n})
		}
		return of.estimate(&Run{Settings: s}).Bytes
	}
	require.Equal(t, bytes("gbt", 1000, 10), bytes("gbt", 10, 1000))
	trained := bytes("gbt", 2000) - bytes("gbt", 1000)
	const held = (embeddedBytes + heldBytes) * 256
	require.EqualValues(t, 1000*(nodeBytes+held), trained)
	more := func(name string, fewer, nodes int) int64 { return bytes(name, nodes) - bytes(name, fewer) }
	require.EqualValues(t, 1000*(nodeBytes/4+held), more("random", 1000, 2000))
	require.EqualValues(t, 1e6*held, more("random", 20_000, 1_020_000))
	require.EqualValues(t, 1000*(hostBytes*10+held/256*10), more("propagated", 1000, 2000))
	require.EqualValues(t, 1000*(hostBytes*256+held), more("propagated-pca", 1000, 2000))
	require.EqualValues(t, 100*nodeBytes/4, bytes("random-calibrated", 100, 1000)-bytes("random", 100, 1000))
	require.EqualValues(t, 1000*(hostBytes+held/256), more("majority", 1000, 2000))
}

// The entries of the features take longer in a wider hidden layer, and again in each step that replays their nodes.
func TestEstimateOfEntries(t *testing.T) {
	take := func(changes ...fields.Change) float64 {
		s, err := DefaultSettings("cora-full", "saot", method.Default)
		require.NoError(t, err)
		require.NoError(t, s.Change(append(changes, fields.Change{Path: "encoder.kind",
			Value: fields.Value{Text: "gcn"}})...))
		training := func(entries int64) float64 {
			of := &shape{tasks: slices.Repeat([]extent{{nodes: 300, entries: entries}}, 2)}
			return of.estimate(&Run{Settings: s}).training
		}
		return training(1e6) - training(0)
	}
	change := func(path, text string) fields.Change {
		return fields.Change{Path: path, Value: fields.Value{Text: text}}
	}
	alone, narrow := change("buffer", "0"), change("encoder.hidden", "512")
	one := take(alone, narrow)
	require.InEpsilon(t, one, take(alone, narrow, change("encoder.out", "512")), 1e-6)
	require.InEpsilon(t, 2*one, take(alone, change("encoder.hidden", "1024")), 1e-6)
	require.InEpsilon(t, 1.5*one, take(narrow, change("buffer", "300")), 1e-6, "the second task has both tasks' nodes")
}

// Steps that take each node once: the last one may be smaller. Half of the nodes of a step are replayed, or all of them
// where they are fewer.
func TestStepsOf(t *testing.T) {
	halved := method.Load{Halved: true}
	for _, c := range []struct {
		load                  method.Load
		nodes, replayed, size int
		want                  float64
	}{
		{method.Load{}, 256, 0, 256, 1}, {method.Load{}, 257, 0, 256, 2}, {method.Load{}, 200, 57, 256, 2},
		{halved, 256, 0, 256, 1}, {halved, 256, 10, 256, 2}, {halved, 256, 1000, 256, 2}, {halved, 257, 1000, 256, 3},
		{method.Load{Steps: 5}, 257, 0, 256, 5},
	} {
		require.Equal(t, c.want, stepsOf(c.load, c.nodes, c.replayed, c.size), "%+v", c)
	}
}

// A step takes stored nodes of the current task and of past ones, once there are any.
func TestPastTasks(t *testing.T) {
	for task, want := range []int{0, 2, 3, 3} {
		require.Equal(t, want, pastTasks(method.Load{PastTasks: 2}, task))
		require.Zero(t, pastTasks(method.Load{}, task))
	}
}

// What a feature column and a node take: the weights of the first layer, in training also their gradient and Adam's two
// moments; at least the weights and the embeddings of a random encoder; and what a GAT takes to be compiled.
func TestEstimateOfColumns(t *testing.T) {
	settings := func(name string, changes ...fields.Change) *Run {
		s, err := DefaultSettings("cora-full", name, method.Default)
		require.NoError(t, err)
		require.NoError(t, s.Change(changes...))
		return &Run{Settings: s}
	}
	bytes := func(r *Run, columns, nodes int) int64 {
		return (&shape{columns: columns, tasks: []extent{{nodes: nodes}}}).estimate(r).Bytes
	}
	width := func(text string) fields.Change {
		return fields.Change{Path: "encoder_width", Value: fields.Value{Text: text}}
	}
	random, trained := settings("random"), settings("dgi", fields.Change{Path: "out", Value: fields.Value{Text: "512"}})
	require.EqualValues(t, 4*512*1000, bytes(random, 2000, 1)-bytes(random, 1000, 1))
	require.EqualValues(t, 4*4*512*1000, bytes(trained, 2000, 1)-bytes(trained, 1000, 1))
	narrow, wide := settings("cat", width("1000")), settings("cat", width("2000"))
	require.GreaterOrEqual(t, bytes(wide, 5000, 1)-bytes(narrow, 5000, 1), int64(4*1000*5000))
	require.GreaterOrEqual(t, bytes(wide, 1, 5000)-bytes(narrow, 1, 5000), int64(4*1000*5000))
	require.GreaterOrEqual(t, bytes(wide, 5000, 100_000)-bytes(wide, 1, 100_000), int64(4*5000*100_000))
	gat := settings("trace", fields.Change{Path: "encoder", Value: fields.Value{Text: "gat"}})
	require.Greater(t, bytes(gat, 1, 1), int64(4<<30))
}
