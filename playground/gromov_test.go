package playground

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/playground/solver"
	"github.com/saot-go/saot/saot/transport"
)

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
		require.Greater(t, b.Number(`page.plan.structures`), 0.05, "edges disagree")
		require.Less(t, b.Number(`page.plan.change`), 1e-6, "and the steps have settled")
		b.set("loop", "gradient")
		b.settled()
		require.Greater(t, b.Number(`page.plan.change`), 1.0, "the plan jumps")
		require.Greater(t, b.Number(`page.plan.structures`), 0.15)
		b.set("factor", "1")
		b.settled()
		require.InDelta(t, 0, b.Number(`page.plan.structures`), 1e-4, "a right one")
	})
	t.Run("edges, colors and nodes change", func(t *testing.T) {
		b.at(t, "gromov.html")
		node := b.node
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
		require.Equal(t, "-", b.Text(`page.settings.truth`), "the preset's matching has other nodes")
		b.goldenGraphs(t)
		require.Equal(t, "none of these", b.Text(`document.querySelector('[name=preset]').selectedOptions[0].text`))
		b.Until(`location.hash.includes('a=') && location.hash.slice(1) === page.address()`)
		address, plan := b.Text(`location.hash`), b.Numbers(`page.plan.plan`)
		b.at(t, "gromov.html"+address)
		near(t, plan, b.Numbers(`page.plan.plan`), 1e-12)
		require.InDelta(t, 1, b.Number(`Number(page.scene.truth === null)`), 0)
		b.Do(`document.querySelector('[data-picture=graphs]').focus(), true`)
		b.Press("nce" + "n" + "e" + kb.ArrowUp)
		b.settled()
		b.goldenGraphs(t)
	})
	t.Run("keys that an address lacks are the preset's", func(t *testing.T) {
		for preset, keys := range map[string]string{"relabel": "edges 0.5 20 gradient",
			"features": "edges 0.5 20 gradient", "ring": "edges 0 20 gradient", "path": "edges 0 20 gradient",
			"local": "edges 0 60 proximal", "shape": "distances 0 20 gradient"} {
			b.at(t, "gromov.html#preset="+preset)
			const shown = `(s => [s.structure, s.sigma, s.outer, s.loop].join(' '))(page.settings)`
			require.Equal(t, keys, b.Text(shown), preset)
			short := strings.TrimPrefix("preset="+preset, "preset=relabel")
			require.Equal(t, short, b.Text(`page.address()`))
			b.set("preset", "features")
			b.set("preset", preset)
			require.Equal(t, keys, b.Text(shown), "%s from the menu", preset)
			require.Equal(t, short, b.Text(`page.address()`))
		}
		b.Do(`location.hash = '#preset=path&outer=5', true`) // another address of the open page
		b.Until(`page.settings.outer === 5`)
		require.Zero(t, b.Number(`page.settings.sigma`))
		b.set("sigma", "0.5") // the default where no preset sets it
		require.Equal(t, "preset=path&sigma=0.5&outer=5", b.Text(`page.address()`))
	})
	t.Run("the address has a matching", func(t *testing.T) {
		for truth, right := range map[string]float64{"6145032": 1, "6145023": 5. / 7} {
			b.at(t, "gromov.html#truth="+truth)
			require.InDelta(t, right, figure("right"), 0.02)
		}
		for _, name := range []string{"toString", "constructor"} { // every object has these
			b.at(t, "gromov.html#preset="+name)
			require.Equal(t, "relabel", b.Text(`page.settings.preset`))
		}
		for _, wrong := range []string{"-", "614503", "614503z", "614503!"} {
			b.at(t, "gromov.html#truth="+wrong)
			require.InDelta(t, 1, b.Number(`Number(page.scene.truth === null)`), 0, wrong)
		}
	})
	t.Run("controls", func(t *testing.T) {
		b.at(t, "gromov.html")
		for name, value := range map[string]string{"sigma": "0.2", "eps": "-1", "factor": "1", "outer": "3",
			"loop": "proximal", "structure": "distances"} {
			b.set(name, value)
		}
		b.settled()
		require.Equal(t, []float64{0.2, 0.1, 1, 3},
			b.Numbers(`(s => [s.sigma, s.eps, s.factor, page.plan.outer])(page.settings)`))
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
		for outer, want := range map[string]float64{"100000": 60, "-3": 1, "2.4": 2} {
			b.at(t, "gromov.html#outer="+outer)
			require.InDelta(t, want, b.Number(`page.settings.outer`), 0)
		}
	})
}

// node returns the place of a node of a graph.
func (b *tab) node(side string, k int) [2]float64 {
	b.T.Helper()
	xy := b.Numbers(fmt.Sprintf(`(p => [page.graphs.px('%s', p[%d]), page.graphs.py(p[%d])])(page.scene.%s.points)`,
		side, 2*k, 2*k+1, side))
	corner := b.place("graphs", 0, 0)
	return [2]float64{corner[0] + xy[0], corner[1] + xy[1]}
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
		return solver.Graph{Points: b.Numbers(g + ".points"), Edges: integers(g + ".edges"),
			Colors: integers(g + ".colors")}
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
