//go:build unix

package nb

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/plotting"
)

// asCell makes the test binary a cell's program, which a fake kernel starts: gonb decides at start whether it runs in a
// notebook. Its value is how long the cell waits for a page.
const asCell = "PLOTTING_NB_TEST_CELL"

// inParts lets the cell show testParts.
const inParts = "PLOTTING_NB_TEST_PARTS"

func number(n int) (plotting.Figure, error) {
	return plotting.Matrix([][]float64{{float64(n)}}, plotting.MatrixOptions{})
}

// testParts follow the first knob, nothing at all with a key that follows it, the second knob if it has moved, and
// nothing.
func testParts(in Input) ([]Part, error) {
	part := func(name string, key, show int) Part {
		return Part{Name: name, Key: fmt.Sprint(key), Draw: func() (plotting.Figure, error) {
			fmt.Println("draw", name, key)
			return number(show)
		}}
	}
	fmt.Println("turn", in)
	parts := []Part{part("ε", in.At[0], in.At[0]), part("still", in.At[0], 7), {Name: "menu"}, {Name: "none"}}
	if in.At[1] > 0 {
		parts[2] = part("menu", in.At[1], 10)
		parts[2].Break = true
	}
	return parts, nil
}

// testPart is drawn each time.
func testPart() func(in Input) ([]Part, error) {
	calls := 0
	return func(in Input) ([]Part, error) {
		calls++
		return []Part{{Name: "the figure", Key: fmt.Sprint(calls), Draw: func() (plotting.Figure, error) {
			fmt.Println("draw", in)
			return number(50 + in.At[0] + 10*in.At[1] + in.Pressed)
		}}}, nil
	}
}

// testPanel is the panel of the fake cell.
var testPanel = Panel{
	Knobs: []Knob{
		{Name: "ε <b>", Values: []string{"0.1", "0.2", "0.5"}},
		{Name: "dataset", Values: []string{"a", `"b"`}, Menu: true},
	},
	Buttons: []string{"step"},
}

func TestMain(m *testing.M) {
	if patience, err := time.ParseDuration(os.Getenv(asCell)); err == nil {
		draw := testPart()
		if os.Getenv(inParts) != "" {
			draw = testParts
		}
		err := testPanel.run(context.Background(), patience, draw)
		fmt.Println("panel:", err)
		os.Exit(0)
	}
	os.Exit(browsertest.Main(m))
}

// fakeKernel plays GoNB's part of the pipes, and a page's if there is an answer: it gets each piece of HTML and returns
// values to send back.
type fakeKernel struct {
	answer func(html string) []protocol.CommValue
	html   []string
	images int
}

// run executes the cell and returns what it printed.
func (k *fakeKernel) run(t *testing.T, patience time.Duration, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	require.NoError(t, syscall.Mkfifo(from, 0o600))
	require.NoError(t, syscall.Mkfifo(to, 0o600))
	// Opened for both directions, so that opening waits for nobody.
	reader, err := os.OpenFile(from, os.O_RDWR, 0)
	require.NoError(t, err)
	writer, err := os.OpenFile(to, os.O_RDWR, 0)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cell := exec.CommandContext(ctx, os.Args[0])
	// A shell that sets HeadlessEnv does not decide what a test finds: only the test does.
	cell.Env = append(os.Environ(), HeadlessEnv+"=", asCell+"="+patience.String(),
		protocol.GONB_PIPE_ENV+"="+from, protocol.GONB_PIPE_BACK_ENV+"="+to)
	cell.Env = append(cell.Env, env...)
	served := make(chan struct{})
	go func() {
		defer close(served)
		k.serve(gob.NewDecoder(reader), gob.NewEncoder(writer))
	}()
	printed, err := cell.CombinedOutput()
	require.NoError(t, errors.Join(err, ctx.Err()), "%s", printed)
	require.NoError(t, errors.Join(reader.Close(), writer.Close()))
	<-served
	return string(printed)
}

func (k *fakeKernel) serve(in *gob.Decoder, out *gob.Encoder) {
	for {
		var data protocol.DisplayData
		if in.Decode(&data) != nil {
			return
		}
		v, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue)
		if ok && v.Address == protocol.GonbuiSyncAddress {
			_ = out.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.Value})
		}
		if _, ok := data.Data[protocol.MIMEImagePNG]; ok {
			k.images++
		}
		if page, ok := data.Data[protocol.MIMETextHTML].(string); ok {
			k.html = append(k.html, page)
			if k.answer == nil {
				continue
			}
			for _, v := range k.answer(page) {
				_ = out.Encode(&v)
			}
		}
	}
}

func TestPanelGivesUpWithoutABrowser(t *testing.T) {
	printed := (&fakeKernel{}).run(t, time.Second)
	require.Equal(t, fmt.Sprintln("panel:", ErrHeadless), printed)
}

