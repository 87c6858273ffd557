package plotting

import (
	"bytes"
	"compress/zlib"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

// content returns the drawing operators of a PDF, a line each.
func content(t *testing.T, data []byte) []string {
	t.Helper()
	for _, match := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(data, -1) {
		r, err := zlib.NewReader(bytes.NewReader(match[1]))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(r)
		if err == nil && bytes.Contains(text, []byte(" cm")) {
			return strings.Split(string(text), "\n")
		}
	}
	t.Fatal("the PDF has no page content")
	return nil
}

// imageMatrix returns the product [a b c d e f] of the transformations that stand when the first image is drawn.
func imageMatrix(t *testing.T, operators []string) [6]float64 {
	t.Helper()
	current, stack := [6]float64{1, 0, 0, 1, 0, 0}, [][6]float64{}
	for _, line := range operators {
		f := strings.Fields(line)
		for i, op := range f {
			switch op {
			case "q":
				stack = append(stack, current)
			case "Q":
				current, stack = stack[len(stack)-1], stack[:len(stack)-1]
			case "cm":
				var m [6]float64
				for k := range m {
					v, err := strconv.ParseFloat(f[i-6+k], 64)
					require.NoError(t, err, line)
					m[k] = v
				}
				c := current
				current = [6]float64{
					m[0]*c[0] + m[1]*c[2], m[0]*c[1] + m[1]*c[3], m[2]*c[0] + m[3]*c[2], m[2]*c[1] + m[3]*c[3],
					m[4]*c[0] + m[5]*c[2] + c[4], m[4]*c[1] + m[5]*c[3] + c[5],
				}
			case "Do":
				return current
			}
		}
	}
	t.Fatal("the PDF draws no image")
	return current
}

func TestPDFImageStandsUpright(t *testing.T) {
	f, err := Plan([]float64{1, 0, 0, 0}, 2, 2, PlanOptions{})
	require.NoError(t, err)
	data, err := f.PDF()
	require.NoError(t, err)
	// A PDF draws an image into the unit square, its first row at y = 1, and y points up: the matrix must not flip it.
	m := imageMatrix(t, content(t, data))
	width, height := f.Size()
	require.InDelta(t, float64(planSide), m[0], 1)
	require.InDelta(t, float64(planSide), m[3], 1)
	require.Greater(t, m[4], 0.0)
	require.Less(t, m[4]+m[0], width)
	require.Greater(t, m[5], 0.0)
	require.Less(t, m[5]+m[3], height)
}

func TestPDFHasNoMangledText(t *testing.T) {
	f, err := Matrix([][]float64{{50}}, MatrixOptions{Title: "π after − before"})
	require.NoError(t, err)
	data, err := f.PDF()
	require.NoError(t, err)
	text := strings.Join(content(t, data), "\n")
	require.Contains(t, text, "accuracy", "plain text stays text")
	require.NotContains(t, text, "after −")
	for _, b := range []byte(text) {
		require.Less(t, b, byte(0x80), "text of another code page")
	}
}

func TestTextPath(t *testing.T) {
	face := textStyle(12, ink).Handler.Cache().Lookup(textStyle(12, ink).Font, 12)
	box := func(s string) (low, high vg.Point) {
		path, err := textPath(face, vg.Point{X: 100, Y: 50}, s)
		require.NoError(t, err)
		low, high = path[0].Pos, path[0].Pos
		for _, c := range path {
			if c.Type == vg.CloseComp {
				continue
			}
			low.X, low.Y = min(low.X, c.Pos.X), min(low.Y, c.Pos.Y)
			high.X, high.Y = max(high.X, c.Pos.X), max(high.Y, c.Pos.Y)
		}
		return low, high
	}
	// Liberation Sans has capitals of 1409 units of 2048 to the em; H stands on the baseline and starts 0.08 em in.
	low, high := box("H")
	require.InDelta(t, 12*1409.0/2048, float64(high.Y-low.Y), 1e-6)
	require.InDelta(t, 50, float64(low.Y), 1e-6)
	require.InDelta(t, 101, float64(low.X), 0.3)
	// The second H is one advance, 1479 units, further on.
	_, end := box("HH")
	require.InDelta(t, 12*1479.0/2048, float64(end.X-high.X), 0.05)
	low, high = box("−")
	require.Greater(t, high.X-low.X, 4*(high.Y-low.Y))
	require.Greater(t, low.Y, vg.Length(50))
}
