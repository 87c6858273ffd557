package playground

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// backs are the colors behind a page, by the theme.
var backs = map[string]string{"light": "rgb(246, 247, 249)", "dark": "rgb(16, 18, 22)"}

// A page has the theme of its address from the start, whatever the system's. Its pictures have it, too.
func TestThemeOfTheAddress(t *testing.T) {
	b := open(t)
	b.prepare(`new MutationObserver((_, o) => {
		if (!document.body) return;
		window.first = document.documentElement.dataset.theme; // nothing is painted before
		o.disconnect();
	}).observe(document, {childList: true, subtree: true})`)
	const back = `getComputedStyle(document.body).backgroundColor`
	for system, other := range map[string]string{"light": "dark", "dark": "light"} {
		b.Scheme(system)
		for _, p := range Pages() {
			for fragment, want := range map[string]string{"": system, "theme=" + other: other, "theme=blue": system} {
				b.Go("about:blank")
				b.Go(b.site + p.Name + ".html#" + fragment)
				b.Until(`document.readyState === 'complete'`)
				require.Equal(t, want, b.Text(`first`), "%s#%s", p.Name, fragment)
				require.Equal(t, backs[want], b.Text(back), "%s#%s", p.Name, fragment)
				require.Equal(t, want, b.Text(`document.querySelector('meta[name=color-scheme]').content`))
				switch p.Name {
				case "transport", "gromov":
					b.settled()
					const faint = `(page.map.paint(), page.map.pen.fillStyle)`
					require.Equal(t, map[string]string{"light": "#5c5c5c", "dark": "#a9adb5"}[want], b.Text(faint))
				case "continual":
					b.Until(drawn)
					require.Equal(t, want, b.Text(`document.querySelector('saot-recording').style.colorScheme`))
				}
			}
		}
	}
}

// The theme stays while the state changes, in links that are copied, and on the way to other pages.
func TestThemeStays(t *testing.T) {
	b := open(t)
	for page, state := range map[string][3]string{"transport": {"t", "0.5"}, "gromov": {"sigma", "0.25"},
		"continual": {"seed", "3"}} {
		b.at(t, page+".html#embed&theme=dark")
		b.set(state[0], state[1])
		b.Until(fmt.Sprintf(`location.hash === '#embed&theme=dark&%s=%s'`, state[0], state[1]))
		b.at(t, page+".html#theme=dark")
		require.Equal(t, b.Text(`location.href`), b.Copied(func() { b.press("share") }))
	}
	b.Click(b.Middle(`document.querySelector('.brand')`))
	b.Until(`document.body?.dataset.page === 'index' && document.readyState === 'complete'`)
	b.Click(b.Middle(`document.querySelector('canvas[data-card=gromov]')`))
	b.Until(`document.body?.dataset.ready !== undefined && document.body?.dataset.page === 'gromov'`)
	require.Equal(t, "#theme=dark", b.Text(`location.hash`))

	const theme = `document.documentElement.dataset.theme`
	b.Scheme("dark")
	b.Do(`location.hash = '#theme=light', true`) // of the open page
	b.Until(theme + ` === 'light' && page.map.pen.fillStyle === '#5c5c5c'`)
	require.Contains(t, b.Text(`document.querySelector('.brand').href`), "/index.html#theme=light")
	b.Do(`location.hash = '', true`)
	b.Until(theme + ` === 'dark'`)
	b.Scheme("light")
	b.Until(theme + ` === 'light'`)
}
