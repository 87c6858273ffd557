package playground

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/playground/solver"
	"github.com/saot-go/saot/saot/transport"
)

// golden solves the page's problem natively and compares plan and potentials.
func (b *tab) golden(t *testing.T) {
	t.Helper()
	get := func(name string) []float64 { return b.Numbers("page.problem.clouds()." + name + " ?? []") }
	number := func(name string) float64 { return b.Number("Number(page.problem.clouds()." + name + ")") }
	c := solver.Clouds{X: get("x"), Y: get("y"), Cost: transport.CostKind(number("cost")), Exact: number("exact") == 1,
		Center: number("center"), Epsilon: number("epsilon"), Rho: number("rho"), Sweeps: 20000, Tolerance: 1e-9}
	if mu := get("mu"); len(mu) > 0 {
		c.Mu, c.Nu = mu, get("nu")
	}
	if k := b.Number(`page.settings.sweeps`); k > 0 {
		c.Sweeps = int(k)
	}
	want, err := c.Solve()
	require.NoError(t, err)
	near(t, want.Plan, b.Numbers(`page.problem.plan.plan`), 1e-9)
	require.InDelta(t, want.Value.Linear, b.Number(`page.problem.plan.linear`), 1e-8)
}

func TestTransportPage(t *testing.T) {
	b := open(t)
	t.Run("plans are Go's", func(t *testing.T) {
		for _, state := range []string{"", "#preset=split&eps=0.05&cost=euclidean", "#cost=cosine&sweeps=7",
			"#preset=outlier&rho=0.2", "#preset=ring&solver=exact", "#mode=axes",
			"#mode=axes&preset=uneven&eps=0.002&sweeps=40", "#preset=many", "#mode=axes&x=AAgAgA&y=gA__AA"} {
			b.at(t, "transport.html"+state)
			b.golden(t)
		}
		require.InDelta(t, 3, b.Number(`page.problem.plan.f.length`), 0, "histograms of three bins")
		for _, wrong := range []string{"x=AAgAgA", "x=AAgAgA&y=gA__", "x=AAAAAA&y=gA__AA"} {
			b.at(t, "transport.html#mode=axes&"+wrong)
			require.InDelta(t, 48, b.Number(`page.problem.n`), 0, wrong)
		}
	})
	t.Run("points are dragged, added and removed", func(t *testing.T) {
		b.at(t, "transport.html")
		before := b.Numbers(`page.problem.plan.plan`)
		b.Drag(b.point("x", 3), b.place("clouds", 0.3, 0.7), b.place("clouds", 0.5, 0.9))
		b.settled()
		near(t, []float64{0.5, 0.08}, b.Numbers(`page.problem.x.slice(6, 8)`), 0.03)
		require.NotEqual(t, before, b.Numbers(`page.problem.plan.plan`))
		b.golden(t)
		b.tool("y")
		b.Drag(b.place("clouds", 0.9, 0.05), b.place("clouds", 0.9, 0.06))
		b.settled()
		require.InDelta(t, 29, b.Number(`page.problem.m`), 0)
		b.tool("remove")
		at := b.point("x", 0)
		b.Click(at[0], at[1])
		b.settled()
		require.InDelta(t, 27, b.Number(`page.problem.n`), 0)
		b.golden(t)
	})
	t.Run("a finger drags", func(t *testing.T) {
		b.at(t, "transport.html#preset=ring")
		from, to := b.point("y", 5), b.place("clouds", 0.5, 0.5)
		for _, p := range []input.DispatchTouchEventParams{
			{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: from[0], Y: from[1]}}},
			{Type: input.DispatchTouchEventTypeTouchMove, TouchPoints: []*input.TouchPoint{{X: to[0], Y: to[1]}}},
			{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}},
		} {
			_, err := chromedp.Call(b.Context, input.DispatchTouchEvent, p)
			require.NoError(t, err)
		}
		b.settled()
		near(t, []float64{0.5, 0.5}, b.Numbers(`page.problem.y.slice(10, 12)`), 0.03)
	})
	t.Run("histograms are painted", func(t *testing.T) {
		b.at(t, "transport.html#mode=axes")
		b.Drag(b.place("axes", 0.7, 0.1), b.place("axes", 0.8, 0.1), b.place("axes", 0.9, 0.3))
		b.settled()
		require.Greater(t, b.Number(`page.problem.x[36]`), 0.6)
		require.InDelta(t, 1, b.Number(`page.problem.plan.rows.reduce((a, b) => a + b)`), 1e-8)
		b.golden(t)
		b.Do(`document.querySelector('[data-picture=axes]').focus(), true`)
		b.Press("y" + kb.ArrowRight + kb.ArrowRight + kb.ArrowUp + kb.ArrowUp)
		b.settled()
		require.InDelta(t, 0.1, b.Number(`page.problem.y[1]`), 0.002)
		for _, at := range []string{"1", "0.4", "0"} {
			b.set("t", at)
			b.settled()
			moved := b.Numbers(`page.axes.moved(page.problem.plan.plan)`)
			switch at {
			case "0.4":
				require.InDelta(t, 1, b.Number(`page.axes.moved(page.problem.plan.plan).reduce((a, b) => a + b)`), 1e-8)
				require.NotContains(t, moved[10:38], 0.0, "no holes")
			case "1":
				near(t, b.Numbers(`page.problem.clouds().nu`), moved, 1e-8)
			case "0":
				near(t, b.Numbers(`page.problem.clouds().mu`), moved, 1e-8)
			}
		}
	})
	t.Run("keys move points", func(t *testing.T) {
		b.at(t, "transport.html")
		x := b.Number(`page.problem.x[2]`)
		b.Do(`document.querySelector('[data-picture=clouds]').focus(), true`)
		b.Press("nN" + kb.ArrowRight + kb.ArrowRight)
		b.settled()
		require.InDelta(t, x+0.04, b.Number(`page.problem.x[2]`), 0.001)
		require.Contains(t, b.Text(`document.querySelector('[role=status]').textContent`), "circle 2 at")
		b.Press("a" + kb.Delete + "pp" + kb.Delete)
		b.settled()
		require.InDelta(t, 27, b.Number(`page.problem.n + 0`), 1)
	})
	t.Run("sweeps step, play and converge", func(t *testing.T) { b.sweeps(t) })
	t.Run("entries link to points", func(t *testing.T) {
		b.at(t, "transport.html")
		at := b.place("plan", 0.5, 0.5)
		b.Move(at[0], at[1])
		b.Until(`page.clouds.pointed.row >= 0 && page.clouds.pointed.column >= 0`)
		const said = `document.querySelector('[role=status]').textContent`
		b.Until(said + `.endsWith('% of the row')`)
		b.Do(`window.before = ` + said + `, document.querySelector('[data-picture=plan]').focus(), true`)
		b.set("eps", "0") // the logarithm of 1
		b.Until(`page.settings.eps === 1 && page.problem.settled && ` + said + ` !== before`)
		require.Contains(t, b.Text(said), b.Text(`page.map.words()`), "the words are those of the new plan")
		b.Move(1, 1)
		b.Until(said + ` === ''`)
		b.Move(at[0], at[1])
		b.Until(said + ` !== ''`)
		row := b.Number(`page.map.pointed.row`)
		b.Press(kb.ArrowDown)
		b.Until(fmt.Sprintf(`page.clouds.pointed.row === %v`, row+1))
		p := b.point("x", 4)
		b.Move(p[0], p[1])
		b.Until(`page.map.pointed.row === 4 && page.map.pointed.column === -1`)
	})
	t.Run("the address shows the same", func(t *testing.T) { b.share(t) })
	t.Run("divergence and barycenter are Go's", func(t *testing.T) { b.derived(t) })
	t.Run("memory is level", func(t *testing.T) { b.level(t) })
}

