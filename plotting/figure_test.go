package plotting

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// picture renders a figure and decodes it.
func picture(t *testing.T, f Figure, err error) image.Image {
	t.Helper()
	require.NoError(t, err)
	data, err := f.PNG()
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return img
}

// block returns the bounding box of the pixels of a color that stand in horizontal runs of at least run pixels, so
// that text, lines and the narrow color bar don't count.
func block(img image.Image, c color.RGBA, run int) image.Rectangle {
	var box image.Rectangle
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		length := 0
		for x := b.Min.X; x < b.Max.X; x++ {
			if img.At(x, y) != color.Color(c) {
				length = 0
				continue
			}
			if length++; length >= run {
				box = box.Union(image.Rect(x-length+1, y, x+1, y+1))
			}
		}
	}
	return box
}

func center(r image.Rectangle) (x, y int) { return (r.Min.X + r.Max.X) / 2, (r.Min.Y + r.Max.Y) / 2 }

// requireWhiteBorder fails if anything touches the edge of a picture, which is how clipped text shows.
func requireWhiteBorder(t *testing.T, img image.Image) {
	t.Helper()
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if x > b.Min.X+1 && x < b.Max.X-2 && y > b.Min.Y+1 && y < b.Max.Y-2 {
				continue
			}
			require.Equal(t, color.RGBA{255, 255, 255, 255}, color.RGBAModel.Convert(img.At(x, y)),
				"pixel (%d, %d)", x, y)
		}
	}
}

func TestNothingIsClipped(t *testing.T) {
	long := "a title that is much longer than the picture below it is wide, in view of its few cells and short axes"
	small, smallErr := Matrix([][]float64{{100}}, MatrixOptions{Title: long})
	large, largeErr := Matrix(triangle(35), MatrixOptions{Title: "35 tasks"})
	plan, planErr := Plan([]float64{1e-9, 0, 3e-9, 0, 0, 1e-9}, 3, 2, PlanOptions{Title: long})
	curve, curveErr := Curves([]Series{{Name: "a rather long name of a curve", Y: []float64{1e-12, 3}}},
		CurveOptions{Title: long, XLabel: "step", YLabel: "error", LogY: true})
	grid, gridErr := Grid(2, small, plan, curve)
	for _, c := range []struct {
		f   Figure
		err error
	}{{small, smallErr}, {large, largeErr}, {plan, planErr}, {curve, curveErr}, {grid, gridErr}} {
		requireWhiteBorder(t, picture(t, c.f, c.err))
	}
}

// triangle is a performance matrix of n tasks that forgets as it goes.
func triangle(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		for j := range i + 1 {
			m[i] = append(m[i], 100-float64(i-j)*60/float64(n))
		}
	}
	return m
}

func TestGridPlacesFigures(t *testing.T) {
	one, err := Matrix([][]float64{{100}}, MatrixOptions{})
	require.NoError(t, err)
	zero, err := Matrix([][]float64{{0}}, MatrixOptions{})
	require.NoError(t, err)
	f, err := Grid(2, one, zero, zero)
	img := picture(t, f, err)
	require.Equal(t, 2*one.width, f.width)
	require.Equal(t, 2*one.height, f.height)
	x, y := center(block(img, hex(0xfde725), 40))
	require.Less(t, x, img.Bounds().Dx()/2)
	require.Less(t, y, img.Bounds().Dy()/2)

	_, err = Grid(0, one)
	require.ErrorContains(t, err, "0 columns")
	_, err = Grid(2)
	require.Error(t, err)
	_, err = Grid(2, one, Figure{})
	require.ErrorContains(t, err, "figure 2")
}

// Alt has each title once, and names a part without one by its axes.
func TestAlt(t *testing.T) {
	matrix := [][]float64{{100}}
	titled, err := Matrix(matrix, MatrixOptions{Title: "Class-IL,\nsaot"})
	require.NoError(t, err)
	plain, err := Matrix(matrix, MatrixOptions{})
	require.NoError(t, err)
	require.Equal(t, "Class-IL, saot", titled.Alt())
	require.Equal(t, "after learning task against accuracy on task", plain.Alt())

	grid, err := Grid(2, titled, plain, titled, plain.Blank("not run"))
	require.NoError(t, err)
	grid = grid.WithTitle("two runs").WithNote("seed 0")
	require.Equal(t, "two runs; Class-IL, saot; after learning task against accuracy on task; not run", grid.Alt())
	require.Empty(t, Figure{}.Alt())
	for text, want := range map[string]string{
		`$L_{mat}$: $\pi_G - \pi_Z$`:            "L_mat: π_G − π_Z",
		`at $10^{-2}$, $\partial L/\partial R$`: "at 10^−2, ∂L/∂R",
		"5 $, and {so} on":                      "5 $, and {so} on",
	} {
		require.Equal(t, want, plain.WithTitle(text).Alt()[:len(want)], text)
	}
}

