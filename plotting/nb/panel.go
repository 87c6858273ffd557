package nb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/dom"
)

// ErrHeadless is returned by Panel.RunParts if no browser answers.
var ErrHeadless = errors.New("nb: no browser answers: the notebook is headless, or its page has no kernel: use Frames")

// HeadlessEnv is an environment variable for the kernel. If it is not empty, Panel.RunParts does not wait for a
// browser.
const HeadlessEnv = "SAOT_HEADLESS"

// patience is how long a panel waits for a browser. The kernel itself gives a page three seconds to connect.
const patience = 30 * time.Second

// Panel is a set of knobs and buttons with which the reader of an open notebook changes a figure.
type Panel struct {
	Knobs   []Knob
	Buttons []string // labels; RunParts adds a button that ends the panel
}

// Knob is a slider, or a menu, over a few values.
type Knob struct {
	Name   string
	Values []string
	At     int  // index of its first value
	Menu   bool // a menu instead of a slider
}

// Input is what the reader has done.
type Input struct {
	At      []int // index of each knob's value
	Pressed int   // index of the button that was pressed, or −1 if a knob was moved, and at the start
}

// RunParts displays the panel below the running cell, and under it the picture whose parts the function returns, at the
// start and whenever a knob is moved or a button is pressed. If a knob moves on before a position could be drawn,
// RunParts skips that position, but it skips no press of a button. The parts fill lines as wide as the page. The
// function must return the same number of parts each time, in the same order. A part is drawn only if its key has
// changed, and sent only if it looks different. RunParts returns when the button "keep this picture" is pressed or the
// context ends; a grid of the parts then stays as an ordinary picture, which is saved with the notebook.
//
// If no browser answers, it returns ErrHeadless: at once if HeadlessEnv is set, and otherwise after 30 seconds. Outside
// a notebook it returns ErrNoNotebook. It also returns the error of parts, and one for a knob that has no values or
// does not start at one of them.
func (p Panel) RunParts(ctx context.Context, parts func(Input) ([]Part, error)) error {
	return p.run(ctx, patience, parts)
}

func (p Panel) run(ctx context.Context, patience time.Duration, parts func(Input) ([]Part, error)) error {
	if err := p.validate(); err != nil {
		return err
	}
	switch {
	case !gonbui.IsNotebook:
		return ErrNoNotebook
	case os.Getenv(HeadlessEnv) != "":
		return ErrHeadless
	}
	id := gonbui.UniqueId()
	shown := &livePanel{
		Panel: p, parts: parts, board: board{id: "saot_picture_" + id},
		address: "/saot/panel/" + id, controls: "saot_controls_" + id,
	}
	shown.inbox.changed, shown.inbox.views = make(chan struct{}, 1), map[int]message{}
	shown.waiting()
	askPage()                                     // before GoNB connects the page, with the first subscription
	comms.Subscribe(shown.address, shown.receive) // before the page can send: see awaitBrowser
	if err := awaitBrowser(ctx, patience); err != nil {
		shown.unanswered()
		return err
	}
	return shown.serve(ctx)
}

func (p Panel) validate() error {
	for i, k := range p.Knobs {
		if len(k.Values) == 0 {
			return fmt.Errorf("nb: knob %d (%s) has no values", i+1, k.Name)
		}
		if k.At < 0 || k.At >= len(k.Values) {
			return fmt.Errorf("nb: knob %d (%s) starts at index %d, but has %d values",
				i+1, k.Name, k.At, len(k.Values))
		}
	}
	return nil
}

