package notebooks_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/notebooks/course"
)

// The pages show everything that the notebooks show, in a browser without a network.
func TestCourseInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("building the pages takes a while: skipped with -short")
	}
	jupyter := findJupyter(t)
	tab := browsertest.Start(t)
	out := t.TempDir()
	pages, err := course.Build(t.Context(), course.Options{Notebooks: ".", Out: out, Jupyter: jupyter})
	if err != nil && strings.Contains(err.Error(), "No module named 'latex2mathml'") {
		t.Skip("Jupyter's Python has no latex2mathml: the pages are not built")
	}
	require.NoError(t, err)
	require.Len(t, pages, len(all(t)))

	formula := regexp.MustCompile(`\$[^$\n]+\$`)
	requested := browsertest.Requests(tab, t)
	sliders := 0
	for _, p := range append(pages, course.Page{Name: "index"}) {
		url := browsertest.Address(filepath.Join(out, p.Name+".html"))
		require.NoError(t, chromedp.Do(tab, chromedp.Navigate(url),
			until(`[...document.images].every(i => i.complete)`)), p.Name)
		number := func(js string) int {
			n, err := chromedp.Run(tab, chromedp.Evaluate[int](js))
			require.NoError(t, err)
			return n
		}
		require.Zero(t, number(`[...document.images].filter(i => i.naturalWidth === 0).length`),
			"%s: missing pictures", p.Name)
		require.Zero(t, number(`[...document.images].filter(i => i.alt.startsWith('No description')).length`),
			"%s: pictures without alternative text", p.Name)
		require.Zero(t, number(`[...document.querySelectorAll('math')]`+
			`.filter(m => m.getBoundingClientRect().width === 0).length`), "%s: blank formulas", p.Name)
		require.Zero(t, number(`document.querySelectorAll('merror').length`), p.Name)
		// A page's own scripts are gone; a recording brings its data and the viewer.
		require.Equal(t, number(`2 * document.querySelectorAll('saot-recording').length`),
			number(`document.querySelectorAll('script').length`), p.Name)
		prose, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll('p, td, li')]`+
			`.filter(e => !e.querySelector('code, pre')).map(e => e.textContent).join('\n')`))
		require.NoError(t, err)
		require.Empty(t, formula.FindAllString(prose, -1), "%s: formulas that stayed TeX", p.Name)

		// The keyboard moves each slider to its last frame, which alone is then visible.
		n := number(`document.querySelectorAll('input[type=range]').length`)
		sliders += n
		for i := range n {
			require.NoError(t, chromedp.Do(tab,
				script(fmt.Sprintf(`window.slider = document.querySelectorAll('input[type=range]')[%d]; `+
					`slider.focus()`, i)), chromedp.KeyEvent(kb.End)))
			require.Equal(t, 1, number(`(() => {
				const frames = [...slider.closest('figure').querySelectorAll('img[data-value]')];
				const seen = frames.filter(f => f.offsetWidth > 0);
				return Number(seen.length === 1 && seen[0] === frames.at(-1));
			})()`), "%s, slider %d", p.Name, i+1)
			// Play begins again at the start and moves on.
			require.NoError(t, chromedp.Do(tab,
				script(`window.play = slider.closest('figure').querySelector('button'); play?.click()`),
				until(`!play || (+slider.value > 0 && +slider.value < +slider.max) || slider.max == 1`),
				script(`play?.click()`)), "%s, player %d", p.Name, i+1)
		}
		if p.Name != "index" {
			shown, err := read(t, p.Name+".ipynb").pictures()
			require.NoError(t, err)
			require.GreaterOrEqual(t, number(`document.images.length`), shown, "pictures of %s", p.Name)
		}
	}
	require.NotZero(t, sliders, "no page has a slider")
	urls := requested()
	require.NotEmpty(t, urls)
	for _, url := range urls {
		require.True(t, strings.HasPrefix(url, browsertest.Address(out)), "a page asks for %s", url)
	}
}
