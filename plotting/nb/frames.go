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

// Frames displays figures below the running cell, one at a time: a player with a slider over the values of a knob, such
// as ε, and a button that plays them. It needs neither a kernel nor a network, so it works in the exported page too.
//
// The page holds what all figures share once, and of each figure only what differs, in at most 255 colors. Thirty
// figures of a plan take some 100 kB. Figures look steady if they have one size and one set of limits; a smaller figure
// stands at the top left of the largest.
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

// The scripts of a player, which a page runs without any other. In both, this is the control and the figure is the
// player.
const (
	// choose runs when the slider moves: it shows one frame, and says its value.
	choose = `const figure = this.closest('figure'), frames = figure.querySelectorAll('img[data-value]');` +
		` frames.forEach((frame, i) => { frame.style.display = i == this.value ? 'block' : 'none' });` +
		` const value = frames[this.value].dataset.value;` +
		` this.setAttribute('aria-valuetext', value);` +
		` figure.querySelector('output').textContent = value`
	// play starts the film, from the start if it is at its end, or stops it.
	play = `const figure = this.closest('figure'), input = figure.querySelector('input');` +
		` const go = frame => { input.value = frame; input.dispatchEvent(new Event('input')) };` +
		` const stop = () => { clearInterval(figure.film); figure.film = 0; this.textContent = 'play' };` +
		` if (figure.film) { stop(); return }` +
		` if (+input.value >= +input.max) go(0);` +
		` this.textContent = 'pause';` +
		` figure.film = setInterval(() => {` +
		` if (!input.isConnected || +input.value >= +input.max) stop(); else go(+input.value + 1) }, %d)`
	// A film takes about as many milliseconds, within limits for a frame.
	filmTime, shortest, longest = 6000, 80, 500
)

// FramesHTML returns what Frames displays: a fragment of a page, the same for the same arguments. Its errors are those
// of Frames except ErrNoNotebook.
func FramesHTML(knob string, values []string, figures []plotting.Figure) (string, error) {
	if len(figures) == 0 {
		return "", errors.New("nb: frames: no figures")
	}
	if len(values) != len(figures) {
		return "", fmt.Errorf("nb: frames: %d values for %d figures: want one for each", len(values), len(figures))
	}
	pngs := make([][]byte, len(figures))
	var width float64
	for i, f := range figures {
		var err error
		if pngs[i], err = f.PNG(); err != nil {
			return "", fmt.Errorf("nb: frames: figure %d (%s = %s): %w", i+1, knob, values[i], err)
		}
		w, _ := f.Size()
		width = max(width, w)
	}
	shared, frames, err := layers(pngs)
	if err != nil {
		return "", fmt.Errorf("nb: frames: %w", err)
	}
	knob = html.EscapeString(knob)
	var pictures strings.Builder
	fmt.Fprintf(&pictures, `<img src="%s" alt="" style="display:block;width:100%%" />`+"\n", shared)
	for i, frame := range frames {
		display := "none"
		if i == 0 {
			display = "block"
		}
		value := html.EscapeString(values[i])
		fmt.Fprintf(&pictures,
			`<img src="%s" alt="%s = %s" data-value="%s" style="position:absolute;display:%s;%s" />`+"\n",
			frame.source, knob, value, value, display, frame.place)
	}
	return player(knob, html.EscapeString(values[0]), len(figures), cssWidth(width), pictures.String()), nil
}

// player is the page of a player, of parts that are escaped.
func player(knob, first string, frames, width int, pictures string) string {
	// The content makes the name, so that running a notebook again changes nothing.
	id := fmt.Sprintf("frames-%x", sha256.Sum256([]byte(knob+"\x00"+pictures)))[:len("frames-")+12]
	film := html.EscapeString(fmt.Sprintf(play, min(max(filmTime/frames, shortest), longest)))
	// A page that does not trust the notebook drops handlers and style sheets alike: it alone shows the note.
	return fmt.Sprintf(`<figure id="%s" style="margin:0">
<style>#%s .saot-note { display: none }</style>
%s
<div style="font-family:sans-serif;font-size:13px">`+
		`<button type="button" onclick="%s" style="width:5em;margin-right:1em">play</button>`+
		`<label>%s: <input type="range" min="0" max="%d" value="0" autocomplete="off" `+
		`style="vertical-align:middle;width:240px;max-width:50%%" aria-valuetext="%s" oninput="%s" /> `+
		`<output>%s</output></label></div>
<div style="position:relative;width:%dpx;max-width:100%%">
%s</div>
</figure>
`, id, id, noteHTML("saot-note", "The player below does not move: "+distrust), film, knob, frames-1, first,
		html.EscapeString(choose), first, width, pictures)
}
