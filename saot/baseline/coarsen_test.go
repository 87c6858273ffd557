package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// connectedGraph is a ring of n nodes with chords, and after it a number of nodes without edges.
func connectedGraph(t *testing.T, n, isolated int) *graph.Graph {
	rng := seed.Stream(5, "ring", n)
	var src, dst []int32
	for i := range n {
		src, dst = append(src, int32(i), int32(i)), append(dst, int32((i+1)%n), int32(rng.IntN(n)))
	}
	a, err := graph.NewAdjacency(n+isolated, src, dst)
	require.NoError(t, err)
	x := make([]float32, (n+isolated)*6)
	for i := range x {
		x[i] = max(0, float32(rng.NormFloat64()))
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n + isolated, Cols: 6, Dense: x}}
}

// unitFeatures is what to merge by: features of norm 1.
func unitFeatures(f *graph.Features) rows {
	out := rows{slices.Clone(f.Dense), f.Cols}
	for i := range f.Rows {
		row := out.of(i)
		scale := float32(1 / math.Max(1e-12, math.Sqrt(innerProduct(row, row))))
		for k := range row {
			row[k] *= scale
		}
	}
	return out
}

// coarsen is coarsened of a test.
func coarsen(t *testing.T, a *graph.Adjacency, by rows, protected []bool, reduction float64) *coarsening {
	t.Helper()
	p, err := coarsened(t.Context(), a, by, protected, reduction)
	require.NoError(t, err)
	return p
}

func unprotected(g *graph.Graph) []bool { return make([]bool, g.NumNodes()) }

func TestCoarseningHalvesAConnectedGraph(t *testing.T) {
	g := connectedGraph(t, 60, 0)
	for reduction, want := range map[float64]int{0: 60, 0.25: 45, 0.5: 30, 0.99: 1} {
		p := coarsen(t, &g.Adjacency, unitFeatures(&g.Features), unprotected(g), reduction)
		require.Equal(t, want, p.clusters, reduction)
	}
	odd := connectedGraph(t, 61, 0)
	require.Equal(t, 30, coarsen(t, &odd.Adjacency, unitFeatures(&odd.Features), unprotected(odd), 0.5).clusters,
		"n ≤ 30.5")
}

// 20 joined nodes and 40 alone: half of 60 are left, because nodes without a common edge merge too, those with the most
// similar features first. Protected ones stay alone.
func TestCoarseningMergesWithoutEdges(t *testing.T) {
	g, guarded := connectedGraph(t, 20, 40), make([]bool, 60)
	guarded[30], guarded[59] = true, true
	copy(g.Features.Dense[40*6:], g.Features.Dense[50*6:51*6]) // nodes 40 and 50 are alike
	p := coarsen(t, &g.Adjacency, unitFeatures(&g.Features), guarded, 0.5)
	require.Equal(t, 30, p.clusters)
	require.Equal(t, p.cluster[50], p.cluster[40])
	require.Equal(t, p.cluster[0], p.cluster[19], "edges come first")
	for _, v := range []int{30, 59} {
		require.Len(t, p.members()[p.cluster[v]], 1)
	}
	for _, reduction := range []float64{0.9, 0.98} {
		require.Equal(t, int((1-reduction)*60),
			coarsen(t, &g.Adjacency, unitFeatures(&g.Features), guarded, reduction).clusters,
			"protected ones merge last")
	}
}

// C·Cᵀ = I, and the rows of C̄ sum to 1.
func TestProjectionHasOrthonormalRows(t *testing.T) {
	g := connectedGraph(t, 50, 5)
	p := coarsen(t, &g.Adjacency, unitFeatures(&g.Features), unprotected(g), 0.5)
	c, entries := mat.NewDense(p.clusters, 55, nil), p.projection(&g.Adjacency)
	sum := make([]float64, p.clusters)
	for v, share := range p.shares(&g.Adjacency) {
		c.Set(int(p.cluster[v]), v, entries[v])
		sum[p.cluster[v]] += share
	}
	var gram mat.Dense
	gram.Mul(c, c.T())
	identity := mat.NewDiagDense(p.clusters, slices.Repeat([]float64{1}, p.clusters))
	require.True(t, mat.EqualApprox(identity, &gram, 1e-12))
	require.InDeltaSlice(t, slices.Repeat([]float64{1}, p.clusters), sum, 1e-12)
}

// The coarse adjacency is [CACᵀ ≠ 0] without its diagonal, by dense matrices.
func TestCoarseAdjacencyMatchesItsDefinition(t *testing.T) {
	g := connectedGraph(t, 40, 3)
	p := coarsen(t, &g.Adjacency, unitFeatures(&g.Features), unprotected(g), 0.5)
	n := g.NumNodes()
	c, a := mat.NewDense(p.clusters, n, nil), mat.NewDense(n, n, nil)
	for v, entry := range p.projection(&g.Adjacency) {
		c.Set(int(p.cluster[v]), v, entry)
		for _, j := range g.Adjacency.Neighborhood(v) {
			a.Set(v, int(j), 1)
		}
	}
	var want mat.Dense
	want.Product(c, a, c.T())
	got, err := p.adjacency(&g.Adjacency)
	require.NoError(t, err)
	require.Equal(t, p.clusters, got.NumNodes())
	for i := range p.clusters {
		require.True(t, slices.IsSorted(got.Neighborhood(i)))
		for j := range p.clusters {
			_, joined := slices.BinarySearch(got.Neighborhood(i), int32(j))
			require.Equal(t, i != j && want.At(i, j) > 0, joined)
			_, back := slices.BinarySearch(got.Neighborhood(j), int32(i))
			require.Equal(t, joined, back)
		}
	}
}

