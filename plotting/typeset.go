package plotting

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// typeset is the text handler of all figures. Text is plain; what stands between two dollar signs is mathematics in a
// small part of TeX's notation:
//
//	$\pi_G$   $L_{mat}$   $10^{-2}$   $\partial L/\partial R$   $f \oplus g \le C$
//
// Letters are italic, words of several letters and digits upright. _ and ^ take one sign or a group in braces. A name
// after a backslash is a Greek letter or an operator (see symbols); the sign itself may stand there as well. Each
// figure format shows the same outlines.
type typeset struct{ text.Plain }

// symbols are the names that mathematics may use after a backslash. Liberation lacks ⊕, ⊗ and ∇. The method sign
// composes the first two; ∇ has no glyph.
var symbols = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η",
	"theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
	"phi": "φ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Pi": "Π",
	"Sigma": "Σ", "Phi": "Φ", "Omega": "Ω", "partial": "∂", "nabla": "∇", "sum": "∑", "infty": "∞", "sqrt": "√",
	"le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "times": "×", "cdot": "·", "pm": "±", "to": "→", "oplus": "⊕",
	"otimes": "⊗", "mid": "|", "prime": "′", ",": " ",
}

const (
	scriptSize = 0.72 // of the size of the base
	scriptDrop = 0.20 // of the em, below the baseline
	scriptRise = 0.38
	serifScale = 1.06 // letters of the serif face are smaller than those of the sans face
)

// piece is a run of text in one font, at a place relative to the start of the line.
type piece struct {
	text string
	font font.Font
	x, y vg.Length
	math bool
}

// Box implements text.Handler.
func (h typeset) Box(line string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = h.Plain.Box("", f)
	_, width = h.layout(line, f)
	return width, height, depth
}

// Draw implements text.Handler.
func (h typeset) Draw(c vg.Canvas, txt string, style text.Style, at vg.Point) {
	txt = strings.TrimRight(txt, "\n")
	if txt == "" {
		return
	}
	c.SetColor(style.Color)
	if style.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(style.Rotation)
	}
	sin, cos := math.Sincos(style.Rotation)
	at = vg.Point{ // in the turned plane
		X: at.X*vg.Length(cos) + at.Y*vg.Length(sin),
		Y: at.Y*vg.Length(cos) - at.X*vg.Length(sin),
	}
	lines := h.Lines(txt)
	top := at.Y + style.Height(txt)*vg.Length(style.YAlign) - h.Extents(style.Font).Ascent
	for i, line := range lines {
		pieces, width := h.layout(line, style.Font)
		start := vg.Point{
			X: at.X + width*vg.Length(style.XAlign),
			Y: top + vg.Length(len(lines)-i)*style.Font.Size,
		}
		for _, p := range pieces {
			h.fill(c, p, start.Add(vg.Point{X: p.x, Y: p.y}))
		}
	}
}

// fill draws plain text as text, and mathematics as outlines: a second font in each file would cost more.
func (h typeset) fill(c vg.Canvas, p piece, at vg.Point) {
	face := h.Fonts.Lookup(p.font, p.font.Size)
	if !p.math {
		c.FillString(face, at, p.text)
		return
	}
	path, err := textPath(face, at, p.text)
	if err != nil {
		panic(err) // render turns it into an error
	}
	c.Fill(path)
}

// layout breaks a line into pieces and returns their total width.
func (h typeset) layout(line string, f font.Font) (pieces []piece, width vg.Length) {
	for i, part := range strings.Split(line, "$") {
		last := strings.Count(line, "$") == i
		switch {
		case i%2 == 0:
			pieces, width = h.append(pieces, width, piece{text: part, font: f})
		case last: // a dollar sign without a second one
			pieces, width = h.append(pieces, width, piece{text: "$" + part, font: f})
		default:
			var more []piece
			more, width = h.math(part, f, width, 0)
			pieces = append(pieces, more...)
		}
	}
	return pieces, width
}

func (h typeset) append(pieces []piece, at vg.Length, p piece) ([]piece, vg.Length) {
	if p.text == "" {
		return pieces, at
	}
	p.x = at
	return append(pieces, p), at + h.width(p.font, p.text)
}

func (h typeset) width(f font.Font, text string) vg.Length {
	face := h.Fonts.Lookup(f, f.Size)
	return face.Width(text)
}

