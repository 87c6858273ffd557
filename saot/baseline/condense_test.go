package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// smallStream is two tasks of two classes each.
func smallStream(t *testing.T) *datasets.Stream {
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 160, Classes: 4, Degree: 4, Vocabulary: 48,
		Words: 12})
	require.NoError(t, err)
	s, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	return s
}

func smallBuild(e *engine.Engine, stream *datasets.Stream, s method.Settings) method.Build {
	return method.Build{Engine: e, Settings: s, Seed: 7, Stream: method.StreamOf(stream)}
}

// shownTasks returns what a supervised learner is shown of a stream.
func shownTasks(t *testing.T, stream *datasets.Stream) []*continual.Labeled {
	spy := &taskSpy{}
	_, err := continual.Run(context.Background(), stream, spy, continual.Options{})
	require.NoError(t, err)
	return spy.seen
}

type taskSpy struct {
	continual.Supervised
	seen []*continual.Labeled
}

func (s *taskSpy) Learn(_ context.Context, task int, l *continual.Labeled,
	_ func(continual.Step)) (*continual.TaskReport, error) {
	s.seen = append(s.seen, l)
	return &continual.TaskReport{Task: task}, nil
}

func (s *taskSpy) Logits(_ context.Context, _ continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	cols := s.seen[len(s.seen)-1].End
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: make([]float32, g.NumNodes()*cols)}, nil
}

// By hand, from METHODS: a class's share is int(budget·its part of the train nodes), one at least, and what is left
// goes round.
func TestCondensedShares(t *testing.T) {
	for _, c := range []struct {
		budget int
		train  []int // nodes of each class
		want   []int
	}{
		{4, []int{6, 3}, []int{3, 1}},             // 2.67 and 1.33, one left
		{4, []int{50, 50}, []int{2, 2}},           // exact
		{4, []int{100, 1}, []int{3, 1}},           // 3.96 and 0.04, which becomes 1
		{1, []int{5, 5}, []int{1, 1}},             // exceeded
		{29, []int{10, 10, 10}, []int{10, 10, 9}}, // 9.67 each, two left
		{4, []int{7, 0}, []int{4, 0}},             // nothing to draw from
		{0, []int{600, 200}, []int{3, 1}},         // 0.5 % of 800
		{0, []int{500, 200}, []int{3, 1}},         // 0.5 % of 700 is 3.5
		{0, []int{20, 20}, []int{1, 1}},           // 0.5 % of 40 is none, but one each
	} {
		train := make([][]int32, len(c.train))
		for class, n := range c.train {
			train[class] = make([]int32, n)
		}
		require.Equal(t, c.want,
			(&condenser{CondensationSettings: CondensationSettings{Budget: c.budget}}).shares(train), c)
	}
}

// embeddingByHand is f_W of a row.
func embeddingByHand(row []float64, w []float32) []float64 {
	width := len(w) / len(row)
	h, norm := make([]float64, width), 0.0
	for d := range h {
		for f, x := range row {
			h[d] += x * float64(w[f*width+d])
		}
		h[d] = max(0, h[d])
		norm += h[d] * h[d]
	}
	for d := range h {
		h[d] /= max(math.Sqrt(norm), 1e-12)
	}
	return h
}

// meanByHand is the mean embedding of rows.
func meanByHand(rows [][]float64, w []float32) []float64 {
	var mean []float64
	for _, row := range rows {
		h := embeddingByHand(row, w)
		if mean == nil {
			mean = make([]float64, len(h))
		}
		for d, v := range h {
			mean[d] += v / float64(len(rows))
		}
	}
	return mean
}

// realByHand is the nodes' rows of ÂX.
func realByHand(t *continual.Labeled, nodes []int32) (rows [][]float64) {
	var propagated mat.Dense
	propagated.Mul(graphtest.Hat(&t.Graph.Adjacency), t.Graph.Features.Matrix())
	for _, v := range nodes {
		rows = append(rows, propagated.RawRowView(int(v)))
	}
	return rows
}

