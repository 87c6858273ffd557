package saot

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
)

// BenchmarkStep takes a training step apart on the second task of a real stream, replay and teacher included (M = 256,
// full batch), on the engine that engine.Open chooses. All figures come from one run, in milliseconds:
//
//	prepare   the host's part: views, sampling, K on the engine, π_G (runs while the engine takes the previous step)
//	forward   both views through the encoder
//	teacher   the frozen encoder on the same views
//	transport π_Z, the teacher's plan and the losses
//	backward  all gradients
//	adam      the update
//	step      the whole step
//	floor     see encoderFloor
//
// and encoder/floor = (forward + teacher + backward + Adam)/floor, outside% = the share of the loop spent outside the
// engine.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"uai", "coauthor-cs"} {
		b.Run(name, func(b *testing.B) {
			l, second, batch := secondTask(b, name)
			draw, projected, err := l.whole(batch)
			require.NoError(b, err)
			defer engine.Release(projected)
			graphs, err := l.newGraphPlans(batch.Graph)
			require.NoError(b, err)
			var in inputs[*tensors.Tensor]
			prepare := best(b, func() {
				if in, _, err = l.prepare(draw, graphs, new(planFigures), 1, 0, false); err != nil {
					b.Fatal(err)
				}
			})
			upTo := make([]time.Duration, stages)
			for stage := range upTo {
				step := l.partialStep(b, stage)
				upTo[stage] = best(b, func() { step(in) })
			}
			floor := l.encoderFloor(b, batch)
			encoderTime := upTo[teacherStage] + upTo[adamStage] - upTo[transportStage]
			b.ReportMetric(ms(prepare), "prepare-ms")
			b.ReportMetric(ms(upTo[forwardStage]), "forward-ms")
			b.ReportMetric(ms(upTo[teacherStage]-upTo[forwardStage]), "teacher-ms")
			b.ReportMetric(ms(upTo[transportStage]-upTo[teacherStage]), "transport-ms")
			b.ReportMetric(ms(upTo[backwardStage]-upTo[transportStage]), "backward-ms")
			b.ReportMetric(ms(upTo[adamStage]-upTo[backwardStage]), "adam-ms")
			b.ReportMetric(ms(upTo[adamStage]), "step-ms")
			b.ReportMetric(1e3*floor, "floor-ms")
			b.ReportMetric(encoderTime.Seconds()/floor, "encoder/floor")
			b.ReportMetric(100*l.outside(b, second), "outside%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The stages of a step, each including those before it.
const (
	forwardStage = iota
	teacherStage
	transportStage
	backwardStage
	adamStage
	stages
)

// secondTask learns the first task briefly and returns the second, and the batch of its steps: the task with what is
// replayed.
func secondTask(b *testing.B, name string) (*Learner, *graph.Graph, *encoder.Batch) {
	ds := opened(b, name)
	stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(b, err)
	e, err := engine.Open("")
	require.NoError(b, err)
	c := DefaultConfig()
	l, err := New(e, c, ds.Graph.Features.Cols, SizesOf(stream), 1)
	require.NoError(b, err)
	l.config.Epochs = 1 // of the first task; shapes are those of a whole run
	_, err = l.Learn(context.Background(), 0, stream.Tasks[0].Graph, nil)
	require.NoError(b, err)
	union, err := l.buffer.Union(stream.Tasks[1].Graph)
	require.NoError(b, err)
	batch, err := l.encoder.Graphs.Upload(union)
	require.NoError(b, err)
	b.Logf("engine %s, %d nodes (padded %d), %d features, %d undirected edges", e.Info().Name, union.NumNodes(),
		batch.Size.Nodes, ds.Graph.Features.Cols, union.Adjacency.NumEdges())
	return l, stream.Tasks[1].Graph, batch
}

// partialStep is a step cut short after a stage; what it has made so far is summed, so that nothing is optimized away.
func (l *Learner) partialStep(b *testing.B, stage int) func(in inputs[*tensors.Tensor]) {
	if stage == adamStage {
		return func(in inputs[*tensors.Tensor]) {
			_, _, err := l.trainer.Step(in)
			require.NoError(b, err)
		}
	}
	sum := func(z [2]*Node) *Node { return Add(ReduceAllSum(z[0]), ReduceAllSum(z[1])) }
	f, err := engine.NewNamed[inputs[*tensors.Tensor]](l.encoder.Engine(), "partial step", l.encoder.Store(),
		func(in inputs[*Node]) []*Node {
			if stage >= transportStage {
				total := l.loss(in).Total
				out := total
				if stage == backwardStage {
					store := l.encoder.Store()
					for _, gradient := range store.RootScope().BuildTrainableVariablesGradientsGraph(total) {
						out = Add(out, ReduceAllSum(gradient))
					}
				}
				return []*Node{out}
			}
			out := sum(train.Embed(l.encoder, encoder.Scope, in.Views, nil, encoder.Training))
			if stage == teacherStage {
				out = Add(out, sum(train.Embed(l.encoder, encoder.TeacherScope, in.Views, in.Projected,
					encoder.Inference)))
			}
			return []*Node{out}
		})
	require.NoError(b, err)
	return func(in inputs[*tensors.Tensor]) {
		out, err := f.Call(in)
		require.NoError(b, err)
		engine.Release(out)
	}
}

// encoderFloor is the time in seconds that a step's encoder and its Adam take at least: the operations on entries that
// are not 0, of real nodes, at the rate of the engine for a product of matrices, and the bytes of W₁ at its rate for
// copying.
//
// Operations: the shared X·W₁ and its gradient, what each view masks (forward and teacher), the sums over neighbors of
// all nodes and then of the aligned ones (forward, backward, teacher), and the second layer of the aligned nodes
// (forward, two gradients, teacher), both for two views. Bytes: W₁ is read forward and by Adam, that of the teacher for
// what is masked; W₁, its gradient and two moments are read and written.
func (l *Learner) encoderFloor(b *testing.B, batch *encoder.Batch) float64 {
	g := batch.Graph
	n, f, entries := g.NumNodes(), g.Features.Cols, g.Features.Rows*g.Features.Cols
	if batch.X.Sparse != nil {
		entries = len(g.Features.Values)
	}
	h, d, k := l.config.Encoder.Hidden, l.config.Encoder.Out, l.config.view().MaskedColumns(f)
	m, neighbors := l.config.points(n), 2*g.Adjacency.NumEdges()+n
	operations := 2 * (2*entries*h + 4*entries/f*k*h + 2*3*(neighbors+neighbors*m/n)*h + 2*4*m*h*d)
	bytes := 4 * f * h * (2 + 1 + 4*2)
	e := l.encoder.Engine()
	return float64(operations)/matmulRate(b, e) + float64(bytes)/copyRate(b, e, f, h)
}

// matmulRate measures the engine's rate on a product of matrices in operations a second.
func matmulRate(b *testing.B, e *engine.Engine) float64 {
	const n = 1024
	product, err := e.Func("product", func(in []*Node) []*Node { return []*Node{MatMul(in[0], in[1])} })
	require.NoError(b, err)
	x := tensors.FromScalarAndDimensions(float32(0.5), n, n)
	return 2 * n * n * n / best(b, func() { call(b, product, x, x) }).Seconds()
}

// copyRate measures the engine's rate of reading and writing a matrix in bytes a second.
func copyRate(b *testing.B, e *engine.Engine, rows, cols int) float64 {
	add, err := e.Func("copy", func(in []*Node) []*Node { return []*Node{AddScalar(in[0], 1)} })
	require.NoError(b, err)
	x := tensors.FromScalarAndDimensions(float32(0.5), rows, cols)
	return float64(2*4*rows*cols) / best(b, func() { call(b, add, x) }).Seconds()
}

// outside runs the loop of the second task and returns the share of its time in which no training step was on the
// engine. A first run compiles.
func (l *Learner) outside(b *testing.B, second *graph.Graph) (share float64) {
	l.config.Epochs = 20
	var before bytes.Buffer
	require.NoError(b, l.Save(&before))
	for range 2 {
		require.NoError(b, l.Load(bytes.NewReader(before.Bytes())))
		start := time.Now()
		report, err := l.Learn(context.Background(), 1, second, nil)
		require.NoError(b, err)
		share = 1 - report.Diagnostics["engine_seconds"]/time.Since(start).Seconds()
	}
	return share
}

func call(b *testing.B, f *engine.Func, inputs ...*tensors.Tensor) {
	out, err := f.Call(inputs...)
	require.NoError(b, err)
	for _, t := range out {
		_ = t.FinalizeAll()
	}
}

// best returns the shortest of several runs after a warm-up that compiles: on a shared machine, the one least
// disturbed.
func best(b *testing.B, f func()) time.Duration {
	b.Helper()
	f()
	shortest := time.Duration(1<<63 - 1)
	for range 10 {
		start := time.Now()
		f()
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// BenchmarkSampledStep shows that training on samples costs the same on graphs of 10⁴ to 10⁶ nodes: a step's
// preparation on the host and its work on the engine, one after the other; the time from step to step of the loop,
// where they overlap; and that as a multiple of what it is on the smallest graph in the same run.
func BenchmarkSampledStep(b *testing.B) {
	e, err := engine.Open("")
	require.NoError(b, err)
	defer e.Close()
	var smallest time.Duration
	for _, nodes := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			ds, err := datasets.Open(fmt.Sprintf("synthetic:%d,columns=100,degree=25,classes=2", nodes), "",
				datasets.Options{})
			require.NoError(b, err)
			c := DefaultConfig()
			c.Encoder.WholeGraph = 1
			l, err := New(e, c, ds.Graph.Features.Cols, nil, 1)
			require.NoError(b, err)
			l.tasks = 1 // so that the teacher takes part
			host, device := l.apart(b, &ds.Graph)
			loop := l.together(b, &ds.Graph)
			if smallest == 0 {
				smallest = loop
			}
			b.ReportMetric(ms(host), "prepare-ms")
			b.ReportMetric(ms(device), "engine-ms")
			b.ReportMetric(ms(loop), "step-ms")
			b.ReportMetric(float64(loop)/float64(smallest), "to-smallest")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const sampledSteps = 60

// apart returns the time of a step's preparation and of its work on the engine.
func (l *Learner) apart(b *testing.B, g *graph.Graph) (host, device time.Duration) {
	graphs, err := l.newGraphPlans(g)
	require.NoError(b, err)
	_, _, draw := l.samples(g, 1)
	var hosts, devices []time.Duration
	for step := range sampledSteps {
		start := time.Now()
		in, made, err := l.prepare(draw, graphs, new(planFigures), 1, step, false)
		require.NoError(b, err)
		ready := time.Now()
		_, _, err = l.trainer.Step(in)
		require.NoError(b, err)
		devices = append(devices, time.Since(ready))
		hosts = append(hosts, ready.Sub(start))
		engine.Release(made)
	}
	return median(hosts), median(devices)
}

// together returns the time from step to step in the loop.
func (l *Learner) together(b *testing.B, g *graph.Graph) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	var between []time.Duration
	last := time.Now()
	_, err := l.Learn(ctx, 1, g, func(s continual.Step) {
		between = append(between, time.Since(last))
		last = time.Now()
		if s.Done == min(sampledSteps, s.Steps) {
			cancel()
		}
	})
	require.ErrorIs(b, err, context.Canceled)
	return median(between)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return 1e3 * d.Seconds() }

// BenchmarkFirstCall is what an engine takes to compile a training step: the first call of the step of BenchmarkStep,
// less a later one.
func BenchmarkFirstCall(b *testing.B) {
	for _, name := range []string{"uai", "coauthor-cs"} {
		b.Run(name, func(b *testing.B) {
			l, _, batch := secondTask(b, name)
			draw, projected, err := l.whole(batch)
			require.NoError(b, err)
			defer engine.Release(projected)
			graphs, err := l.newGraphPlans(batch.Graph)
			require.NoError(b, err)
			in, _, err := l.prepare(draw, graphs, new(planFigures), 1, 0, false)
			require.NoError(b, err)
			l, err = New(l.encoder.Engine(), l.config, l.encoder.Features, nil, 1) // one that has compiled nothing
			require.NoError(b, err)
			step := l.partialStep(b, adamStage)
			start := time.Now()
			step(in)
			first := time.Since(start)
			later := best(b, func() { step(in) })
			b.ReportMetric(ms(first), "first-ms")
			b.ReportMetric(ms(later), "later-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
