package control_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/control"
	"github.com/saot-go/saot/saot/method"
)

// wordGraph is randomGraph with a third of the features, all positive, the others 0.
func wordGraph(t *testing.T, n, features int) *graph.Graph {
	g := randomGraph(t, n, features)
	rng := seed.Stream(5, "words", n, features)
	for i, v := range g.Features.Dense {
		if g.Features.Dense[i] = float32(math.Abs(float64(v))); rng.IntN(3) > 0 {
			g.Features.Dense[i] = 0
		}
	}
	return g
}

// sparse is the graph with its features in compressed rows.
func sparse(g *graph.Graph) *graph.Graph {
	f := graph.Features{Rows: g.Features.Rows, Cols: g.Features.Cols, Offsets: []int64{0}}
	for i := range f.Rows {
		g.Features.Each(i, func(c int, v float64) {
			f.Columns, f.Values = append(f.Columns, int32(c)), append(f.Values, float32(v))
		})
		f.Offsets = append(f.Offsets, int64(len(f.Columns)))
	}
	return &graph.Graph{Adjacency: g.Adjacency, Features: f}
}

// weights are w by its definition, of all nodes of some graphs.
func weights(graphs ...*graph.Graph) []float64 {
	nodes, documents := 0., make([]float64, graphs[0].Features.Cols)
	for _, g := range graphs {
		nodes += float64(g.NumNodes())
		x := g.Features.Matrix()
		for i := range g.NumNodes() {
			for c := range documents {
				if x.At(i, c) != 0 {
					documents[c]++
				}
			}
		}
	}
	for c, n := range documents {
		documents[c] = math.Log(1 + nodes/math.Max(1, n))
	}
	return documents
}

// hellingerRows are the rows r by their definition, by dense matrices.
func hellingerRows(g *graph.Graph, w []float64) *mat.Dense {
	rows := twoHops(g)
	for i := range g.NumNodes() {
		row := rows.RawRowView(i)
		for c := range row {
			row[c] = math.Sqrt(w[c] * row[c])
		}
		if norm := floats.Norm(row, 2); norm > 0 {
			floats.Scale(1/norm, row)
		}
	}
	return rows
}

// centeredRows subtracts the mean of all rows.
func centeredRows(rows *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(rows)
	for j := range out.RawMatrix().Cols {
		mean := stat.Mean(mat.Col(nil, j, rows), nil)
		for i := range out.RawMatrix().Rows {
			out.Set(i, j, rows.At(i, j)-mean)
		}
	}
	return out
}

// below puts rows under all the others.
func below(all *mat.Dense, rows mat.Matrix) {
	if all.IsEmpty() {
		all.CloneFrom(rows)
		return
	}
	var both mat.Dense
	both.Stack(all, rows)
	all.CloneFrom(&both)
}

// unitRows are the settings without idf and roots.
func unitRows(out int) *control.HellingerSettings {
	return &control.HellingerSettings{Out: out, Power: 1, Unit: true}
}

func hellingerOf(out int) *control.HellingerSettings {
	return &control.HellingerSettings{Out: out, Power: 0.5, IDF: true, Unit: true}
}

// After one task, inner products of embeddings are those of the leading components that gonum finds in the rows as
// their definition gives them. With 12 features they come from the iteration, with 60 from inner products of the rows.
func TestHellingerAgainstGonum(t *testing.T) {
	tall, wide := wordGraph(t, 40, 12), wordGraph(t, 40, 60)
	for _, g := range []*graph.Graph{tall, sparse(tall), wide, sparse(wide)} {
		l := learnerOf(t, "propagated-hellinger", nil, hellingerOf(4), g)
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		require.Zero(t, report.Diagnostics["signed"])
		rows := hellingerRows(g, weights(g))
		var pc stat.PC
		require.True(t, pc.PrincipalComponents(rows, nil))
		require.InDelta(t, floats.Sum(pc.VarsTo(nil)[:4]), report.Diagnostics["variance"], 1e-6)
		var vectors, scores, want, got mat.Dense
		pc.VectorsTo(&vectors)
		scores.Mul(centeredRows(rows), vectors.Slice(0, g.Features.Cols, 0, 4))
		want.Mul(&scores, scores.T())
		z := embed(t, l, g)
		got.Mul(z, z.T())
		require.True(t, mat.EqualApprox(&want, &got, 1e-5))
	}
}