func (b *tab) sweeps(t *testing.T) {
	b.at(t, "transport.html#eps=0.003")
	b.press("restart")
	b.Until(`page.problem.settled && page.problem.done === 1`)
	b.press("step")
	b.press("step")
	b.Until(`page.problem.settled && page.problem.done === 3 && page.problem.trace.length === 3`)
	b.golden(t)
	b.press("play")
	b.Until(`page.problem.done >= 6`)
	b.press("play")
	b.Until(`document.getElementById('play').textContent === 'Play'`)
	b.press("converge")
	b.Until(`page.problem.settled && page.problem.plan.marginalError <= 1e-9`)
	b.golden(t)
	b.focus("[data-picture=plan]")
	b.Press("r")
	b.Until(`page.problem.done === 1`)
	b.Press("s")
	b.Until(`page.problem.done === 2`)
	b.at(t, "transport.html#eps=1&sweeps=500")
	require.LessOrEqual(t, b.Number(`page.problem.plan.marginalError`), 1e-9)
	b.press("play") // begins again
	b.Until(`page.problem.done === 2`)
	b.press("restart")
	b.press("step")
	b.set("eps", "-2.5")
	// The controls change the problem.
	b.set("solver", "exact")
	b.settled()
	require.LessOrEqual(t, b.Number(`page.problem.plan.plan.filter(p => p > 1e-12).length`), 28+28-1.0)
	b.focus("[data-picture=plan]")
	b.Press("rs ") // an exact plan takes no sweeps
	b.press("step")
	require.Equal(t, []float64{2, 4, 0}, b.Numbers(`[page.settings.sweeps,
		document.querySelectorAll('[aria-label=run] :disabled').length, page.runs.next]`))
	b.set("solver", "entropic")
	b.set("eps", "-1")
	b.Until(`page.settings.eps === 0.1`)
	b.set("eps", "-2.5")
	b.set("rho", "-1")
	b.Until(`page.settings.rho === 0.1`)
	b.press("converge")
	b.settled()
	require.Less(t, b.Number(`page.problem.plan.rows.reduce((a, b) => a + b)`), 0.99, "relaxed marginals move less")
	b.set("eps", "-1")
	b.set("cost", "cosine")
	b.settled()
	b.golden(t)
	b.set("mode", "axes")
	b.settled()
	require.Equal(t, "squared", b.Text(`page.settings.cost`), "histograms have no cosines")
	require.InDelta(t, 1, b.Number(`document.querySelectorAll('[name=cost] option[hidden]').length`), 0)
	b.set("preset", "shift")
	b.settled()
	b.golden(t)
}

