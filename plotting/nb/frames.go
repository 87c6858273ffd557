package nb

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/saot-go/saot/plotting"
)

// Frames displays figures below the running cell, one at a time, with a slider over the values of a knob, such as ε.
// The slider needs neither a kernel nor a network, so it works in the exported page too. The page holds all figures as
// PNGs: use at most about twenty small ones.
//
// It returns an error for no figures, a different number of values, and an empty figure; outside a notebook it writes
// nothing and returns ErrNoNotebook.
func Frames(knob string, values []string, figures []plotting.Figure) error {
	page, err := FramesHTML(knob, values, figures)
	if err != nil {
		return err
	}
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	gonbui.DisplayHTML(page)
	return received()
}

// choose runs when a slider is moved: it hides all frames but one, and shows and announces the value of that one.
const choose = `const frames = this.closest('figure').querySelectorAll('img');` +
	` frames.forEach((frame, i) => { frame.style.display = i == this.value ? 'block' : 'none' });` +
	` const value = frames[this.value].dataset.value;` +
	` this.setAttribute('aria-valuetext', value);` +
	` this.closest('figure').querySelector('output').textContent = value`

// FramesHTML returns what Frames displays: a fragment of a page, the same for the same arguments. Its errors are those
// of Frames except ErrNoNotebook.
func FramesHTML(knob string, values []string, figures []plotting.Figure) (string, error) {
	if len(figures) == 0 {
		return "", errors.New("nb: frames: no figures")
	}
	if len(values) != len(figures) {
		return "", fmt.Errorf("nb: frames: %d values for %d figures: want one for each", len(values), len(figures))
	}
	var frames strings.Builder
	var highest float64
	for i, f := range figures {
		source, err := dataURL(f)
		if err != nil {
			return "", fmt.Errorf("nb: frames: figure %d (%s = %s): %w", i+1, knob, values[i], err)
		}
		display := "none"
		if i == 0 {
			display = "block"
		}
		width, height := f.Size()
		highest = max(highest, height)
		value := html.EscapeString(values[i])
		fmt.Fprintf(&frames, `<img src="%s" alt="%s = %s" data-value="%s" `+
			`style="display:%s;width:%.0fpx;max-width:100%%" />`+"\n",
			source, html.EscapeString(knob), value, value, display, pixels(width))
	}
	first := html.EscapeString(values[0])
	// The content makes the name, so that running a notebook again changes nothing.
	id := fmt.Sprintf("frames-%x", sha256.Sum256([]byte(knob+"\x00"+frames.String())))[:len("frames-")+12]
	return fmt.Sprintf(`<figure id="%s" style="margin:0">
<label style="font-family:sans-serif;font-size:13px">%s: `+
		`<input type="range" min="0" max="%d" value="0" autocomplete="off" `+
		`style="vertical-align:middle;width:240px" aria-valuetext="%s" oninput="%s" /> <output>%s</output></label>
<div style="min-height:%.0fpx">
%s</div>
</figure>
`, id, html.EscapeString(knob), len(figures)-1, first, html.EscapeString(choose), first, pixels(highest),
		frames.String()), nil
}
