package viewer

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// A pointed entry of the plan marks the row in view 1, the column in view 2, both in the embedding, and neighbors.
func TestPointing(t *testing.T) {
	b := open(t, one(t))
	b.Move(b.entry(2, 6))
	b.Until(`panel('embedding').querySelectorAll('.chosen').length === 2`)
	// In the order of classes, places 2 and 6 are the nodes 14 and 15 of the ring: 4 and 5 in the file.
	require.Equal(t, "2,6", b.chosen("embedding"))
	require.Equal(t, "2,6", b.chosen("graphs"), "one in each view")
	require.Equal(t, "node 14 of class 0 in view 1, node 15 of class 1 in view 2: 1 times the uniform mass",
		b.Text(`root.querySelector('[role=status]').textContent`))
	// Neighbors on the ring: of 14, 13 and 15; of 15, 14 and 16. They stand in places 5, 6; 2, 3.
	require.Equal(t, "3,5", b.Text(
		`[...panel('embedding').querySelectorAll('.near')].map(e => Number(e.dataset.node)).sort().join()`))
	require.Equal(t, float64(6), b.Number(`panel('plan').querySelectorAll('rect[fill=none], g[fill=none] rect').length`))

	x, y := b.Middle(`panel('embedding').querySelector('[data-node="1"]')`)
	b.Move(x, y)
	b.Until(`panel('embedding').querySelectorAll('.chosen').length === 1`)
	require.Equal(t, "1", b.chosen("embedding"))
	require.Equal(t, "1,1", b.chosen("graphs"))
	b.Move(1, 1)
	b.Until(`panel('embedding').querySelectorAll('.chosen').length === 0`)

	// A finger points, too, and what it pointed at stays.
	x, y = b.entry(0, 3)
	for _, p := range []input.DispatchTouchEventParams{
		{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: x, Y: y}}},
		{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}},
	} {
		_, err := chromedp.Call(b.Context, input.DispatchTouchEvent, p)
		require.NoError(t, err)
	}
	b.Until(`panel('embedding').querySelectorAll('.chosen').length === 2`)
	require.Equal(t, "0,3", b.chosen("graphs"))
}

func TestMatrixLeadsToTasks(t *testing.T) {
	b := open(t, one(t))
	require.Zero(t, b.Number(`panel('matrix').querySelectorAll('[data-value]').length`), "nothing is scored at the start")
	b.Click(b.Middle(`panel('matrix').querySelector('[data-row="1"][data-column="0"]')`))
	b.Until(`now() === 'task 2 of 3, step 10'`)
	b.Until(`panel('matrix').querySelectorAll('[data-value]').length === 3`)
	require.Equal(t, "80.0", b.Text(`panel('matrix').querySelector('[data-row="1"][data-column="1"]').dataset.value`))
	b.Do(`choose('which matrix is shown', 'task-il, paper'), true`)
	b.Until(`panel('matrix').textContent.includes('task-il')`)
}

// shortcuts lists the shortcuts of the browser that an element takes over.
const shortcuts = `['altKey', 'ctrlKey', 'metaKey'].flatMap(held =>
	['ArrowDown', 'ArrowLeft', 'ArrowRight', 'Enter', 'Home', 'PageDown', 'p', ' '].map(key =>
		(%s).dispatchEvent(new KeyboardEvent('keydown',
			{key, [held]: true, bubbles: true, cancelable: true, composed: true})) ? '' : held + ' ' + key)).filter(taken => taken).join()`

func TestKeyboard(t *testing.T) {
	b := open(t, one(t))
	b.Do(`root.querySelector('input[type=range]').focus(), true`)
	for _, c := range []struct{ key, now string }{
		{kb.ArrowRight, "task 1 of 3, step 2"}, {kb.End, "task 3 of 3, step 10"}, {kb.PageUp, "task 2 of 3, step 0"},
		{kb.PageDown, "task 3 of 3, step 0"}, {kb.Home, "task 1 of 3, step 0"},
	} {
		b.Press(c.key)
		b.Until(`now() === '` + c.now + `'`)
	}
	b.Press(" ")
	b.Until(`button('pause') !== undefined`)
	b.Press(" ")
	b.Until(`button('play') !== undefined`)
	b.Press(kb.Home)
	b.Until(`now() === 'task 1 of 3, step 0'`)

	b.Do(`panel('plan').focus(), true`)
	b.Press(kb.ArrowDown)
	b.Press(kb.ArrowRight)
	b.Press(kb.ArrowRight)
	b.Until(`[...panel('graphs').querySelectorAll('.chosen')].map(e => e.dataset.node).join() === '0,2'`)
	require.Equal(t, "task 1 of 3, step 0", b.Text(`now()`), "arrow keys in the map move no frame")
	b.Press(kb.Escape)
	b.Until(`panel('graphs').querySelectorAll('.chosen').length === 0`)

	b.Do(`panel('matrix').focus(), true`)
	b.Press(kb.ArrowDown)
	b.Press(kb.ArrowDown)
	require.Contains(t, b.Text(`root.querySelector('[role=status]').textContent`), "after task 2, on task 1")
	b.Press(kb.Enter)
	b.Until(`now() === 'task 2 of 3, step 10'`)

	for _, name := range []string{"plan", "matrix"} {
		require.Empty(t, b.Text(fmt.Sprintf(shortcuts, `panel('`+name+`')`)), name)
	}

	// What can be used has a name, and the keyboard reaches it.
	require.Zero(t, b.Number(`[...root.querySelectorAll('button, select, input')].filter(
		e => !(e.ariaLabel || e.getAttribute('aria-label') || e.textContent.trim())).length`))
	require.Zero(t, b.Number(`[...root.querySelectorAll('svg.panel')].filter(
		e => !e.getAttribute('aria-label') || !e.getAttribute('role')).length`))
}

// The right button and the middle one are the browser's.
func TestOtherButtons(t *testing.T) {
	b := open(t, one(t))
	b.Do(`window.jumps = 0, viewer.addEventListener('saot-frame', () => jumps++), true`)
	for _, place := range []string{`panel('curves')`, `panel('matrix').querySelector('[data-row="1"]')`} {
		x, y := b.Middle(place)
		for _, button := range []chromedp.MouseOption{chromedp.ButtonRight, chromedp.ButtonMiddle} {
			require.NoError(t, chromedp.Do(b.Context, chromedp.MouseClickXY(x, y, button)))
			require.NoError(t, chromedp.Do(b.Context, chromedp.MouseEvent(chromedp.MouseMoved, x+9, y, button)))
		}
		require.Zero(t, b.Number(`jumps`), place)
	}
	b.Click(b.Middle(`panel('matrix').querySelector('[data-row="1"]')`))
	b.Until(`jumps === 1`)
}
