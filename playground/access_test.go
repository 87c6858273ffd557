package playground

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const said = `document.querySelector('[role=status]').textContent`

// prepare runs a script before those of each page that the tab opens from now on.
func (b *tab) prepare(script string) {
	b.T.Helper()
	_, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(b.T, err)
}

// hold presses the mouse at a place, or lets go of it.
func (b *tab) hold(kind input.DispatchMouseEventType, at [2]float64) {
	b.T.Helper()
	_, err := chromedp.Call(b.Context, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind,
		X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
	require.NoError(b.T, err)
}

// Marks of the table show on the page in both schemes, in the colors of the chart.
func TestSwatchesShow(t *testing.T) {
	b := open(t)
	for scheme, panel := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(26, 29, 35)"} {
		b.Scheme(scheme)
		b.at(t, "continual.html#recording=")
		require.Equal(t, panel, b.Text(`getComputedStyle(document.querySelector('.card')).backgroundColor`))
		b.Do(`window.light = color => color.match(/\d+/g).slice(0, 3).map(v => v / 255)
				.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
				.reduce((l, v, k) => l + [0.2126, 0.7152, 0.0722][k] * v, 0.05);
			window.contrast = (a, b) => Math.max(light(a) / light(b), light(b) / light(a));
			window.fills = [...document.querySelectorAll('.swatch')].map(e => getComputedStyle(e).fill), true`)
		require.Zero(t, b.Number(`fills.filter(c => contrast(c, '`+panel+`') < 3).length`), scheme)
		b.Do(`{ const pen = page.chart.pen; window.drawn = [];
			const stroke = pen.stroke; pen.stroke = function () { drawn.push(this.strokeStyle); stroke.call(this); };
			page.chart.show([0, 1, 2, 3, 4, 5].map(color => ({label: '', color, control: false, values: [50]})), 2); true }`)
		require.Equal(t, b.Text(`fills.join()`), b.Text(`drawn.slice(-6).map(c => 'rgb(' +
			[1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16)).join(', ') + ')').join()`), scheme)
	}
	for _, name := range []string{"style.css", "continual.css"} {
		css, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(css), "light-dark(", "browsers that lack it would show no colors")
	}
}

// Single letters act where a reader works with the solver, and nowhere else: dictated words are letters, too.
func TestLettersNeedTheFocus(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html#eps=0.003&sweeps=5")
	b.Do(`document.activeElement.blur(), true`)
	b.Press("rsc ")
	b.focus("main")
	b.Press("rsc ")
	require.InDelta(t, 5, b.Number(`page.settings.sweeps`), 0)
	b.press("step") // has the focus now
	b.Press("s")
	b.Until(`page.problem.done === 7`)
	b.Press(" ") // presses the button, and plays nothing
	b.Until(`page.problem.done === 8`)
	require.Equal(t, "Play", b.Text(`document.getElementById('play').textContent`))

	b.at(t, "gromov.html#preset=local&outer=3")
	b.focus("[data-picture=graphs]")
	b.Press("c") // no node is chosen whose color it could change
	require.Equal(t, "Choose a node first, with n or p.", b.Text(said))
	require.InDelta(t, 3, b.Number(`page.settings.outer`), 0, "nor does it settle")
}

// All that the pointer does with nodes, keys do, and they say what they did.
func TestKeysEditGraphs(t *testing.T) {
	b := open(t)
	b.at(t, "gromov.html")
	require.Contains(t, b.Text(`page.graphs.canvas.ariaLabel`), "a adds one next to it")
	b.focus("[data-picture=graphs]")
	b.Press("n")
	require.Equal(t, "node 1 of A at 0.86, 0.50", b.Text(said))
	b.Press(kb.ArrowUp)
	require.Equal(t, "node 1 of A at 0.86, 0.53", b.Text(said))
	b.Press("a")
	require.Equal(t, "node 8 of A at 0.74, 0.41", b.Text(said))
	b.settled()
	b.goldenGraphs(t)
	b.Press("c")
	require.Equal(t, []float64{8, 1}, b.Numbers(`[page.scene.a.colors.length, page.scene.a.colors[7]]`))
	b.settled()
}

// Who presses a point or a node and leaves it before letting go has changed nothing.
func TestPressCanBeTakenBack(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	b.tool("remove")
	at := b.point("x", 0)
	away := [2]float64{at[0] + 60, at[1] - 60}
	b.Drag(at, away, away)
	require.InDelta(t, 28, b.Number(`page.problem.n`), 0)
	b.hold(input.DispatchMouseEventTypeMousePressed, at)
	require.InDelta(t, 28, b.Number(`page.problem.n`), 0, "not yet")
	b.hold(input.DispatchMouseEventTypeMouseReleased, at)
	b.Until(`page.problem.n === 27`)

	b.at(t, "gromov.html")
	before := b.Text(`JSON.stringify(page.scene)`)
	for _, tool := range []string{"remove", "color", "edge"} {
		b.tool(tool)
		at := b.node("a", 0)
		b.Drag(at, b.place("graphs", 0.02, 0.02), b.place("graphs", 0.02, 0.02))
		require.Equal(t, before, b.Text(`JSON.stringify(page.scene)`), tool)
		require.InDelta(t, 1, b.Number(`Number(page.graphs.first === null)`), 0)
	}
}

