package viewer

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// eight gives each node of the first task a class of its own.
const eight = packed + `Object.assign(packed[0].recording.tasks[0], {classes: [0, 1, 2, 3, 4, 5, 6, 7]});
	viewer.runs = packed, true`

// marks reads the marks of the embedding's legend: luminance and lightness of colors, and what tells shapes apart.
const marks = `
	window.linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	window.parts = color => [1, 3, 5].map(k => linear(parseInt(color.slice(k, k + 2), 16) / 255));
	window.luminance = color => parts(color).reduce((l, v, k) => l + [0.2126, 0.7152, 0.0722][k] * v, 0);
	window.contrast = (a, b) => (c => (c[1] + 0.05) / (c[0] + 0.05))([a, b].map(luminance).sort((x, y) => x - y));
	window.lab = color => {
		const [r, g, b] = parts(color);
		const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, luminance(color),
			(0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(Math.cbrt);
		return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
	};
	window.apart = (a, b) => Math.hypot(...lab(a).map((v, k) => v - lab(b)[k]));
	window.legend = () => [...panel('embedding').querySelectorAll('path:not(.node)')];
	window.fills = () => legend().map(e => e.getAttribute('fill'));
	window.shape = e => {
		const box = e.getBBox(), start = e.getPointAtLength(0);
		return [start.x - box.x, start.y - box.y, e.getTotalLength()].map(v => v.toFixed(1)).join();
	};
	true`

// Eight classes differ in color or in shape, also for readers who see some of the colors alike, and all of them show on
// the panel.
func TestClassesAreToldApart(t *testing.T) {
	b := open(t, one(t))
	b.Do(eight)
	b.Do(marks)
	for scheme, panel := range map[string]string{"light": "#ffffff", "dark": "#1d2026"} {
		b.Scheme(scheme)
		b.Until(`viewer.theme.panel === '` + panel + `' && legend().length === 8 &&
			legend()[0].getAttribute('fill') === viewer.theme.classes[0]`)
		require.Zero(t, b.Number(`fills().filter(c => contrast(c, '`+panel+`') < 3).length`), scheme)
		require.Greater(t, b.Number(`apart(fills()[0], fills()[4])`), 18.0, "the blues in %s", scheme)
		require.InDelta(t, 6, b.Number(`new Set(legend().map(shape)).size`), 0)
		for _, alike := range [][2]int{{0, 4}, {0, 7}, {1, 6}} {
			require.NotEqual(t, b.Text(fmt.Sprintf(`shape(legend()[%d])`, alike[0])),
				b.Text(fmt.Sprintf(`shape(legend()[%d])`, alike[1])), "classes %v", alike)
		}
	}
	require.Greater(t, b.Number(`Math.min(...[...panel('graphs').querySelectorAll('line[stroke-opacity]')].map(
		e => e.getAttribute('stroke-opacity')))`), 0.6, "edges")
	b.Do(`choose('which curves are shown', 'other'), true`)
	b.Until(`panel('curves').querySelectorAll('.sample').length === 5`)
	require.InDelta(t, 5, b.Number(`new Set([...panel('curves').querySelectorAll('.sample')].map(
		e => e.getAttribute('stroke-dasharray'))).size`), 0, "dashes of five curves")
}

// Keys go through the nodes where there is no plan whose map they could use.
func TestKeysPointAtNodes(t *testing.T) {
	r := invented(t, "gbt", 0, false)
	b := open(t, Run{Name: Name(r), Recording: r})
	for _, name := range []string{"embedding", "graphs"} {
		b.Do(`panel('` + name + `').focus(), true`)
		require.Contains(t, b.Text(`panel('`+name+`').getAttribute('aria-label')`), "Arrow keys move from node to node")
		for _, c := range []struct{ key, chosen string }{
			{kb.ArrowRight, "0"}, {kb.ArrowDown, "1"}, {kb.ArrowUp, "0"}, {kb.ArrowLeft, "0"},
		} {
			b.Press(c.key)
			b.Until(`panel('embedding').querySelector('.chosen')?.dataset.node === '` + c.chosen + `'`)
		}
		require.Equal(t, "node 10 of class 0", b.Text(`root.querySelector('[role=status]').textContent`))
		b.Press(kb.Escape)
		b.Until(`panel('embedding').querySelector('.chosen') === null`)
		b.Press(kb.ArrowLeft)
		b.Until(`panel('embedding').querySelector('.chosen')?.dataset.node === '7'`)
		b.Press(kb.Escape)
		b.Until(`panel('embedding').querySelector('.chosen') === null`)
	}
	require.Equal(t, "task 1 of 3, step 0", b.Text(`now()`), "these keys move no frame")
}

// A panel that has the focus keeps it when runs are laid out again.
func TestFocusStaysWhileRunsGrow(t *testing.T) {
	other := invented(t, "gbt", 0, false)
	b := open(t, one(t), Run{Name: "other", Recording: other})
	b.Do(packed + `window.focus = () => [root.activeElement?.closest('section').getAttribute('aria-label'),
			root.activeElement?.dataset.panel].join();
		panel('matrix', 1).focus(), true`)
	require.Equal(t, "other,matrix", b.Text(`focus()`))
	b.Do(`window.before = root.activeElement, viewer.lay(), true`)
	require.Equal(t, "other,matrix", b.Text(`focus()`))
	require.InDelta(t, 0, b.Number(`Number(before === root.activeElement)`), 0)
	b.Do(`viewer.runs = [packed[1], packed[0]], true`)
	require.Equal(t, "other,matrix", b.Text(`focus()`), "also where the runs come in another order")
	b.Do(`viewer.runs = [packed[0]], true`)
	require.Equal(t, ",", b.Text(`focus()`), "its run is gone")
}

// The mark in the map shows on every color: a line in the color of the panel stands around it.
func TestMarkHasAHalo(t *testing.T) {
	b := open(t, one(t))
	b.Move(b.entry(2, 6))
	b.Until(`panel('embedding').querySelectorAll('.chosen').length === 2`)
	const lines = `[...panel('plan').querySelectorAll('g[fill=none] rect')]`
	require.Equal(t, []float64{3, 1, 3, 1, 4.5, 2.5}, b.Numbers(lines+`.map(e => Number(e.getAttribute('stroke-width')))`))
	require.Equal(t, "panel,mark,panel,mark,panel,mark", b.Text(lines+`.map(e =>
		['panel', 'mark'].find(name => e.getAttribute('stroke') === viewer.theme[name])).join()`))
}

// A browser that constructs no style sheets shows the viewer in its style all the same.
func TestOlderBrowsersHaveStyle(t *testing.T) {
	b := open(t, one(t))
	_, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.CSSStyleSheet = class {
			constructor() { throw new TypeError('Illegal constructor'); }
		}`})
	require.NoError(t, err)
	b.Go(b.page)
	b.ready()
	require.Equal(t, "grid", b.Text(`getComputedStyle(root.querySelector('.panels')).display`))
}

// What is pressed differs by more than its color, and the page has a main part.
func TestPressedShowsWithoutColor(t *testing.T) {
	b := open(t, one(t))
	const weight = `getComputedStyle(button('zoom')).fontWeight`
	before := b.Text(weight)
	b.Click(b.Middle(`button('zoom')`))
	require.NotEqual(t, before, b.Text(weight))
	require.InDelta(t, 1, b.Number(`document.querySelectorAll('main saot-recording').length`), 0)
}
