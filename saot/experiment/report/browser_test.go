package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// A browser shows every picture and table of the page, and asks for nothing but the page.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts a browser")
	}
	page, err := Page("Cora-ML", real(t))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, page, 0o644))

	ctx := browsertest.Start(t)
	asked := browsertest.Requests(ctx, t)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+path)))
	number := func(js string) int {
		n, err := chromedp.Run(ctx, chromedp.Evaluate[int](js))
		require.NoError(t, err)
		return n
	}
	require.Zero(t, number(`[...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).length`), "pictures that are not shown")
	require.Greater(t, number(`document.images.length`), 5)
	require.Greater(t, number(`document.querySelectorAll("table.saot-table tbody tr").length`), 10)
	require.LessOrEqual(t, number(`document.documentElement.scrollWidth - window.innerWidth`), 0, "wider than the window")
	require.Equal(t, []string{"file://" + path}, asked())
}