func TestPanelGivesUpAtOnceWhenTold(t *testing.T) {
	k := &fakeKernel{}
	require.Equal(t, fmt.Sprintln("panel:", ErrHeadless), k.run(t, time.Minute, HeadlessEnv+"=1"))
	require.Empty(t, k.html, "nothing is sent")
}

// page plays a page: it answers the heartbeat, and to the picture of each turn with what the reader does next.
type page struct {
	turns   []string // messages, without their order; the view first
	shown   int
	address string
}

func (p *page) answer(html string) []protocol.CommValue {
	find := func(pattern string) string { return regexp.MustCompile(pattern).FindString(html) }
	if at := find(`/saot/heartbeat/\w+`); at != "" {
		return []protocol.CommValue{{Address: at, Value: 1}}
	}
	if at := find(`/saot/panel/\w+`); at != "" {
		p.address = at
	}
	if !strings.Contains(html, "data:image/png;base64,") || p.shown == len(p.turns) {
		return nil
	}
	p.shown++
	return []protocol.CommValue{{Address: p.address, Value: fmt.Sprint(p.shown, " ", p.turns[p.shown-1])}}
}

func TestPanelRedraws(t *testing.T) {
	// The view, knob ε, menu, and the presses of "step" and "keep this picture". Presses in a second view count, too.
	p := &page{turns: []string{"1 2 0 0 0", "1 2 1 0 0", "1 2 1 1 0", "2 0 1 1 0", "2 0 1 1 1"}}
	k := &fakeKernel{answer: p.answer}
	printed := k.run(t, time.Minute)
	require.Equal(t, `draw {[0 0] -1}
draw {[2 0] -1}
draw {[2 1] -1}
draw {[2 1] 0}
draw {[0 1] -1}
draw {[0 1] 0}
panel: <nil>
`, printed)
	require.Equal(t, 1, k.images, "the last figure stays")
}

// sent lists the parts of each message with pictures, in the order of the messages.
func (k *fakeKernel) sent() (all [][]string) {
	for _, page := range k.html {
		var names []string
		for _, found := range regexp.MustCompile(`class="saot-picture" alt="(.*?)"`).FindAllStringSubmatch(page, -1) {
			names = append(names, found[1])
		}
		if names != nil {
			all = append(all, names)
		}
	}
	return all
}

// A picture that looks as before is drawn for each press, and not sent again.
func TestPanelSendsAPictureOnce(t *testing.T) {
	p := &page{turns: []string{"1 1 0 0 0", "1 1 0 3 1"}}
	k := &fakeKernel{answer: p.answer}
	require.Equal(t, `draw {[0 0] -1}
draw {[1 0] -1}
draw {[1 0] 0}
draw {[1 0] 0}
draw {[1 0] 0}
panel: <nil>
`, k.run(t, time.Minute))
	require.Equal(t, [][]string{{"the figure"}, {"the figure"}, {"the figure"}}, k.sent(),
		"at the start, for the knob, and for the first press")
	require.Equal(t, 1, k.images, "the picture that stays")
}

// A part is drawn if its key changes, and sent if its picture does. A part that goes is taken off the page.
func TestPanelSendsPartsThatChange(t *testing.T) {
	p := &page{turns: []string{"1 2 0 0 0", "1 2 1 0 0", "1 1 0 2 1"}}
	k := &fakeKernel{answer: p.answer}
	printed := k.run(t, time.Minute, inParts+"=1")
	require.Equal(t, `turn {[0 0] -1}
draw ε 0
draw still 0
turn {[2 0] -1}
draw ε 2
draw still 2
turn {[2 1] -1}
draw menu 1
turn {[1 0] -1}
draw ε 1
draw still 1
turn {[1 0] 0}
turn {[1 0] 0}
panel: <nil>
`, printed)
	require.Equal(t, [][]string{{"ε", "still"}, {"ε"}, {"menu"}, {"ε"}}, k.sent())
	emptied := func(page string) bool { return strings.Contains(page, "innerHTML = '<span hidden") }
	require.True(t, slices.ContainsFunc(k.html, emptied), "the menu's picture goes")
	require.Contains(t, strings.Join(k.html, "\n"), `<br /><img class="saot-picture" alt="menu"`)
	require.Equal(t, 1, k.images, "the picture that stays")
}

