package nb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// layer is what a frame draws over the picture that all frames share.
type layer struct {
	source string // data URL of a PNG, transparent where the shared picture shows
	place  string // CSS: left, top and width, as shares of the whole
}

// layers splits PNGs into the picture that they share, as a data URL, and a layer for each.
func layers(pngs [][]byte) (shared string, frames []layer, err error) {
	images := make([]*image.NRGBA, len(pngs))
	var size image.Point
	for i, data := range pngs {
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return "", nil, fmt.Errorf("figure %d: %w", i+1, err)
		}
		b := picture.Bounds()
		size.X, size.Y = max(size.X, b.Dx()), max(size.Y, b.Dy())
		images[i] = image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
		draw.Draw(images[i], images[i].Rect, picture, b.Min, draw.Src)
	}
	for i, picture := range images {
		images[i] = image.NewNRGBA(image.Rectangle{Max: size})
		draw.Draw(images[i], images[i].Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(images[i], picture.Rect, picture, image.Point{}, draw.Over)
	}
	base := common(images)
	if shared, err = encode(base, base.Rect, nil); err != nil {
		return "", nil, err
	}
	for _, picture := range images {
		area := changed(base, picture)
		source, err := encode(picture, area, base)
		if err != nil {
			return "", nil, err
		}
		share := func(part, whole int) float64 { return 100 * float64(part) / float64(whole) }
		frames = append(frames, layer{source, fmt.Sprintf("left:%.4f%%;top:%.4f%%;width:%.4f%%",
			share(area.Min.X, size.X), share(area.Min.Y, size.Y), share(area.Dx(), size.X))})
	}
	return shared, frames, nil
}

// common has the pixels that are the same in all images, and white elsewhere.
func common(images []*image.NRGBA) *image.NRGBA {
	base := image.NewNRGBA(images[0].Rect)
	copy(base.Pix, images[0].Pix)
	for _, other := range images[1:] {
		for p := 0; p < len(base.Pix); p += 4 {
			if !bytes.Equal(base.Pix[p:p+4], other.Pix[p:p+4]) {
				// A pixel that differs once is white in the base, and drawn by each frame in which it is not.
				copy(base.Pix[p:p+4], []byte{255, 255, 255, 255})
			}
		}
	}
	return base
}

// changed is the smallest rectangle that holds all pixels that differ, of at least one pixel.
func changed(base, picture *image.NRGBA) image.Rectangle {
	area := image.Rectangle{}
	for y := range base.Rect.Dy() {
		row := base.Stride * y
		for x := range base.Rect.Dx() {
			p := row + 4*x
			if !bytes.Equal(base.Pix[p:p+4], picture.Pix[p:p+4]) {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if area.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return area
}

// encode returns a part of a picture as a PNG with a palette, transparent where it equals the base.
func encode(picture *image.NRGBA, area image.Rectangle, base *image.NRGBA) (string, error) {
	seen := func(x, y int) bool { return base == nil || picture.NRGBAAt(x, y) != base.NRGBAAt(x, y) }
	counts := map[color.NRGBA]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if seen(x, y) {
				counts[picture.NRGBAAt(x, y)]++
			}
		}
	}
	index, palette := paletteOf(counts)
	out := image.NewPaletted(image.Rect(0, 0, area.Dx(), area.Dy()), palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if seen(x, y) {
				out.SetColorIndex(x-area.Min.X, y-area.Min.Y, index[picture.NRGBAAt(x, y)])
			}
		}
	}
	var data bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&data, out); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data.Bytes()), nil
}

// paletteOf returns a palette of at most 255 colors after the transparent one, and which of them stands for a color. If
// there are more colors, those that agree in their high bits become the most frequent of them.
func paletteOf(counts map[color.NRGBA]int) (index map[color.NRGBA]uint8, palette color.Palette) {
	colors := slices.Collect(maps.Keys(counts))
	number := func(c color.NRGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	slices.SortFunc(colors, func(a, b color.NRGBA) int {
		return cmp.Or(counts[b]-counts[a], number(a)-number(b)) // the same palette each time
	})
	for dropped := 0; ; dropped++ {
		index, palette = map[color.NRGBA]uint8{}, color.Palette{color.NRGBA{}}
		groups := map[[3]uint8]uint8{}
		for _, c := range colors {
			group := [3]uint8{c.R >> dropped, c.G >> dropped, c.B >> dropped}
			if _, known := groups[group]; !known {
				groups[group] = uint8(len(palette))
				palette = append(palette, c)
			}
			index[c] = groups[group]
		}
		if len(palette) <= 256 {
			return index, palette
		}
	}
}
