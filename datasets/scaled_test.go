package datasets

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

func TestScaledStatistics(t *testing.T) {
	opt := ScaledOptions{Seed: 3, Nodes: 8000, Classes: 6, Degree: 12, Homophily: 0.7, Imbalance: 20, Columns: 16}
	ds, err := Scaled(opt)
	require.NoError(t, err)
	require.True(t, ds.Synthetic)
	checkAdjacency(t, &ds.Graph.Adjacency)
	require.InEpsilon(t, 48000, ds.Graph.Adjacency.NumEdges(), 0.03, "Nodes·Degree/2, less repeats")
	same, largest := connections(ds)
	require.InDelta(t, 0.7, same, 0.02)
	require.Greater(t, largest, 60, "degrees spread far above their mean of 12")
	sizes := classSizes(ds)
	require.InDelta(t, 20, float64(slices.Max(sizes))/float64(slices.Min(sizes)), 0.5)
	require.Equal(t, []int{8000, 16}, []int{ds.Graph.Features.Rows, ds.Graph.Features.Cols})
	require.Len(t, ds.Graph.Features.Dense, 8000*16)
}

// The same graph comes on any number of cores; another seed gives another.
func TestScaledRepeats(t *testing.T) {
	opt := ScaledOptions{Nodes: 9000, Degree: 8, Columns: 16} // more than a chunk of edges and of rows
	a, err := Scaled(opt)
	require.NoError(t, err)
	before := runtime.GOMAXPROCS(1)
	b, err := Scaled(opt)
	runtime.GOMAXPROCS(before)
	require.NoError(t, err)
	require.Equal(t, a, b)
	opt.Seed = 1
	c, err := Scaled(opt)
	require.NoError(t, err)
	require.NotEqual(t, a.Checksum, c.Checksum)
	require.NotEqual(t, a.Graph, c.Graph)
}

// counted counts the numbers that are drawn from a source.
type counted struct {
	rand.Source
	draws *atomic.Int64
}

func (c counted) Uint64() uint64 {
	c.draws.Add(1)
	return c.Source.Uint64()
}

// Linear time, by counting: random numbers an edge (each with a constant number of table look-ups) and bytes allocated
// an edge stay the same from 2,000 to 64,000 nodes.
func TestScaledWorkIsLinear(t *testing.T) {
	work := func(nodes int) (draws, bytes float64) {
		opt := ScaledOptions{Nodes: nodes, Classes: 10, Imbalance: 3, Degree: 10}.withDefaults()
		labels := scaledLabels(opt)
		var count atomic.Int64
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		a := newBlockModel(opt, labels).edges(func(chunk int) *rand.Rand {
			return rand.New(counted{rand.NewPCG(1, uint64(chunk)), &count})
		})
		runtime.ReadMemStats(&to)
		edges := float64(a.NumEdges())
		return float64(count.Load()) / edges, float64(to.TotalAlloc-from.TotalAlloc) / edges
	}
	draws, bytes := work(2000)
	for _, nodes := range []int{8000, 64000} {
		d, b := work(nodes)
		t.Logf("%d nodes: %.2f draws and %.0f bytes an edge, %.2f and %.0f at 2,000", nodes, d, b, draws, bytes)
		require.InEpsilon(t, draws, d, 0.1)
		require.Less(t, b, 1.25*bytes)
	}
}

// Frequencies of 200,000 draws lie within 5 standard deviations of the weights.
func TestAlias(t *testing.T) {
	weight := []float64{1, 0, 5, 0.25, 3, 3, 100, 1e-3}
	a := newAlias(weight)
	rng := generator(1, "alias")
	const n = 200000
	count := make([]int, len(weight))
	for range n {
		count[a.draw(rng)]++
	}
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	for k, w := range weight {
		p := w / sum
		require.InDelta(t, p*n, count[k], 5*math.Sqrt(p*(1-p)*n)+1e-9, "item %d", k)
	}
	require.Equal(t, 0, newAlias([]float64{3}).draw(rng))
}

// Features alone do not suffice, and the graph helps.
func TestScaledDifficulty(t *testing.T) {
	ds, err := Scaled(ScaledOptions{Nodes: 4000})
	require.NoError(t, err)
	raw, propagated := nearestCenter(t, ds)
	t.Logf("nearest center: raw %.3f, propagated %.3f", raw, propagated)
	require.Greater(t, raw, 0.1)
	require.Less(t, raw, 0.6)
	require.Greater(t, propagated, raw+0.2)
	require.Less(t, propagated, 0.97)
}

