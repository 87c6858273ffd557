package nb

import (
	"errors"
	"fmt"
	"html"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/saot-go/saot/plotting"
)

// Part is one of the pictures of a panel.
type Part struct {
	Name string                          // says what it shows, to those who do not see it
	Key  string                          // tells apart all that the picture depends on: while it stays, the part is neither drawn nor sent
	Draw func() (plotting.Figure, error) // nil where there is nothing to show
}

// single makes a part of what draw returns, which is new each time.
func single(draw func(Input) (plotting.Figure, error)) func(Input) ([]Part, error) {
	calls := 0
	return func(in Input) ([]Part, error) {
		calls++
		return []Part{{Name: "the figure", Key: fmt.Sprint(calls),
			Draw: func() (plotting.Figure, error) { return draw(in) }}}, nil
	}
}

// ShowParts shows parts as the picture that RunParts leaves behind, for where no browser answers.
func ShowParts(parts []Part) error {
	var figures []plotting.Figure
	for _, p := range parts {
		if p.Draw == nil {
			continue
		}
		f, err := p.Draw()
		if err != nil {
			return fmt.Errorf("nb: %s: %w", p.Name, err)
		}
		figures = append(figures, f)
	}
	figure, err := grid(figures)
	if err != nil {
		return err
	}
	return Show(figure)
}

// gridColumns is how many figures stand in a row of a picture that stays, as far as they fit.
const gridColumns = 3

func grid(figures []plotting.Figure) (plotting.Figure, error) {
	switch len(figures) {
	case 0:
		return plotting.Figure{}, errors.New("nb: there is nothing to show")
	case 1:
		return figures[0], nil
	}
	return plotting.Grid(gridColumns, figures...)
}

// board is the parts as the page shows them. Each is an output of its own, so that one can change alone.
type board struct {
	id    string // start of the outputs' display ids
	panes []pane
	drawn int // parts that were drawn, and
	kept  int // parts that stayed as they were, since the counts were last set to 0
}

// pane is a part on the page.
type pane struct {
	key    string
	there  bool // it shows a figure
	figure plotting.Figure
	html   string // as it was sent
}

// layout lets the outputs of the parts stand side by side in JupyterLab and in Notebook. Elsewhere they stand below
// each other.
const layout = `<style>` +
	`.jp-OutputArea:has(.saot-part) { display: flex; flex-wrap: wrap; align-items: end }` +
	`.jp-OutputArea:has(.saot-part) > .jp-OutputArea-child { flex: 0 1 auto; width: auto; min-width: 0 }` +
	`.jp-OutputArea:has(.saot-part) > .jp-OutputArea-child:not(:has(.saot-part)) { flex-basis: 100%; width: 100% }` +
	`.jp-OutputArea:has(.saot-part) .jp-OutputPrompt { display: none }` +
	`.jp-OutputArea-child:has(.saot-part[hidden]) { display: none }` +
	`</style>`

// show draws the parts that have changed and sends those that look different.
func (b *board) show(parts []Part) error {
	for i := range max(len(parts), len(b.panes)) {
		var p Part // nothing, where there are fewer parts than there were
		if i < len(parts) {
			p = parts[i]
		}
		if i == len(b.panes) {
			b.panes = append(b.panes, pane{})
		}
		if err := b.update(i, p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

func (b *board) update(i int, p Part) error {
	now := pane{key: p.Key, there: p.Draw != nil, html: `<div class="saot-part" hidden="hidden"></div>`}
	was := &b.panes[i]
	if now.there && was.there && now.key == was.key {
		b.kept++
		return nil
	}
	if now.there {
		var err error
		if now.figure, err = p.Draw(); err != nil {
			return err
		}
		if now.html, err = partHTML(p.Name, now.figure); err != nil {
			return err
		}
	}
	if now.html == was.html {
		if now.there {
			b.kept++
		}
		*was = now
		return nil
	}
	if now.there {
		b.drawn++
	}
	*was = now
	gonbui.UpdateHTML(fmt.Sprint(b.id, "_", i), now.html)
	return nil
}

// partHTML is the output of a part. Its size is known before the picture is decoded, so that nothing jumps.
func partHTML(name string, f plotting.Figure) (string, error) {
	source, err := dataURL(f)
	if err != nil {
		return "", err
	}
	width, height := f.Size()
	return fmt.Sprintf(`<div class="saot-part"><img class="saot-picture" alt="%s" `+
		`style="width:%dpx;max-width:100%%;aspect-ratio:%.0f/%.0f" src="%s" /></div>`,
		html.EscapeString(name), cssWidth(width), width, height, source), nil
}

// summary says what the last message has led to.
func (b *board) summary() string {
	if b.drawn+b.kept == 0 {
		return layout + "Working…"
	}
	return fmt.Sprintf("%s%d drawn, %d as before", layout, b.drawn, b.kept)
}

func (b *board) figures() (all []plotting.Figure) {
	for _, p := range b.panes {
		if p.there {
			all = append(all, p.figure)
		}
	}
	return all
}

// clear takes the parts off the page.
func (b *board) clear() {
	for i := range b.panes {
		gonbui.UpdateHTML(fmt.Sprint(b.id, "_", i), "")
	}
}
