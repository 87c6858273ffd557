package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// checkAdjacency asserts what Adjacency's doc promises.
func checkAdjacency(t *testing.T, a *Adjacency) {
	t.Helper()
	require.Equal(t, int64(len(a.Neighbors)), a.Offsets[a.NumNodes()])
	for i := range a.NumNodes() {
		row := a.Neighborhood(i)
		for k, j := range row {
			require.NotEqual(t, int32(i), j, "self-loop")
			require.True(t, k == 0 || row[k-1] < j, "row %d ascends without duplicates", i)
			if a.Directed {
				continue
			}
			_, mirrored := slices.BinarySearch(a.Neighborhood(int(j)), int32(i))
			require.True(t, mirrored, "(%d, %d) is mirrored", i, j)
		}
	}
}

// checkSparse asserts what Features' doc promises.
func checkSparse(t *testing.T, f *Features) {
	t.Helper()
	require.Len(t, f.Offsets, f.Rows+1)
	require.Len(t, f.Values, len(f.Columns))
	require.Equal(t, int64(len(f.Values)), f.Offsets[f.Rows])
	for i := range f.Rows {
		cols, _ := f.Row(i)
		for k, c := range cols {
			require.True(t, c >= 0 && int(c) < f.Cols && (k == 0 || cols[k-1] < c), "columns of row %d", i)
		}
	}
}

// dense is an independent picture of a graph: a matrix of edges.
func dense(a *Adjacency) [][]bool {
	m := make([][]bool, a.NumNodes())
	for i := range m {
		m[i] = make([]bool, len(m))
		for _, j := range a.Neighborhood(i) {
			m[i][j] = true
		}
	}
	return m
}

func randomEntries(n, count int) (src, dst []int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range count {
		src, dst = append(src, rng.Int32N(int32(n))), append(dst, rng.Int32N(int32(n)))
	}
	return src, dst
}

func TestNewAdjacencyAgainstMatrix(t *testing.T) {
	const n = 40
	src, dst := randomEntries(n, 400)
	a, err := NewAdjacency(n, src, dst)
	require.NoError(t, err)
	checkAdjacency(t, &a)
	want := make([][]bool, n)
	for i := range want {
		want[i] = make([]bool, n)
	}
	for k := range src {
		if src[k] != dst[k] {
			want[src[k]][dst[k]], want[dst[k]][src[k]] = true, true
		}
	}
	require.Equal(t, want, dense(&a))
}

func TestCleanAdjacencyCounts(t *testing.T) {
	// 0→1 twice, 1→0, 1→2 alone, a loop at 2 twice: by hand, 2 edges, 1 of them one-way, 1 duplicate, 2 loops.
	a, fixed := Build(4, Coordinates{Src: []int32{0, 0, 1, 1, 2, 2}, Dst: []int32{1, 1, 0, 2, 2, 2}}, false)
	require.Equal(t, Repairs{Stored: 6, SelfLoops: 2, Duplicates: 1, OneWay: 1}, fixed)
	require.Equal(t, Adjacency{Offsets: []int64{0, 1, 3, 4, 4}, Neighbors: []int32{1, 0, 2, 1}}, a)
}

func TestNewAdjacencyErrors(t *testing.T) {
	_, err := NewAdjacency(3, []int32{0, 1}, []int32{1})
	require.ErrorContains(t, err, "2 sources but 1 destinations")
	_, err = NewAdjacency(3, []int32{0, 1}, []int32{1, 3})
	require.ErrorContains(t, err, "entry 1 is (1, 3)")
	_, err = NewAdjacency(-1, nil, nil)
	require.ErrorContains(t, err, "-1 nodes")
	a, err := NewAdjacency(0, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 0, a.NumNodes())
}

func TestInducedAgainstMatrix(t *testing.T) {
	src, dst := randomEntries(30, 150)
	a, err := NewAdjacency(30, src, dst)
	require.NoError(t, err)
	full := dense(&a)
	for _, nodes := range [][]int32{{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}, {29, 0, 14, 3, 9, 8, 21}, {}} {
		sub := a.Induced(nodes)
		checkAdjacency(t, &sub)
		require.Equal(t, len(nodes), sub.NumNodes())
		requireNoSpare(t, &Graph{Adjacency: sub})
		got := dense(&sub)
		for p, i := range nodes {
			for q, j := range nodes {
				require.Equal(t, full[i][j], got[p][q])
			}
		}
	}
}

