package baseline

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// onLine returns embeddings of one column.
func onLine(x ...float64) *mat.Dense { return mat.NewDense(len(x), 1, x) }

func proxiesOf(z *mat.Dense, clusters, limit int) []int32 {
	s := traceDefaults(datasets.RecipeCora, method.Default).(*TRACESettings)
	s.Clusters, s.Proxies = clusters, limit
	p, err := s.progressive(context.Background(), z, seed.Stream(1, "proxies"))
	if err != nil {
		panic(err) // of the context alone
	}
	slices.Sort(p)
	return p
}

// Mean distances ⅔ to the center 1 and 8/9 to 11⅙ have a variance of 1/81 < 0.1: no cluster is looked at again.
func TestTRACEKeepsCompactClusters(t *testing.T) {
	require.Equal(t, []int32{1, 4}, proxiesOf(onLine(0, 1, 2, 10, 11, 12.5), 2, 10))
	require.Equal(t, []int32{0, 1, 2}, proxiesOf(onLine(0, 5, 11), 10, 10), "as many clusters as nodes")
	require.Len(t, proxiesOf(onLine(3, 3, 3, 3), 2, 10), 2, "equal embeddings end the clustering")
}

// A cluster of mean distance 10 to its center 111, next to one of 0.01·(n²−1)/4n: the loose one is halved, into {100,
// 102} and {120, 122}, if it holds a fifth of the nodes, and else stands for itself.
func TestTRACEDividesLooseClusters(t *testing.T) {
	tight := func(n int) (x []float64) {
		for i := range n {
			x = append(x, 0.01*float64(i))
		}
		return x
	}
	loose := []float64{100, 102, 120, 122.5}
	halved := proxiesOf(onLine(append(tight(15), loose...)...), 2, 10) // 4 of 19: 0.21
	require.Len(t, halved, 3)
	require.Equal(t, int32(7), halved[0])
	require.True(t, halved[1] < 17 && halved[2] >= 17, "one from each half: %v", halved)
	require.Len(t, proxiesOf(onLine(append(tight(17), loose...)...), 2, 10), 2, "4 of 21: 0.19")
	require.Len(t, proxiesOf(onLine(append(tight(15), loose...)...), 2, 2), 2, "no room for a third proxy")
	// The parts of a cluster of a third of the nodes are a third of K.
	wide := []float64{1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700}
	far := onLine(append(tight(8), append([]float64{-5000, -5000.1, -5000, -5000.1, -5000, -5000.1, -5000, -5000.1},
		wide...)...)...)
	s := TRACESettings{Variance: 0.1, Clusters: 3, Proxies: 100}
	p, err := s.progressive(context.Background(), far, seed.Stream(1, "proxies"))
	require.NoError(t, err)
	require.Greater(t, len(p), 3)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(p))), len(p), "distinct")
}

func TestTRACEProxiesAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 400)
	for i := range x {
		if x[i] = 100 * rng.Float64(); i%2 == 0 {
			x[i] = 1e6 * float64(1+i%9) // nine tight clusters next to a loose one, of half of the nodes
		}
	}
	require.Len(t, proxiesOf(onLine(x...), 10, 100), 14, "the loose one in round(10/2) parts")
	require.Len(t, proxiesOf(onLine(x...), 10, 14), 14)
	require.Len(t, proxiesOf(onLine(x...), 10, 13), 10, "no room for all parts")
	require.Len(t, proxiesOf(onLine(x...), 10, 7), 7)
	require.Len(t, proxiesOf(onLine(x...), 10, 1), 1)
}

// On a path 0 − 1 − … − 9.
func TestTRACEStoresWhatIsAroundProxies(t *testing.T) {
	g := tracePath(t, 10)
	get := func(hops, limit int, proxies ...int32) []int32 {
		return around(&g.Adjacency, proxies, hops, limit, seed.Stream(1, "subgraph"))
	}
	require.Equal(t, []int32{4, 3, 5, 2, 6}, get(2, 10, 4))
	require.Equal(t, []int32{8, 0, 7, 9, 1}, get(1, 10, 8, 0), "proxies first")
	require.Equal(t, []int32{4, 3, 5}, get(2, 3, 4))
	cut := get(2, 4, 4)
	require.Equal(t, []int32{4, 3, 5}, cut[:3])
	require.Contains(t, []int32{2, 6}, cut[3], "one of the second hop, at random")
	require.Len(t, cut, 4)
}

