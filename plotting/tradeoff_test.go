package plotting

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/saot-go/saot/saot/continual"
)

func TestLabelsDoNotOverlap(t *testing.T) {
	area := rect(0, 0, 340, 230)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		free := space{area: area}
		for range 15 { // as many as there are methods, in a corner of the picture
			p := vg.Point{X: 40 + vg.Length(80*r.Float64()), Y: 60 + vg.Length(80*r.Float64())}
			free.markers = append(free.markers, p)
			free.taken = append(free.taken, rect(p.X-4.5, p.Y-4.5, 9, 9))
		}
		for i := range free.markers {
			before := free.taken
			box, _ := free.place(i, 42, 9)
			for _, other := range before {
				require.Zero(t, common(box, other), "seed %d", seed)
			}
			require.Equal(t, box, rect(max(box.Min.X, 0), max(box.Min.Y, 0), 42, 9))
			require.LessOrEqual(t, box.Max.X, area.Max.X)
			require.LessOrEqual(t, box.Max.Y, area.Max.Y)
		}
	}
}

func TestLabelsPreferTheRight(t *testing.T) {
	place := func(x, width vg.Length, taken ...vg.Rectangle) (vg.Rectangle, bool) {
		free := space{area: rect(0, 0, 100, 100), taken: taken, markers: []vg.Point{{X: x, Y: 50}}}
		return free.place(0, width, 8)
	}
	box, near := place(20, 30)
	require.True(t, near)
	require.Equal(t, vg.Length(26), box.Min.X)
	box, near = place(90, 30)
	require.True(t, near)
	require.Less(t, box.Max.X, vg.Length(100))
	box, _ = place(50, 300)
	require.False(t, math.IsNaN(float64(box.Min.X)))

	bar := rect(0, 47.5, 100, 5)
	box, near = place(20, 30, bar, rect(17.5, 0, 5, 100))
	require.True(t, near, "there is room in the corners between error bars")
	require.Zero(t, common(box, bar))
}

// A label keeps clear of a line, and of another marker that it would seem to belong to.
func TestLabelsTellWhereTheyBelong(t *testing.T) {
	line := []vg.Point{{X: 10, Y: 50}, {X: 50, Y: 50}, {X: 90, Y: 60}}
	free := space{area: rect(0, 0, 100, 100), taken: along(line), markers: line[1:2]}
	box, _ := free.place(0, 30, 8)
	for x := vg.Length(10); x < 90; x++ {
		y := 50 + max(x-50, 0)/4
		require.False(t, box.Min.X < x && x < box.Max.X && box.Min.Y < y && y < box.Max.Y, "(%v, %v) in %v", x, y, box)
	}

	own, other := vg.Point{X: 50, Y: 50}, vg.Point{X: 70, Y: 41}
	free = space{area: rect(0, 0, 100, 100), markers: []vg.Point{own, other}}
	box, near := free.place(0, 30, 8)
	require.True(t, near)
	require.Less(t, distance(box, own), distance(box, other))

	// Every place but one far away is taken: the line to it does not lie on the marker's own bar.
	bar := rect(20, 47.5, 60, 5)
	free = space{area: rect(0, 0, 100, 100), taken: []vg.Rectangle{bar}, markers: []vg.Point{own}}
	require.Positive(t, free.crowding(rect(85, 46, 10, 8), own, true))
	require.Zero(t, free.crowding(rect(45, 70, 10, 8), own, true))

	// The line to a label that had to move away is no place for the next one.
	free = space{area: rect(0, 0, 100, 100), taken: []vg.Rectangle{rect(30, 30, 60, 40)}, markers: []vg.Point{own}}
	box, near = free.place(0, 10, 8)
	require.False(t, near)
	from := nearest(box, own)
	free.taken = nil
	require.Positive(t, free.crowding(rect((from.X+own.X)/2-1, (from.Y+own.Y)/2-1, 2, 2), own, false))
}

// Labels have the colors of their points, dark enough on white.
func TestLabelsHaveColors(t *testing.T) {
	for _, c := range okabeIto {
		dark := legible(c)
		require.LessOrEqual(t, dark.R, c.R)
		if c == okabeIto[0] || c == okabeIto[6] {
			require.Equal(t, c, dark, "blue and black are dark")
		}
		luminance := 0.2126*math.Pow(float64(dark.R)/255, 2.2) + 0.7152*math.Pow(float64(dark.G)/255, 2.2) +
			0.0722*math.Pow(float64(dark.B)/255, 2.2)
		require.LessOrEqual(t, luminance, 1.05/4.5-0.05)
	}
	f, err := TradeOff([]Method{{Name: "one", Matrices: []continual.Matrix{{{90}}}, Seconds: []float64{1}}},
		TradeOffOptions{})
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	require.Regexp(t, `fill:#0072B2[^>]*>one</text>`, string(svg))
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
	for _, mark := range []func(int) draw.GlyphStyle{marker, barredMarker} {
		seen := map[string]int{}
		for i := range 30 {
			m := mark(i)
			look := fmt.Sprintf("%v %T", m.Color, m.Shape)
			require.NotContains(t, seen, look, "methods %d and %d", seen[look], i)
			seen[look] = i
		}
	}
	for i := range 30 {
		require.NotEqual(t, draw.PlusGlyph{}, barredMarker(i).Shape, "it is as its error bars")
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