// awaitBrowser returns when the page has run a script and its answer has come back, as the messages of a panel do. A
// page has 0.5 seconds to connect (gonb's websocket.js), which a loaded machine may miss, so it is asked again. If no
// answer comes, the goroutine that asks may wait for the kernel forever; the program is a cell that soon ends.
//
// The address stays subscribed, and so does the panel's: in gonb v0.11.5 a message for an address without a subscriber
// leaves a mutex of its dispatcher locked (comms.dispatchValueUpdates), and no message is delivered after that.
func awaitBrowser(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrHeadless)
	defer cancel()
	address := "/saot/heartbeat/" + gonbui.UniqueId()
	answered := make(chan struct{})
	var once sync.Once
	comms.Subscribe(address, func(string, int) { once.Do(func() { close(answered) }) })
	go func() {
		for ctx.Err() == nil {
			askPage()
			comms.Start() // connects the page, or makes sure that it is still connected
			dom.TransientJavascript(fmt.Sprintf(`globalThis.gonb_comm?.send('%s', 1)`, address))
			select {
			case <-ctx.Done(): // also after an answer
			case <-time.After(time.Second):
			}
		}
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type livePanel struct {
	Panel
	parts    func(Input) ([]Part, error)
	board    board
	address  string // where the page sends what the reader does
	controls string // display id of the output above the board
	inbox    inbox
}

// message is the whole state of a panel's controls, as one view of the panel shows them: a page that is loaded again,
// and a second window, are views of their own.
type message struct {
	order   int   // the greater, the later
	view    int   // a random number
	at      []int // of the knobs
	presses []int // of the buttons, in this view
}

// inbox keeps the latest message of each view. gonb delivers each message in its own goroutine, in no order.
type inbox struct {
	mu      sync.Mutex
	views   map[int]message
	changed chan struct{}
}

// latest returns the latest message of each view, in their order.
func (b *inbox) latest() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.views), func(m, o message) int {
		return cmp.Or(cmp.Compare(m.order, o.order), cmp.Compare(m.view, o.view))
	})
}

// receive takes a message as the page writes it: numbers, the order and the view first.
func (p *livePanel) receive(_, text string) {
	fields := strings.Fields(text)
	const head = 2
	if len(fields) != head+len(p.Knobs)+len(p.Buttons)+1 {
		return
	}
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		knob := i - head
		if err != nil || n < 0 || knob >= 0 && knob < len(p.Knobs) && n >= len(p.Knobs[knob].Values) {
			return
		}
		numbers[i] = n
	}
	controls := numbers[head:]
	m := message{numbers[0], numbers[1], controls[:len(p.Knobs)], controls[len(p.Knobs):]}
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	if m.order <= p.inbox.views[m.view].order {
		return
	}
	p.inbox.views[m.view] = m
	select {
	case p.inbox.changed <- struct{}{}:
	default:
	}
}

// serve draws until the last button is pressed or the context ends, and leaves the last picture behind.
func (p *livePanel) serve(ctx context.Context) error {
	in := Input{At: make([]int, len(p.Knobs)), Pressed: -1}
	for i, k := range p.Knobs {
		in.At[i] = k.At
	}
	gonbui.UpdateHTML(p.controls, p.html())
	err := p.redraw(in)
	done := map[int][]int{} // presses of each view that were handled
	for stop := false; err == nil && !stop; {
		select {
		case <-p.inbox.changed:
			stop, err = p.follow(&in, p.inbox.latest(), done)
		case <-ctx.Done():
			stop = true
		}
	}
	gonbui.UpdateHTML(p.controls, "")
	gonbui.UpdateHTML(p.board.id, "")
	if err != nil {
		gonbui.Sync()
		return err
	}
	return showGrid(p.board.figures())
}

// follow draws what the views ask for: once for all knobs that were moved, as the latest view shows them, and once for
// each press in any. It returns whether the reader wants to keep the picture.
func (p *livePanel) follow(in *Input, views []message, done map[int][]int) (stop bool, err error) {
	if at := views[len(views)-1].at; !slices.Equal(in.At, at) {
		in.At = slices.Clone(at)
		if err = p.redraw(*in); err != nil {
			return false, err
		}
	}
	for _, m := range views {
		if done[m.view] == nil {
			done[m.view] = make([]int, len(m.presses))
		}
		if stop, err = p.press(*in, m.presses, done[m.view]); stop || err != nil {
			return stop, err
		}
	}
	return false, nil
}

