package nb

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/dom"

	"github.com/saot-go/saot/plotting"
)

// Part is one of the pictures of a panel.
type Part struct {
	Name string                          // what it shows, for those who do not see it
	Key  string                          // all that the picture depends on: while it stays, the part is not drawn again
	Draw func() (plotting.Figure, error) // nil where there is nothing to show
	// Break starts a new line with the part, however wide the page is.
	Break bool
}

// ShowParts shows parts as the picture that RunParts leaves behind, for where no browser answers. It returns an error
// for no parts, and one that wraps ErrNoNotebook outside a notebook.
func ShowParts(parts []Part) error {
	var figures []plotting.Figure
	var breaks []bool
	for _, p := range parts {
		if p.Draw == nil {
			continue
		}
		f, err := p.Draw()
		if err != nil {
			return fmt.Errorf("nb: %s: %w", p.Name, err)
		}
		figures, breaks = append(figures, f), append(breaks, p.Break)
	}
	return showGrid(figures, breaks)
}

// gridColumns is how many parts stand in a row of the picture that stays, if no part starts a line.
const gridColumns = 3

// showGrid shows figures as one picture. A break starts a line with its figure.
func showGrid(figures []plotting.Figure, breaks []bool) error {
	switch len(figures) {
	case 0:
		return errors.New("nb: there is nothing to show")
	case 1:
		return Show(figures[0])
	}
	cols, figures := lines(figures, breaks)
	whole, err := plotting.Grid(cols, figures...)
	if err != nil {
		return err
	}
	return Show(whole)
}

// lines returns how many figures the longest line has, and the figures with shorter lines filled up.
func lines(figures []plotting.Figure, breaks []bool) (cols int, filled []plotting.Figure) {
	if !slices.Contains(breaks, true) {
		return gridColumns, figures
	}
	length := 0
	for _, starts := range breaks {
		if starts {
			length = 0
		}
		length++
		cols = max(cols, length)
	}
	for i, f := range figures {
		for breaks[i] && len(filled)%cols != 0 {
			filled = append(filled, filled[len(filled)-1].Blank(""))
		}
		filled = append(filled, f)
	}
	return cols, filled
}

// board is the parts as the page shows them, all in one output.
type board struct {
	id    string // the output's display id, and the start of the ids of its elements
	panes []pane
}

// pane is a part on the page.
type pane struct {
	key    string
	starts bool // a line
	shown  bool
	figure plotting.Figure
	html   string // as it was sent
}

// show draws the parts whose keys have changed, and sends those that look different.
func (b *board) show(parts []Part) error {
	if b.panes == nil {
		b.panes = make([]pane, len(parts))
	}
	if len(parts) != len(b.panes) {
		return fmt.Errorf("%d parts, want %d as before", len(parts), len(b.panes))
	}
	var changed []int
	for i, p := range parts {
		was := b.panes[i].html
		if err := b.draw(i, p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if b.panes[i].html != was {
			changed = append(changed, i)
		}
	}
	b.send(changed)
	return nil
}

// draw draws part i, unless its key is that of what is shown.
func (b *board) draw(i int, p Part) error {
	now := pane{key: p.Key, starts: p.Break, shown: p.Draw != nil, html: `<span hidden="hidden"></span>`}
	if was := b.panes[i]; now.shown && was.shown && now.key == was.key && now.starts == was.starts {
		return nil
	}
	if now.shown {
		var err error
		if now.figure, err = p.Draw(); err != nil {
			return err
		}
		if now.html, err = partHTML(p.Name, now.figure); err != nil {
			return err
		}
		if p.Break {
			now.html = "<br />" + now.html
		}
	}
	b.panes[i] = now
	return nil
}

// partHTML is a part on the page. Its size is known before the picture is decoded, and nothing jumps.
func partHTML(name string, f plotting.Figure) (string, error) {
	source, err := dataURL(f)
	if err != nil {
		return "", err
	}
	width, height := f.Size()
	return fmt.Sprintf(`<img class="saot-picture" alt="%s" `+
		`style="width:%.0fpx;max-width:100%%;aspect-ratio:%.0f/%.0f;vertical-align:bottom" src="%s" />`,
		html.EscapeString(name), pixels(width), width, height, source), nil
}

// send updates the page: the whole output if all parts have changed, else the elements of those that have.
func (b *board) send(changed []int) {
	if len(changed) == len(b.panes) {
		var all strings.Builder
		for i, p := range b.panes {
			fmt.Fprintf(&all, `<span id="%s">%s</span>`+"\n", b.element(i), p.html)
		}
		gonbui.UpdateHTML(b.id, "<div>"+all.String()+"</div>")
		return
	}
	for _, i := range changed {
		dom.SetInnerHtml(b.element(i), b.panes[i].html)
	}
}

func (b *board) element(i int) string { return fmt.Sprint(b.id, "_", i) }

// figures returns the figures that are shown, and which of them start a line.
func (b *board) figures() (all []plotting.Figure, breaks []bool) {
	for _, p := range b.panes {
		if p.shown {
			all, breaks = append(all, p.figure), append(breaks, p.starts)
		}
	}
	return all, breaks
}