func TestRealMeansMatchTheirDefinition(t *testing.T) {
	stream := smallStream(t)
	task := shownTasks(t, stream)[0]
	members := trainByClass(task)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, how := range []struct{ block, most int }{
			{realBlock, wholeEmbedded}, // a sparse graph, where the engine takes one
			{realBlock, 0},             // rows of all nodes at once
			{17, 0},                    // a few at a time
		} {
			c, err := newCondenser(smallBuild(e, stream, nil), CondensationSettings{Budget: 4, Encoders: 1, Width: 8,
				FeatureRate: 1e-3}, 0, 0.6)
			require.NoError(t, err)
			c.block, c.most = how.block, how.most
			real, err := c.upload(task.Graph, members)
			require.NoError(t, err)
			defer real.release()
			require.Equal(t, e.Fuses() && how.most > 0, real.graph != nil)
			require.Greater(t, len(members[0])+len(members[1]), 17)
			w := encoderOf(t, task.Graph.Features.Cols, 8, seed.Stream(1))
			out, err := c.means(real, w)
			require.NoError(t, err)
			got, weights := flatOf(t, out), flatOf(t, w)
			for class := range members {
				want := meanByHand(realByHand(task, members[class]), weights)
				for d, v := range want {
					require.InDelta(t, v, got[class*8+d], 1e-5)
				}
			}
		}
	})
}

func TestPropagatedLengths(t *testing.T) {
	task := shownTasks(t, smallStream(t))[0]
	members := trainByClass(task)
	for class, got := range propagatedLengths(task.Graph, members) {
		want := 0.0
		for _, row := range realByHand(task, members[class]) {
			want += floats.Norm(row, 2) / float64(len(members[class]))
		}
		require.InDelta(t, want, got, 1e-6)
	}
}

// A row of zeros gets no gradient, and those next to it get theirs.
func TestNoGradientWithoutFeatures(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func("means", func(in []*Node) []*Node {
			return Gradient(ReduceAllSum(embeddedMeans(in[0], in[1], in[2])), in[1])
		})
		require.NoError(t, err)
		out, err := f.Call(tensors.FromFlatDataAndDimensions([]float32{0.5, 0.5}, 1, 2),
			tensors.FromFlatDataAndDimensions([]float32{0, 0, 1, 2}, 2, 2),
			tensors.FromFlatDataAndDimensions([]float32{1, -0.5, 0.25, 1, 0.5, 0.5}, 2, 3))
		require.NoError(t, err)
		got := flatOf(t, out[0])
		require.Equal(t, []float32{0, 0}, got[:2])
		require.NotZero(t, got[2])
		require.Less(t, math.Abs(float64(got[2])), 1.0)
	})
}

func flatOf(t *testing.T, x *tensors.Tensor) []float32 {
	data, err := tensors.CopyFlatData[float32](x)
	require.NoError(t, err)
	return data
}

// discrepancyByHand is the objective's mean over encoders that condensation has not seen.
func discrepancyByHand(t *testing.T, task *continual.Labeled, members [][]int32, set *condensed) float64 {
	features, sum := task.Graph.Features.Cols, 0.0
	const encoders = 10
	for e := range encoders {
		w := flatOf(t, encoderOf(t, features, 64, seed.Stream(99, "held out", e)))
		for class, of := range set.groups(task) {
			var rows [][]float64
			for _, i := range of {
				row := make([]float64, features)
				for f, x := range set.Features[int(i)*features : int(i+1)*features] {
					row[f] = float64(x)
				}
				rows = append(rows, row)
			}
			real, made := meanByHand(realByHand(task, members[class]), w), meanByHand(rows, w)
			for d := range real {
				sum += (real[d] - made[d]) * (real[d] - made[d]) / encoders
			}
		}
	}
	return sum
}

// CaT's and PUMA's ways of taking steps both bring the class means of unseen encoders nearer to the real ones.
func TestCondensationLowersTheDiscrepancy(t *testing.T) {
	stream := smallStream(t)
	task := shownTasks(t, stream)[1]
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, inner := range map[string]int{"cat": 0, "puma": 10} {
			s := CondensationSettings{Budget: 5, Encoders: 200, Width: 64, FeatureRate: 1e-3}
			if inner > 0 {
				s.Encoders = 20
			}
			c, err := newCondenser(smallBuild(e, stream, nil), s, inner, 0.6)
			require.NoError(t, err)
			p := condensation{labeled: task, members: trainByClass(task),
				stream: func(name ...any) *rand.Rand { return seed.Stream(3, name...) }}
			diagnostics, steps := map[string]float64{}, 0
			p.observe = func(s continual.Step) {
				steps++
				require.Equal(t, []int{steps, 200}, []int{s.Done, s.Steps})
				require.Len(t, s.Terms, 1)
				require.Equal(t, "discrepancy", s.Terms[0].Name)
			}
			set, err := c.condense(context.Background(), p, "", diagnostics)
			require.NoError(t, err)
			require.Equal(t, []int32{2, 2, 2, 3, 3}, set.Columns)
			before := discrepancyByHand(t, task, p.members, c.drawn(task, p.stream("nodes")))
			after := discrepancyByHand(t, task, p.members, set)
			t.Logf("%s: %.4f before, %.4f after", name, before, after)
			require.Less(t, after, 0.75*before, name)
			require.Less(t, diagnostics["discrepancy_last"], diagnostics["discrepancy_first"])
		}
	})
}

