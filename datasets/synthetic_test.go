package datasets

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

func TestSyntheticStatistics(t *testing.T) {
	opt := SyntheticOptions{Seed: 3, Nodes: 4000, Degree: 6, Homophily: 0.7, Imbalance: 4}
	ds, err := Synthetic(opt)
	require.NoError(t, err)
	require.True(t, ds.Synthetic)
	require.Equal(t, "synthetic,seed=3,nodes=4000,imbalance=4,degree=6,homophily=0.7", ds.Name)
	checkAdjacency(t, &ds.Graph.Adjacency)
	checkSparse(t, &ds.Graph.Features)

	require.Equal(t, 12000, ds.Graph.Adjacency.NumEdges(), "Nodes·Degree/2 distinct edges")
	same, largest := connections(ds)
	// A share of 12,000 edges has a standard deviation of 0.004; repeats, more common within a class, are redrawn.
	require.InDelta(t, 0.7, same, 0.02)
	require.Greater(t, largest, 30, "degrees spread far above their mean of 6")

	sizes := classSizes(ds)
	require.InDelta(t, 4, float64(slices.Max(sizes))/float64(slices.Min(sizes)), 0.1)
}

// connections returns the share of edges that join nodes of one class, and the largest degree.
func connections(ds *Dataset) (same float64, largest int) {
	a := &ds.Graph.Adjacency
	for i := range a.NumNodes() {
		largest = max(largest, len(a.Neighborhood(i)))
		for _, j := range a.Neighborhood(i) {
			if ds.Labels[i] == ds.Labels[j] {
				same += 0.5 / float64(a.NumEdges())
			}
		}
	}
	return same, largest
}

func TestSyntheticRepeats(t *testing.T) {
	a, err := Synthetic(SyntheticOptions{Seed: 5})
	require.NoError(t, err)
	b, err := Synthetic(SyntheticOptions{Seed: 5})
	require.NoError(t, err)
	require.Equal(t, a, b)
	c, err := Synthetic(SyntheticOptions{Seed: 6})
	require.NoError(t, err)
	require.NotEqual(t, a.Checksum, c.Checksum)
	require.NotEqual(t, a.Graph.Adjacency, c.Graph.Adjacency)
}

// The default stream must leave room for a method to be better or worse: raw words alone are neither useless nor
// enough, and the graph helps.
func TestSyntheticDifficulty(t *testing.T) {
	for _, seed := range []uint64{0, 1} {
		ds, err := Synthetic(SyntheticOptions{Seed: seed})
		require.NoError(t, err)
		require.NoError(t, ds.Graph.Features.Normalize(graph.L2))
		s, err := NewStream(ds, DefaultStreamOptions())
		require.NoError(t, err)
		require.Len(t, s.Tasks, 4)
		for _, task := range s.Tasks {
			require.GreaterOrEqual(t, len(task.Nodes), 70)
			require.LessOrEqual(t, len(task.Nodes), 260)
		}
		raw, propagated := classIL(s, 0), classIL(s, 2)
		t.Logf("seed %d: Class-IL after the last task: raw %.1f, propagated %.1f", seed, 100*raw, 100*propagated)
		require.Greater(t, raw, 0.65)
		require.Less(t, raw, 0.88)
		require.Greater(t, propagated, raw+0.02)
		require.Less(t, propagated, 0.97)
	}
}

// classIL fits one multinomial regression on the train nodes of all tasks, features propagated hops times, and returns
// the mean over tasks of its accuracy on their test nodes.
func classIL(s *Stream, hops int) float64 {
	x := make([][][]float32, len(s.Tasks))
	var rows [][]float32
	var labels []int32
	for t, task := range s.Tasks {
		x[t] = propagate(task.Graph, hops)
		for _, i := range task.Split.Train {
			rows, labels = append(rows, x[t][i]), append(labels, task.Labels[i])
		}
	}
	w := fitSoftmax(rows, labels, s.NumClasses)
	mean := 0.0
	for t, task := range s.Tasks {
		hits := 0
		for _, i := range task.Split.Test {
			p := scores(w, x[t][i], s.NumClasses)
			if p[task.Labels[i]] == slices.Max(p) {
				hits++
			}
		}
		mean += float64(hits) / float64(len(task.Split.Test)) / float64(len(s.Tasks))
	}
	return mean
}

// propagate multiplies the features by D^-½(A+I)D^-½, D counting the self-loop.
func propagate(g *graph.Graph, hops int) [][]float32 {
	n, d := g.NumNodes(), g.Features.Cols
	x := make([][]float32, n)
	for i := range x {
		x[i] = make([]float32, d)
		g.Features.CopyRow(i, x[i])
	}
	for range hops {
		next := make([][]float32, n)
		for i := range next {
			next[i] = make([]float32, d)
			for _, j := range append(slices.Clone(g.Adjacency.Neighborhood(i)), int32(i)) {
				scale := 1 / math.Sqrt(float64((len(g.Adjacency.Neighborhood(i))+
					1)*(len(g.Adjacency.Neighborhood(int(j)))+1)))
				for k, v := range x[j] {
					next[i][k] += float32(scale) * v
				}
			}
		}
		x = next
	}
	return x
}

// fitSoftmax minimizes the L2-regularized cross-entropy by accelerated gradient descent. w is [columns × classes].
func fitSoftmax(x [][]float32, labels []int32, classes int) []float64 {
	const steps, rate, decay = 300, 8.0, 1e-3
	cols := len(x[0])
	w, v := make([]float64, cols*classes), make([]float64, cols*classes)
	for range steps {
		grad := make([]float64, len(w))
		for i, row := range x {
			p := scores(w, row, classes)
			top, sum := slices.Max(p), 0.0
			for c := range p {
				p[c] = math.Exp(p[c] - top)
				sum += p[c]
			}
			for c := range p {
				p[c] /= sum
			}
			p[labels[i]]--
			for k, f := range row {
				if f != 0 {
					for c, g := range p {
						grad[k*classes+c] += g * float64(f) / float64(len(x))
					}
				}
			}
		}
		for k := range w {
			v[k] = 0.9*v[k] - rate*(grad[k]+decay*w[k])
			w[k] += v[k]
		}
	}
	return w
}

func scores(w []float64, row []float32, classes int) []float64 {
	p := make([]float64, classes)
	for k, f := range row {
		if f != 0 {
			for c := range p {
				p[c] += w[k*classes+c] * float64(f)
			}
		}
	}
	return p
}

func TestSyntheticOptionErrors(t *testing.T) {
	_, err := Synthetic(SyntheticOptions{Nodes: -5, Imbalance: 0.5, Degree: -1, Homophily: 2, Spread: -1, Vocabulary: 3,
		Words: -2, Background: 1, Classes: -7})
	require.Error(t, err)
	for _, field := range []string{"Nodes", "Imbalance", "Degree", "Homophily", "Spread", "Vocabulary", "Words",
		"Background", "Classes"} {
		require.ErrorContains(t, err, field+" is")
	}
	_, err = Synthetic(SyntheticOptions{Homophily: math.NaN()})
	require.ErrorContains(t, err, "Homophily")
}