// both returns one 3 × 4 matrix in both storages: rows (0 2 0 −1), (0 0 0 0), (3 0 0 4).
func both() (sparse, full Features) {
	sparse = Features{Rows: 3, Cols: 4, Offsets: []int64{0, 2, 2, 4}, Columns: []int32{1, 3, 0, 3},
		Values: []float32{2, -1, 3, 4}}
	full = Features{Rows: 3, Cols: 4, Dense: []float32{0, 2, 0, -1, 0, 0, 0, 0, 3, 0, 0, 4}}
	return sparse, full
}

func toDense(f *Features) []float32 {
	out := make([]float32, 0, f.Rows*f.Cols)
	row := make([]float32, f.Cols)
	for i := range f.Rows {
		for k := range row {
			row[k] = 99 // CopyRow must overwrite the zeros too
		}
		f.CopyRow(i, row)
		out = append(out, row...)
	}
	return out
}

func TestFeatureRows(t *testing.T) {
	sparse, full := both()
	require.Equal(t, full.Dense, toDense(&sparse))
	require.Equal(t, full.Dense, toDense(&full))
	for _, f := range []*Features{&sparse, &full} {
		sub := f.Select([]int32{2, 1, 2})
		require.Equal(t, f.IsDense(), sub.IsDense())
		require.Equal(t, []float32{3, 0, 0, 4, 0, 0, 0, 0, 3, 0, 0, 4}, toDense(&sub))
	}
	checkSparse(t, &sparse)
	cols, vals := full.Row(2)
	require.Nil(t, cols)
	require.Equal(t, []float32{3, 0, 0, 4}, vals)
	empty := Features{Rows: 5}
	sub := empty.Select([]int32{4, 0})
	require.Equal(t, 2, sub.Rows)
	require.Empty(t, toDense(&sub))
}

func TestNormalize(t *testing.T) {
	for _, tc := range []struct {
		how  Normalization
		want []float32
	}{
		{Raw, []float32{0, 2, 0, -1, 0, 0, 0, 0, 3, 0, 0, 4}},
		{Binary, []float32{0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1}},
		{RowSum, []float32{0, 2, 0, -1, 0, 0, 0, 0, 3. / 7, 0, 0, 4. / 7}},
		{L2, []float32{0, 0.8944272, 0, -0.4472136, 0, 0, 0, 0, 0.6, 0, 0, 0.8}},
	} {
		sparse, full := both()
		for _, f := range []*Features{&sparse, &full} {
			require.NoError(t, f.Normalize(tc.how))
			require.InDeltaSlice(t, tc.want, toDense(f), 1e-6, tc.how.String())
		}
		var parsed Normalization
		require.NoError(t, parsed.UnmarshalText([]byte(tc.how.String())))
		require.Equal(t, tc.how, parsed)
	}
	require.ErrorContains(t, new(Normalization).UnmarshalText([]byte("max")), "l2, raw, binary, rowsum")
	f := Features{Rows: 1, Cols: 2, Dense: []float32{1, -1}}
	require.Error(t, f.Normalize(Normalization(9)))
	require.NoError(t, f.Normalize(RowSum))
	require.Equal(t, []float32{0, 0}, f.Dense)
}

// requireNoSpare requires arrays without unused capacity: a run holds them throughout.
func requireNoSpare(t *testing.T, g *Graph) {
	t.Helper()
	a, f := &g.Adjacency, &g.Features
	require.Equal(t,
		[]int{len(a.Offsets), len(a.Neighbors), len(f.Dense), len(f.Offsets), len(f.Columns), len(f.Values)},
		[]int{cap(a.Offsets), cap(a.Neighbors), cap(f.Dense), cap(f.Offsets), cap(f.Columns), cap(f.Values)})
}

