package playground

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/playground/solver"
	"github.com/saot-go/saot/saot/transport"
)

// tab is a browser on the playground, which is served under a prefix.
type tab struct {
	*browsertest.Tab
	server *Server
	site   string // address with the final slash
	loads  int
}

func open(t *testing.T) *tab {
	b := &tab{Tab: browsertest.Open(t)}
	s, err := NewServer(b.Context, "")
	require.NoError(t, err)
	b.server = s
	web := httptest.NewServer(http.StripPrefix("/some/prefix", s))
	b.site = web.URL + "/some/prefix/"
	t.Cleanup(func() {
		for _, url := range b.Asked() {
			require.True(t, strings.HasPrefix(url, b.site) || url == "about:blank", "%s leaves the origin", url)
		}
		web.Close()
		require.NoError(t, s.Wait())
		require.NoError(t, s.Close())
	})
	return b
}

// at opens a page in a state, and waits until the solver is there and has settled.
func (b *tab) at(t *testing.T, page string) {
	t.Helper()
	b.T = t
	b.loads++
	page, fragment, _ := strings.Cut(page, "#")
	b.Go(fmt.Sprintf("%s%s?%d#%s", b.site, page, b.loads, fragment)) // another fragment alone would not load it again
	b.settled()
}

func (b *tab) settled() {
	b.T.Helper()
	b.Until(`document.body.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
}

// press clicks on the element with an id.
func (b *tab) press(id string) {
	b.T.Helper()
	b.Click(b.Middle(`document.getElementById('` + id + `')`))
}

// set moves a control, as its user does.
func (b *tab) set(name, value string) {
	b.T.Helper()
	b.Do(fmt.Sprintf(`{const c = document.querySelector('[name="%s"]'); c.value = '%s';
		for (const e of ['input', 'change']) c.dispatchEvent(new Event(e)); true}`, name, value))
}

// tool presses a button of the tools.
func (b *tab) tool(name string) {
	b.T.Helper()
	b.Click(b.Middle(`document.querySelector('[data-tool="` + name + `"]')`))
}

// place returns a place in a picture; x and y are shares of its width and height, from the upper left corner.
func (b *tab) place(picture string, x, y float64) [2]float64 {
	b.T.Helper()
	b.Do(`document.querySelector('[data-picture="` + picture + `"]').scrollIntoView({block: 'center'}), true`)
	box := b.Numbers(`(r => [r.x, r.y, r.width, r.height])(document.querySelector('[data-picture="` + picture +
		`"]').getBoundingClientRect())`)
	return [2]float64{box[0] + x*box[2], box[1] + y*box[3]}
}

// point returns the place of a point of a cloud.
func (b *tab) point(cloud string, index int) [2]float64 {
	b.T.Helper()
	const margin = 16
	corner, end := b.place("clouds", 0, 0), b.place("clouds", 1, 1)
	xy := b.Numbers(fmt.Sprintf("page.problem.%s.slice(%d, %d)", cloud, 2*index, 2*index+2))
	size := end[0] - corner[0] - 2*margin
	return [2]float64{corner[0] + margin + xy[0]*size, end[1] - margin - xy[1]*size}
}

// near requires that two lists of numbers agree up to what exp and the order of sums in the two runtimes allow.
func near(t *testing.T, want, is []float64, tolerance float64) {
	t.Helper()
	require.Len(t, is, len(want))
	for i := range want {
		require.InDelta(t, want[i], is[i], tolerance, "entry %d", i)
	}
}

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
		for _, state := range []string{"", "#preset=split&eps=0.05&cost=euclidean", "#cost=cosine&sweeps=7", "#preset=outlier&rho=0.2",
			"#preset=ring&solver=exact", "#mode=axes", "#mode=axes&preset=uneven&eps=0.002&sweeps=40", "#preset=many"} {
			b.at(t, "transport.html"+state)
			b.golden(t)
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
	})
	t.Run("keys move points", func(t *testing.T) {
		b.at(t, "transport.html")
		x := b.Number(`page.problem.x[2]`)
		b.Do(`document.querySelector('[data-picture=clouds]').focus(), true`)
		b.Press("nn" + kb.ArrowRight + kb.ArrowRight)
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
		require.Contains(t, b.Text(`document.querySelector('[role=status]').textContent`), "% of the row")
		b.Do(`document.querySelector('[data-picture=plan]').focus(), true`)
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
	b.Do(`document.activeElement.blur(), true`)
	b.Press("r")
	b.Until(`page.problem.done === 1`)
	b.Press("s")
	b.Until(`page.problem.done === 2`)
	// The controls change the problem.
	b.set("solver", "exact")
	b.settled()
	require.LessOrEqual(t, b.Number(`page.problem.plan.plan.filter(p => p > 1e-12).length`), 28+28-1.0)
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
	near(t, plan, b.Numbers(`page.problem.plan.plan`), 1e-9)
	require.Equal(t, "0.6", b.Text(`document.querySelector('[name=t]').value`))
	b.Go(b.site + "transport.html#preset=ring&embed") // another fragment of the open page
	b.Until(`page.problem.n === 32 && page.problem.settled`)
	b.at(t, "transport.html#embed&preset=ring")
	require.Equal(t, "none", b.Text(`getComputedStyle(document.querySelector('.top')).display`))
	b.at(t, "transport.html#eps=none&preset=nothing&x=A&mode=axes&sweeps=1e999") // nonsense keeps the defaults
	b.golden(t)
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

func TestGromovPage(t *testing.T) {
	b := open(t)
	figure := func(name string) float64 {
		return b.Number(`Number(document.querySelector('[data-figure=` + name + `]').textContent.replace('−', '-'))`)
	}
	t.Run("plans are Go's, and fail as their notes say", func(t *testing.T) {
		for preset, right := range map[string]float64{"relabel": 1, "features": 1, "ring": 1.0 / 6, "shape": 1} {
			b.at(t, "gromov.html")
			b.set("preset", preset)
			b.settled()
			b.goldenGraphs(t)
			b.Until(`document.querySelector('[data-figure=right]').textContent !== '–'`)
			require.InDelta(t, right, figure("right"), 0.02, preset)
		}
		b.set("preset", "path")
		b.settled()
		require.InDelta(t, 0.5, b.Number(`5 * page.plan.plan[0]`), 0.05, "an end of the path goes to both ends")
		b.set("preset", "local")
		b.settled()
		require.InDelta(t, 0, b.Number(`page.plan.truthStructures`), 1e-9)
		require.Greater(t, b.Number(`page.plan.structures`), 0.2, "edges disagree")
		require.Greater(t, b.Number(`6 * Math.max(...page.plan.plan)`), 0.95, "and the plan is sharp")
	})
	t.Run("edges, colors and nodes change", func(t *testing.T) {
		b.at(t, "gromov.html")
		node := func(side string, k int) [2]float64 {
			xy := b.Numbers(fmt.Sprintf(`[page.graphs.px('%[1]s', page.scene.%[1]s.points[%[2]d]), page.graphs.py(page.scene.%[1]s.points[%[3]d])]`,
				side, 2*k, 2*k+1))
			corner := b.place("graphs", 0, 0)
			return [2]float64{corner[0] + xy[0], corner[1] + xy[1]}
		}
		click := func(at [2]float64) { b.Click(at[0], at[1]) }
		b.tool("edge")
		edges := b.Number(`page.scene.a.edges.length`)
		click(node("a", 0))
		click(node("a", 2))
		b.settled()
		require.InDelta(t, edges+1, b.Number(`page.scene.a.edges.length`), 0)
		b.goldenGraphs(t)
		b.tool("color")
		click(node("b", 1))
		b.settled()
		require.InDelta(t, 1, b.Number(`page.scene.b.colors[1]`), 0)
		b.tool("move")
		b.Drag(node("b", 3), b.place("graphs", 0.9, 0.5))
		b.settled()
		require.InDelta(t, 0.5, b.Number(`page.scene.b.points[7]`), 0.03)
		b.tool("add")
		click(b.place("graphs", 0.3, 0.1))
		b.tool("remove")
		click(node("b", 0))
		b.settled()
		require.Equal(t, []float64{8, 6}, b.Numbers(`[page.scene.a.colors.length, page.scene.b.colors.length]`))
		b.goldenGraphs(t)
		b.Until(`location.hash.includes('a=') && location.hash.slice(1) === page.address()`)
		address, plan := b.Text(`location.hash`), b.Numbers(`page.plan.plan`)
		b.at(t, "gromov.html"+address)
		near(t, plan, b.Numbers(`page.plan.plan`), 1e-12)
		b.Do(`document.querySelector('[data-picture=graphs]').focus(), true`)
		b.Press("nce" + "n" + "e" + kb.ArrowUp)
		b.settled()
		b.goldenGraphs(t)
	})
	t.Run("controls", func(t *testing.T) {
		b.at(t, "gromov.html")
		for name, value := range map[string]string{"sigma": "0.2", "eps": "-1", "factor": "1", "outer": "3", "loop": "proximal",
			"structure": "distances"} {
			b.set(name, value)
		}
		b.settled()
		require.Equal(t, []float64{0.2, 0.1, 1, 3}, b.Numbers(`[page.settings.sigma, page.settings.eps, page.settings.factor, page.plan.outer]`))
		b.goldenGraphs(t)
		b.press("restart")
		b.Until(`page.plan.outer === 1`)
		b.press("step")
		b.Until(`page.plan.outer === 2`)
		b.press("play")
		b.Until(`page.plan.outer >= 4`)
		b.press("play")
		b.press("converge")
		b.Until(`page.settings.outer === 60 && !page.dirty`)
	})
}

func (b *tab) goldenGraphs(t *testing.T) {
	t.Helper()
	integers := func(js string) []int32 {
		var out []int32
		for _, x := range b.Numbers(js) {
			out = append(out, int32(x))
		}
		return out
	}
	graph := func(side string) solver.Graph {
		g := "page.problem()." + side
		return solver.Graph{Points: b.Numbers(g + ".points"), Edges: integers(g + ".edges"), Colors: integers(g + ".colors")}
	}
	number := func(name string) float64 { return b.Number("page.problem()." + name) }
	cfg := transport.DefaultFGW()
	cfg.Epsilon, cfg.Sigma, cfg.Factor = number("epsilon"), number("sigma"), number("factor")
	cfg.Outer, cfg.Sweeps, cfg.Loop = int(number("outer")), int(number("sweeps")), transport.OuterLoop(number("loop"))
	p := solver.Graphs{A: graph("a"), B: graph("b"), Structure: solver.Structure(number("structure")), Config: cfg}
	want, err := p.Solve()
	require.NoError(t, err)
	near(t, want.Plan.Plan, b.Numbers(`page.plan.plan`), 1e-9)
	require.InDelta(t, want.Structures, b.Number(`page.plan.structures`), 1e-9)
}

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
			for _, width := range []int64{380, 1400} {
				b.Resize(width, 900)
				b.Scheme(scheme)
				b.Go(b.site + p.Name + ".html")
				if len(p.Modules) > 0 {
					b.settled()
				}
				if p.Name == "continual" {
					b.Until(`document.querySelector('saot-recording')?.shadowRoot.querySelector('.now').textContent !== ''`)
				}
				require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth`), float64(width), p.Name)
				b.Do(string(axe) + `; window.found = null; axe.run().then(r => window.found = r.violations.map(v =>
					v.id + ': ' + v.nodes.map(n => n.html).join(' ')), e => window.found = [String(e)]); true`)
				b.Until(`found !== null`)
				require.Equal(t, "", b.Text(`found.join('\n')`), "%s, %s, %d", p.Name, scheme, width)
				b.Picture(fmt.Sprintf("%s-%d-%s", p.Name, width, scheme))
			}
		}
	}
}

// What the transport page loads before it solves is at most a megabyte.
func TestTransportPageIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	s, err := NewServer(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, s.Wait())
	defer func() { require.NoError(t, s.Close()) }()
	sum := 0
	for _, path := range []string{"transport.html", "assets/style.css", "assets/transport.js", "assets/wasm_exec.js", "assets/solver.wasm.gz"} {
		info, err := os.Stat(s.dir + "/" + path)
		require.NoError(t, err)
		sum += int(info.Size())
	}
	t.Logf("%d bytes", sum)
	require.Less(t, sum, int(math.Pow10(6)))
}