// On a path 0–1–2–3–4 the most similar ends merge first, but protected ones last, however similar they are.
func TestProtectedNodesMergeLast(t *testing.T) {
	a, err := graph.NewAdjacency(5, []int32{0, 1, 2, 3}, []int32{1, 2, 3, 4})
	require.NoError(t, err)
	var turned rows // neighbors at 0°, 60°, 120° and 25° of each other
	turned.width = 2
	angle := 0.0
	for _, by := range []float64{0, 0, 60, 120, 25} {
		angle += by * math.Pi / 180
		turned.data = append(turned.data, float32(math.Cos(angle)), float32(math.Sin(angle)))
	}
	free, guarded := make([]bool, 5), []bool{true, false, false, false, true}
	require.Equal(t, []int32{0, 0, 1, 2, 2}, coarsen(t, &a, turned, free, 0.4).cluster)
	require.Equal(t, []int32{0, 1, 1, 1, 2}, coarsen(t, &a, turned, guarded, 0.4).cluster)
	require.Equal(t, []int32{0, 0, 0, 0, 1}, coarsen(t, &a, turned, guarded, 0.6).cluster,
		"then the most similar of them")
}

// Without edges, a cluster is paired with the one of its block whose members' sum points most nearly the same way.
func TestNearestInBlocks(t *testing.T) {
	const n, block = 11, 4
	by := unitFeatures(&connectedGraph(t, n, 0).Features)
	m := &merger{disjointSets: newDisjointSets(n), embedded: by, left: n, block: block}
	m.union(2, 7) // one cluster of two nodes, which stands where node 2 does
	first := []int32{0, 1, 2, 3, 4, 5, 6, 8, 9, 10}
	sum := func(v int32) []float64 {
		out := make([]float64, by.width)
		for u := range int32(n) {
			if m.find(u) == m.find(v) {
				for k, x := range by.of(int(u)) {
					out[k] += float64(x)
				}
			}
		}
		floats.Scale(1/floats.Norm(out, 2), out)
		return out
	}
	var want []pair
	for i, v := range first {
		best := pair{similarity: math.Inf(-1)}
		for j, u := range first {
			if s := floats.Dot(sum(v), sum(u)); i != j && i/block == j/block && s > best.similarity {
				best = pair{min(v, u), max(v, u), s}
			}
		}
		want = append(want, best)
	}
	got := m.nearest(func(int32) bool { return true })
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, []int32{want[i].i, want[i].j}, []int32{got[i].i, got[i].j})
		require.InDelta(t, want[i].similarity, got[i].similarity, 1e-6)
	}
}

// A buffer's nodes keep clusters to themselves as long as other edges are left.
func TestBufferSurvivesCoarsening(t *testing.T) {
	g := connectedGraph(t, 80, 0)
	guarded := unprotected(g)
	for v := 0; v < 80; v += 10 {
		guarded[v] = true
	}
	p := coarsen(t, &g.Adjacency, unitFeatures(&g.Features), guarded, 0.5)
	for _, nodes := range p.members() {
		if slices.ContainsFunc(nodes, func(v int32) bool { return guarded[v] }) {
			require.Len(t, nodes, 1)
		}
	}
}

// Features are weighted means, the same for both storages; votes are summed with the same weights.
func TestCoarseFeaturesAndVotesByHand(t *testing.T) {
	// a path 0–1–2 and node 3 alone; 0, 1 and 2 merge: C ∝ √1, √2, √1
	a, err := graph.NewAdjacency(4, []int32{0, 1}, []int32{1, 2})
	require.NoError(t, err)
	p := &coarsening{cluster: []int32{0, 0, 0, 1}, clusters: 2}
	share := p.shares(&a)
	w := 1 / (2 + math.Sqrt2)
	require.InDeltaSlice(t, []float64{w, math.Sqrt2 * w, w, 1}, share, 1e-12)
	x := graph.Features{Rows: 4, Cols: 3, Dense: []float32{1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 5}}
	sparse := graph.Features{Rows: 4, Cols: 3, Offsets: []int64{0, 1, 2, 3, 4}, Columns: []int32{0, 1, 0, 2},
		Values: []float32{1, 2, 1, 5}}
	want := []float32{float32(2 * w), float32(2 * math.Sqrt2 * w), 0, 0, 0, 5}
	dense := p.features(&x, share)
	require.InDeltaSlice(t, want, dense.Dense, 1e-6)
	thin := p.features(&sparse, share)
	require.Equal(t, []int64{0, 2, 3}, thin.Offsets)
	require.Equal(t, []int32{0, 1, 2}, thin.Columns)
	require.InDeltaSlice(t, []float32{want[0], want[1], want[5]}, thin.Values, 1e-6)
	votes := p.votes([][]float32{{1, 0}, nil, {0, 1}, nil}, share)
	require.InDeltaSlice(t, []float32{float32(w), float32(w)}, votes[0], 1e-6)
	require.Empty(t, votes[1])
}
