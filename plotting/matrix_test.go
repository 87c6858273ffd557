package plotting

import (
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/saot-go/saot/saot/continual"
)

// Published viridis colors at 0 and 100 %.
var (
	viridisLow  = color.RGBA{R: 0x44, G: 0x01, B: 0x54, A: 0xff}
	viridisHigh = color.RGBA{R: 0xfd, G: 0xe7, B: 0x25, A: 0xff}
)

func TestMatrixPlacesCells(t *testing.T) {
	// Row 0 stands at the top; the cell above the diagonal stays white, whatever the matrix holds there.
	for _, m := range [][][]float64{{{100}, {0, 100}}, {{100, math.NaN()}, {0, 100}}} {
		f, err := Matrix(m, MatrixOptions{})
		img := picture(t, f, err)
		low := block(img, viridisLow, 40)
		bright := block(img, viridisHigh, 40) // spans the diagonal
		require.False(t, low.Empty())
		x0, y1 := center(low)
		require.InDelta(t, bright.Min.X, low.Min.X, 2, "column 0 is to the left")
		require.InDelta(t, bright.Max.Y, low.Max.Y, 2, "row 1 is at the bottom")
		x1, y0 := x0+low.Dx()+2, y1-low.Dy()-2
		require.Equal(t, color.Color(viridisHigh), img.At(x0-20, y0-20))
		require.Equal(t, color.Color(viridisHigh), img.At(x1+20, y1+20))
		require.Equal(t, color.Color(color.RGBA{255, 255, 255, 255}), img.At(x1+20, y0-20))
	}
}

func TestMatrixScale(t *testing.T) {
	f, err := Matrix([][]float64{{60}}, MatrixOptions{Low: 60, High: 70})
	require.False(t, block(picture(t, f, err), viridisLow, 40).Empty())
	// A constant matrix keeps the fixed scale.
	f, err = Matrix([][]float64{{100}, {100, 100}}, MatrixOptions{})
	require.False(t, block(picture(t, f, err), viridisHigh, 40).Empty())
}

func TestMatricesShareOneScale(t *testing.T) {
	panels := []Panel{{"a", [][]float64{{0}}}, {"b", [][]float64{{50}}}, {"c", [][]float64{{100}}}}
	f, err := Matrices(panels, MatrixOptions{Columns: 3})
	img := picture(t, f, err)
	low, high := block(img, viridisLow, 40), block(img, viridisHigh, 40)
	middle := block(img, viridis.at(0.5), 40)
	require.Less(t, low.Max.X, middle.Min.X)
	require.Less(t, middle.Max.X, high.Min.X)
	require.Equal(t, low.Min.Y, high.Min.Y)
}

func TestCellText(t *testing.T) {
	for _, c := range []struct {
		value float64
		side  int
		want  string
	}{
		{88.64, 32, "88.6"}, {100, 32, "100"}, {99.96, 32, "100"},
		{88.64, 20, "89"}, {88.64, 14, "89"}, {88.64, 11, ""},
	} {
		label, _ := cellText(c.value, vg.Length(c.side))
		require.Equal(t, c.want, label)
	}
}

func TestMatrixErrors(t *testing.T) {
	for want, m := range map[string][][]float64{
		"no rows":                {},
		"row 1 has 3 columns":    {{1}, {1, 2, 3}},
		"row 1 has 1 columns":    {{1}, {1}},
		"row 1, column 0 is NaN": {{1}, {math.NaN(), 2}},
		"row 0, column 0 is 101": {{101}},
		"row 0, column 0 is -1":  {{-1}},
	} {
		_, err := Matrix(m, MatrixOptions{Title: "T"})
		require.ErrorContains(t, err, want)
	}
	_, err := Matrix([][]float64{{1}}, MatrixOptions{Low: 100})
	require.ErrorContains(t, err, "Low < High")
	_, err = Matrix([][]float64{{1}}, MatrixOptions{Low: math.NaN()})
	require.Error(t, err)
	_, err = Matrix([][]float64{{1}}, MatrixOptions{Columns: -1})
	require.Error(t, err)
	_, err = Matrices(nil, MatrixOptions{})
	require.Error(t, err)
	_, err = Matrices([]Panel{{"good", [][]float64{{1}}}, {"bad", nil}}, MatrixOptions{})
	require.ErrorContains(t, err, `"bad"`)
}

func TestSourceNamesSeeds(t *testing.T) {
	of := func(name string, seed uint64) *continual.Result {
		r := &continual.Result{Seed: seed}
		r.Dataset.Name = name
		return r
	}
	require.Equal(t, "uai, Class-IL, converged probe, seeds 0–2",
		Source([]*continual.Result{of("uai", 0), of("uai", 2), of("uai", 1)}, continual.ClassIL,
			continual.ProbeConverged))
	require.Equal(t, "uai, cora-ml, Task-IL, paper probe, seeds 0, 7",
		Source([]*continual.Result{of("uai", 7), of("cora-ml", 0), nil}, continual.TaskIL, continual.ProbePaper))
	require.Equal(t, "seed 3", seedNames([]uint64{3, 3}))
	require.Equal(t, "seeds 0, 1, 5", seedNames([]uint64{5, 0, 1}))
}
