package viewer

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/gif"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/saot/continual/record"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// browser is a tab with a page of the viewer.
type browser struct {
	*browsertest.Tab
	page string
}

// open opens a page.
func open(t *testing.T, runs ...Run) *browser {
	html, err := Page("a page", runs...)
	require.NoError(t, err)
	b := &browser{Tab: browsertest.Open(t)}
	b.page = b.Show(html)
	b.ready()
	return b
}

// helpers stand in the page: the viewer, a panel's element by a selector, and whether a frame is drawn.
const helpers = `
	window.viewer = document.querySelector('saot-recording');
	window.root = viewer.shadowRoot;
	window.panel = (name, k = 0) => root.querySelectorAll('[data-panel="' + name + '"]')[k];
	window.now = () => root.querySelector('.now').textContent;
	window.button = name => [...root.querySelectorAll('button')].find(b => (b.ariaLabel ?? b.textContent) === name);
	window.choose = (label, value) => {
		const s = root.querySelector('select[aria-label="' + label + '"]');
		s.value = value;
		s.dispatchEvent(new Event('change'));
	};
	true`

// packed is the page's recordings, and the tasks of the first as a list of its own.
const packed = `window.packed = JSON.parse(viewer.querySelector('script[type="application/json"]').textContent);
	window.whole = structuredClone(packed[0].recording.tasks);
	`

func (b *browser) ready() {
	b.T.Helper()
	b.Do(helpers)
	b.Until(`now() === 'task 1 of 3, step 0' && panel('embedding').querySelector('.node') !== null`)
}

func one(t *testing.T) Run {
	r := invented(t, "saot", 0, true)
	return Run{Name: Name(r), Recording: r}
}

// crossed lists the texts that leave their panel, and the texts of the curves that stand over one another.
const crossed = `(() => {
	const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
		Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
	const boxes = all => [...all].map(e => [e.textContent, e.getBoundingClientRect()]);
	const found = [];
	for (const panel of root.querySelectorAll('.panel')) {
		const own = panel.getBoundingClientRect(), texts = boxes(panel.querySelectorAll('text'));
		for (const [text, box] of texts)
			if (Math.min(box.left - own.left, own.right - box.right, box.top - own.top, own.bottom - box.bottom) < -1)
				found.push(text + ' leaves its panel');
		if (panel.dataset.panel !== 'curves') continue;
		texts.forEach(([text, box], i) => texts.slice(0, i).forEach(([other, b]) => {
			if (over(box, b)) found.push(text + ' stands over ' + other);
		}));
	}
	return found.join('\n');
})()`

// Both widths, in light and dark: every panel is there, inside the window, and in the colors of the scheme.
func TestWidthsAndSchemes(t *testing.T) {
	other := invented(t, "gbt", 0, false)
	for name, runs := range map[string][]Run{"one": {one(t)}, "two": {one(t), {Name: Name(other), Recording: other}}} {
		t.Run(name, func(t *testing.T) {
			b := open(t, runs...)
			for _, width := range []int64{380, 1400} {
				b.Resize(width, 1000)
				for _, scheme := range []string{"light", "dark"} {
					b.Scheme(scheme)
					b.Until(fmt.Sprintf(`getComputedStyle(viewer).getPropertyValue('--back') === '%s'`,
						map[string]string{"light": "#ffffff", "dark": "#16181c"}[scheme]))
					b.Until(fmt.Sprintf(`panel('curves').querySelector('text').getAttribute('fill') === '%s'`,
						map[string]string{"light": "#222222", "dark": "#e8e8e8"}[scheme]))
					b.Picture(fmt.Sprintf("viewer-%s-%d-%s", name, width, scheme))
				}
				require.Equal(t, float64(5*len(runs)), b.Number(`root.querySelectorAll('.panel').length`))
				require.LessOrEqual(t, b.Number(`document.documentElement.scrollWidth`), float64(width))
				require.Zero(t, b.Number(`[...root.querySelectorAll('.panel')].filter(p => {
					const box = p.getBoundingClientRect();
					return box.width < 200 || box.height < 150 || box.left < 0 || box.right > window.innerWidth;
				}).length`), "panels that are too small, or out of the window")
				for _, group := range []string{"gradient", "error", "other", "loss"} {
					b.Do(`choose('which curves are shown', '` + group + `'), true`)
					b.Until(`panel('curves').getAttribute('aria-label').startsWith(
						root.querySelector('select[aria-label="which curves are shown"]').selectedOptions[0].text)`)
					require.Empty(t, b.Text(crossed), "curves of %s at %d pixels", group, width)
				}
				sides := b.Number(`panel('embedding').getBoundingClientRect().width`)
				require.Equal(t, width == 380, sides > float64(width)*0.8, "narrow windows have one column")
			}
		})
	}
}

