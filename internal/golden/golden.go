// Package golden compares the texts and pictures that tests make with committed ones, and tells whether this program
// rounds numbers as the committed ones are rounded.
package golden

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Exact reports whether this program rounds as the one that wrote the goldens, which ran on amd64 and did not fuse a
// product and a sum. Programs for GOAMD64=v3 fuse them. Here the product is 1 + 2⁻²⁹ + 2⁻⁶⁰. Rounding drops the last
// term unless product and sum are fused.
func Exact() bool {
	const x = 1 + 0x1p-30
	return runtime.GOARCH == "amd64" && sum(x, x, -1-0x1p-29) == 0
}

// sum is not inlined: otherwise the compiler computes it.
//
//go:noinline
func sum(x, y, z float64) float64 { return x*y + z }

// SameText compares a text with the one in a file, or writes it there. Its error names the first line that differs.
func SameText(path, got string, update bool) error {
	if update {
		return os.WriteFile(path, []byte(got), 0o644)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) == got {
		return err
	}
	was, now, line := strings.Split(string(data), "\n"), strings.Split(got, "\n"), 0
	for line < min(len(was), len(now)) && was[line] == now[line] {
		line++
	}
	return fmt.Errorf("%s:%d is old:\n- %s\n+ %s", path, line+1, lineOf(was, line), lineOf(now, line))
}

// lineOf returns the beginning of a line, or that there is none.
func lineOf(lines []string, i int) string {
	if i >= len(lines) {
		return "(the end)"
	}
	return fmt.Sprintf("%.300s", lines[i])
}

// SamePicture compares a PNG with one in a file: means over blocks of 4 by 4 pixels may differ by 20 of 255. Another
// machine's rounding moves an edge by a hundredth of a pixel, which changes a block by less; a marker that moves by
// half of one, or another letter, changes it by more. Pale lines of a pixel, such as a grid, change it too little to be
// seen. On failure it leaves what it got in the temporary folder.
func SamePicture(path string, got []byte) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("no golden picture, write it with -update: %w", err)
	}
	want, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	have, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		return err
	}
	if problem := difference(want, have); problem != "" {
		left := filepath.Join(os.TempDir(), "golden-"+filepath.Base(path))
		if err := os.WriteFile(left, got, 0o644); err != nil {
			left = err.Error()
		}
		return fmt.Errorf("differs from %s: %s (now: %s)", path, problem, left)
	}
	return nil
}

// difference describes the first block in which two pictures differ, or returns nothing.
func difference(want, have image.Image) string {
	const side, tolerance = 4, 20
	if want.Bounds() != have.Bounds() {
		return fmt.Sprintf("size %v, want %v", have.Bounds().Size(), want.Bounds().Size())
	}
	b := want.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += side {
		for x := b.Min.X; x < b.Max.X; x += side {
			block := image.Rect(x, y, min(x+side, b.Max.X), min(y+side, b.Max.Y))
			w, h := blockMean(want, block), blockMean(have, block)
			for k := range w {
				if d := w[k] - h[k]; d > tolerance || d < -tolerance {
					return fmt.Sprintf("color %.0f at (%d, %d), want %.0f", h, x, y, w)
				}
			}
		}
	}
	return ""
}

// blockMean is the mean red, green and blue of a block, in [0, 255].
func blockMean(img image.Image, block image.Rectangle) (mean [3]float64) {
	for y := block.Min.Y; y < block.Max.Y; y++ {
		for x := block.Min.X; x < block.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			for k, v := range [3]uint32{r, g, b} {
				mean[k] += float64(v>>8) / float64(block.Dx()*block.Dy())
			}
		}
	}
	return mean
}
