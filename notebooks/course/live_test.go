package course

import (
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

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

// A frame holds its page: nothing in it scrolls, on a screen and on a phone.
func framed(b *browsertest.Tab, web string, addresses []string) {
	for width, height := range map[int64]float64{960: 71 * 16, 348: 101 * 16} {
		b.Resize(width, 900)
		for _, address := range addresses {
			b.Go("about:blank")
			b.Go(web + address)
			b.Until(`document.body.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
			high := b.Number(`document.body.scrollHeight`)
			require.LessOrEqual(b.T, high, height-2, "%s in %d pixels", address, width)
			require.LessOrEqual(b.T, b.Number(`document.documentElement.scrollWidth`), float64(width), address)
		}
	}
}

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
	var frames []string
	for slug := range states {
		l := live("00_"+slug, "..")
		for _, address := range []string{string(l.Address), string(l.Frame)} {
			if address == "" {
				continue
			}
			file, fragment, _ := strings.Cut(address, "#")
			if address == string(l.Frame) {
				frames = append(frames, strings.TrimPrefix(address, ".."))
			}
			b.Go("about:blank") // another fragment alone would not load the page again
			b.Go(web.URL + path.Join("/course", file) + "#" + fragment)
			b.Until(`document.body.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
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
				require.Equal(t, values[0], b.Text(`String(page.settings.`+key+`)`), "%s: %s", address, key)
			}
		}
	}
	require.NotEmpty(t, frames)
	framed(b, web.URL, frames)
}
