package plotting

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	planHigh = color.RGBA{R: 0x08, G: 0x1d, B: 0x58, A: 0xff} // darkest of YlGnBu: the greatest mass
	barFill  = color.RGBA{R: 0xb4, G: 0xc3, B: 0xd1, A: 0xff} // of the marginals
)

func TestPlanPlacesMass(t *testing.T) {
	// All mass at row 0, column 2 of [2, 3]: the upper right.
	f, err := Plan([]float64{0, 0, 1, 0, 0, 0}, 2, 3, PlanOptions{})
	img := picture(t, f, err)
	cell := block(img, planHigh, 60)
	require.InDelta(t, cell.Dx(), cell.Dy(), 8, "the entry is a square")
	x, y := center(cell)
	below, left := img.At(x, y+cell.Dy()), img.At(x-cell.Dx(), y)
	require.Equal(t, color.Color(color.RGBA{255, 255, 255, 255}), below)
	require.Equal(t, color.Color(color.RGBA{255, 255, 255, 255}), left)

	// Its marginals: one full bar above column 2, one to the right of row 0, none elsewhere.
	above := block(img.(*image.RGBA).SubImage(image.Rect(0, 0, img.Bounds().Dx(), cell.Min.Y-4)), barFill, 20)
	require.InDelta(t, cell.Min.X, above.Min.X, 3)
	require.InDelta(t, cell.Max.X, above.Max.X, 3)
	beyond := image.Rect(cell.Max.X, cell.Min.Y, img.Bounds().Dx(), img.Bounds().Dy())
	right := block(img.(*image.RGBA).SubImage(beyond), barFill, 30)
	require.InDelta(t, cell.Min.Y, right.Min.Y, 3)
	require.InDelta(t, cell.Max.Y, right.Max.Y, 3)
}

func TestPlanMarginalLengths(t *testing.T) {
	// Rows sums 0.25 and 0.75: the upper bar is a third of the lower.
	f, err := Plan([]float64{0.25, 0, 0, 0.75}, 2, 2, PlanOptions{})
	img := picture(t, f, err)
	cell := block(img, planHigh, 60) // row 1, column 1
	side := img.(*image.RGBA).SubImage(image.Rect(cell.Max.X+4, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	_, y1 := center(cell)
	length := func(y int) (n int) {
		for x := side.Bounds().Min.X; x < side.Bounds().Max.X; x++ {
			if side.At(x, y) == color.Color(barFill) {
				n++
			}
		}
		return n
	}
	require.InDelta(t, 3*length(y1-cell.Dy()), length(y1), 4)
}

func TestPlanConstantAndPooled(t *testing.T) {
	constant := make([]float64, 400)
	for k := range constant {
		constant[k] = 1.0 / 400
	}
	f, err := Plan(constant, 20, 20, PlanOptions{})
	require.False(t, block(picture(t, f, err), planHigh, 100).Empty())
	f, err = Plan(constant, 20, 20, PlanOptions{MaxSide: 4})
	require.False(t, block(picture(t, f, err), planHigh, 100).Empty())
}

func TestPoolIsTheMeanOfBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, m, b = 7, 5, 3
	plan := make([]float64, n*m)
	for k := range plan {
		plan[k] = r.Float64()
	}
	g := pool(plan, n, m, b)
	require.Equal(t, 3, g.rows)
	require.Equal(t, 2, g.cols)
	for row := range g.rows {
		for col := range g.cols {
			var sum, count float64
			for i := range n {
				for j := range m {
					if i/b == row && j/b == col {
						sum, count = sum+plan[i*m+j], count+1
					}
				}
			}
			require.InDelta(t, sum/count, g.values[row*g.cols+col], 1e-12)
		}
	}
	require.Equal(t, plan, pool(plan, n, m, 1).values)
}

func TestLargePlan(t *testing.T) {
	const n = 2100
	plan := make([]float64, n*n)
	for i := range n {
		plan[i*n+i] = 1.0 / n
	}
	f, err := Plan(plan, n, n, PlanOptions{})
	require.NoError(t, err)
	_, err = f.PNG()
	require.NoError(t, err)
}

// A pooled plan is painted by its blocks: its picture does not grow with the number of its entries.
func TestImageOfAPooledPlan(t *testing.T) {
	values := make([]float64, 7000*5)
	values[6999*5+4] = 1
	h := &heatMap{grid: pool(values, 7000, 5, 2), ramp: mass, options: PlanOptions{High: 0.5}}
	img := h.image()
	require.Equal(t, image.Rect(0, 0, 3, 3500), img.Bounds())
	require.Equal(t, color.Color(planHigh), img.At(2, 3499))
	require.Equal(t, color.Color(color.RGBA{255, 255, 255, 255}), img.At(1, 3499))
}

func TestPlanErrors(t *testing.T) {
	for want, c := range map[string]struct {
		plan []float64
		n, m int
	}{
		"0 entries":              {nil, 0, 0},
		"3 entries":              {[]float64{1, 2, 3}, 2, 2},
		"row 1, column 0 is NaN": {[]float64{1, 2, math.NaN(), 1}, 2, 2},
		"row 0, column 1 is -1":  {[]float64{1, -1, 1, 1}, 2, 2},
		"is +Inf":                {[]float64{math.Inf(1)}, 1, 1},
		"row 0, column 1 is 1e+": {[]float64{0, 1e308}, 1, 2},
		"no mass":                {make([]float64, 4), 2, 2},
	} {
		_, err := Plan(c.plan, c.n, c.m, PlanOptions{})
		require.ErrorContains(t, err, want)
		_, err = BlockMass(c.plan, make([]int, c.n), make([]int, c.m), 1)
		require.ErrorContains(t, err, want)
	}
	_, err := Plan([]float64{1}, 1, 1, PlanOptions{MaxSide: -1})
	require.ErrorContains(t, err, "MaxSide")
	_, err = Plan([]float64{1}, 1, 1, PlanOptions{Low: 2, High: 1})
	require.ErrorContains(t, err, "Low < High")
	for _, v := range []float64{1e300, 1e-300} {
		f, err := Plan([]float64{v, v, 0, v}, 2, 2, PlanOptions{})
		picture(t, f, err)
	}
}
