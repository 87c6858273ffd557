package playground

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// focus gives the keys to an element.
func (b *tab) focus(selector string) {
	b.T.Helper()
	b.Do(`document.querySelector('` + selector + `').focus(), true`)
}

// The right end of ρ is "exact", by keys too.
func TestSliderReachesItsEnds(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	b.focus("[name=rho]")
	for _, c := range []struct{ key, shown string }{
		{kb.Home, "0.01"}, {kb.End, "exact"}, {kb.ArrowLeft, "3"}, {kb.ArrowRight, "exact"},
	} {
		b.Press(c.key)
		require.Equal(t, c.shown, b.Text(`document.querySelector('[name=rho]').nextElementSibling.textContent`))
	}
	require.Zero(t, b.Number(`page.settings.rho`))
}

// No point stays chosen when other points, histograms or graphs come, whether a control or an address brings them.
func TestChosenPointsAreForgotten(t *testing.T) {
	b := open(t)
	to := func(hash, there string) {
		b.Do(`location.hash = '` + hash + `', true`)
		b.Until(there)
		b.settled()
	}
	b.at(t, "transport.html#preset=many")
	b.focus("[data-picture=clouds]")
	b.Press("p") // the last square
	to("#preset=moons", `page.problem.m === 28`)
	b.Press(kb.ArrowLeft)
	require.Equal(t, []float64{56, 56}, b.Numbers(`[page.problem.x.length, page.problem.y.length]`))
	b.golden(t)

	b.at(t, "transport.html#mode=axes")
	b.focus("[data-picture=axes]")
	b.Press(kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight)
	to("#mode=axes&x=AAgAgA&y=gA__AA", `page.problem.n === 3`)
	b.Press(kb.ArrowUp)
	require.InDelta(t, 3, b.Number(`page.problem.x.length`), 0)

	b.at(t, "gromov.html")
	b.tool("edge")
	last := b.node("a", 6)
	b.Click(last[0], last[1])
	b.set("preset", "ring")
	b.settled()
	edges := b.Number(`page.scene.a.edges.length`)
	first := b.node("a", 0)
	b.Click(first[0], first[1])
	b.Until(`document.querySelector('[role=status]').textContent.startsWith('Edge from A 1')`)
	require.InDelta(t, edges, b.Number(`page.scene.a.edges.length`), 0)
	to("#preset=path", `page.settings.preset === 'path'`)
	require.InDelta(t, 0, b.Number(`Number(page.graphs.first !== null)`), 0)
}

// Where nothing is pointed at, any arrow key takes the first entry of the map.
func TestFirstKeyTakesTheFirstEntry(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	b.focus("[data-picture=plan]")
	for _, key := range []string{kb.ArrowRight, kb.ArrowDown, kb.ArrowLeft, kb.ArrowUp} {
		b.Press(key)
		require.Equal(t, []float64{0, 0}, b.Numbers(`[page.map.pointed.row, page.map.pointed.column]`))
		b.Press(kb.Escape)
		require.Equal(t, []float64{-1, -1}, b.Numbers(`[page.map.pointed.row, page.map.pointed.column]`))
	}
}

// shortcuts lists the shortcuts of the browser that a picture takes over.
const shortcuts = `['altKey', 'ctrlKey', 'metaKey'].flatMap(held =>
	['n', 'p', 'a', 'c', 'e', 'r', 's', 'x', ' ', 'ArrowLeft', 'ArrowUp', 'Delete', 'Escape'].map(key =>
		document.querySelector('[data-picture=%s]').dispatchEvent(new KeyboardEvent('keydown',
			{key, [held]: true, bubbles: true, cancelable: true})) ? '' : held + ' ' + key)).filter(taken => taken).join()`

// Keys with Alt, Ctrl or Meta are the browser's.
func TestShortcuts(t *testing.T) {
	b := open(t)
	for picture, address := range map[string]string{"clouds": "transport.html", "axes": "transport.html#mode=axes",
		"plan": "transport.html#at=3.5", "graphs": "gromov.html"} {
		b.at(t, address)
		b.focus("[data-picture=" + picture + "]")
		b.Press("n" + kb.ArrowRight) // chooses something, which keys would change
		require.Empty(t, b.Text(fmt.Sprintf(shortcuts, picture)), picture)
	}
}

// The right button and the middle one edit nothing.
func TestOtherButtons(t *testing.T) {
	b := open(t)
	for _, c := range []struct{ address, picture, tool, state string }{
		{"transport.html", "clouds", "x", "page.problem.x"},
		{"transport.html#mode=axes", "axes", "", "page.problem.x"},
		{"gromov.html", "graphs", "add", "page.scene"},
	} {
		b.at(t, c.address)
		if c.tool != "" {
			b.tool(c.tool)
		}
		at := b.place(c.picture, 0.4, 0.1)
		before := b.Text(`JSON.stringify(` + c.state + `)`)
		for _, button := range []chromedp.MouseOption{chromedp.ButtonRight, chromedp.ButtonMiddle} {
			require.NoError(t, chromedp.Do(b.Context, chromedp.MouseClickXY(at[0], at[1], button)))
			require.Equal(t, before, b.Text(`JSON.stringify(`+c.state+`)`), c.picture)
		}
		b.Click(at[0], at[1])
		b.Until("`" + before + "` !== JSON.stringify(" + c.state + `)`)
	}
}

// A drag whose release went to a menu ends when the pointer comes back.
func TestLostRelease(t *testing.T) {
	b := open(t)
	for _, c := range []struct {
		address, picture string
		at               func() [2]float64
	}{
		{"transport.html", "clouds", func() [2]float64 { return b.point("x", 3) }},
		{"transport.html#mode=axes", "axes", func() [2]float64 { return b.place("axes", 0.4, 0.1) }},
		{"gromov.html", "graphs", func() [2]float64 { return b.node("a", 2) }},
	} {
		b.at(t, c.address)
		at := c.at()
		press := chromedp.MouseEvent(chromedp.MousePressed, at[0], at[1], chromedp.ButtonLeft)
		require.NoError(t, chromedp.Do(b.Context, press))
		b.Until(`page.` + c.picture + `.held >= 0`)
		b.Move(at[0]+40, at[1]+40) // without a button
		b.Until(`page.` + c.picture + `.held === -1`)
	}
}

// Escape leaves an edge that was begun.
func TestEscapeLeavesAnEdge(t *testing.T) {
	b := open(t)
	b.at(t, "gromov.html")
	b.focus("[data-picture=graphs]")
	b.Press("ne" + kb.Escape)
	require.Empty(t, b.Text(`document.querySelector('[role=status]').textContent`))
	edges := b.Number(`page.scene.a.edges.length`)
	b.Press("nne") // the second node begins an edge: it ends none
	b.settled()
	require.InDelta(t, edges, b.Number(`page.scene.a.edges.length`), 0)
	require.Contains(t, b.Text(`document.querySelector('[role=status]').textContent`), "Edge from A 2")
}

// A key that would take a histogram's last mass says that it does not.
func TestHistogramKeepsItsMass(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html#mode=axes&x=AAgAgA&y=gA__AA")
	b.Do(`page.problem.y = [0.04, 0, 0], true`)
	b.focus("[data-picture=axes]")
	b.Press("y" + kb.ArrowRight + kb.ArrowDown)
	require.InDelta(t, 0.04, b.Number(`page.problem.y[0]`), 0)
	require.Equal(t, "A histogram keeps some mass.", b.Text(`document.querySelector('[role=status]').textContent`))
}