func TestDisjointUnion(t *testing.T) {
	sparse, full := both()
	path, err := NewAdjacency(3, []int32{0, 1}, []int32{1, 2})
	require.NoError(t, err)
	edge, err := NewAdjacency(3, []int32{0}, []int32{2})
	require.NoError(t, err)
	for _, f := range []Features{sparse, full, {Rows: 3}} {
		g, err := DisjointUnion(&Graph{Adjacency: path, Features: f}, &Graph{Adjacency: edge, Features: f},
			&Graph{Adjacency: path, Features: f})
		require.NoError(t, err)
		checkAdjacency(t, &g.Adjacency)
		want, err := NewAdjacency(9, []int32{0, 1, 3, 6, 7}, []int32{1, 2, 5, 7, 8})
		require.NoError(t, err)
		require.Equal(t, want, g.Adjacency)
		require.Equal(t, 9, g.Features.Rows)
		once := toDense(&f)
		require.Equal(t, append(append(append([]float32{}, once...), once...), once...), toDense(&g.Features))
		require.Equal(t, f.IsDense(), g.Features.IsDense())
		requireNoSpare(t, g)
		requireNoSpare(t, g.Induced([]int32{8, 0, 2, 3, 5}))
	}
	_, err = DisjointUnion()
	require.Error(t, err)
	_, err = DisjointUnion(&Graph{Adjacency: path, Features: sparse}, &Graph{Adjacency: path, Features: full})
	require.ErrorContains(t, err, "graph 1")
	_, err = DisjointUnion(&Graph{Adjacency: path, Features: sparse},
		&Graph{Adjacency: path, Features: Features{Rows: 3, Cols: 2, Offsets: make([]int64, 4)}})
	require.ErrorContains(t, err, "graph 1 has 2 features")
}

// directedOf returns the directed adjacency of entries u → v, and the same as a matrix in which [v][u] says that v
// receives from u.
func directedOf(t *testing.T, n int, src, dst []int32) (Adjacency, [][]bool) {
	a, err := NewDirected(n, src, dst)
	require.NoError(t, err)
	receives := make([][]bool, n)
	for i := range receives {
		receives[i] = make([]bool, n)
	}
	for k := range src {
		if src[k] != dst[k] {
			receives[dst[k]][src[k]] = true
		}
	}
	return a, receives
}

// Random graphs, the last so large that several goroutines build it, against matrices; entries repeat and loop.
func TestDirectedAgainstMatrix(t *testing.T) {
	for _, size := range []struct{ nodes, entries int }{{1, 3}, {7, 0}, {40, 400}, {300, 1000}, {500, 1 << 17}} {
		src, dst := randomEntries(size.nodes, size.entries)
		a, want := directedOf(t, size.nodes, src, dst)
		require.True(t, a.Directed)
		checkAdjacency(t, &a)
		require.Equal(t, want, dense(&a))
		require.Equal(t, len(a.Neighbors), a.NumEdges())

		back := a.Transposed()
		require.True(t, back.Directed)
		checkAdjacency(t, &back)
		either := a.Undirected()
		require.False(t, either.Directed)
		checkAdjacency(t, &either)
		turned, joined := dense(&back), dense(&either)
		for i := range want {
			for j := range want {
				require.Equal(t, want[j][i], turned[i][j])
				require.Equal(t, want[i][j] || want[j][i], joined[i][j])
			}
		}
		require.Equal(t, a, back.Transposed())
		undirected, err := NewAdjacency(size.nodes, src, dst)
		require.NoError(t, err)
		require.Equal(t, undirected, either)
		require.Equal(t, undirected, undirected.Transposed())
		require.Equal(t, undirected, undirected.Undirected())
	}
	var none Adjacency
	none.Directed = true
	require.Zero(t, none.NumEdges())
	for _, a := range []Adjacency{none.Transposed(), none.Undirected()} {
		require.Zero(t, a.NumNodes())
	}
}

func TestNewDirectedErrors(t *testing.T) {
	for want, entries := range map[string][2][]int32{
		"2 sources but 1 destinations":            {{0, 1}, {1}},
		"entry 1 is (1, 3), outside the 3 nodes":  {{0, 1}, {1, 3}},
		"entry 0 is (-1, 1), outside the 3 nodes": {{-1}, {1}},
	} {
		_, err := NewDirected(3, entries[0], entries[1])
		require.ErrorContains(t, err, want)
	}
	_, err := NewDirected(-1, nil, nil)
	require.ErrorContains(t, err, "-1 nodes")
}