// share drags a point, and opens the address in the bar again.
func (b *tab) share(t *testing.T) {
	b.at(t, "transport.html#preset=split&eps=0.02&t=0.4&at=3.5")
	b.Drag(b.point("x", 0), b.place("clouds", 0.2, 0.2))
	b.set("t", "0.6")
	b.settled()
	b.Until(`location.hash.includes('t=0.6') && location.hash.slice(1) === page.address()`)
	x, plan := b.Numbers(`page.problem.x`), b.Numbers(`page.problem.plan.plan`)
	address := b.Text(`location.hash`)
	b.press("share")
	b.Until(`document.querySelector('[role=status]').textContent !== ''`)
	b.at(t, "transport.html"+address)
	require.Equal(t, x, b.Numbers(`page.problem.x`))
	require.Equal(t, "none of these", b.Text(`document.querySelector('[name=preset]').selectedOptions[0].text`))
	near(t, plan, b.Numbers(`page.problem.plan.plan`), 1e-9)
	require.Equal(t, "0.6", b.Text(`document.querySelector('[name=t]').value`))
	b.Go(b.site + "transport.html#preset=ring&embed") // another fragment of the open page
	b.Until(`page.problem.n === 32 && page.problem.settled`)
	b.at(t, "transport.html#embed&preset=ring")
	require.Equal(t, "none", b.Text(`getComputedStyle(document.querySelector('.top')).display`))
	b.at(t, "transport.html#eps=none&preset=nothing&x=A&mode=axes&sweeps=1e999") // nonsense keeps the defaults
	b.golden(t)
	b.at(t, "transport.html#sweeps=30000.5&t=7")
	require.Equal(t, []float64{20000, 1}, b.Numbers(`[page.settings.sweeps, page.settings.t]`), "bounds hold")
	b.at(t, "transport.html#x="+strings.Repeat("AAAA", 61)+"&y="+strings.Repeat("AAAA", 60))
	require.Equal(t, []float64{28, 60}, b.Numbers(`[page.problem.n, page.problem.m]`), "of points too")
	for _, name := range []string{"toString", "constructor"} { // every object has these
		b.at(t, "transport.html#preset="+name+"&cost="+name)
		require.Equal(t, "moons", b.Text(`page.settings.preset`))
		b.golden(t)
	}
	b.at(t, "transport.html#eps=-1")
	const wrong = `document.querySelector('[role=status]').classList.contains('wrong')`
	b.Until(wrong)
	b.set("eps", "-1") // the logarithm of 0.1
	b.settled()
	b.Until(`!` + wrong + ` && document.querySelector('[role=status]').textContent === ''`)
}

