package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// Tests share a browser, and none sees what another one stored.
func TestTabsShareABrowser(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	browsers := map[*chromedp.Browser]bool{}
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("-short: starts a browser")
			}
			ctx := Start(t)
			browsers[chromedp.FromContext(ctx).Browser] = true
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(web.URL)))
			stored, err := chromedp.Run(ctx, chromedp.Evaluate[string](`
				(found => {
					localStorage.setItem('found', 'something');
					return (found ?? 'nothing') + ' at ' + innerWidth;
				})(localStorage.getItem('found'))`))
			require.NoError(t, err)
			require.Equal(t, "nothing at 1400", stored)
		})
	}
	require.LessOrEqual(t, len(browsers), 1)
}
