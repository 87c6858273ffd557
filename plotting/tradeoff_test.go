package plotting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/saot-go/saot/saot/continual"
)

func TestLabelsDoNotOverlap(t *testing.T) {
	area := rect(0, 0, 340, 230)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var points []vg.Point
		var markers []vg.Rectangle
		for range 15 { // as many as there are methods, in a corner of the picture
			p := vg.Point{X: 40 + vg.Length(80*r.Float64()), Y: 60 + vg.Length(80*r.Float64())}
			points = append(points, p)
			markers = append(markers, rect(p.X-4.5, p.Y-4.5, 9, 9))
		}
		taken := markers
		for _, p := range points {
			box, _ := placeLabel(area, taken, p, 42, 9)
			for _, other := range taken {
				require.Zero(t, common(box, other), "seed %d", seed)
			}
			require.Equal(t, box, rect(max(box.Min.X, 0), max(box.Min.Y, 0), 42, 9))
			require.LessOrEqual(t, box.Max.X, area.Max.X)
			require.LessOrEqual(t, box.Max.Y, area.Max.Y)
			taken = append(taken, box)
		}
	}
}

func TestPlaceLabelPrefersTheRight(t *testing.T) {
	box, near := placeLabel(rect(0, 0, 100, 100), nil, vg.Point{X: 20, Y: 50}, 30, 8)
	require.True(t, near)
	require.Equal(t, vg.Length(26), box.Min.X)
	box, near = placeLabel(rect(0, 0, 100, 100), nil, vg.Point{X: 90, Y: 50}, 30, 8)
	require.True(t, near)
	require.Less(t, box.Max.X, vg.Length(100))
	box, _ = placeLabel(rect(0, 0, 100, 100), nil, vg.Point{X: 50, Y: 50}, 300, 8)
	require.False(t, math.IsNaN(float64(box.Min.X)))
}

func TestTradeOffExtremes(t *testing.T) {
	method := func(name string, seconds ...float64) Method {
		m := Method{Name: name, Seconds: seconds}
		for k := range seconds {
			m.Matrices = append(m.Matrices, continual.Matrix{{50}, {40 + float64(k), 60}})
		}
		return m
	}
	many := make([]Method, 15)
	for i := range many {
		many[i] = method(fmt.Sprintf("method %d", i), float64(i+1), float64(i+2))
	}
	for _, methods := range [][]Method{
		{method("one", 5)},
		{method("same", 5), method("place", 5)},
		{method("spread beyond 0", 1, 1000, 1), method("b", 1e-3)},
		{method("tiny", 1e-300), method("huge", 1e100)},
		{method("tiny", 1e-300), method("close", 2e-300)},
		many,
	} {
		f, err := TradeOff(methods, TradeOffOptions{})
		requireWhiteBorder(t, picture(t, f, err))
	}
	for want, m := range map[string]Method{
		"0 times for 1":  {Name: "a", Matrices: []continual.Matrix{{{1}}}},
		"time 0 is 0 s":  method("a", 0),
		"time 1 is NaN":  method("a", 1, math.NaN()),
		"time 0 is +Inf": method("a", math.Inf(1)),
		"no performance": {Name: "a"},
		"want a name":    method("", 1),
	} {
		_, err := TradeOff([]Method{m}, TradeOffOptions{})
		require.ErrorContains(t, err, want)
	}
	_, err := TradeOff(nil, TradeOffOptions{})
	require.ErrorContains(t, err, "no methods")
}

// Bold names are drawn in every format.
func TestTradeOffBoldInEachFormat(t *testing.T) {
	f, err := TradeOff([]Method{{Name: "saot", Matrices: []continual.Matrix{{{90}}}, Seconds: []float64{1}}},
		TradeOffOptions{Bold: []string{"saot"}, Front: true})
	require.NoError(t, err)
	for _, render := range []func() ([]byte, error){f.PNG, f.SVG, f.PDF} {
		_, err := render()
		require.NoError(t, err)
	}
}

// There are more methods than colors: color and shape together tell them apart.
func TestMarkersTellMethodsApart(t *testing.T) {
	seen := map[string]int{}
	for i := range 30 {
		m := marker(i)
		look := fmt.Sprintf("%v %T", m.Color, m.Shape)
		require.NotContains(t, seen, look, "methods %d and %d", seen[look], i)
		seen[look] = i
	}
}

// A name looks alike in all panels of a figure, whatever its place in each.
func TestTradeOffsNumberNamesOnce(t *testing.T) {
	method := func(name string) Method {
		return Method{Name: name, Seconds: []float64{float64(name[0])}, Matrices: []continual.Matrix{{{50}, {40, 60}}}}
	}
	colored := func(panels ...TradeOffPanel) [3]bool {
		f, err := TradeOffs(panels, TradeOffOptions{})
		img := picture(t, f, err)
		return [3]bool{!block(img, okabeIto[0], 4).Empty(), !block(img, okabeIto[1], 4).Empty(),
			!block(img, okabeIto[2], 4).Empty()}
	}
	ab := TradeOffPanel{Methods: []Method{method("a"), method("b")}}
	ba := TradeOffPanel{Methods: []Method{method("b"), method("a")}}
	require.Equal(t, [3]bool{true, true, false}, colored(ab, ba))
	require.Equal(t, [3]bool{true, true, true}, colored(ab, TradeOffPanel{Methods: []Method{method("c")}}))
	noted := method("b")
	noted.Note = "n = 1"
	require.Equal(t, [3]bool{true, true, false}, colored(ab, TradeOffPanel{Methods: []Method{noted}}))
}