func (b *tab) derived(t *testing.T) {
	b.at(t, "transport.html#eps=0.05&bary=1&t=0.5")
	b.Until(`page.problem.moved < 2e-4 && document.querySelector('[data-figure=divergence]').textContent !== '–'`)
	c := solver.Clouds{X: b.Numbers(`page.problem.clouds().x`), Y: b.Numbers(`page.problem.clouds().y`),
		Cost: transport.SquaredEuclidean, Epsilon: 0.05, Sweeps: 600, Tolerance: 1e-6}
	want, err := c.Divergence()
	require.NoError(t, err)
	require.InDelta(t, want, b.Number(`Number(document.querySelector('[data-figure=divergence]').textContent)`), want*0.01)
	// The barycenter is a fixed point of the step.
	z := b.Numbers(`page.problem.z`)
	c.Exact = true
	again, err := c.Barycenter(z, 0.5, 1)
	require.NoError(t, err)
	near(t, z, again, 1e-3)
	b.Do(`document.querySelector('[name=bary]').click(), true`)
	b.Until(`page.problem.z === null`)
}

// level restarts a hundred times; the memory of the module and of the page stays as it is.
func (b *tab) level(t *testing.T) {
	b.at(t, "transport.html#eps=0.05")
	restart := func(times int) (module, heap float64) {
		b.Do(fmt.Sprintf(`window.left = %d; {
			const again = () => {
				if (!page.problem.settled) return requestAnimationFrame(again);
				if (--left === 0) return;
				document.getElementById('restart').click();
				document.getElementById('converge').click();
				requestAnimationFrame(again);
			};
			again();
		} true`, times+1))
		b.Until(`left === 0`)
		_, err := chromedp.Call(b.Context, heapprofiler.CollectGarbage, chromedp.Void{})
		require.NoError(t, err)
		usage, err := chromedp.Call(b.Context, cdpruntime.GetHeapUsage, chromedp.Void{})
		require.NoError(t, err)
		return b.Number(`page.solver.memory()`), usage.UsedSize
	}
	module, heap := restart(60) // until the garbage collector has found its pace
	moduleAfter, heapAfter := restart(100)
	t.Logf("memory of the module: %v, then %v bytes; of the page %v, then %v", module, moduleAfter, heap, heapAfter)
	require.LessOrEqual(t, moduleAfter, module+1<<20)
	require.LessOrEqual(t, heapAfter, heap+1<<20)
}

// drawn says whether a recording is there and each of its pictures has its description.
const drawn = `(() => {
	const pictures = document.querySelector('saot-recording')?.shadowRoot.querySelectorAll('svg.panel') ?? [];
	return pictures.length > 0 && [...pictures].every(e => e.getAttribute('aria-label'));
})()`