// A node moves without a drag: a tap lifts it, and another one places it.
func TestTapsMoveNodes(t *testing.T) {
	b := open(t)
	b.at(t, "gromov.html")
	tap := func(at [2]float64) { b.Click(at[0], at[1]) }
	tap(b.node("a", 2))
	require.Equal(t, "node 3 of A: drag it, or press where it is to go.", b.Text(said))
	before := b.Text(`JSON.stringify(page.scene)`)
	tap(b.place("graphs", 0.9, 0.05)) // on the side of the other graph
	require.Equal(t, before, b.Text(`JSON.stringify(page.scene)`))
	tap(b.node("a", 2))
	tap(b.place("graphs", 0.25, 0.5))
	near(t, []float64{0.5, 0.5}, b.Numbers(`page.scene.a.points.slice(4, 6)`), 0.01)
	before = b.Text(`JSON.stringify(page.scene.a)`)
	tap(b.place("graphs", 0.05, 0.05)) // it is placed
	b.Drag(b.node("b", 1), b.place("graphs", 0.75, 0.5), b.place("graphs", 0.75, 0.5))
	tap(b.place("graphs", 0.55, 0.05)) // a drag lifts nothing
	near(t, []float64{0.5, 0.5}, b.Numbers(`page.scene.b.points.slice(2, 4)`), 0.01)
	require.Equal(t, before, b.Text(`JSON.stringify(page.scene.a)`))
}

// A page whose browser lacks something says so.
func TestMissingFeatures(t *testing.T) {
	for _, c := range []struct{ lacks, page string }{
		{"delete window.ResizeObserver", "transport.html"},
		{"delete window.ResizeObserver", "index.html"},
		{"HTMLCanvasElement.prototype.getContext = () => null", "gromov.html"},
		{"delete window.Worker", "continual.html#recording=&play=1"},
	} {
		t.Run(c.lacks+" on "+c.page, func(t *testing.T) {
			b := open(t)
			b.prepare(c.lacks)
			b.Go(b.site + c.page)
			b.Until(`/^The page failed .*: reload, or use a newer one\.$/.test(
				document.querySelector('#main .status.wrong')?.textContent)`)
			require.NotEmpty(t, b.Faults())
		})
	}
}

// Notices of the browser that are no errors say nothing.
func TestNoticesAreNoFailures(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	b.Do(`dispatchEvent(new ErrorEvent('error', {message: 'ResizeObserver loop limit exceeded'})), true`)
	require.Empty(t, b.Text(said))
}

// A solver that ends says what to do.
func TestSolverThatEnds(t *testing.T) {
	for _, name := range []string{"transport", "gromov"} {
		b := open(t)
		b.prepare(`Object.defineProperty(window, 'Go', {configurable: true, set(Go) {
			const run = Go.prototype.run;
			Go.prototype.run = function (instance) {
				window.exit = () => this._resolveExitPromise();
				return run.call(this, instance);
			};
			Object.defineProperty(window, 'Go', {value: Go});
		}})`)
		b.at(t, name+".html")
		b.Do(`exit(), true`)
		b.Until(said + ` === 'The solver has ended: reload the page.'`)
		b.set("eps", "-1")
		b.Do(`page.show(), true`)
		require.Equal(t, "The solver has ended: reload the page.", b.Text(said))
	}
}

// The mark in the map stands on a wider line, so that it shows on every color.
func TestMarkOfTheMapHasAHalo(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html#at=3.5")
	b.Do(`{ const pen = page.map.pen; window.lines = [];
		const rect = pen.strokeRect;
		pen.strokeRect = function (...place) {
			lines.push(this.lineWidth + ' ' + this.strokeStyle);
			rect.apply(this, place);
		};
		page.map.paint();
		pen.strokeRect = rect; // the page may paint again
		true }`)
	const halo, mark = "#ffffff", "#d0104c"
	want := fmt.Sprintf("3 %[1]s,1 %[2]s,3 %[1]s,1 %[2]s,4.5 %[1]s,2.5 %[2]s", halo, mark)
	require.Equal(t, want, b.Text(`lines.join()`))
}

// A slider's value is said by the slider alone, and what titles explain can be unfolded.
func TestExplanations(t *testing.T) {
	b := open(t)
	for name, words := range map[string]string{"transport": "what the plan pays",
		"gromov": "the mass that changes its color", "continual": "nothing is trained"} {
		b.at(t, name+".html")
		require.Zero(t, b.Number(`document.querySelectorAll('output:not([aria-live=off])').length`), name)
		b.Click(b.Middle(`document.querySelector('details summary')`))
		b.Until(`document.querySelector('details[open]').innerText.includes('` + words + `')`)
	}
}