// tracePath is a path of n nodes with features of two kinds.
func tracePath(t *testing.T, n int) *graph.Graph {
	var src, dst []int32
	for i := range int32(n - 1) {
		src, dst = append(src, i), append(dst, i+1)
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	rng := seed.Stream(5, "features")
	x := make([]float32, 12*n)
	for i := range x {
		x[i] = float32(rng.NormFloat64()) + float32(i/12%2*(i%12)/4)
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: 12, Dense: x}}
}

func TestTRACEMeanSimilarity(t *testing.T) {
	require.InDelta(t, 1, meanSimilarity([]float32{1, 2, 2, 4, 0.5, 1}, 2), 1e-9, "one direction")
	require.InDelta(t, 0.5, meanSimilarity([]float32{3, 0, 0, 7}, 2), 1e-9, "(1 + 0 + 0 + 1)/4")
	require.InDelta(t, 0, meanSimilarity([]float32{3, 0, -1, 0}, 2), 1e-9)
	require.InDelta(t, (3+2*(math.Sqrt2/2+math.Sqrt2/2+0))/9, meanSimilarity([]float32{1, 0, 1, 1, 0, 1}, 2), 1e-6)
}

func TestTRACEReplaysWhatHasChanged(t *testing.T) {
	l := &trace{TRACESettings: *traceDefaults(datasets.RecipeCora, method.Default).(*TRACESettings)}
	retention := []float64{0.78, 0.8, 1, 1.2, 1.21, 0.3, 5}
	for range len(retention) + 1 {
		l.memories = append(l.memories, &traceMemory{Encoder: map[string][]float32{}})
	}
	weights := func() map[int]float64 {
		all := map[int]float64{}
		for _, r := range l.replayed(retention) {
			all[slices.Index(l.memories, r.memory)] = r.weight
		}
		return all
	}
	require.Equal(t, map[int]float64{0: 0.78, 4: 1, 5: 0.3, 6: 1}, weights())
	// With room for three encoders, those of the tasks farthest from R = 1 stay.
	l.Encoders = 3
	require.Equal(t, 3, l.forget(retention))
	require.Equal(t, map[int]float64{0: 0.78, 5: 0.3, 6: 1}, weights())
	require.NotNil(t, l.memories[7].Encoder, "the last task's")
	l.Encoders = 0
	require.Equal(t, 0, l.forget(retention))
	require.Empty(t, weights())
}

// similarityLossOf runs similarityLoss on embeddings [rows, d] of the current and the past proxies in two views, now
// and then.
func similarityLossOf(t *testing.T, e *engine.Engine, z [8]*mat.Dense, current, past []float32) float64 {
	var in []*tensors.Tensor
	for _, share := range [][]float32{current, past} {
		in = append(in, tensors.FromFlatDataAndDimensions(share, len(share), 1))
	}
	for _, m := range z {
		rows, cols := m.Dims()
		data := make([]float32, 0, rows*cols)
		for _, v := range m.RawMatrix().Data {
			data = append(data, float32(v))
		}
		in = append(in, tensors.FromFlatDataAndDimensions(data, rows, cols))
	}
	f, err := e.Func("similarity loss", func(in []*Node) []*Node {
		views := func(at int) proxyViews { return proxyViews{[2]*Node(in[at : at+2]), [2]*Node(in[at+2 : at+4])} }
		return []*Node{similarityLoss(views(2), views(6), in[0], in[1])}
	})
	require.NoError(t, err)
	out, err := f.Call(in...)
	require.NoError(t, err)
	return float64(tensors.MustCopyFlatData[float32](out[0])[0])
}

// changeOf is one view's share of D by its definition, in float64, for numbers of current and past proxies.
func changeOf(now, then [2]*mat.Dense, current, past int) float64 {
	cos := func(a, b *mat.Dense, i, j int) float64 {
		return mat.Dot(a.RowView(i), b.RowView(j)) / mat.Norm(a.RowView(i), 2) / mat.Norm(b.RowView(j), 2)
	}
	mse := func(first, rows int) (sum float64) {
		for i := range rows {
			for j := range past {
				sum += math.Pow(cos(now[first], now[1], i, j)-cos(then[first], then[1], i, j), 2)
			}
		}
		return sum / float64(rows*past)
	}
	return mse(0, current) + mse(1, past)
}

