package playground

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// inventory lists what a reader can use on each page, by the test that uses it. A new control needs a test, and its
// name here: id, name, tool or picture.
var inventory = map[string]map[string]string{
	"index": {"TestNavigation": "transport gromov continual"},
	"transport": {
		"TestTransportPage": "mode preset cost solver eps rho t bary move y remove restart step play converge clouds " +
			"axes plan trace",
		"TestSolverKeys":    "x",
		"TestShare":         "share",
		"TestSavedPictures": "save",
	},
	"gromov": {
		"TestGromovPage": "preset structure loop sigma eps factor outer move edge color add remove restart step play " +
			"converge graphs",
		"TestSolverKeys":    "plan",
		"TestShare":         "share",
		"TestSavedPictures": "save",
	},
	"continual": {
		"TestTrainingControls": "tasks nodes homophily imbalance words alpha beta eps points buffer epochs seed " +
			"train view start pause step back clear recording",
		"TestTrainingInTheTab": "ap",
		"TestRunsCrossTheTab":  "zip open file",
		"TestShare":            "share",
	},
}

// Every control of every page has a test.
func TestInventory(t *testing.T) {
	tests := ""
	for _, pattern := range []string{"*_test.go", "../cmd/saot/play_test.go"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			tests += string(text)
		}
	}
	b := open(t)
	for _, p := range Pages() {
		var known []string
		for test, names := range inventory[p.Name] {
			require.Contains(t, tests, "func "+test+"(")
			known = append(known, strings.Fields(names)...)
		}
		slices.Sort(known)
		b.Go(b.site + p.Name + ".html")
		b.Until(`document.readyState === 'complete'`)
		require.Equal(t, strings.Join(known, " "), b.Text(`[...new Set([...document.querySelectorAll(
			'main button, #tools button, main input, main select, main canvas')].map(e =>
			e.ariaLabel?.startsWith('save ') ? 'zip' : e.name?.replace(/-.*/, '') || e.dataset.tool || e.dataset.card ||
			e.dataset.picture || e.id))].sort().join(' ')`), p.Name)
	}
}

// The first page leads to the others, and they to each other, by pointer and by keys.
func TestNavigation(t *testing.T) {
	b := open(t)
	at := func(page string) {
		b.Until(`document.body?.dataset.page === '` + page + `' && document.readyState === 'complete'`)
	}
	for i, p := range Pages()[1:] {
		b.Go(b.site)
		b.Click(b.Middle(`document.querySelector('canvas[data-card=` + p.Name + `]')`))
		at(p.Name)
		require.Equal(t, p.Title, b.Text(`document.querySelector('nav [aria-current=page]').textContent`))
		other := Pages()[1+(i+1)%(len(Pages())-1)].Name
		b.Click(b.Middle(`document.querySelector('nav a[href="` + other + `.html"]')`))
		at(other)
		b.Click(b.Middle(`document.querySelector('.brand')`))
		at("index")
	}
	b.Go(b.site + "transport.html#eps=0.05")
	b.Press(kb.Tab + kb.Enter) // the link to the content comes first
	b.Until(`document.activeElement.id === 'main'`)
	require.Equal(t, "#eps=0.05", b.Text(`location.hash`), "the state stays")
}

// The link that a page copies shows the page as it is.
func TestShare(t *testing.T) {
	b := open(t)
	for page, set := range map[string][][2]string{
		"transport": {{"cost", "euclidean"}, {"t", "0.25"}},
		"gromov":    {{"preset", "ring"}, {"sigma", "0.5"}}, // a preset sets σ
		"continual": {{"seed", "3"}, {"alpha", "0.4"}},
	} {
		b.at(t, page+".html")
		for _, s := range set {
			b.set(s[0], s[1])
		}
		address := b.Copied(func() { b.press("share") })
		require.Equal(t, "The link is copied.", b.Text(`document.querySelector('[role=status]').textContent`))
		require.True(t, strings.HasPrefix(address, b.site+page+".html"), address)
		b.Go("about:blank")
		b.Go(address)
		b.settled()
		for _, s := range set {
			require.Equal(t, s[1], b.Text(`document.querySelector('[name=`+s[0]+`]').value`), address)
		}
	}
}

// The keys of both pages that solve, and what their tests leave: the tool that adds a circle, and the map of graphs.
func TestSolverKeys(t *testing.T) {
	b := open(t)
	for _, c := range []struct{ address, done, converged string }{
		{"transport.html#eps=0.003", "page.problem.done", "page.settings.sweeps === 0"},
		{"gromov.html#preset=local&loop=gradient", "page.plan.outer", "page.settings.outer === 60"},
	} {
		b.at(t, c.address)
		b.focus("[data-picture=plan]")
		b.Press("r")
		b.Until(c.done + ` === 1`)
		b.Press("sS") // as the titles write it, too
		b.Until(c.done + ` === 3`)
		b.Press(" ")
		b.Until(c.done + ` >= 5 && document.getElementById('play').textContent === 'Pause'`)
		b.Press(" ")
		b.Until(`document.getElementById('play').textContent === 'Play'`)
		b.Press("c")
		b.settled()
		b.Until(c.converged)
	}

	b.at(t, "gromov.html")
	at := b.place("plan", 0.5, 0.5)
	b.Move(at[0], at[1])
	b.Until(`page.graphs.pointed.row >= 0 && page.graphs.pointed.column >= 0`)
	const said = `document.querySelector('[role=status]').textContent`
	b.Until(said + `.startsWith('π[')`)
	b.Do(`window.before = ` + said + `, true`)
	b.set("eps", "0") // the logarithm of 1
	b.Until(said + `.startsWith('π[') && ` + said + ` !== before`)
	b.Do(`document.querySelector('[data-picture=plan]').focus(), true`)
	b.Press(kb.Escape)
	b.Until(`page.graphs.pointed.row === -1 && ` + said + ` === ''`)
	b.Do(`document.querySelector('[data-picture=graphs]').focus(), true`)
	b.Press("p" + kb.Delete) // the last node of B
	b.settled()
	require.Equal(t, []float64{7, 6}, b.Numbers(`[page.scene.a.colors.length, page.scene.b.colors.length]`))

	b.at(t, "transport.html")
	b.tool("x")
	place := b.place("clouds", 0.1, 0.9)
	b.Click(place[0], place[1])
	b.settled()
	require.Equal(t, []float64{29, 28}, b.Numbers(`[page.problem.n, page.problem.m]`))
	b.golden(t)
}
