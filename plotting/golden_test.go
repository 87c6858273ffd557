package plotting_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

// update makes the examples write their pictures: go test ./plotting -run Example -update
var update = flag.Bool("update", false, "write docs/gallery/*.png instead of comparing with them")

// pictures is the folder of the pictures that examples draw, which docs/gallery.md shows.
const pictures = "../docs/gallery"

// compare prints whether a figure looks as its picture in docs/gallery does.
func compare(name string, f plotting.Figure, err error) {
	path := filepath.Join(pictures, name+".png")
	var got []byte
	if err == nil {
		got, err = f.PNG()
	}
	if err == nil && *update {
		err = writeSmall(path, got)
	}
	if err == nil {
		err = samePicture(path, got)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("as in docs/gallery/%s.png\n", name)
}

// writeSmall writes a PNG with at most 256 colors, which takes half of the room.
func writeSmall(path string, data []byte) error {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	small := image.NewPaletted(img.Bounds(), palette(img, 256))
	draw.Draw(small, small.Bounds(), img, img.Bounds().Min, draw.Src)
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&buf, small); err != nil {
		return err
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

// palette returns at most n colors for an image, by median cut (Heckbert 1982): the box with the longest side is cut at
// its middle color, again and again. A box is drawn in its most frequent color.
func palette(img image.Image, n int) color.Palette {
	seen := map[color.RGBA]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			seen[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	channel := func(c color.RGBA, k int) int { return []int{int(c.R), int(c.G), int(c.B)}[k] }
	widest := func(box []color.RGBA) (k, width int) {
		for at := range 3 {
			low, high := 255, 0
			for _, c := range box {
				low, high = min(low, channel(c, at)), max(high, channel(c, at))
			}
			if high-low > width {
				k, width = at, high-low
			}
		}
		return k, width
	}
	boxes := [][]color.RGBA{slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})}
	for len(boxes) < n {
		at, width := 0, 0
		for i, box := range boxes {
			if _, w := widest(box); w > width {
				at, width = i, w
			}
		}
		if width == 0 {
			break
		}
		box := boxes[at]
		k, _ := widest(box)
		slices.SortStableFunc(box, func(a, b color.RGBA) int { return cmp.Compare(channel(a, k), channel(b, k)) })
		boxes[at] = box[:len(box)/2]
		boxes = append(boxes, box[len(box)/2:])
	}
	var colors color.Palette
	for _, box := range boxes {
		colors = append(colors, slices.MaxFunc(box, func(a, b color.RGBA) int { return cmp.Compare(seen[a], seen[b]) }))
	}
	return colors
}

// samePicture compares a PNG with one in a file: means over blocks of 4 by 4 pixels may differ by 20 of 255. Another
// machine's rounding moves an edge by a hundredth of a pixel, which changes a block by less; a marker that moves by
// half of one, or another letter, changes it by more. On failure it leaves what it got in the temporary folder.
func samePicture(path string, got []byte) error {
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
		left := filepath.Join(os.TempDir(), "plotting-"+filepath.Base(path))
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

func TestGoldenComparisonCanFail(t *testing.T) {
	draw := func(y float64, name string) []byte {
		f, err := plotting.Curves([]plotting.Series{{Name: name, Y: []float64{1, 2, y, 4}}}, plotting.CurveOptions{})
		require.NoError(t, err)
		data, err := f.PNG()
		require.NoError(t, err)
		return data
	}
	path := filepath.Join(t.TempDir(), "curve.png")
	require.NoError(t, os.WriteFile(path, draw(3, "name"), 0o600))
	t.Setenv("TMPDIR", t.TempDir())
	require.NoError(t, samePicture(path, draw(3, "name")))
	require.NoError(t, samePicture(path, draw(3.0003, "name")), "a hundredth of a pixel")
	require.ErrorContains(t, samePicture(path, draw(3.02, "name")), "differs")
	require.ErrorContains(t, samePicture(path, draw(3, "mane")), "differs")
	require.ErrorContains(t, samePicture(path+"x", draw(3, "name")), "-update")
}