// nearestCenter returns the share of test nodes whose class is that of the train center of the largest cosine, over all
// classes of the default stream, for raw features and for D^-½(A+I)D^-½ twice applied within the tasks.
func nearestCenter(t *testing.T, ds *Dataset) (raw, propagated float64) {
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	score := func(hops int) float64 {
		center := make([][]float64, ds.NumClasses)
		rows := make([][][]float32, len(s.Tasks))
		for k := range s.Tasks {
			task := &s.Tasks[k]
			rows[k] = propagate(task.Graph, hops)
			for _, i := range task.Split.Train {
				c := task.Labels[i]
				if center[c] == nil {
					center[c] = make([]float64, ds.Graph.Features.Cols)
				}
				addScaledTo(center[c], rows[k][i], 1/norm(rows[k][i]))
			}
		}
		for _, c := range center {
			var square float64
			for _, v := range c {
				square += v * v
			}
			for f := range c {
				c[f] /= math.Sqrt(square)
			}
		}
		hits, all := 0, 0
		for k := range s.Tasks {
			for _, i := range s.Tasks[k].Split.Test {
				best, at := math.Inf(-1), -1
				for c := range center {
					var dot float64
					for f, v := range center[c] {
						dot += v * float64(rows[k][i][f])
					}
					if center[c] != nil && dot > best {
						best, at = dot, c
					}
				}
				if all++; at == int(s.Tasks[k].Labels[i]) {
					hits++
				}
			}
		}
		return float64(hits) / float64(all)
	}
	return score(0), score(2)
}

func addScaledTo(to []float64, row []float32, scale float64) {
	for f, v := range row {
		to[f] += scale * float64(v)
	}
}

func norm(row []float32) float64 {
	square := 1e-30
	for _, v := range row {
		square += float64(v) * float64(v)
	}
	return math.Sqrt(square)
}

func TestScaledNames(t *testing.T) {
	for name, want := range map[string]ScaledOptions{
		"synthetic:1000": {Nodes: 1000},
		"synthetic:2449029,classes=46,degree=50.5,imbalance=1000": {Nodes: 2449029, Degree: 50.5, Classes: 46,
			Imbalance: 1000},
		"synthetic:1000,seed=7,homophily=0.5,spread=1.5,columns=8,signal=4": {Nodes: 1000, Seed: 7, Homophily: 0.5,
			Spread: 1.5, Columns: 8, Signal: 4},
	} {
		o, err := ParseScaled(name)
		require.NoError(t, err)
		require.Equal(t, want, o)
		require.Equal(t, name, o.Name())
		require.NoError(t, o.Validate())
	}
	require.Equal(t, "synthetic:1000", ScaledOptions{Nodes: 1000, Degree: 10, Classes: 10}.Name(),
		"defaults are left out")
	ds, err := Open("synthetic:1000,columns=5", "", Options{Normalization: graph.RowSum})
	require.NoError(t, err)
	require.Equal(t, "synthetic:1000,columns=5", ds.Name)
	e, err := Lookup("synthetic:1000")
	require.NoError(t, err)
	require.Equal(t, 5, e.True.Tasks)

	for name, want := range map[string]string{
		"synthetic:": "not a number of nodes", "synthetic:1e5": `"1e5" is not a number of nodes`, "synthetic:-5": "not a number",
		"synthetic:1000,color=1": `"color" is unknown`, "synthetic:1000,degree": `degree is "", want a number`, "synthetic:1000,degree=5x": "want a number",
		"synthetic:1000,seed=1,seed=2":    "comes twice",
		"synthetic:1000,degree=400":       "Degree is 400, want at most half the nodes of the smallest class",
		"synthetic:100,classes=40":        "5 in the smallest of 40 classes",
		"synthetic:200000,classes=1e5":    "want a number",
		"synthetic:200000,classes=100000": "Classes is 100000, want 1 to",
	} {
		_, err := Lookup(name)
		require.ErrorContains(t, err, want)
		_, err = Open(name, "", Options{})
		require.ErrorContains(t, err, want)
	}
	require.EqualValues(t, 10, ScaledOptions{Nodes: 200000, Classes: 100000}.withDefaults().Degree,
		"sizes of too many classes are not even counted")
	err = ScaledOptions{Nodes: -5, Classes: -1, Imbalance: 0.5, Degree: -1, Homophily: 2, Spread: -1, Columns: -3,
		Signal: math.NaN()}.Validate()
	for _, field := range []string{"Nodes", "Classes", "Imbalance", "Degree", "Homophily", "Spread", "Columns",
		"Signal"} {
		require.ErrorContains(t, err, field+" is")
	}
}