// The address of a page may name its theme, which the page has before its body is there.
func TestThemeOfTheAddress(t *testing.T) {
	b := open(t, one(t))
	_, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: `new MutationObserver((_, o) => {
			if (!document.body) return;
			window.first = document.documentElement.dataset.theme;
			o.disconnect();
		}).observe(document, {childList: true, subtree: true})`})
	require.NoError(t, err)
	looks := func(back, scheme string) {
		b.T.Helper()
		b.Until(`document.documentElement.dataset.theme === '` + scheme + `' &&
			getComputedStyle(viewer).backgroundColor === '` + back + `' && viewer.style.colorScheme === '` + scheme + `'`)
	}
	const white, black = "rgb(255, 255, 255)", "rgb(22, 24, 28)"
	b.Scheme("light")
	b.Do(`window.before = true, location.hash = '#theme=dark', location.reload(), true`)
	b.Until(`window.before === undefined && document.readyState === 'complete'`)
	b.ready()
	require.Equal(t, "dark", b.Text(`first`))
	require.Equal(t, black, b.Text(`getComputedStyle(document.body).backgroundColor`))
	looks(black, "dark")
	b.Do(`location.hash = '#theme=light', true`)
	b.Scheme("dark")
	looks(white, "light")
	b.Do(`location.hash = '', true`)
	looks(black, "dark")
	b.Scheme("light")
	looks(white, "light")
	b.Do(`viewer.remove(), location.hash = '#theme=dark', true`)
	b.Until(`document.documentElement.dataset.theme === 'dark'`)
	require.Equal(t, "light", b.Text(`viewer.style.colorScheme`), "who has left the page listens no more")
}

// The names of curves are in the color of other texts, which is easy to read, next to a sample of the curve.
func TestNamesOfCurves(t *testing.T) {
	b := open(t, one(t))
	looks := func(paths string) string {
		return b.Text(`[...panel('curves').querySelectorAll('` + paths + `')].map(p =>
			p.getAttribute('stroke') + p.getAttribute('stroke-dasharray')).join()`)
	}
	require.NotEmpty(t, looks("path"))
	require.Equal(t, looks("path:not(.sample)"), looks("path.sample"))
	require.Zero(t, b.Number(`[...panel('curves').querySelectorAll('.sample')].filter(p =>
		p.nextSibling.getAttribute('fill') !== panel('curves').querySelector('text').getAttribute('fill')).length`))
}

// entry returns the middle of an entry of the plan map. The map's nodes are in the order of their classes.
func (b *browser) entry(row, column int) (x, y float64) {
	b.T.Helper()
	b.Do(`panel('plan').scrollIntoView({block: 'center'}), true`)
	const place = `(() => {
		const box = panel('plan').getBoundingClientRect();
		const width = panel('plan').viewBox.baseVal.width, cell = (width - 30) / 8, scale = box.width / width;
		return box.%s + scale * (%s + (%d + 0.5) * cell);
	})()`
	return b.Number(fmt.Sprintf(place, "left", "22", column)), b.Number(fmt.Sprintf(place, "top", "34", row))
}

// chosen lists the marked nodes of a panel.
func (b *browser) chosen(panel string) string {
	b.T.Helper()
	return b.Text(`[...panel('` + panel + `').querySelectorAll('.chosen')].map(e => e.dataset.node).join()`)
}

