package course

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/playground"
)

// Each notebook has a state, and each state a notebook.
func TestEachNotebookHasAState(t *testing.T) {
	paths, err := filepath.Glob("../*.ipynb")
	require.NoError(t, err)
	require.Len(t, paths, len(states))
	for _, p := range paths {
		require.NotNil(t, live(strings.TrimSuffix(filepath.Base(p), ".ipynb"), ".."), p)
	}
}

// cells are the cells of a notebook with what they display, by the notebook's name.
func cells(t *testing.T) map[string][]displayed {
	t.Helper()
	paths, err := filepath.Glob("../*.ipynb")
	require.NoError(t, err)
	all := map[string][]displayed{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		var n struct {
			Cells []struct {
				ID      string `json:"id"`
				Outputs []struct {
					Data map[string]json.RawMessage `json:"data"`
				} `json:"outputs"`
			} `json:"cells"`
		}
		require.NoError(t, json.Unmarshal(data, &n))
		for _, c := range n.Cells {
			shown := displayed{id: c.ID}
			for _, o := range c.Outputs {
				var page Text
				if raw, ok := o.Data["text/html"]; ok {
					require.NoError(t, json.Unmarshal(raw, &page))
				}
				shown.html += string(page)
			}
			name := strings.TrimSuffix(filepath.Base(p), ".ipynb")
			all[name] = append(all[name], shown)
		}
	}
	return all
}

type displayed struct{ id, html string }

// slides says whether a cell has a slider or a recording.
func (c displayed) slides() bool {
	return strings.Contains(c.html, `type="range"`) || strings.Contains(c.html, "<saot-recording")
}

// alone are the sliders of which the playground has no counterpart, and why.
var alone = map[string]string{
	"05_gradients 29":   "the playground moves no points along a gradient",
	"06_views 06-14":    "the playground draws no histograms of cosines",
	"07_encoders 07-05": "the playground has no embedding without training",
	"10_controls 10-12": "the playground draws no histograms of cosines",
}

// Above each slider stands the state that shows it live, unless the playground has none.
func TestEachSliderHasItsFrame(t *testing.T) {
	frames := map[string]int{}
	unused := maps.Clone(alone)
	for name, all := range cells(t) {
		for _, c := range all {
			page, count, err := framed([]byte(c.html), "..")
			require.NoError(t, err)
			slug := name + " " + strings.TrimPrefix(c.id, "c")
			switch {
			case !c.slides():
				require.Zero(t, count, "%s has a state and no slider", slug)
			case alone[slug] != "":
				require.Zero(t, count, "%s has a state: take it off the list", slug)
				delete(unused, slug)
			default:
				require.Equal(t, 1, count, "%s has a slider without a state of the playground", slug)
				require.True(t, strings.HasPrefix(string(page), `<details class="live"><summary>Live: `), slug)
				require.Contains(t, string(page), "#embed&amp;")
				frames[name]++
				without, _, err := framed([]byte(c.html), "")
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(string(without), "<"), slug)
				require.NotContains(t, string(without), "iframe")
			}
		}
	}
	require.Empty(t, unused)
	require.Equal(t, map[string]int{"01_sinkhorn": 3, "02_line": 2, "03_costs": 2, "04_gromov": 1, "08_forgetting": 1,
		"09_saot": 1}, frames)
}

// figures are the states that stand above sliders.
func figures(t *testing.T) (states []string) {
	t.Helper()
	for _, all := range cells(t) {
		for _, c := range all {
			if found := atFigure.FindStringSubmatch(c.html); found != nil {
				states = append(states, html.UnescapeString(found[1]))
			}
		}
	}
	return states
}

