package playground

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Pictures have the pixels of the screen, also after a zoom or on another monitor.
func TestPicturesFollowTheScreen(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	for i, scale := range []float64{1, 2, 1.5, 1} {
		// Chromium's emulation tells the page of another scale only along with another width. Above 1600 pixels the
		// pictures keep theirs.
		zoom := chromedp.EmulateViewport(int64(1600+i), 1400, chromedp.EmulateScale(scale))
		require.NoError(t, chromedp.Do(b.Context, zoom))
		b.Until(fmt.Sprintf(`devicePixelRatio === %v && [...document.querySelectorAll('canvas')].every(c => c.hidden ||
			Math.abs(c.width - c.clientWidth * devicePixelRatio) < 1)`, scale))
	}
}

// A page in a frame stays one when its state changes. The link that a reader shares has the header.
func TestEmbedStays(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html#preset=ring&embed")
	b.set("t", "0.5")
	b.Until(`location.hash === '#embed&preset=ring&t=0.5'`)
	require.Equal(t, "preset=ring&t=0.5", b.Text(`page.address()`))
	b.set("preset", "moons")
	b.set("t", "0")
	b.Until(`location.hash === '#embed'`)
}

// An address that comes just before the page writes its own one is taken, not overwritten.
func TestAddressThatComesIsTaken(t *testing.T) {
	b := open(t)
	for _, c := range []struct{ page, hash, taken string }{
		{"transport.html#preset=ring", "#preset=path", `page.settings.preset === 'moons'`}, // it has no path
		{"gromov.html#preset=ring", "#preset=path", `page.settings.preset === 'path'`},
		{"continual.html#tasks=5", "#tasks=4", `page.settings.tasks === 4`},
	} {
		b.at(t, c.page)
		b.Until(fmt.Sprintf(`(() => {
			const timer = window.setTimeout;
			let write = null;
			window.setTimeout = f => (write = f, 0);
			page.remember();
			window.setTimeout = timer;
			if (write === null) return false; // another write waits
			location.hash = '%s';
			write();
			return true;
		})()`, c.hash))
		b.Until(c.taken)
	}
}

// A write that waits when an address comes is dropped.
func TestAddressThatComesStays(t *testing.T) {
	b := open(t)
	b.at(t, "continual.html#recording=&tasks=5")
	b.Do(`window.past = performance.now() + 1000, page.remember(), location.hash = '#recording=&tasks=4', true`)
	b.Until(`performance.now() > past`)
	require.Equal(t, "#recording=&tasks=4", b.Text(`location.hash`))
	require.InDelta(t, 4, b.Number(`page.settings.tasks`), 0)
}

// What the page cannot do stays on it while the pointer moves.
func TestFaultStays(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	place := b.point("x", 4)
	b.Do(`page.solver = null, page.status.say('The solver cannot be loaded.', true), true`)
	b.Move(place[0], place[1])
	b.Until(`page.map.pointed.row === 4`)
	require.Equal(t, "The solver cannot be loaded.", b.Text(`document.querySelector('[role=status]').textContent`))
}

// Figures have one digit before the point, also where rounding carries.
func TestFigures(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html")
	for x, want := range map[string]string{"0.000997": "10⁻³", "0.00012": "1.2·10⁻⁴", "-0.00000996": "−1·10⁻⁵",
		"99990": "10⁵", "12345": "1.2·10⁴", "0.00123": "0.00123"} {
		b.Do(`page.problem.plan = {...page.problem.plan, linear: ` + x + `}, page.show(), true`)
		require.Equal(t, want, b.Text(`document.querySelector('[data-figure=cost]').textContent`), x)
	}
}
