package nb

import (
	"fmt"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

// A part that begins to start a line is sent again, with its picture; one that stays is not drawn.
func TestPartStartsALine(t *testing.T) {
	b, draws := board{panes: make([]pane, 1)}, 0
	part := Part{Name: "ε", Key: "1", Draw: func() (plotting.Figure, error) {
		draws++
		one, err := plotting.Matrix([][]float64{{1}}, plotting.MatrixOptions{})
		if err != nil {
			return one, err
		}
		return plotting.Grid(3, one, one, one)
	}}
	require.NoError(t, b.draw(0, part))
	width, height := b.panes[0].figure.Size()
	require.NotEqual(t, width, height)
	require.Contains(t, b.panes[0].html, fmt.Sprintf("aspect-ratio:%.0f/%.0f", width, height))
	require.NotContains(t, b.panes[0].html, "<br />")
	part.Break = true
	for range 2 {
		require.NoError(t, b.draw(0, part))
		require.Contains(t, b.panes[0].html, "<br />")
		require.Equal(t, 2, draws)
	}
}

// A palette has 256 entries at most, of which the first is transparent: 256 colors are one too many.
func TestPaletteHasRoomForTransparency(t *testing.T) {
	for _, colors := range []int{255, 256} {
		counts := map[color.NRGBA]int{}
		for i := range colors {
			counts[color.NRGBA{R: uint8(i), G: uint8(i), B: 100, A: 255}] = 1
		}
		index, palette := paletteOf(counts)
		require.LessOrEqual(t, len(palette), 256)
		for c := range counts {
			require.NotZero(t, index[c])
			require.InDelta(t, c.R, palette[index[c]].(color.NRGBA).R, 1)
		}
	}
}

// A film takes six seconds; a frame no more than half a second, and no less than an eye can follow.
func TestTimeOfFrames(t *testing.T) {
	for frames, want := range map[int]string{1: "500", 20: "300", 100: "80"} {
		require.Contains(t, player("step", "0", frames, 10, ""), "go(+input.value + 1) }, "+want+")")
	}
}
