package notebooks_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// A page that does not trust a notebook says above a player, and above a recording, that it does not work and what to
// do; one that trusts it shows no such line.
func TestUntrustedNotebooksSaySo(t *testing.T) {
	if testing.Short() {
		t.Skip("driving a browser takes a minute: skipped with -short")
	}
	jupyter := findJupyter(t)
	address, token := lab(t, jupyter, kernel(t)) // whose folder of data is new, so that no notebook is trusted
	for _, c := range []struct{ notebook, note, works string }{
		{"01_sinkhorn.ipynb", "The player below does not move", `document.querySelector('figure button[onclick]')`},
		{"09_saot.ipynb", "The recording below does not show", `document.querySelector('saot-recording')?.shadowRoot`},
	} {
		t.Run(c.notebook, func(t *testing.T) {
			tab := browsertest.Start(t) // a page with changes would hold back the next
			screenshotOnFailure(tab, t)
			shown := fmt.Sprintf(`[...document.querySelectorAll('.jp-OutputArea p')].some(p => p.offsetHeight > 0 && `+
				`p.textContent.startsWith('%s: the notebook is not trusted') && `+
				`p.textContent.includes('Trust Notebook'))`, c.note)
			require.NoError(t, chromedp.Do(tab,
				chromedp.Navigate(address+"/lab/tree/"+c.notebook+"?token="+token),
				until(ready),
				script(fmt.Sprintf(showOutputOf, c.note)),
				until(shown),
				until(`!(`+c.works+`)`),
			), "not trusted")
			require.NoError(t, chromedp.Do(tab,
				// As the command Trust Notebook does, which would also write the file.
				script(`for (const c of jupyterapp.shell.currentWidget.content.widgets) { c.model.trusted = true }`),
				until(c.works),
				until(`!(`+shown+`)`),
			), "trusted")
		})
	}
}

// showOutputOf makes the notebook show the cell whose output has a text: a page draws only cells that are in sight.
const showOutputOf = `(() => {
	const book = jupyterapp.shell.currentWidget.content;
	const at = book.widgets.findIndex(c => JSON.stringify(c.model.toJSON().outputs ?? '').includes('%s'));
	book.activeCellIndex = at;
	book.scrollToItem(at, 'start');
})()`
