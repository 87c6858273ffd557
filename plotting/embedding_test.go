package plotting

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

func TestPCA(t *testing.T) {
	// Along (3, 4)/5: the coordinates are the distances, the second component shows nothing.
	z := []float64{0, 0, 3, 4, 6, 8}
	plane, err := principal(z, 3, 2)
	require.NoError(t, err)
	for i, p := range plane.project(z, 2) {
		require.InDelta(t, 5*float64(i-1), p.X, 1e-12)
		require.InDelta(t, 0, p.Y, 1e-12)
	}
	require.InDelta(t, 1, plane.share[0], 1e-12)
	require.InDelta(t, 0, plane.share[1], 1e-12)
}

func TestPlaneTakesWholeRows(t *testing.T) {
	whole := []float64{0, 0, 3, 4}
	_, err := NewPlane(2, whole, whole[:2])
	require.NoError(t, err)
	for _, c := range []struct {
		d      int
		frames [][]float64
		says   string
	}{
		{2, [][]float64{whole, whole[:3], whole[:1]}, "frame 1 has 3 entries in 2 dimensions: want whole rows"},
		{2, [][]float64{{}}, "frame 0 has 0 entries"},
		{0, nil, "0 dimensions: want 1 or more"},
		{2, nil, "plane"},
	} {
		_, err := NewPlane(c.d, c.frames...)
		require.ErrorContains(t, err, c.says)
	}
}

func TestPCAKeepsDistancesInThePlane(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n, d = 9, 5
	a, b := make([]float64, d), make([]float64, d) // a plane in five dimensions
	for k := range d {
		a[k], b[k] = r.NormFloat64(), r.NormFloat64()
	}
	z := make([]float64, n*d)
	for i := range n {
		u, v := r.NormFloat64(), r.NormFloat64()
		for k := range d {
			z[i*d+k] = 10 + u*a[k] + v*b[k]
		}
	}
	plane, err := principal(z, n, d)
	require.NoError(t, err)
	require.InDelta(t, 1, plane.share[0]+plane.share[1], 1e-12)
	require.GreaterOrEqual(t, plane.share[0], plane.share[1])
	points := plane.project(z, d)
	for i := range n {
		for j := range n {
			flat := math.Hypot(points[i].X-points[j].X, points[i].Y-points[j].Y)
			require.InDelta(t, floats.Distance(z[i*d:(i+1)*d], z[j*d:(j+1)*d], 2), flat, 1e-12)
		}
	}
	again, err := principal(z, n, d)
	require.NoError(t, err)
	require.Equal(t, plane, again)
}

func TestEmbeddingExtremes(t *testing.T) {
	for _, z := range [][]float64{
		{1, 1, 1, 1}, {0, 0, 0, 0}, {1e100, -1e100, 1e-300, 0}, {1, 2, 1, 2},
	} {
		for _, after := range [][]float64{nil, {0, 0, 0, 0}, z} {
			f, err := Embedding(z, 2, 2, EmbeddingOptions{After: after, Classes: []int{0, 9}})
			requireWhiteBorder(t, picture(t, f, err))
			f, err = Embedding(z, 4, 1, EmbeddingOptions{After: after})
			requireWhiteBorder(t, picture(t, f, err))
		}
	}
	const n = 700
	z := make([]float64, 2*n)
	for k := range z {
		z[k] = math.Sin(float64(k * k))
	}
	f, err := Embedding(z, n, 2, EmbeddingOptions{After: z})
	picture(t, f, err)
}

func TestEmbeddingSide(t *testing.T) {
	z := []float64{0, 0, 4, 0, 2, 3}
	size := func(side float64) [2]float64 {
		f, err := Embedding(z, 3, 2, EmbeddingOptions{Side: side})
		require.NoError(t, err)
		width, height := f.Size()
		return [2]float64{width, height}
	}
	full, half := size(0), size(145)
	require.Equal(t, full, size(290))
	require.InDelta(t, 145, full[0]-half[0], 1e-9)
	require.Less(t, half[1], full[1], "one scale on both axes")
}

func TestEmbeddingErrors(t *testing.T) {
	z := []float64{1, 2, 3, 4}
	for want, c := range map[string]struct {
		z    []float64
		n, d int
		o    EmbeddingOptions
	}{
		"0 entries for shape [0, 0]":      {nil, 0, 0, EmbeddingOptions{}},
		"at least 2 rows":                 {z, 1, 4, EmbeddingOptions{}},
		"row 1, column 0 is NaN":          {[]float64{1, 2, math.NaN(), 4}, 2, 2, EmbeddingOptions{}},
		"row 0, column 1 is 1e+101":       {[]float64{1, 1e101, 3, 4}, 2, 2, EmbeddingOptions{}},
		"After: 2 entries":                {z, 2, 2, EmbeddingOptions{After: []float64{1, 2}}},
		"1 classes for 2 points":          {z, 2, 2, EmbeddingOptions{Classes: []int{0}}},
		"class of point 1 is -1":          {z, 2, 2, EmbeddingOptions{Classes: []int{0, -1}}},
		"a Side of -1 points":             {z, 2, 2, EmbeddingOptions{Side: -1}},
		"with a name if there are any (1": {z, 2, 2, EmbeddingOptions{Classes: []int{0, 1}, Names: []string{"a"}}},
	} {
		_, err := Embedding(c.z, c.n, c.d, c.o)
		require.ErrorContains(t, err, want)
	}
}
