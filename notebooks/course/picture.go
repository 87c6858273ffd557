package course

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"

	"golang.org/x/image/draw"
)

// thumbnail scales a picture to the width of the index, on white.
func thumbnail(figure image.Image) ([]byte, error) {
	b := figure.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, thumbnailWidth, max(1, b.Dy()*thumbnailWidth/b.Dx())))
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), figure, b, draw.Over, nil)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, paletted(small)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// paletteSize is how many colors a PNG with a byte for each pixel may have.
const paletteSize = 256

// paletted returns an opaque picture in at most paletteSize colors, which takes about a third of the file. Colors whose
// channels are the same in steps of 16 form a group; white has one of its own. The largest groups make the palette,
// each with its most frequent color.
func paletted(picture *image.RGBA) *image.Paletted {
	count := map[color.RGBA]int{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[picture.RGBAAt(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(c, d color.RGBA) int {
		return cmp.Or(count[d]-count[c], int(c.R)-int(d.R), int(c.G)-int(d.G), int(c.B)-int(d.B))
	})
	type group struct {
		color  color.RGBA
		pixels int
	}
	var groups []group
	at := map[[3]int]int{}
	for _, c := range colors {
		key := [3]int{(int(c.R) + 8) / 16, (int(c.G) + 8) / 16, (int(c.B) + 8) / 16}
		if _, ok := at[key]; !ok {
			at[key], groups = len(groups), append(groups, group{color: c})
		}
		groups[at[key]].pixels += count[c]
	}
	slices.SortStableFunc(groups, func(g, h group) int { return h.pixels - g.pixels })
	var palette color.Palette
	for _, g := range groups[:min(len(groups), paletteSize)] {
		palette = append(palette, g.color)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[picture.RGBAAt(x, y)])
		}
	}
	return out
}
