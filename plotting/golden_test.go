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

	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/plotting"
)

//go:generate go test . -count 1 -run TestGallery|Example -update
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
		err = golden.SamePicture(path, got)
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
	require.NoError(t, golden.SamePicture(path, draw(3, "name")))
	require.NoError(t, golden.SamePicture(path, draw(3.0003, "name")), "a hundredth of a pixel")
	require.ErrorContains(t, golden.SamePicture(path, draw(3.02, "name")), "differs")
	require.ErrorContains(t, golden.SamePicture(path, draw(3, "mane")), "differs")
	require.ErrorContains(t, golden.SamePicture(path+"x", draw(3, "name")), "-update")
}