// Every page has no violation that axe finds, no sideways scrolling, and both schemes.
func TestPagesAreAccessible(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no axe-core in playground/node_modules (npm ci brings it): accessibility is not checked")
	}
	require.NoError(t, err)
	b := open(t)
	for _, p := range Pages() {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{380, 500, 620, 760, 1400} {
				b.Resize(width, 900)
				b.Scheme(scheme)
				b.Go(b.site + p.Name + ".html")
				if len(p.Modules) > 0 {
					b.settled()
				}
				if p.Name == "continual" {
					b.Until(drawn)
				}
				require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth`), float64(width), p.Name)
				b.Picture(fmt.Sprintf("%s-%d-%s", p.Name, width, scheme))
				if width != 380 && width != 1400 {
					continue
				}
				b.Do(string(axe) + `; window.found = null; axe.run().then(r => window.found = r.violations.map(v =>
					v.id + ': ' + v.nodes.map(n => n.html).join(' ')), e => window.found = [String(e)]); true`)
				b.Until(`found !== null`)
				require.Equal(t, "", b.Text(`found.join('\n')`), "%s, %s, %d", p.Name, scheme, width)
			}
		}
	}
}

// crossed lists the texts of pictures that leave their picture, once it is drawn again, the elements whose content is
// wider than they are, and the controls and words that stand over one another.
const crossed = `(() => {
	const found = window.left ?? [];
	const seen = [...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && !e.closest('.scroll'));
	for (const e of seen)
		if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
			found.push(e.outerHTML.slice(0, 80) + ' is too narrow');
	const apart = 'button, select, input, label, output, canvas, h2, dt, dd, .status, .hint';
	const parts = seen.filter(e => e.matches(apart));
	const boxes = parts.map(e => e.getBoundingClientRect());
	parts.forEach((e, i) => parts.slice(0, i).forEach((f, j) => {
		const [a, b] = [boxes[i], boxes[j]];
		const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
		const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
		if (wide > 1 && high > 1 && !e.contains(f) && !f.contains(e))
			found.push(e.outerHTML.slice(0, 80) + ' stands over ' + f.outerHTML.slice(0, 80));
	}));
	return found.join('\n');
})()`

// watched collects the texts that leave their picture from now on.
const watched = `{
	window.left = [];
	const pen = CanvasRenderingContext2D.prototype;
	const write = pen.fillText;
	pen.fillText = function (text, x, y, ...more) {
		const wide = this.measureText(text).width, width = this.canvas.width / this.getTransform().a;
		const start = {center: x - wide / 2, right: x - wide, end: x - wide}[this.textAlign] ?? x;
		if (this.canvas.isConnected && this.getTransform().b === 0 && (start < -1 || start + wide > width + 1))
			left.push(this.canvas.dataset.picture + ' cuts "' + text + '"');
		write.call(this, text, x, y, ...more);
	};
	true;
}`

// In a frame of any width nothing overlaps, overflows or is cut.
func TestPagesFitTheirFrames(t *testing.T) {
	b := open(t)
	for _, state := range []string{"transport.html#embed", "transport.html#embed&mode=axes&t=0.5",
		"transport.html#embed&bary=1&t=0.5&solver=exact", "gromov.html#embed", "gromov.html#embed&preset=features",
		"continual.html#embed&recording=pair"} {
		name, _, _ := strings.Cut(state, ".")
		for _, width := range []int64{348, 500, 620, 760, 902} {
			b.Resize(width+40, 900)
			b.Go("about:blank")
			b.Go(b.site + state)
			if name == "continual" {
				b.Until(`document.querySelector('saot-recording')?.shadowRoot.querySelector('.now').textContent !== ''`)
			} else {
				b.settled()
			}
			b.Do(watched)
			b.Resize(width, 900)
			b.Until(fmt.Sprintf(`innerWidth === %d && [...document.querySelectorAll('canvas')].every(c => c.hidden ||
				Math.abs(c.width - c.clientWidth * devicePixelRatio) < 1)`, width))
			require.Empty(t, b.Text(crossed), "%s in %d pixels", state, width)
			require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth`), float64(width), state)
			b.Picture(fmt.Sprintf("frame-%s-%d", name, width))
		}
	}
}

// What the transport page loads before it solves is at most a megabyte.
func TestTransportPageIsSmall(t *testing.T) {
	s := served(t)
	sum := 0
	for _, path := range []string{"transport.html", "assets/theme.js", "assets/style.css", "assets/transport.js",
		"assets/wasm_exec.js", "assets/solver.wasm.gz"} {
		info, err := os.Stat(s.dir + "/" + path)
		require.NoError(t, err)
		sum += int(info.Size())
	}
	t.Logf("%d bytes", sum)
	require.Less(t, sum, int(math.Pow10(6)))
}