// Two current and three past proxies; further rows are none.
func TestTRACESimilarityLoss(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		rng := seed.Stream(2, "z")
		var z [8]*mat.Dense // current in both views, past in both, now; the same, then
		for i := range z {
			z[i] = mat.NewDense(6, 3, nil)
			z[i].Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z[i])
		}
		var want float64
		for v := range 2 {
			want += changeOf([2]*mat.Dense{z[v], z[2+v]}, [2]*mat.Dense{z[4+v], z[6+v]}, 2, 3) / 2
		}
		current, past := []float32{0.5, 0.5, 0, 0, 0}, []float32{1. / 3, 1. / 3, 1. / 3, 0, 0}
		require.InDelta(t, want, similarityLossOf(t, e, z, current, past), 1e-5)

		// Nothing changes, then everything is turned and scaled alike.
		copy(z[4:], z[:4])
		require.Zero(t, similarityLossOf(t, e, z, current, past))
		var qr mat.QR
		qr.Factorize(mat.NewDense(3, 3, []float64{1, 2, 3, 0, 1, 4, 5, 6, 0}))
		var q mat.Dense
		qr.QTo(&q)
		for i := range 4 {
			turned := new(mat.Dense)
			turned.Mul(z[i], &q)
			turned.Scale(7, turned)
			z[i] = turned
		}
		require.InDelta(t, 0, similarityLossOf(t, e, z, current, past), 1e-10)
	})
}

// tinyTRACE is a learner of small settings for paths of 30 nodes.
func tinyTRACE(t *testing.T, e *engine.Engine, change func(s *TRACESettings)) *trace {
	s := traceDefaults(datasets.RecipeCora, method.Fast).(*TRACESettings)
	s.Hidden, s.Out, s.Heads, s.FastEpochs, s.Epochs, s.WarmUp, s.Clusters, s.Proxies, s.Buffer, s.Beta = 8, 4, 2, 2, 3,
		1, 4, 6, 12, 0.5
	change(s)
	require.NoError(t, s.Validate())
	l, err := newTRACE(method.Build{Engine: e, Settings: s, Seed: 3, Stream: method.Stream{Features: 12, Classes: 2,
		Sizes: []encoder.Size{encoder.SizeOf(tracePath(t, 30))}}})
	require.NoError(t, err)
	return l.(*trace)
}

// taskPath is a path of 30 nodes with features of its own.
func taskPath(t *testing.T, task int) *graph.Graph {
	g := tracePath(t, 30)
	rng := seed.Stream(uint64(task), "task")
	for i := range g.Features.Dense {
		g.Features.Dense[i] += float32(rng.NormFloat64())
	}
	return g
}

func learnPath(t *testing.T, l *trace, task int) *continual.TaskReport {
	r, err := l.Learn(context.Background(), task, taskPath(t, task), nil)
	require.NoError(t, err)
	return r
}

func termsOf(all []continual.Term) map[string]float64 {
	m := map[string]float64{}
	for _, term := range all {
		m[term.Name] = term.Value
	}
	return m
}

// A GAT of one layer has no BatchNorm: the slow encoder begins a task as the frozen one, and only its steps make a
// difference.
func TestTRACEDistillsNothingUntilSomethingChanges(t *testing.T) {
	e := enginetest.Go(t)
	l := tinyTRACE(t, e, func(s *TRACESettings) { s.Encoder, s.Layers = encoder.GAT, 1 })
	first := learnPath(t, l, 0)
	terms := termsOf(first.LastLoss)
	require.Positive(t, terms["barlow"])
	require.Equal(t, []float64{terms["barlow"], 0, 0}, []float64{terms["total"], terms["distillation"],
		terms["replay"]})
	second := learnPath(t, l, 1)
	require.InDelta(t, 0, termsOf(second.FirstLoss)["distillation"], 1e-10)
	terms = termsOf(second.LastLoss)
	require.Greater(t, terms["distillation"], 1e-8)
	require.InDelta(t, terms["barlow"]+terms["distillation"], terms["total"], 1e-5)
}