// Each link and each frame of a page leads to a page of the playground that shows the state of the address, without an
// error.
func TestPlaygroundShowsEachState(t *testing.T) {
	b, web := site(t, "")
	addresses := []string{}
	for slug := range states {
		l := live("00_"+slug, "..")
		addresses = append(addresses, string(l.Address), string(l.Frame))
	}
	for _, state := range figures(t) {
		l := at("..", state, "")
		addresses = append(addresses, string(l.Address), string(l.Frame))
	}
	for _, address := range addresses {
		if address == "" {
			continue
		}
		file, fragment, _ := strings.Cut(address, "#")
		b.Go("about:blank") // another fragment alone would not load the page again
		b.Go(web + path.Join("/course", file) + "#" + fragment)
		b.Until(`document.body?.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
		if path.Base(file) == "continual.html" && !strings.Contains(fragment, "recording=&") {
			b.Until(`document.querySelector('saot-recording')?.shadowRoot.querySelectorAll('.panel').length > 3`)
		}
		require.Empty(t, b.Text(`document.querySelector('.status.wrong')?.textContent ?? ''`), address)
		keys, err := url.ParseQuery(fragment)
		require.NoError(t, err)
		_, framed := keys["embed"]
		header := b.Text(`getComputedStyle(document.querySelector('.top')).display`)
		require.Equal(t, framed, header == "none", address)
		delete(keys, "embed")
		for key, values := range keys {
			shown := b.Text(`String(page.settings.` + key + `)`)
			require.Equal(t, values[0], map[string]string{"true": "1"}[shown]+strings.TrimPrefix(shown, "true"),
				"%s: %s", address, key)
		}
		if x := keys.Get("x"); strings.Contains(file, "transport") && x != "" {
			own := b.Text(`page.problem.store(), page.settings.x`)
			require.Equal(t, x, own, "the page has other clouds than its address")
		}
	}
}

// site serves the playground, with pages of the course in a folder, and opens a tab.
func site(t *testing.T, pages string) (b *browsertest.Tab, address string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	s, err := playground.NewServer(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, s.Wait())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	mux := http.NewServeMux()
	mux.Handle("/", s)
	if pages != "" {
		mux.Handle("/course/", http.StripPrefix("/course", http.FileServer(http.Dir(pages))))
	}
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return browsertest.Open(t), web.URL
}

// A reader opens the live figure at a slider by the keyboard, and sees the plan of the notebook's points. Nothing of
// the playground loads before. The frame is as tall as its page, on a screen and on a phone.
func TestReaderOpensALiveFigure(t *testing.T) {
	jupyter := cmp.Or(os.Getenv("SAOT_JUPYTER"), "jupyter")
	if err := exec.CommandContext(t.Context(), jupyter, "nbconvert", "--version").Run(); err != nil {
		t.Skipf("no jupyter with nbconvert on PATH and SAOT_JUPYTER is not set: no page is built: %v", err)
	}
	from, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"01_sinkhorn.ipynb", "04_gromov.ipynb", "09_saot.ipynb"} {
		data, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(from, name), data, 0o600))
	}
	_, err := Build(t.Context(), Options{Notebooks: from, Out: out, Jupyter: jupyter, Playground: ".."})
	if err != nil && strings.Contains(err.Error(), "No module named 'latex2mathml'") {
		t.Skip("Jupyter's Python has no latex2mathml: no page is built")
	}
	require.NoError(t, err)
	b, web := site(t, out)
	const first = `document.querySelector('details.live')`
	const frame = first + `.querySelector('iframe')`
	open := func(name string) {
		b.Go(web + "/course/" + name)
		before := len(b.Asked())
		b.Do(first + `.querySelector('summary').scrollIntoView({block: 'center'}), true`)
		b.Until(`document.readyState === 'complete'`)
		require.Len(t, b.Asked(), before, "%s loads the playground before its reader asks", name)
		b.Do(first + `.querySelector('summary').focus(), true`)
		b.Press(kb.Enter)
		b.Until(frame + `.contentWindow.document.body?.dataset.ready !== undefined`)
	}
	for _, width := range []int64{1400, 700, 390} {
		b.Resize(width, 900)
		open("01_sinkhorn.html")
		b.Until(frame + `.contentWindow.page.problem.settled`)
		require.InDelta(t, 6, b.Number(frame+`.contentWindow.page.problem.n`), 0)
		require.InDelta(t, 1, b.Number(frame+`.contentWindow.page.problem.plan.plan.reduce((a, b) => a + b)`), 1e-9)
		for _, picture := range []string{"clouds", "plan"} {
			b.Until(fmt.Sprintf(`(c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size > 50)(`+
				`%s.contentDocument.querySelector('[data-picture=%s]'))`, frame, picture))
		}
		b.Until(fmt.Sprintf(`(f => f.clientHeight >= f.contentDocument.documentElement.scrollHeight &&
			f.clientHeight <= f.contentDocument.body.scrollHeight + 4)(%s)`, frame))
		require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth`), float64(width))
		b.Picture(fmt.Sprintf("live-figure-%d", width))

		open("04_gromov.html")
		b.Until(`!` + frame + `.contentWindow.page.dirty`)
		require.InDelta(t, 8, b.Number(frame+`.contentWindow.page.scene.truth.length`), 0)
		right := b.Text(frame + `.contentDocument.querySelector('[data-figure=right]').textContent`)
		share, err := strconv.ParseFloat(right, 64)
		require.NoError(t, err)
		require.Greater(t, share, 0.5, "with colors, most of the mass is right")

		open("09_saot.html")
		require.Equal(t, "saot", b.Text(frame+`.contentWindow.page.settings.methods`))
		b.Until(fmt.Sprintf(`(f => f.clientHeight >= f.contentDocument.documentElement.scrollHeight)(%s)`, frame))
	}
}