// However long steps make PUMA's condensed rows, they end with the mean length of their class's real ones, whatever
// blocks those were embedded in.
func TestCondensedRowsHaveTheLengthOfRealOnes(t *testing.T) {
	stream := smallStream(t)
	task := shownTasks(t, stream)[1]
	members := trainByClass(task)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, rate := range []float64{1e-3, 0.3} {
			s := CondensationSettings{Budget: 5, Encoders: 20, Width: 16, FeatureRate: rate}
			c, err := newCondenser(smallBuild(e, stream, nil), s, 2, 0.6)
			require.NoError(t, err)
			c.block = 17
			set, err := c.condense(context.Background(), condensation{labeled: task, members: members,
				stream: func(name ...any) *rand.Rand { return seed.Stream(3, name...) }}, "", map[string]float64{})
			require.NoError(t, err)
			var want []float64
			for _, nodes := range members {
				sum := 0.0
				for _, row := range realByHand(task, nodes) {
					sum += floats.Norm(row, 2)
				}
				want = append(want, sum/float64(len(nodes)))
			}
			require.Greater(t, math.Abs(want[0]-want[1]), 1e-3, "the classes differ")
			for i, column := range set.Columns {
				sum, features := 0.0, task.Graph.Features.Cols
				for _, v := range set.Features[i*features : (i+1)*features] {
					sum += float64(v) * float64(v)
				}
				require.InEpsilon(t, want[int(column)-task.First], math.Sqrt(sum), 1e-5)
			}
		}
	})
}

func TestARowOfZerosHasNoLength(t *testing.T) {
	set := &condensed{Features: []float32{0, 0, 3, 4, 0.6, -0.8}, Columns: []int32{2, 2, 3}}
	set.setLengths([]float64{10, 2}, 2)
	require.InDeltaSlice(t, []float32{0, 0, 6, 8, 1.2, -1.6}, set.Features, 1e-6)
}

func encoderOf(t *testing.T, in, out int, rng *rand.Rand) *tensors.Tensor {
	w := tensors.FromShape(shapes.Make(dtypes.Float32, in, out))
	require.NoError(t, drawEncoder(w, rng))
	return w
}

// The encoder's weights repeat, fill Glorot's range and do not hang together from block to block.
func TestRandomEncoder(t *testing.T) {
	a, b := flatOf(t, encoderOf(t, 300, 500, seed.Stream(1))), flatOf(t, encoderOf(t, 300, 500, seed.Stream(1)))
	require.Equal(t, a, b)
	bound, square := math.Sqrt(6./800), 0.0
	for _, v := range a {
		require.LessOrEqual(t, math.Abs(float64(v)), bound)
		square += float64(v) * float64(v) / float64(len(a))
	}
	require.InEpsilon(t, bound*bound/3, square, 0.02)
	require.NotEqual(t, a[:10], a[encoderBlock:encoderBlock+10])
}

func TestCondensationStopsWhenCanceled(t *testing.T) {
	stream := smallStream(t)
	task := shownTasks(t, stream)[0]
	e := enginetest.Go(t)
	for _, inner := range []int{0, 2} {
		c, err := newCondenser(smallBuild(e, stream, nil), CondensationSettings{Encoders: 50, Width: 4,
			FeatureRate: 1e-3}, inner, 0.6)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		p := condensation{labeled: task, members: trainByClass(task), observe: func(continual.Step) { cancel() },
			stream: func(name ...any) *rand.Rand { return seed.Stream(3, name...) }}
		_, err = c.condense(ctx, p, "", map[string]float64{})
		require.ErrorIs(t, err, context.Canceled)
	}
}
