package playground

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// site is the playground that the tests of this package share. The first that needs it builds the modules.
var site struct {
	build  sync.Once
	server *Server
	fault  error
}

// served returns the playground with its modules.
func served(t *testing.T) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	site.build.Do(func() {
		if site.server, site.fault = NewServer(context.Background(), ""); site.fault == nil {
			site.fault = site.server.Wait()
		}
	})
	require.NoError(t, site.fault)
	return site.server
}

func TestMain(m *testing.M) {
	os.Exit(browsertest.Main(m, func() error {
		if site.server == nil {
			return nil
		}
		return site.server.Close()
	}))
}

// tab is a browser on the playground, which is served under a prefix.
type tab struct {
	*browsertest.Tab
	site  string // address with the final slash
	loads int
}

func open(t *testing.T) *tab {
	t.Helper()
	s := served(t) // before the tab: the first build may take longer than a tab has
	b := &tab{Tab: browsertest.Open(t)}
	web := httptest.NewServer(http.StripPrefix("/some/prefix", s))
	b.site = web.URL + "/some/prefix/"
	t.Cleanup(func() {
		for _, url := range b.Asked() {
			require.True(t, strings.HasPrefix(url, b.site) || url == "about:blank", "%s leaves the origin", url)
		}
		web.Close()
	})
	return b
}

// at opens a page in a state, and waits until the solver is there and has settled.
func (b *tab) at(t *testing.T, page string) {
	t.Helper()
	b.T = t
	b.loads++
	page, fragment, _ := strings.Cut(page, "#")
	b.Go(fmt.Sprintf("%s%s?%d#%s", b.site, page, b.loads, fragment)) // another fragment alone would not load it again
	b.settled()
}

func (b *tab) settled() {
	b.T.Helper()
	b.Until(`document.body?.dataset.ready !== undefined && (page.problem?.settled ?? !page.dirty)`)
}

// press clicks on the element with an id.
func (b *tab) press(id string) {
	b.T.Helper()
	b.Click(b.Middle(`document.getElementById('` + id + `')`))
}

// set moves a control, as its user does.
func (b *tab) set(name, value string) {
	b.T.Helper()
	b.Do(fmt.Sprintf(`{const c = document.querySelector('[name="%s"]'); c.value = '%s';
		for (const e of ['input', 'change']) c.dispatchEvent(new Event(e)); true}`, name, value))
}

// tool presses a button of the tools.
func (b *tab) tool(name string) {
	b.T.Helper()
	b.Click(b.Middle(`document.querySelector('[data-tool="` + name + `"]')`))
}

// place returns a place in a picture; x and y are shares of its width and height, from the upper left corner.
func (b *tab) place(picture string, x, y float64) [2]float64 {
	b.T.Helper()
	b.Do(`document.querySelector('[data-picture="` + picture + `"]').scrollIntoView({block: 'center'}), true`)
	box := b.Numbers(`(r => [r.x, r.y, r.width, r.height])(document.querySelector('[data-picture="` + picture +
		`"]').getBoundingClientRect())`)
	return [2]float64{box[0] + x*box[2], box[1] + y*box[3]}
}

// point returns the place of a point of a cloud.
func (b *tab) point(cloud string, index int) [2]float64 {
	b.T.Helper()
	const margin = 16
	corner, end := b.place("clouds", 0, 0), b.place("clouds", 1, 1)
	xy := b.Numbers(fmt.Sprintf("page.problem.%s.slice(%d, %d)", cloud, 2*index, 2*index+2))
	size := end[0] - corner[0] - 2*margin
	return [2]float64{corner[0] + margin + xy[0]*size, end[1] - margin - xy[1]*size}
}

// near requires that two lists of numbers agree up to what exp and the order of sums in the two runtimes allow.
func near(t *testing.T, want, is []float64, tolerance float64) {
	t.Helper()
	require.Len(t, is, len(want))
	for i := range want {
		require.InDelta(t, want[i], is[i], tolerance, "entry %d", i)
	}
}