func TestCleanDirectedCounts(t *testing.T) {
	// 0→1 twice, 1→0, 1→2, a loop at 2 twice and an entry to pass over: by hand, 3 edges, 1 duplicate, 2 loops; none is
	// mirrored.
	a, fixed := Build(4, Coordinates{Src: []int32{0, 0, 1, 1, 2, 2, -1}, Dst: []int32{1, 1, 0, 2, 2, 2, 3}}, true)
	require.Equal(t, Repairs{Stored: 7, Zeros: 1, SelfLoops: 2, Duplicates: 1}, fixed)
	require.Equal(t, Adjacency{Offsets: []int64{0, 1, 2, 3, 3}, Neighbors: []int32{1, 0, 1}, Directed: true}, a)
}

func TestDirectedInducedAndUnion(t *testing.T) {
	src, dst := randomEntries(30, 150)
	a, want := directedOf(t, 30, src, dst)
	nodes := []int32{29, 0, 14, 3, 9, 8, 21}
	sub := a.Induced(nodes)
	require.True(t, sub.Directed)
	checkAdjacency(t, &sub)
	got := dense(&sub)
	for p, i := range nodes {
		for q, j := range nodes {
			require.Equal(t, want[i][j], got[p][q])
		}
	}

	one, _ := directedOf(t, 2, []int32{0}, []int32{1})
	two, _ := directedOf(t, 2, []int32{1}, []int32{0})
	both, err := DisjointUnion(&Graph{Adjacency: one, Features: Features{Rows: 2}},
		&Graph{Adjacency: two, Features: Features{Rows: 2}})
	require.NoError(t, err)
	require.Equal(t, Adjacency{Offsets: []int64{0, 0, 1, 2, 2}, Neighbors: []int32{0, 3}, Directed: true},
		both.Adjacency)
	_, err = DisjointUnion(&Graph{Adjacency: one, Features: Features{Rows: 2}}, &Graph{Adjacency: one.Undirected(),
		Features: Features{Rows: 2}})
	require.ErrorContains(t, err, "directed and undirected")
}

func TestValidate(t *testing.T) {
	for want, a := range map[string]Adjacency{
		"3 offsets do not ascend from 0 to 1": {Offsets: []int64{0, 1, 2}, Neighbors: []int32{1}},
		"0 offsets do not ascend":             {Neighbors: []int32{1}},
		"row 0: entry 2 after -1":             {Offsets: []int64{0, 1, 1}, Neighbors: []int32{2}},
		"row 1: entry 0 after 0":              {Offsets: []int64{0, 0, 2}, Neighbors: []int32{0, 0}},
		"row 1: entry 1 after 0":              {Offsets: []int64{0, 1, 3}, Neighbors: []int32{1, 0, 1}},
	} {
		require.ErrorContains(t, a.Validate(), want)
	}
	require.NoError(t, new(Adjacency).Validate())
	sparse, full := both()
	for _, f := range []Features{sparse, full, {Rows: 3}, {}} {
		require.NoError(t, f.Validate())
	}
	wide, short, mixed := full, sparse, sparse
	wide.Cols, short.Values, mixed.Dense = 3, short.Values[1:], full.Dense
	for _, f := range []Features{wide, short, mixed, {Rows: 3, Cols: 1}, {Rows: -1}} {
		require.ErrorContains(t, f.Validate(), "graph: features: [")
	}
	sparse.Columns = []int32{1, 4, 0, 3}
	require.ErrorContains(t, sparse.Validate(), "row 0: entry 4 after 1")
}

func TestProducts(t *testing.T) {
	dense := Features{Rows: 2, Cols: 3, Dense: []float32{1, 0, 2, 0, 3, 0}}
	sparse := Features{Rows: 2, Cols: 3, Offsets: []int64{0, 2, 3}, Columns: []int32{0, 2, 1},
		Values: []float32{1, 2, 3}}
	x := mat.NewDense(2, 3, []float64{1, 0, 2, 0, 3, 0})
	for _, f := range []Features{dense, sparse} {
		require.True(t, mat.Equal(x, f.Matrix()))
		b, c := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}), mat.NewDense(2, 1, []float64{1, -1})
		var want mat.Dense
		want.Mul(x, b)
		require.True(t, mat.Equal(&want, f.Times(b)))
		want.Reset()
		want.Mul(x.T(), c)
		require.True(t, mat.Equal(&want, f.TransposedTimes(c)))
	}
	a := Adjacency{Offsets: []int64{0, 0, 3}, Neighbors: []int32{0, 0, 0}}
	require.Equal(t, []float64{1, 0.5}, a.DegreeScale())
}
