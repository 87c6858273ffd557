package course

import (
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/playground"
)

// Each link of a page leads to a page of the playground that shows the state of the address, without an error; so does
// each frame.
func TestPlaygroundShowsEachState(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	s, err := playground.NewServer(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, s.Wait())
	defer func() { require.NoError(t, s.Close()) }()
	web := httptest.NewServer(s)
	defer web.Close()
	b := browsertest.Open(t)
	for slug := range states {
		l := live("00_"+slug, "..")
		for _, address := range []string{string(l.Address), string(l.Frame)} {
			if address == "" {
				continue
			}
			file, fragment, _ := strings.Cut(address, "#")
			b.Go("about:blank") // another fragment alone would not load the page again
			b.Go(web.URL + path.Join("/course", file) + "#" + fragment)
			b.Until(`document.body.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
			if strings.HasPrefix(path.Base(file), "continual") {
				b.Until(`document.querySelector('saot-recording')?.shadowRoot.querySelectorAll('.panel').length > 3`)
			}
			require.Empty(t, b.Text(`document.querySelector('.status.wrong')?.textContent ?? ''`), address)
			keys, err := url.ParseQuery(fragment)
			require.NoError(t, err)
			_, framed := keys["embed"]
			require.Equal(t, framed, b.Text(`getComputedStyle(document.querySelector('.top')).display`) == "none", address)
			delete(keys, "embed")
			for key, values := range keys {
				require.Equal(t, values[0], b.Text(`String(page.settings.`+key+`)`), "%s: %s", address, key)
			}
		}
	}
}