// Without idf and roots, the PCA of three tasks is that of all their rows at unit length: nothing is lost where the
// width holds all features. Inner products of the embeddings are those of the centered rows, on every task's graph.
func TestUnitRowsOfThreeTasksAgainstAllRows(t *testing.T) {
	for name, random := range map[string]func(t *testing.T, n, features int) *graph.Graph{"undirected": randomGraph,
		"directed": directedGraph} {
		graphs := []*graph.Graph{random(t, 40, 10), random(t, 7, 10), random(t, 25, 10)}
		l := learnerOf(t, "propagated-hellinger", nil, unitRows(10), graphs...)
		var all mat.Dense
		for task, g := range graphs {
			learn(t, l, task, g)
			rows := twoHops(g)
			for i := range g.NumNodes() {
				row := rows.RawRowView(i)
				floats.Scale(1/floats.Norm(row, 2), row)
			}
			below(&all, rows)
		}
		centered, first := centeredRows(&all), 0
		for _, g := range graphs {
			z, rows := embed(t, l, g), centered.Slice(first, first+g.NumNodes(), 0, 10)
			first += g.NumNodes()
			var want, got mat.Dense
			want.Mul(rows, rows.T())
			got.Mul(z, z.T())
			require.True(t, mat.EqualApprox(&want, &got, 1e-5), name)
		}
	}
}

// A width below the number of features keeps the leading axes. Here these hold each row up to a ten-thousandth of
// its length, so next to nothing is lost between tasks.
func TestHellingerKeepsTheLeadingAxes(t *testing.T) {
	first, second := randomGraph(t, 40, 60), randomGraph(t, 30, 60)
	for k, g := range []*graph.Graph{first, second} {
		for i := range g.NumNodes() {
			row := g.Features.Dense[60*i : 60*i+60]
			for j := 4; j < 60; j++ {
				row[j] *= 1e-4
			}
			row[k] += 1
		}
	}
	l := learnerOf(t, "propagated-hellinger", nil, unitRows(4), first, second)
	learn(t, l, 0, first)
	report, err := l.Learn(context.Background(), 1, second, nil)
	require.NoError(t, err)
	var all mat.Dense
	all.Stack(twoHops(first), twoHops(second))
	for i := range 70 {
		floats.Scale(1/floats.Norm(all.RawRowView(i), 2), all.RawRowView(i))
	}
	var pc stat.PC
	require.True(t, pc.PrincipalComponents(&all, nil))
	require.InDelta(t, floats.Sum(pc.VarsTo(nil)[:4]), report.Diagnostics["variance"], 1e-6)
	require.InDelta(t, 4, report.Diagnostics["components"], 0)
}

// Where every task counts the same share of documents for each word, the weights of all tasks are those of the first,
// and the PCA of three tasks is that of all their rows: nothing is lost where the width holds all features.
func TestHellingerOfThreeTasksAgainstAllRows(t *testing.T) {
	g := wordGraph(t, 30, 10)
	graphs := []*graph.Graph{g}
	for k := range 2 { // the same words of the same nodes, at other counts
		next := &graph.Graph{Adjacency: g.Adjacency, Features: g.Features}
		next.Features.Dense = append([]float32(nil), g.Features.Dense...)
		rng := seed.Stream(6, "counts", k)
		for i := range next.Features.Dense {
			next.Features.Dense[i] *= float32(0.5 + rng.Float64())
		}
		graphs = append(graphs, next)
	}
	l := learnerOf(t, "propagated-hellinger", nil, hellingerOf(10), graphs...)
	var all mat.Dense
	for task, g := range graphs {
		learn(t, l, task, g)
		rows := hellingerRows(g, weights(graphs...))
		below(&all, rows)
	}
	rows := centeredRows(&all)
	for k, g := range graphs {
		z, own := embed(t, l, g), rows.Slice(30*k, 30*k+30, 0, 10)
		var want, got mat.Dense
		want.Mul(own, own.T())
		got.Mul(z, z.T())
		require.True(t, mat.EqualApprox(&want, &got, 1e-5), k)
	}
}