// embeddedBy returns embeddings of a graph by the slow encoder as it once was.
func embeddedBy(t *testing.T, l *trace, weights map[string][]float32, g *graph.Graph) *mat.Dense {
	require.NoError(t, l.slow.Restore(weights))
	z, err := l.Embed(context.Background(), g)
	require.NoError(t, err)
	m := mat.NewDense(z.Rows, z.Cols, nil)
	m.Apply(func(i, j int, _ float64) float64 { return float64(z.Data[i*z.Cols+j]) }, m)
	return m
}

// barlowOfEqualViews is the loss of Graph Barlow Twins between two equal views, in float64.
func barlowOfEqualViews(z *mat.Dense) (loss float64) {
	n, d := z.Dims()
	var c mat.SymDense
	stat.CorrelationMatrix(&c, z, nil)
	for i := range d {
		for j := range d {
			if v := c.At(i, j) * float64(n-1) / float64(n); i == j {
				loss += (1 - v) * (1 - v)
			} else {
				loss += v * v / float64(d)
			}
		}
	}
	return loss
}

// The third task replays the first if its retention is outside [0.8, 1.2], by the encoder that the first task left.
// With views that change nothing, and without BatchNorm, every term of the first step follows from embeddings.
func TestTRACEReplaysSpaced(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		settings := func(s *TRACESettings) {
			s.Encoder, s.Layers, s.FeatureMask, s.EdgeDrop, s.LearningRate = encoder.GAT, 1, 0, 0, 0.05
		}
		l, other := tinyTRACE(t, e, settings), tinyTRACE(t, e, settings)
		learnPath(t, l, 0)
		first, err := l.slow.Snapshot()
		require.NoError(t, err)
		learnPath(t, l, 1)
		require.Equal(t, packed.Map[float32](first), l.memories[0].Encoder)
		require.Nil(t, l.memories[1].Encoder, "until the next task")
		second, err := l.slow.Snapshot()
		require.NoError(t, err)
		similarity, err := l.similarity(l.memories[0])
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, l.Save(&file))

		for retention, weight := range map[float64]float64{0.5: 0.5, 1.1: 0} {
			require.NoError(t, l.Load(bytes.NewReader(file.Bytes())))
			l.memories[0].Similarity = similarity / retention
			r := learnPath(t, l, 2)
			require.InDelta(t, retention, r.Diagnostics["retention"], 1e-9)
			require.Equal(t, math.Ceil(weight), r.Diagnostics["replayed"])
			terms := termsOf(r.FirstLoss)

			was := func(weights map[string][]float32, past int) [2]*mat.Dense {
				return [2]*mat.Dense{embeddedBy(t, other, weights, l.memories[2].Graph), embeddedBy(t, other, weights,
					l.memories[past].Graph)}
			}
			replay := changeOf(was(second, 0), was(first, 0), l.memories[2].Proxies, l.memories[0].Proxies)
			require.Greater(t, replay, 1e-3, "the second task has moved the encoder")
			require.InDelta(t, 0.5*weight*replay, terms["replay"], 1e-5)
			require.InDelta(t, 0, terms["distillation"], 1e-10)
			require.InDelta(t, barlowOfEqualViews(embeddedBy(t, other, second, taskPath(t, 2))), terms["barlow"], 1e-4)
			require.InDelta(t, terms["barlow"]+terms["distillation"]+terms["replay"], terms["total"], 1e-5)
		}
	})
}

// Where a step takes one of two replayed tasks, the mean of its loss over both is the loss of a step that takes both.
func TestTRACEReplaysSomeOfMany(t *testing.T) {
	e := enginetest.Go(t)
	l := tinyTRACE(t, e, func(s *TRACESettings) {
		s.Encoder, s.Layers, s.FeatureMask, s.EdgeDrop, s.LearningRate, s.Retention = encoder.GAT, 1, 0, 0, 0.05, 1
	})
	for task := range 3 {
		learnPath(t, l, task)
	}
	var file bytes.Buffer
	require.NoError(t, l.Save(&file))
	l.Epochs, l.LearningRate = 20, 1e-12 // twenty steps from the same weights
	losses := func(replay int) (seen []float64) {
		require.NoError(t, l.Load(bytes.NewReader(file.Bytes())))
		l.Replay = replay
		r, err := l.Learn(context.Background(), 3, taskPath(t, 3), func(s continual.Step) {
			terms := termsOf(s.Terms)
			value, slow := terms["replay"]
			same := func(other float64) bool { return math.Abs(value-other) < 1e-5*value }
			if slow && !slices.ContainsFunc(seen, same) {
				seen = append(seen, value)
			}
		})
		require.NoError(t, err)
		require.Equal(t, 2., r.Diagnostics["replayed"])
		return seen
	}
	both, one := losses(0), losses(1)
	require.Len(t, both, 1)
	require.Greater(t, both[0], 1e-4)
	require.Len(t, one, 2)
	require.InEpsilon(t, both[0], (one[0]+one[1])/2, 1e-4)
}