// In the picture that stays, a part that starts a line starts a row; shorter rows end in empty places.
func TestLines(t *testing.T) {
	f, err := plotting.Curves([]plotting.Series{{Y: []float64{1, 2}}}, plotting.CurveOptions{})
	require.NoError(t, err)
	figures := func(n int) []plotting.Figure { return slices.Repeat([]plotting.Figure{f}, n) }
	cols, filled := lines(figures(5), make([]bool, 5))
	require.Equal(t, gridColumns, cols)
	require.Len(t, filled, 5)
	cols, filled = lines(figures(6), []bool{false, false, true, true, false, true})
	require.Equal(t, 2, cols)
	require.Len(t, filled, 7, "the second row has a place left")
	shown, err := f.PNG()
	require.NoError(t, err)
	for i, got := range filled {
		png, err := got.PNG()
		require.NoError(t, err)
		require.Equal(t, i != 3, bytes.Equal(shown, png), i)
	}
}

func TestShowPartsErrors(t *testing.T) {
	require.ErrorContains(t, ShowParts([]Part{{Name: "none"}}), "there is nothing to show")
	broken := func() (plotting.Figure, error) { return plotting.Figure{}, errors.New("no plan") }
	require.ErrorContains(t, ShowParts([]Part{{Name: "π", Draw: broken}}), "π: no plan")
	require.ErrorContains(t, (&board{panes: make([]pane, 2)}).show(nil), "0 parts, want 2")
}

// What a page must not send, and what comes late, changes nothing.
func TestPanelReceive(t *testing.T) {
	p := &livePanel{Panel: testPanel, inbox: inbox{changed: make(chan struct{}, 1), views: map[int]message{}}}
	for _, bad := range []string{"", "1 7 0 0 0", "1 7 3 0 0 0", "1 7 0 -1 0 0", "1 7 x 0 0 0", "1 7 0 0 0 0 0",
		"1 -7 0 0 0 0"} {
		p.receive("", bad)
		require.Empty(t, p.inbox.latest(), bad)
	}
	p.receive("", "5 7 2 1 3 0")
	p.receive("", "4 7 0 0 2 0")
	p.receive("", "3 8 0 0 1 0")
	require.Equal(t, []message{{order: 3, view: 8, at: []int{0, 0}, presses: []int{1, 0}},
		{order: 5, view: 7, at: []int{2, 1}, presses: []int{3, 0}}}, p.inbox.latest())
}

// Each view of a panel counts its own presses, under a number of its own.
func TestViewsOfAPanelInABrowser(t *testing.T) {
	b := browsertest.Open(t)
	p := &livePanel{Panel: testPanel, address: "/saot/panel/1",
		inbox: inbox{changed: make(chan struct{}, 1), views: map[int]message{}}}
	b.Show([]byte("<!doctype html>" + p.html() + p.html()))
	b.Do(`window.sent = []; window.gonb_comm = {send: (address, text) => sent.push(text)};
		const steps = [...document.querySelectorAll('button')].filter(b => b.textContent === 'step');
		for (const i of [0, 1, 0]) steps[i].click()`)
	for i := range 3 {
		p.receive("", b.Text(fmt.Sprintf("sent[%d]", i)))
	}
	var presses [][]int
	for _, m := range p.inbox.latest() {
		presses = append(presses, m.presses)
	}
	require.ElementsMatch(t, [][]int{{1, 0}, {2, 0}}, presses)
}

// A slider says its value, not its place.
func TestSlidersSayTheirValues(t *testing.T) {
	b := browsertest.Open(t)
	p := &livePanel{Panel: testPanel, address: "/saot/panel/1"}
	b.Show([]byte("<!doctype html>" + p.html()))
	b.Do(`window.slider = document.querySelector('[type=range]'), true`)
	require.Equal(t, "0.1", b.Text(`slider.getAttribute('aria-valuetext')`))
	b.Do(`slider.value = 2, slider.dispatchEvent(new Event('input')), true`)
	require.Equal(t, "0.5", b.Text(`slider.getAttribute('aria-valuetext')`))
	require.Equal(t, "0.5", b.Text(`slider.nextElementSibling.textContent`))
}

// Well-formed, and a control for each knob and button, in the order of the message.
func TestPanelHTML(t *testing.T) {
	p := &livePanel{Panel: testPanel, address: "/saot/panel/1"}
	decoder := xml.NewDecoder(strings.NewReader(p.html()))
	var controls []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range element.Attr {
			if a.Name.Local == "class" && a.Value == "saot-control" {
				controls = append(controls, element.Name.Local)
			}
		}
	}
	require.Equal(t, []string{"input", "select", "button", "button"}, controls)
	require.NotContains(t, p.html(), "<b>")
}

func TestPanelErrors(t *testing.T) {
	of := func(k Knob) error { return Panel{Knobs: []Knob{k}}.RunParts(t.Context(), nil) }
	require.ErrorContains(t, of(Knob{Name: "ε"}), "knob 1 (ε) has no values")
	require.ErrorContains(t, of(Knob{Name: "M", Values: []string{"1"}, At: 1}), "starts at index 1, but has 1 values")
	require.ErrorIs(t, of(Knob{Name: "ε", Values: []string{"1"}}), ErrNoNotebook)
}