// A new task changes the weights, and the axes of the past follow. With rows of any length and power 1 this is exact:
// the PCA is that of all tasks' rows at the last weights.
func TestHellingerFollowsTheWeights(t *testing.T) {
	first, second := wordGraph(t, 30, 10), wordGraph(t, 20, 10)
	s := hellingerOf(10)
	s.Power, s.Unit = 1, false
	l := learnerOf(t, "propagated-hellinger", nil, s, first, second)
	learn(t, l, 0, first)
	before := embed(t, l, first)
	learn(t, l, 1, second)
	w := weights(first, second)
	require.Greater(t, floats.Distance(w, weights(first), math.Inf(1)), 0.1)
	var all, want, got mat.Dense
	all.Stack(twoHops(first), twoHops(second))
	for i := range 50 {
		floats.Mul(all.RawRowView(i), w)
	}
	rows := centeredRows(&all)
	want.Mul(rows, rows.T())
	z := embed(t, l, first)
	got.Mul(z, z.T())
	require.True(t, mat.EqualApprox(want.Slice(0, 30, 0, 30), &got, 1e-4))
	require.False(t, mat.EqualApprox(before, z, 1e-2))
}

// Features with negative values are no frequencies: the power is 1, and with neither weights nor unit rows the inner
// products are those of propagated-pca.
func TestHellingerOfSignedFeatures(t *testing.T) {
	g := randomGraph(t, 40, 60)
	s := hellingerOf(4)
	s.IDF, s.Unit = false, false
	l := learnerOf(t, "propagated-hellinger", nil, s, g)
	report, err := l.Learn(context.Background(), 0, g, nil)
	require.NoError(t, err)
	require.InDelta(t, 1, report.Diagnostics["signed"], 0)
	pca := learner(t, "propagated-pca", nil, tinyConfig(), g)
	learn(t, pca, 0, g)
	var want, got mat.Dense
	z, p := embed(t, l, g), embed(t, pca, g)
	want.Mul(p, p.T())
	got.Mul(z, z.T())
	require.True(t, mat.EqualApprox(&want, &got, 1e-4))
}

// Scaling all features changes nothing: idf counts words, and rows have unit length.
func TestHellingerDoesNotSeeTheScale(t *testing.T) {
	g := wordGraph(t, 30, 10)
	scaled := &graph.Graph{Adjacency: g.Adjacency, Features: g.Features}
	scaled.Features.Dense = append([]float32(nil), g.Features.Dense...)
	for i := range scaled.Features.Dense {
		scaled.Features.Dense[i] *= 9
	}
	a, b := learnerOf(t, "propagated-hellinger", nil, hellingerOf(4), g), learnerOf(t, "propagated-hellinger", nil,
		hellingerOf(4), g)
	learn(t, a, 0, g)
	learn(t, b, 0, scaled)
	require.True(t, mat.EqualApprox(embed(t, a, g), embed(t, b, scaled), 1e-4))
}

func TestHellingerRefuses(t *testing.T) {
	g := wordGraph(t, 12, 5)
	_, err := method.New("propagated-hellinger", method.Build{Stream: method.Stream{Features: 5},
		Settings: &control.HellingerSettings{Power: 2}})
	require.ErrorContains(t, err, "out")
	require.ErrorContains(t, err, "power")
	l := learnerOf(t, "propagated-hellinger", nil, hellingerOf(4), g)
	_, err = l.Embed(context.Background(), g)
	require.ErrorContains(t, err, "learned no task")
	_, err = l.Learn(context.Background(), 1, wordGraph(t, 12, 6), nil)
	require.ErrorContains(t, err, "task 2: the graph has 6 feature columns")
	learn(t, l, 0, g)
	_, err = l.Embed(context.Background(), wordGraph(t, 12, 6))
	require.ErrorContains(t, err, "6 feature columns")
}