// math lays out mathematics from x on, at a height over the baseline, and returns where it ends. Scripts on one base
// stand above one another.
func (h typeset) math(source string, f font.Font, x, y vg.Length) (pieces []piece, end vg.Length) {
	base := x // where scripts of the last sign start
	for source != "" {
		var sign string
		sign, source = nextSign(source)
		if (sign == "_" || sign == "^") && source != "" {
			var script string
			script, source = nextSign(source)
			small, shift := f, -scriptDrop*f.Size
			small.Size *= scriptSize
			if sign == "^" {
				shift = scriptRise * f.Size
			}
			more, to := h.math(script, small, base, y+shift)
			pieces, x = append(pieces, more...), max(x, to)
			continue
		}
		var more []piece
		more, x = h.sign(sign, f, x, y)
		pieces, base = append(pieces, more...), x
	}
	return pieces, x
}

// spoken returns a text without the marks of mathematics: $L_{mat}$ becomes L_mat.
func spoken(line string) string {
	parts := strings.Split(line, "$")
	for i := 1; i < len(parts)-1; i += 2 {
		parts[i] = spokenMath(parts[i])
	}
	if len(parts)%2 == 0 { // a dollar sign without a second one
		parts[len(parts)-1] = "$" + parts[len(parts)-1]
	}
	return strings.Join(parts, "")
}

func spokenMath(source string) string {
	var b strings.Builder
	for source != "" {
		var sign string
		sign, source = nextSign(source)
		switch {
		case sign == "-":
			sign = "−"
		case strings.ContainsAny(sign, `\_^{-`) && len(sign) > 1: // a group
			sign = spokenMath(sign)
		}
		b.WriteString(sign)
	}
	return b.String()
}

// sign lays out one sign, word or number.
func (h typeset) sign(sign string, f font.Font, x, y vg.Length) (pieces []piece, end vg.Length) {
	first, size := utf8.DecodeRuneInString(sign)
	p := piece{text: sign, font: f, y: y, math: true}
	switch {
	case size == len(sign) && (unicode.IsLower(first) || first < 0x80 && unicode.IsLetter(first) || first == '∂'):
		p.font.Variant, p.font.Style = "Serif", stdfont.StyleItalic
		p.font.Size *= serifScale
	case sign == "-":
		p.text = "−"
	case sign == "⊕" || sign == "⊗": // a plus or a cross within a circle
		ring := piece{text: "○", font: f, y: y, math: true}
		pieces, end = h.append(nil, x, ring)
		p.text = map[string]string{"⊕": "+", "⊗": "×"}[sign]
		p.x = x + (end-x-h.width(f, p.text))/2
		return append(pieces, p), end
	}
	return h.append(nil, x, p)
}

// nextSign cuts the first sign off: a group in braces (without them), a name, a word, a number or a character.
func nextSign(s string) (sign, rest string) {
	if s[0] == '{' {
		if end := strings.IndexByte(s, '}'); end > 0 {
			return s[1:end], s[end+1:]
		}
	}
	if s[0] == '\\' && len(s) > 1 {
		n := 1 + span(s[1:], func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) })
		name := s[1:max(n, 2)]
		if known, ok := symbols[name]; ok {
			rest = s[1+len(name):]
			if after := strings.TrimLeft(rest, " "); isLetter(known) && after != "" && startsTerm(after) {
				rest = after // the space only ends the name
			}
			return known, rest
		}
		return name, s[1+len(name):]
	}
	n := max(span(s, func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }),
		span(s, func(r rune) bool { return unicode.IsDigit(r) || r == '.' || r == ',' }))
	if n == 0 {
		_, n = utf8.DecodeRuneInString(s)
	}
	return s[:n], s[n:]
}

// isLetter reports whether a sign is one that multiplies what follows, such as ∂ or π, and no operator.
func isLetter(sign string) bool {
	r, _ := utf8.DecodeRuneInString(sign)
	return unicode.IsLetter(r) || r == '∂' || r == '∇' || r == '∑' || r == '√'
}

func startsTerm(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '\\' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// span returns the length of the longest prefix whose characters all satisfy a condition.
func span(s string, ok func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !ok(r) }); n >= 0 {
		return n
	}
	return len(s)
}
