package plotting

import (
	"fmt"
	"image"
	"strings"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfCanvas corrects gonum's PDF canvas, which draws images upside down, and text only from the Latin code page.
type pdfCanvas struct{ *vgpdf.Canvas }

// DrawImage implements vg.Canvas.
func (c pdfCanvas) DrawImage(r vg.Rectangle, img image.Image) {
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{Y: r.Min.Y + r.Max.Y})
	c.Scale(1, -1)
	c.Canvas.DrawImage(r, img)
}

// FillString implements vg.Canvas. Text beyond ASCII, such as π or −, is filled as outlines.
func (c pdfCanvas) FillString(face font.Face, at vg.Point, s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e }) {
		c.Canvas.FillString(face, at, s)
		return
	}
	outlines, err := textPath(face, at, s)
	if err != nil {
		panic(err) // render turns it into an error
	}
	c.Fill(outlines)
}

// textPath returns the outlines of a line of text that starts at a point of its baseline.
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