// What is saved with tasks to replay continues bit for bit.
func TestTRACEResumesWithReplay(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		settings := func(s *TRACESettings) { s.Retention, s.Encoders = 1, 1 } // replays all that it can
		whole, resumed := tinyTRACE(t, e, settings), tinyTRACE(t, e, settings)
		learnPath(t, whole, 0)
		learnPath(t, whole, 1)
		var file bytes.Buffer
		require.NoError(t, whole.Save(&file))
		require.NoError(t, resumed.Load(&file))
		require.Equal(t, 1., learnPath(t, whole, 2).Diagnostics["replayed"])
		learnPath(t, resumed, 2)
		want, err := whole.slow.Snapshot()
		require.NoError(t, err)
		got, err := resumed.slow.Snapshot()
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, whole.memories, resumed.memories)
	})
}

// The fast encoder of a task is new, and the slow one learns from the first task on.
func TestTRACEFastIsNewAndSlowGoesOn(t *testing.T) {
	e := enginetest.Go(t)
	l := tinyTRACE(t, e, func(s *TRACESettings) {})
	start, err := l.slow.Snapshot()
	require.NoError(t, err)
	seen := 0
	_, err = l.Learn(context.Background(), 0, tracePath(t, 30), func(s continual.Step) {
		seen++
		require.Equal(t, []int{seen, 5}, []int{s.Done, s.Steps})
	})
	require.NoError(t, err)
	require.Equal(t, 5, seen)
	after, err := l.slow.Snapshot()
	require.NoError(t, err)
	require.NotEqual(t, start, after)

	// Whatever the fast encoder has been through, a task's is newly drawn.
	other := tinyTRACE(t, e, func(s *TRACESettings) {})
	a, b := learnPath(t, l, 1), learnPath(t, other, 1)
	require.Equal(t, a.Diagnostics["fast_loss"], b.Diagnostics["fast_loss"])
}

func TestTRACEMemoryIsBounded(t *testing.T) {
	e := enginetest.Go(t)
	// replay all
	l := tinyTRACE(t, e, func(s *TRACESettings) { s.Epochs, s.FastEpochs, s.Encoders, s.Retention = 1, 1, 2, 1 })
	for task := range 6 {
		r := learnPath(t, l, task)
		require.Equal(t, float64(min(max(0, task-1), 2)), r.Diagnostics["kept_encoders"])
		require.LessOrEqual(t, r.Diagnostics["replayed"], 2.)
		kept := 0
		for _, m := range l.memories {
			require.LessOrEqual(t, m.Graph.NumNodes(), 12)
			require.LessOrEqual(t, m.Proxies, 6)
			if m.Encoder != nil {
				kept++
			}
		}
		require.LessOrEqual(t, kept, 3, "two and the last task's")
	}
	s := l.TRACESettings
	s.Buffer = 5
	require.ErrorContains(t, s.Validate(), "trace: buffer is 5, want proxies (6) or more")
	s = l.TRACESettings
	s.Encoder = encoder.Linear
	require.ErrorContains(t, s.Validate(), "trace: encoder is linear, want gcn or gat")
}

// The compactness of {0, 2} is 1 and that of {100, 106} is 3: its variance is 1.
func TestLooseClusters(t *testing.T) {
	z := mat.NewDense(4, 1, []float64{0, 2, 100, 106})
	for threshold, want := range map[float64]bool{0.9: true, 1.1: false} {
		clusters, loose, err := divide(context.Background(), z, consecutive(4), 2, threshold, seed.Stream(1, "divide"))
		require.NoError(t, err)
		for i, c := range clusters {
			require.Equal(t, want && c.nodes[0] == 2, loose[i])
		}
	}
}