func TestScrubAndPlay(t *testing.T) {
	b := open(t, one(t))
	b.Do(`const s = root.querySelector('input[type=range]'); s.value = 8; s.dispatchEvent(new Event('input')); true`)
	b.Until(`now() === 'task 2 of 3, step 4'`)
	require.Equal(t, "task 2 of 3, step 4",
		b.Text(`root.querySelector('input[type=range]').getAttribute('aria-valuetext')`))
	first := b.Text(`panel('embedding').innerHTML`)
	cursor := b.Number(`Number(panel('curves').querySelector('line[pointer-events]').getAttribute('x1'))`)

	b.Click(b.Middle(`button('frame forward')`))
	b.Until(`now() === 'task 2 of 3, step 6'`)
	require.NotEqual(t, first, b.Text(`panel('embedding').innerHTML`))
	require.Greater(t, b.Number(`Number(panel('curves').querySelector('line[pointer-events]').getAttribute('x1'))`), cursor)
	b.Click(b.Middle(`button('first frame')`))
	b.Until(`now() === 'task 1 of 3, step 0'`)

	b.Do(`choose('speed', '60'), window.seen = [], viewer.addEventListener('saot-frame', e => seen.push(e.detail.moment)), true`)
	b.Click(b.Middle(`button('play')`))
	b.Until(`button('pause') !== undefined && seen.length > 2`)
	b.Until(`now() === 'task 3 of 3, step 10' && button('play') !== undefined`)
	require.Equal(t, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", b.Text(`seen.join()`), "every frame, once")

	// Pressing the curves shows the moment, and dragging follows.
	b.Do(`panel('curves').scrollIntoView({block: 'center'}), true`)
	left := b.Number(`panel('curves').getBoundingClientRect().left`)
	width := b.Number(`panel('curves').getBoundingClientRect().width`)
	_, y := b.Middle(`panel('curves')`)
	b.Click(left+46+(width-56)*8/17, y)
	b.Until(`now() === 'task 2 of 3, step 4'`)
}

// Equal accuracies have equal colors in both runs, whatever else their matrices hold.
func TestMatricesShareColors(t *testing.T) {
	other := invented(t, "gbt", 0, false)
	other.Tasks[2].Scores[0].Accuracy[1] = 10
	b := open(t, one(t), Run{Name: "other", Recording: other})
	b.Do(`viewer.tabIndex = 0, viewer.focus(), true`)
	b.Press(kb.End)
	b.Until(`panel('matrix', 1).querySelector('[data-row="2"][data-column="1"]').dataset.value === '10.0'`)
	fill := func(k int) string {
		return b.Text(fmt.Sprintf(`panel('matrix', %d).querySelector('[data-row="2"]').getAttribute('fill')`, k))
	}
	require.Equal(t, fill(0), fill(1))
}

// Numbers are easy to read on every color, and accuracies of 100 have the best one.
func TestNumbersOfCells(t *testing.T) {
	b := open(t, one(t))
	show := func(accuracies string) {
		b.Do(packed + `window.left = ` + accuracies + `;
			for (const task of packed[0].recording.tasks) {
				task.scores.length = 1;
				task.scores[0].accuracy = left.splice(0, task.task + 1);
			}
			viewer.runs = packed, viewer.showFrame(Infinity), true`)
		b.Until(`now() === 'task 3 of 3, step 10' && panel('matrix').querySelectorAll('[data-value]').length === 6`)
	}
	show(`[0, 42, 44, 45, 50, 100]`)
	require.Equal(t, []float64{6, 0}, b.Numbers(`(cells => [cells.length, cells.filter(c => {
		const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
		const light = c.getAttribute('fill').match(/\d+/g)
			.reduce((l, v, k) => l + [0.2126, 0.7152, 0.0722][k] * linear(v / 255), 0);
		const contrast = c.nextSibling.getAttribute('fill') === '#fff' ? 1.05 / (light + 0.05) : (light + 0.05) / 0.05;
		return contrast < 4.5;
	}).length])([...panel('matrix').querySelectorAll('[data-value]')])`))
	best := b.Text(`panel('matrix').querySelector('[data-value="100.0"]').getAttribute('fill')`)
	show(`[100, 100, 100, 100, 100, 100]`)
	require.Equal(t, best, b.Text(`panel('matrix').querySelector('[data-value="100.0"]').getAttribute('fill')`))
}

// Cells without room for their numbers have a key to their colors.
func TestKeyOfSmallCells(t *testing.T) {
	b := open(t, one(t))
	key := `[...panel('matrix').querySelectorAll('text')].map(e => e.textContent).join(' ')`
	require.NotRegexp(t, `\b70 100$`, b.Text(key))
	b.Do(`window.packed = JSON.parse(viewer.querySelector('script[type="application/json"]').textContent);
		packed[0].recording.head.tasks = 40, viewer.runs = packed, true`)
	b.Until(key + `.endsWith('70 100')`)
}

// A pinned frame stays pinned when another run becomes the clock of both.
func TestPinStaysWhileRunsGrow(t *testing.T) {
	short := invented(t, "random", 0, true)
	for k := range short.Tasks {
		short.Tasks[k].Frames = short.Tasks[k].Frames[:1]
	}
	b := open(t, one(t), Run{Name: "short", Recording: short})
	b.Do(`window.packed = JSON.parse(viewer.querySelector('script[type="application/json"]').textContent);
		window.whole = packed[0].recording.tasks;
		packed[0].recording.tasks = [{...whole[0], frames: whole[0].frames.slice(0, 2)}];
		viewer.runs = packed;
		viewer.tabIndex = 0, viewer.focus(), true`)
	b.Press(kb.End)
	b.Until(`now() === 'task 3 of 3, step 0'`)
	b.Press(kb.ArrowLeft) // who stands at the last frame would follow the run
	b.Until(`now() === 'task 2 of 3, step 0'`)
	b.Do(`button('pin').click(), true`)
	b.Until(`button('pinned') !== undefined`)
	b.Do(`packed[0].recording.tasks = whole, viewer.grow(), true`)
	b.Until(`root.querySelector('input[type="range"]').value === '6' && button('pinned') !== undefined`)
}

// Differences of two plans: with the plan between graphs, with a pinned frame, with another run.
func TestDifferences(t *testing.T) {
	other := invented(t, "saot", 1, true)
	other.Head.Seed = 0
	b := open(t, one(t), Run{Name: "twice", Recording: other})
	mass := func(k int) string {
		x, y := b.entry(4, 4)
		if k == 1 {
			x += b.Number(`panel('plan', 1).getBoundingClientRect().left - panel('plan').getBoundingClientRect().left`)
		}
		b.Move(1, 1)
		b.Until(`panel('embedding').querySelectorAll('.chosen').length === 0`)
		b.Move(x, y)
		b.Until(`panel('embedding').querySelectorAll('.chosen').length === 1`)
		_, after, found := strings.Cut(b.Text(`root.querySelector('[role=status]').textContent`), "view 2: ")
		require.True(t, found)
		return after
	}
	b.Do(`viewer.tabIndex = 0, viewer.focus(), true`)
	b.Press(kb.End)
	b.Until(`now() === 'task 3 of 3, step 10'`)
	// On the diagonal π·n² is 1 − s + 8s: s is 0.5 in the first run at its end, 1 in the second, 0.9 between graphs.
	require.Equal(t, "4.5 times the uniform mass", mass(0))
	const said = `root.querySelector('[role=status]').textContent`
	b.Press(kb.ArrowLeft)
	b.Until(`now() === 'task 3 of 3, step 8' && !` + said + `.endsWith(' 4.5 times the uniform mass')`)
	b.Press(kb.ArrowRight)
	b.Until(said + `.endsWith(' 4.5 times the uniform mass')`)
	b.Move(1, 1)
	b.Until(said + ` === ''`)
	require.Equal(t, "8 times the uniform mass", mass(1))
	b.Do(`choose('what the map shows', 'ab'), true`)
	require.Equal(t, "−3.5 times the uniform mass", mass(0))
	require.Equal(t, "3.5 times the uniform mass", mass(1))
	b.Do(`choose('what the map shows', 'z-g'), true`)
	require.Equal(t, "−2.8 times the uniform mass", mass(0))
	b.Do(`choose('what the map shows', 'pin'), true`)
	b.Until(`panel('plan').textContent.includes('pin a frame of this task')`)
	b.Press("P")
	b.Until(`button('pinned') !== undefined`)
	b.Press(kb.ArrowLeft)
	b.Until(`now() === 'task 3 of 3, step 8'`)
	require.Equal(t, "−0.7 times the uniform mass", mass(0))
}

// Two runs of unlike lengths are on one clock: the same task, and the same share of its steps.
func TestTwoRunsOnOneClock(t *testing.T) {
	short := invented(t, "gbt", 0, false)
	for i := range short.Tasks {
		f := short.Tasks[i].Frames
		short.Tasks[i].Frames = []record.Frame{f[1], f[5]} // at a fifth of the steps, and at the end
	}
	short.Tasks = short.Tasks[:2]
	b := open(t, Run{Name: "short", Recording: short}, one(t))
	b.Do(`viewer.tabIndex = 0, viewer.focus(), true`)
	nodes := `panel('embedding').querySelectorAll('.node').length`
	places := `panel('embedding').querySelector('.node').getAttribute('d')`
	early := b.Text(places)
	b.Press(kb.ArrowRight)
	b.Until(`now() === 'task 1 of 3, step 2'`)
	require.Equal(t, early, b.Text(places))
	for range 3 {
		b.Press(kb.ArrowRight)
	}
	b.Until(`now() === 'task 1 of 3, step 8'`)
	require.NotEqual(t, early, b.Text(places))
	require.Equal(t, float64(8), b.Number(nodes))
	require.Contains(t, b.Text(`panel('plan').textContent`), "no plan in this frame")
	b.Press(kb.End)
	b.Until(`now() === 'task 3 of 3, step 10'`)
	require.Zero(t, b.Number(nodes), "the short run has no third task")
	// A press in the matrix of the run that is not the clock moves both.
	b.Click(b.Middle(`panel('matrix').querySelector('[data-row="1"]')`))
	b.Until(`now() === 'task 2 of 3, step 10'`)
}

// Two runs that still learn a task are on one clock by their steps.
func TestTwoLiveRunsOnOneClock(t *testing.T) {
	b := open(t, one(t), Run{Name: "other", Recording: invented(t, "gbt", 0, false)})
	b.Do(packed + `for (const [run, frames] of [3, 5].entries())
			packed[run].recording.tasks = [{...whole[0], scores: [], frames: whole[0].frames.slice(0, frames)}];
		viewer.runs = packed, viewer.showFrame(2), true`)
	b.Until(`now() === 'task 1 of 3, step 4'`)
	require.InDelta(t, 2, b.Number(`viewer.momentOf(viewer.columns[0].run, 2)`), 0)
	b.Do(`for (const run of packed) run.recording.tasks[0].scores = whole[0].scores;
		viewer.runs = packed, true`)
	require.InDelta(t, 1, b.Number(`viewer.momentOf(viewer.columns[0].run, 2)`), 0, "half of the steps")
}

// A run without plans has no choice of maps.
func TestRunWithoutPlans(t *testing.T) {
	r := invented(t, "gbt", 0, false)
	b := open(t, Run{Name: Name(r), Recording: r})
	require.Equal(t, float64(4), b.Number(`root.querySelectorAll('.panel').length`))
	require.Zero(t, b.Number(`root.querySelector('select[aria-label="what the map shows"]').getBoundingClientRect().width`))
	require.Positive(t, b.Number(`button('pin').getBoundingClientRect().width`), "films begin at it")
	b.Move(b.Middle(`panel('graphs').querySelector('[data-node="2"]')`))
	b.Until(`panel('embedding').querySelector('.chosen')?.dataset.node === '2'`)
	require.Equal(t, "node 14 of class 0", b.Text(`root.querySelector('[role=status]').textContent`))
}

// exported presses a button and returns the file that the viewer would save.
func (b *browser) exported(name string) (file string, content []byte) {
	b.T.Helper()
	b.Do(`window.file = null, viewer.addEventListener('saot-export', async e => {
		e.preventDefault();
		const bytes = new Uint8Array(await e.detail.content.arrayBuffer());
		let text = '';
		for (const v of bytes) text += String.fromCharCode(v);
		window.file = [e.detail.name, btoa(text)];
	}, {once: true}), true`)
	b.Click(b.Middle(`button('` + name + `')`))
	b.Until(`window.file !== null`)
	content, err := base64.StdEncoding.DecodeString(b.Text(`file[1]`))
	require.NoError(b.T, err)
	return b.Text(`file[0]`), content
}

func TestExportFrame(t *testing.T) {
	b := open(t, one(t))
	b.Do(`root.querySelector('input[type=range]').focus(), true`)
	b.Press(kb.PageDown)
	b.Until(`now() === 'task 2 of 3, step 0'`)
	name, svg := b.exported("save this frame as SVG")
	require.Equal(t, "saot-on-ring-seed-0-task2-step0.svg", name)
	elements := browsertest.Elements(t, string(svg))
	require.Equal(t, 6, elements["svg"], "the picture, and five panels")
	require.Greater(t, elements["path"], 60)
	require.Contains(t, string(svg), "task 2 of 3, step 0")
	require.NotContains(t, string(svg), "var(", "colors are values: the picture stands alone")
	// A browser draws it by itself.
	width := b.Number(`new DOMParser().parseFromString(atob(file[1]), 'image/svg+xml').documentElement.viewBox.baseVal.width`)
	require.Greater(t, width, 600.0)
}

func TestExportFilm(t *testing.T) {
	b := open(t, one(t))
	name, film := b.exported("GIF")
	require.Equal(t, "saot-on-ring-seed-0-task1-step10.gif", name)
	g, err := gif.DecodeAll(bytes.NewReader(film))
	require.NoError(t, err)
	require.Len(t, g.Image, 6, "the frames of the task")
	require.Zero(t, g.LoopCount, "for ever")
	for i, frame := range g.Image {
		require.Equal(t, g.Image[0].Rect, frame.Rect)
		require.LessOrEqual(t, frame.Rect.Dx(), 900)
		seen := map[uint8]bool{}
		for _, v := range frame.Pix {
			seen[v] = true
		}
		require.Greater(t, len(seen), 20, "colors of frame %d", i)
		if i > 0 {
			require.NotEqual(t, g.Image[i-1].Pix, frame.Pix)
		}
	}
	require.Equal(t, "task 1 of 3, step 0", b.Text(`now()`), "the film leaves the frame as it was")
	if dir := os.Getenv("SAOT_SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "viewer-film.gif"), film, 0o600))
	}

	b.Do(`choose('frames of the film', 'pin'), true`)
	b.Click(b.Middle(`button('GIF')`))
	b.Until(`root.querySelector('[role=status]').textContent.startsWith('pin a frame')`)
	b.Do(`button('frame forward').focus(), true`)
	b.Press("p" + kb.ArrowRight + kb.ArrowRight)
	b.Until(`now() === 'task 1 of 3, step 4'`)
	_, film = b.exported("GIF")
	g, err = gif.DecodeAll(bytes.NewReader(film))
	require.NoError(t, err)
	require.Len(t, g.Image, 3, "from the pinned frame to this one")

	b.Do(`choose('frames of the film', 'all'), true`)
	_, film = b.exported("GIF")
	g, err = gif.DecodeAll(bytes.NewReader(film))
	require.NoError(t, err)
	require.Len(t, g.Image, 18)
}

// A film of a long run keeps its first and last frame, and no more frames than it may have.
func TestFilmOfALongRun(t *testing.T) {
	b := open(t, one(t))
	b.Do(packed + `choose('frames of the film', 'all'), true`)
	for moments, frames := range map[int]int{1: 1, 2: 2, 150: 150, 151: 76, 300: 101} {
		b.Do(fmt.Sprintf(`packed[0].recording.tasks = [{...whole[0], frames: Array.from({length: %d}, (_, step) => ({step}))}];
			viewer.runs = packed, true`, moments))
		film := b.Numbers(`viewer.moments()`)
		require.Len(t, film, frames)
		require.Equal(t, []float64{0, float64(moments - 1)}, []float64{film[0], film[len(film)-1]})
	}
}

// The element may stand after its script, in which case the page comes to it before its data.
func TestScriptBeforeElement(t *testing.T) {
	b := open(t, one(t))
	address, err := url.Parse(b.page)
	require.NoError(t, err)
	text, err := os.ReadFile(address.Path)
	require.NoError(t, err)
	element, err := Element(one(t))
	require.NoError(t, err)
	page := strings.Replace(string(text), string(element), "", 1)
	page = strings.Replace(page, "</body>", string(element)+"</body>", 1)
	require.NoError(t, os.WriteFile(address.Path, []byte(page), 0o600))
	b.Go(b.page)
	b.ready()
	require.Equal(t, float64(5), b.Number(`root.querySelectorAll('.panel').length`))
}

// What is not a recording is said on the page, and nothing fails.
func TestDamagedData(t *testing.T) {
	b := open(t, one(t))
	b.Do(`const v = document.createElement('saot-recording');
		v.innerHTML = '<script type="application/json">[{"name": </scr' + 'ipt>';
		document.body.append(v); window.damaged = v; true`)
	b.Until(`damaged.shadowRoot.querySelector('[role=alert]')?.textContent.startsWith('The recording cannot be read')`)
	b.Do(`damaged.runs = [{name: 'none', recording: {head: {}, tasks: null}}], true`)
	b.Until(`damaged.shadowRoot.querySelector('[role=alert]').textContent === 'The recording has no frames.'`)
	b.Press(kb.ArrowRight)
}
