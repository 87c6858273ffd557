package nb

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/dom"
	"github.com/janpfeifer/gonb/gonbui/widgets"

	"github.com/saot-go/saot/plotting"
)

// ErrHeadless is returned by Live where a notebook runs without a browser that answers.
var ErrHeadless = errors.New("nb: no browser answers: the notebook runs headless, or its page can't reach the kernel: use Frames")

// HeadlessEnv is the environment variable that, if it is not empty, tells Live that nobody watches. Whoever executes
// notebooks without a browser sets it for the kernel; it saves Live the wait for an answer.
const HeadlessEnv = "SAOT_HEADLESS"

// patience is how long Live waits for a browser. The kernel itself gives a page three seconds to connect, and may do so
// twice before the page gets to answer.
const patience = 10 * time.Second

// Live displays a figure below the running cell with a slider, and draws it anew for each place that the slider takes:
// draw gets the index of the value. Places that the slider left before they could be drawn are skipped. It returns when
// the button beside the slider is pressed or the context ends; the last figure then stays as an ordinary picture, which
// is saved with the notebook.
//
// It never hangs where no browser answers: it returns ErrHeadless at once if HeadlessEnv is set, and otherwise after ten
// seconds without an answer from the page. Outside a notebook it returns ErrNoNotebook. An error of draw ends it and is
// returned; so is one for no values.
func Live(ctx context.Context, knob string, values []string, draw func(i int) (plotting.Figure, error)) error {
	return live(ctx, patience, knob, values, draw)
}

func live(ctx context.Context, patience time.Duration, knob string, values []string,
	draw func(i int) (plotting.Figure, error)) error {
	switch {
	case len(values) == 0:
		return errors.New("nb: live: no values")
	case !gonbui.IsNotebook:
		return ErrNoNotebook
	case os.Getenv(HeadlessEnv) != "":
		return ErrHeadless
	}
	if err := within(ctx, patience, awaitBrowser); err != nil {
		return err
	}
	p := &livePicture{knob: knob, values: values, draw: draw}
	if err := within(ctx, patience, p.build); err != nil {
		return err
	}
	return p.run(ctx)
}

// within runs a step that may wait for the browser for ever. Past its time it is left behind: nothing can stop it, and
// the program is a cell that soon ends.
func within(ctx context.Context, patience time.Duration, step func()) error {
	done := make(chan struct{})
	go func() {
		step()
		close(done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return ErrHeadless
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitBrowser returns when the page has run a script and its answer has come back: the way that widgets take.
func awaitBrowser() {
	address := "/saot/heartbeat/" + gonbui.UniqueId()
	answer := listen(address)
	dom.TransientJavascript(fmt.Sprintf(`(() => {
	const beat = (left) => {
		if (globalThis.gonb_comm) { globalThis.gonb_comm.send('%s', 1); return; }
		if (left > 0) { setTimeout(() => beat(left - 1), 100); }
	};
	beat(60);
})();`, address))
	<-answer
}

// listen returns a channel with the latest value that was sent to an address and not yet read. It stays subscribed:
// a message that reaches gonb's dispatcher without a subscriber blocks it for good.
func listen(address string) <-chan int {
	latest := make(chan int, 1)
	comms.Subscribe(address, func(_ string, value int) {
		for {
			select {
			case latest <- value:
				return
			default:
			}
			select {
			case <-latest: // stale
			default:
			}
		}
	})
	return latest
}

// livePicture is a slider, a button and the picture that they control.
type livePicture struct {
	knob   string
	values []string
	draw   func(i int) (plotting.Figure, error)

	root, picture  string // ids of elements of the page
	moved, pressed <-chan int
}

// build puts the elements into the page. It returns when the page has answered for both widgets.
func (p *livePicture) build() {
	id := gonbui.UniqueId()
	slide, press := "/saot/slider/"+id, "/saot/button/"+id
	p.picture = "saot_live_" + id
	p.moved, p.pressed = listen(slide), listen(press)
	p.root = dom.CreateTransientDiv()
	dom.Append(p.root, fmt.Sprintf(`<span style="font-family:sans-serif;font-size:13px">%s: </span>`, html.EscapeString(p.knob)))
	widgets.Slider(0, len(p.values)-1, 0).WithAddress(slide).AppendTo(p.root).Done()
	widgets.Button("keep this picture").WithAddress(press).AppendTo(p.root).Done()
	dom.Append(p.root, fmt.Sprintf(`<div id="%s"></div>`, p.picture))
}

// run draws until the button is pressed or the context ends, and leaves the last figure behind.
func (p *livePicture) run(ctx context.Context) error {
	shown := 0
	figure, err := p.redraw(shown)
	for stop := false; err == nil && !stop; {
		select {
		case i := <-p.moved:
			if i = min(max(i, 0), len(p.values)-1); i != shown { // a new slider tells where it stands
				shown = i
				figure, err = p.redraw(i)
			}
		case presses := <-p.pressed:
			stop = presses > 0 // a new button says 0
		case <-ctx.Done():
			stop = true
		}
	}
	dom.Remove(p.root)
	if err != nil {
		return err
	}
	return Show(figure)
}

// redraw draws the figure of a value and puts it into the page.
func (p *livePicture) redraw(i int) (plotting.Figure, error) {
	figure, err := p.draw(i)
	if err != nil {
		return figure, err
	}
	png, err := figure.PNG()
	if err != nil {
		return figure, fmt.Errorf("nb: live: %s = %s: %w", p.knob, p.values[i], err)
	}
	width, _ := figure.Size()
	dom.SetInnerHtml(p.picture, fmt.Sprintf(
		`<div style="font-family:sans-serif;font-size:13px">%s = %s</div><img style="width:%.0fpx" src="data:image/png;base64,%s" />`,
		html.EscapeString(p.knob), html.EscapeString(p.values[i]), pixels(width), base64.StdEncoding.EncodeToString(png)))
	return figure, gonbui.Error()
}
