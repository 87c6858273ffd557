package report

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// recorded writes a small recording next to a result.
func recorded(t *testing.T, resultPath string) {
	w, err := record.Create(filepath.Dir(resultPath), record.Head{Method: "saot", Dataset: "uai", Every: 1, Tasks: 2})
	require.NoError(t, err)
	points, err := record.Quantize([]float32{1, 2, -1, 0, 0, -2})
	require.NoError(t, err)
	for task := range 2 {
		require.NoError(t, w.Begin(record.Task{Task: task, Nodes: []int32{1, 2, 3}, Classes: []int32{0, 1, 1},
			Edges: []record.Edge{{0, 1}}, Terms: []string{"total"}, Figures: []string{}}))
		for step := range 3 {
			require.NoError(t, w.Add(record.Frame{Step: step, Terms: []record.Number{2}, Points: points}))
		}
		require.NoError(t, w.End(nil))
	}
}

// The recording of a run is on the page, and plays when it is unfolded.
func TestRecordingsOnThePage(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, gbt], seeds: [0, 1]}\n",
		func(experiment.Run) float64 { return 60 })
	all, _, err := recordings(groups)
	require.NoError(t, err)
	require.Empty(t, all)
	recorded(t, groups[0].Paths[1])
	all, left, err := recordings(groups)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Zero(t, left)
	require.Equal(t, groups[0].Label+" on uai", all[0].Name)
	page, err := Page("recorded", groups, nil)
	require.NoError(t, err)
	damaged := filepath.Join(filepath.Dir(groups[0].Paths[1]), record.Folder, "task-0002.json")
	require.NoError(t, os.WriteFile(damaged, []byte("{}"), 0o600))
	_, err = Page("recorded", groups, nil)
	require.ErrorContains(t, err, damaged)

	b := browsertest.Open(t)
	b.Show(page)
	b.Do(`window.root = document.querySelector('saot-recording').shadowRoot, true`)
	require.Zero(t, b.Number(`root.querySelectorAll('.panel').length`), "it is not read before that")
	b.Do(`document.querySelector('details.saot-recording summary').click()`)
	b.Until(`root.querySelector('.panel.embedding')?.getBoundingClientRect().width > 200 &&
		root.querySelectorAll('.panel.embedding .node').length === 3`)
}

// A browser shows every picture and table of the page, and asks for nothing but the page.
func TestPageInABrowser(t *testing.T) {
	b := browsertest.Open(t)
	page, err := Page("Cora-ML", real(t), nil)
	require.NoError(t, err)
	b.Show(page)
	require.Zero(t, b.Number(`[...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).length`), "pictures that are not shown")
	require.Greater(t, b.Number(`document.images.length`), 5.0)
	require.Greater(t, b.Number(`document.querySelectorAll("table.saot-table tbody tr").length`), 10.0)
	require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth - window.innerWidth`), 0.0, "wider than the window")
}

// wide is a table of 17 columns in a page of a report.
func wide(t *testing.T) []byte {
	t.Helper()
	page, err := Page("Cora-ML", real(t), nil)
	require.NoError(t, err)
	table, err := os.ReadFile("../testdata/table.html")
	require.NoError(t, err)
	return bytes.Replace(page, []byte("<h2>Figures</h2>"), append(table, "<h2>Figures</h2>"...), 1)
}

// On paper no table is cut: a sheet of A4, turned, has room for the widest.
func TestTablesFitThePaper(t *testing.T) {
	b := browsertest.Open(t)
	b.Show(wide(t))
	const sheet = 1046 // pixels: 297 mm without the margins
	b.Resize(sheet, 700)
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	require.Greater(t, b.Number(`document.querySelectorAll('table').length`), 3.0)
	b.Picture("report-print")
	require.Empty(t, b.Text(`[...document.querySelectorAll('table')].filter(table => [...table.querySelectorAll('th, td')].some(
		e => e.getBoundingClientRect().right > innerWidth)).map(table => table.caption?.textContent).join()`))
}

// The page has no violation that axe finds, also where tables scroll.
func TestPageIsAccessible(t *testing.T) {
	axe, err := os.ReadFile("../../../playground/node_modules/axe-core/axe.min.js")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no axe-core in playground/node_modules (npm ci brings it): accessibility is not checked")
	}
	require.NoError(t, err)
	b := browsertest.Open(t)
	b.Show(wide(t))
	b.Resize(500, 900)
	require.Positive(t, b.Number(`[...document.querySelectorAll('.saot-scroll')].filter(
		e => e.scrollWidth > e.clientWidth).length`), "tables that scroll")
	b.Do(`document.querySelectorAll('details').forEach(e => (e.open = true)), true`)
	b.Do(string(axe) + `; window.found = null; axe.run().then(r => window.found = r.violations.map(v =>
		v.id + ': ' + v.nodes.map(n => n.html.slice(0, 200)).join(' ')), e => window.found = [String(e)]); true`)
	b.Until(`found !== null`)
	require.Empty(t, b.Text(`found.join('\n')`))
	require.Empty(t, b.Text(`[...document.querySelectorAll('th')].filter(e => !e.scope || !e.textContent.trim()).map(
		e => e.outerHTML).join()`), "heads say what they are the heads of")
	require.Zero(t, b.Number(`document.querySelectorAll('table:not(:has(> caption)), figure img:not([alt=""])').length`))
}
