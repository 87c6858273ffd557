package plotting

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/saot-go/saot/internal/file"
)

// Figure is a picture of fixed size. The zero Figure is empty: rendering it is an error.
type Figure struct {
	width, height vg.Length
	data          vg.Rectangle      // where the data are; zero where there are none
	words         []string          // what Alt says: titles, in reading order
	paint         func(draw.Canvas) // draws within the canvas, whose rectangle has the figure's size
}

// Size returns the width and height in points (1/72 inch).
func (f Figure) Size() (width, height float64) { return f.width.Points(), f.height.Points() }

// checkSize returns an error for a size in points at which nothing can be drawn.
func checkSize(field string, points float64) error {
	if !(points >= 0 && points <= 10_000) {
		return fmt.Errorf("a %s of %g points: want 0 to 10,000", field, points)
	}
	return nil
}

// checkArea is checkSize of the data area of a figure.
func checkArea(width, height float64) error {
	return cmp.Or(checkSize("Width", width), checkSize("Height", height))
}

// Alt returns a text for readers who don't see the figure: its title and those of its parts, in reading order, each
// once. A part without a title is named by its axes, and so is a heat map.
func (f Figure) Alt() string {
	var texts []string
	for _, text := range f.words {
		if text = spoken(strings.Join(strings.Fields(text), " ")); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// pngDPI makes a PNG twice as fine as its size on screen, so that it stays sharp on a dense display and in print.
const pngDPI = 144

// PNG renders the figure as a PNG at 144 dots per inch.
func (f Figure) PNG() ([]byte, error) {
	return f.render(func() writerCanvas {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngDPI))}
	})
}

// SVG renders the figure as an SVG that carries its fonts.
func (f Figure) SVG() ([]byte, error) {
	data, err := f.render(func() writerCanvas {
		return vgsvg.NewWith(vgsvg.UseWH(f.width, f.height), vgsvg.EmbedFonts(true))
	})
	// gonum encodes images as PNG but calls them JPEG, and strict viewers leave those out.
	return bytes.ReplaceAll(data, []byte("data:image/jpg;base64,"), []byte("data:image/png;base64,")), err
}

// PDF renders the figure as a one-page PDF that carries its fonts.
func (f Figure) PDF() ([]byte, error) {
	return f.render(func() writerCanvas {
		c := vgpdf.New(f.width, f.height)
		c.EmbedFonts(true)
		return pdfCanvas{c}
	})
}

// Save renders the figure in the format that the extension of path names (.png, .svg or .pdf) and writes it
// atomically: path either keeps its old content or holds the whole picture. It returns an error for another extension,
// an empty figure, or a folder that is missing or not writable.
func (f Figure) Save(path string) error {
	encoders := map[string]func() ([]byte, error){".png": f.PNG, ".svg": f.SVG, ".pdf": f.PDF}
	encode, ok := encoders[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return fmt.Errorf("plotting: save %s: extension %q is not one of .png, .svg, .pdf", path, filepath.Ext(path))
	}
	data, err := encode()
	if err != nil {
		return fmt.Errorf("plotting: save %s: %w", path, err)
	}
	if _, err = os.Stat(filepath.Dir(path)); err == nil { // file.Write would make the folder
		err = file.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("plotting: save %s (does the folder exist, and may it be written?): %w", path, err)
	}
	return nil
}

type writerCanvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// render paints on a white canvas and encodes it; a panic of the drawing library comes back as an error.
func (f Figure) render(newCanvas func() writerCanvas) (data []byte, err error) {
	if f.paint == nil {
		return nil, errEmpty
	}
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("plotting: draw: %v", r)
		}
	}()
	canvas := newCanvas()
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Path())
	f.paint(c)
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("plotting: encode: %w", err)
	}
	return buf.Bytes(), nil
}

// subCanvas returns the part of c with lower left corner (x, y) and size (w, h).
func subCanvas(c draw.Canvas, x, y, w, h vg.Length) draw.Canvas {
	return draw.Canvas{Canvas: c.Canvas, Rectangle: rect(x, y, w, h)}
}

// rect returns the rectangle with lower left corner (x, y) and size (w, h).
func rect(x, y, w, h vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + w, Y: y + h}}
}

// pdfCanvas corrects gonum's PDF canvas, which draws images upside down, and text only from the Latin code page.
type pdfCanvas struct{ *vgpdf.Canvas }

func (c pdfCanvas) DrawImage(r vg.Rectangle, img image.Image) {
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{Y: r.Min.Y + r.Max.Y})
	c.Scale(1, -1)
	c.Canvas.DrawImage(r, img)
}

// FillString implements vg.Canvas. Text beyond ASCII, such as π or −, and bold text are filled as outlines.
func (c pdfCanvas) FillString(face font.Face, at vg.Point, s string) {
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e })
	if plain && face.Font.Weight == stdfont.WeightNormal { // gonum embeds no bold face
		c.Canvas.FillString(face, at, s)
		return
	}
	outlines, err := textPath(face, at, s)
	if err != nil {
		panic(err) // render turns it into an error
	}
	c.Fill(outlines)
}

func textPath(face font.Face, at vg.Point, s string) (vg.Path, error) {
	var buf sfnt.Buffer
	em := fixed.I(int(face.Face.UnitsPerEm())) // outlines in the font's own units
	unit := face.Font.Size / vg.Length(em)
	var path vg.Path
	for _, r := range s {
		glyph, err := face.Face.GlyphIndex(&buf, r)
		if err != nil {
			return nil, fmt.Errorf("glyph of %q: %w", r, err)
		}
		segments, err := face.Face.LoadGlyph(&buf, glyph, em, nil)
		if err != nil {
			return nil, fmt.Errorf("outline of %q: %w", r, err)
		}
		appendGlyph(&path, segments, at, unit)
		advance, err := face.Face.GlyphAdvance(&buf, glyph, em, 0)
		if err != nil {
			return nil, fmt.Errorf("width of %q: %w", r, err)
		}
		at.X += vg.Length(advance) * unit
	}
	return path, nil
}

// appendGlyph adds a glyph's contours, whose y axis points down, at a point of the baseline.
func appendGlyph(path *vg.Path, segments sfnt.Segments, at vg.Point, unit vg.Length) {
	point := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X)*unit, Y: at.Y - vg.Length(p.Y)*unit}
	}
	for i, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	if len(segments) > 0 {
		path.Close()
	}
}