// press draws once for each press of a view that is not done. It returns whether the last button is among them.
func (p *livePanel) press(in Input, presses, done []int) (stop bool, err error) {
	for in.Pressed = range presses {
		for ; done[in.Pressed] < presses[in.Pressed]; done[in.Pressed]++ {
			if in.Pressed == len(p.Buttons) {
				return true, nil
			}
			if err := p.redraw(in); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

func (p *livePanel) redraw(in Input) error {
	in.At = slices.Clone(in.At)
	parts, err := p.parts(in)
	if err != nil {
		return err
	}
	if err := p.board.show(parts); err != nil {
		return fmt.Errorf("nb: panel: %w", err)
	}
	return gonbui.Error()
}

// tell sends the state of all controls to the cell. %s is the address.
const tell = `const panel = this.closest('.saot-panel');` +
	` if (this.type === 'button') { this.dataset.presses = 1 + Number(this.dataset.presses) }` +
	` else if (this.type === 'range')` +
	` { const value = JSON.parse(this.dataset.values)[this.value];` +
	` this.setAttribute('aria-valuetext', value);` +
	` this.nextElementSibling.textContent = value }` +
	` panel.querySelector('.saot-lost').hidden = Boolean(globalThis.gonb_comm);` +
	` panel.dataset.view ||= 1 + Math.floor(Math.random() * 0x7fffffff);` +
	` panel.dataset.order = Math.max(Date.now(), 1 + Number(panel.dataset.order));` +
	` const state = [...panel.querySelectorAll('.saot-control')]` +
	`.map(c => c.type === 'button' ? c.dataset.presses : c.value);` +
	` if (globalThis.gonb_comm)` +
	` { globalThis.gonb_comm.send('%s', [panel.dataset.order, panel.dataset.view, ...state].join(' ')) }`

// control is the start of the attributes of a control. Lumino's attribute leaves it the arrow keys, which JupyterLab
// would take.
const control = `class="saot-control" data-lm-suppress-shortcuts="true"`

// html returns the controls. Their attributes carry their scripts, so that the page needs no others.
func (p *livePanel) html() string {
	handler := html.EscapeString(fmt.Sprintf(tell, p.address))
	var b strings.Builder
	b.WriteString(`<div class="saot-panel" data-order="0" ` +
		`style="font-family:sans-serif;font-size:13px;line-height:2">` + "\n")
	for _, k := range p.Knobs {
		fmt.Fprintf(&b, `<label style="display:inline-block;margin-right:2em">%s: `, html.EscapeString(k.Name))
		if k.Menu {
			k.menu(&b, handler)
		} else {
			k.slider(&b, handler)
		}
		b.WriteString("</label>\n")
	}
	b.WriteString("<div>\n")
	for _, label := range slices.Concat(p.Buttons, []string{"keep this picture"}) {
		fmt.Fprintf(&b, `<button type="button" `+control+
			` data-presses="0" style="margin-right:1em" onclick="%s">%s</button>`+"\n",
			handler, html.EscapeString(label))
	}
	b.WriteString(`<span class="saot-lost" hidden="hidden">The kernel can't be reached: run the cell again.</span>` +
		"</div>\n</div>\n")
	return b.String()
}

func (k Knob) slider(b *strings.Builder, handler string) {
	values, err := json.Marshal(k.Values)
	if err != nil { // strings always have a form in JSON
		values = []byte("[]")
	}
	value := html.EscapeString(k.Values[k.At])
	fmt.Fprintf(b, `<input type="range" `+control+
		` aria-label="%s" min="0" max="%d" value="%d" aria-valuetext="%s" autocomplete="off" data-values="%s" `+
		`style="vertical-align:middle;width:160px" oninput="%s" /> `+
		`<output style="display:inline-block;min-width:3em">%s</output>`,
		html.EscapeString(k.Name), len(k.Values)-1, k.At, value, html.EscapeString(string(values)), handler, value)
}

func (k Knob) menu(b *strings.Builder, handler string) {
	fmt.Fprintf(b, `<select `+control+` aria-label="%s" autocomplete="off" onchange="%s">`,
		html.EscapeString(k.Name), handler)
	for i, value := range k.Values {
		selected := ""
		if i == k.At {
			selected = ` selected="selected"`
		}
		fmt.Fprintf(b, `<option value="%d"%s>%s</option>`, i, selected, html.EscapeString(value))
	}
	b.WriteString("</select>")
}