func TestSaveFormats(t *testing.T) {
	f, err := Matrix(triangle(3), MatrixOptions{Title: "π_Z & <τ>"})
	require.NoError(t, err)
	dir := t.TempDir()
	for ext, magic := range map[string]string{".png": "\x89PNG", ".svg": "<?xml", ".PDF": "%PDF"} {
		path := filepath.Join(dir, "figure"+ext)
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		require.NoError(t, f.Save(path))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(data, []byte(magic)), ext)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "temporary files are left")
}

func TestSaveErrors(t *testing.T) {
	f, err := Matrix(triangle(3), MatrixOptions{})
	require.NoError(t, err)
	dir := t.TempDir()
	require.ErrorContains(t, f.Save(filepath.Join(dir, "figure.gif")), `".gif" is not one of .png, .svg, .pdf`)
	err = f.Save(filepath.Join(dir, "missing", "figure.png"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "figure.png")
	require.ErrorContains(t, Figure{}.Save(filepath.Join(dir, "empty.png")), "empty")

	taken := filepath.Join(dir, "taken.png")
	require.NoError(t, os.Mkdir(taken, 0o755))
	require.Error(t, f.Save(taken))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "something half-written is left")
}

func TestSVGIsWellFormedAndCarriesItsFonts(t *testing.T) {
	f, err := Plan([]float64{1, 0, 0, 1}, 2, 2, PlanOptions{Title: "a < b & π"})
	require.NoError(t, err)
	data, err := f.SVG()
	require.NoError(t, err)
	decoder := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Contains(t, string(data), "@font-face")
	require.Contains(t, string(data), "a &lt; b &amp; π")
	require.Contains(t, string(data), "data:image/png;base64,iVBORw0KGgo", "the heat map is a PNG and says so")
	require.NotContains(t, string(data), "image/jpg")
	for _, request := range []string{`href="http`, "url(http", "<script"} {
		require.False(t, strings.Contains(string(data), request), request)
	}
}

func TestDrawingPanicsComeBackAsErrors(t *testing.T) {
	f, err := Matrix(triangle(2), MatrixOptions{})
	require.NoError(t, err)
	f.width = -1
	_, err = f.PNG()
	require.Error(t, err)
}

func TestRampIsClampedAndMeetsItsColors(t *testing.T) {
	// Ends and middle of viridis as matplotlib publishes them: #440154, #21918c (127.5/255), #fde725.
	require.Equal(t, hex(0x440154), viridis.at(-1))
	require.Equal(t, hex(0xfde725), viridis.at(2))
	middle := viridis.at(0.5)
	require.InDelta(t, 0x21, middle.R, 3)
	require.InDelta(t, 0x91, middle.G, 3)
	require.InDelta(t, 0x8c, middle.B, 3)
}

func TestRampsDarkenSteadily(t *testing.T) {
	// Lightness must be monotone, or the ramp misleads in gray and for color-blind readers.
	luma := func(c color.RGBA) float64 { return 0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B) }
	for i := range 100 {
		a, b := float64(i)/100, float64(i+1)/100
		require.Less(t, luma(viridis.at(a)), luma(viridis.at(b)))
		require.Greater(t, luma(mass.at(a)), luma(mass.at(b)))
	}
}

func TestNiceTicks(t *testing.T) {
	require.InDeltaSlice(t, []float64{0, 20, 40, 60, 80, 100}, niceTicks(0, 100, 6), 1e-9)
	require.InDeltaSlice(t, []float64{0.2, 0.4, 0.6}, niceTicks(0.15, 0.71, 4), 1e-9)
	require.NotEmpty(t, niceTicks(1e16, 1e16+2, 5), "and it ends")
	require.Equal(t, "0", formatTick(niceTicks(0, 1, 5)[0]))
	require.Equal(t, "0.3", formatTick(niceTicks(0, 0.35, 4)[3]))
}
