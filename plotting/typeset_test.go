package plotting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypesetPieces(t *testing.T) {
	style := textStyle(10, ink)
	h := style.Handler.(typeset)
	pieces, width := h.layout(`after $\pi_{G}^2 \le 10^{-2}$ and $L_{mat}$`, style.Font)
	text := make([]string, len(pieces))
	for i, p := range pieces {
		text[i] = p.text
	}
	require.Equal(t, []string{"after ", "π", "G", "2", " ", "≤", " ", "10", "−", "2", " and ", "L", "mat"}, text)
	require.Equal(t, "Italic", strings.TrimPrefix(pieces[1].font.Name(), "LiberationSerif-"))
	require.Equal(t, pieces[2].x, pieces[3].x, "scripts of one base stand above one another")
	require.Negative(t, pieces[2].y)
	require.Positive(t, pieces[3].y)
	require.Less(t, pieces[2].font.Size, style.Font.Size)
	require.Equal(t, "LiberationSans-Regular", pieces[12].font.Name(), "words are upright")
	last := pieces[12]
	require.InDelta(t, float64(width), float64(last.x+h.width(last.font, last.text)), 1e-9)
	box, _, _ := h.Box("a $b$", style.Font)
	_, want := h.layout("a $b$", style.Font)
	require.Equal(t, want, box)
}

// Text without mathematics stays what it is, even where it looks like it.
func TestTypesetLeavesTextAlone(t *testing.T) {
	style := textStyle(10, ink)
	h := style.Handler.(typeset)
	for _, text := range []string{"learning_rate", "costs 5 $", `back\slash`, "{a}^b"} {
		pieces, width := h.layout(text, style.Font)
		joined := ""
		for _, p := range pieces {
			require.False(t, p.math, text)
			joined += p.text
		}
		require.Equal(t, text, joined)
		require.InDelta(t, float64(h.width(style.Font, text)), float64(width), 1e-9)
	}
	for _, broken := range []string{"$_$", "$^$", `$\$`, "$a_{b$", "$$", `$\unknown$`, "$x_{}$"} {
		f, err := Matrix([][]float64{{50}}, MatrixOptions{Title: broken})
		require.NoError(t, err, broken)
		_, err = f.SVG()
		require.NoError(t, err, broken)
	}
}

// Mathematics is the same outlines in every format, so that no file needs a second font.
func TestMathematicsInEachFormat(t *testing.T) {
	with, err := Matrix([][]float64{{50}}, MatrixOptions{Title: `$\pi_G \oplus 10^{-2}$`})
	require.NoError(t, err)
	without, err := Matrix([][]float64{{50}}, MatrixOptions{})
	require.NoError(t, err)
	for name, render := range map[string]func(Figure) ([]byte, error){"svg": Figure.SVG, "pdf": Figure.PDF} {
		a, err := render(with)
		require.NoError(t, err, name)
		b, err := render(without)
		require.NoError(t, err, name)
		require.Greater(t, len(a), len(b)+200, name)
		require.Less(t, len(a), len(b)+40_000, name)
		require.NotContains(t, string(a), "LiberationSerif", name)
	}
}

func TestFormatTick(t *testing.T) {
	require.Equal(t, "−0.5", formatTick(-0.5))
	require.Equal(t, "1234.5", formatTick(1234.5))
	require.Equal(t, "$10^{-7}$", formatTick(1e-7))
	require.Equal(t, "−$10^{-7}$", formatTick(-1e-7))
	require.Equal(t, "2.5·$10^{12}$", formatTick(2.5e12))
}

func TestTypesetSpaces(t *testing.T) {
	style := textStyle(10, ink)
	h := style.Handler.(typeset)
	for source, want := range map[string]string{
		`$\epsilon = 1$`: "ε = 1", `$\partial L$`: "∂L", `$f \times g$`: "f × g", `$\partial\pi$`: "∂π",
	} {
		pieces, _ := h.layout(source, style.Font)
		got := ""
		for _, p := range pieces {
			got += p.text
		}
		require.Equal(t, want, got)
	}
}
