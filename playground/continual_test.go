package playground

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/playground/training"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
)

// trainTab is a browser tab with the continual page.
type trainTab struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	wrong []string
	asked func() []string
	base  string
}

// small is a stream that a worker learns in seconds.
const small = "#tasks=2&nodes=160&words=12&points=16&buffer=10&epochs=3&methods=saot.random&show=saot.random&recording="

func openTraining(t *testing.T) *trainTab {
	if testing.Short() {
		t.Skip("-short: starts a browser")
	}
	b := &trainTab{t: t, ctx: browsertest.Start(t)}
	server, err := NewServer(b.ctx, "")
	require.NoError(t, err)
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		require.NoError(t, server.Wait())
		require.NoError(t, server.Close())
	})
	b.base = web.URL + "/continual.html"
	b.asked = browsertest.Requests(b.ctx, t)
	require.NoError(t, chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			b.wrong = append(b.wrong, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *cdpruntime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				b.wrong = append(b.wrong, fmt.Sprint(e.Args))
			}
		}
	}))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.wrong, "the console")
		for _, address := range b.asked() {
			require.True(t, strings.HasPrefix(address, web.URL), "the page asks %s", address)
		}
	})
	require.NoError(t, server.Wait(), "the modules")
	return b
}

func (b *trainTab) load(state string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(b.base+state)))
	b.until(`document.body?.dataset.ready === ''`)
	b.do(`window.viewer = () => document.querySelector('saot-recording').shadowRoot;
		window.now = () => viewer().querySelector('.now').textContent;
		window.states = () => [...page.runs.values()].map(r => r.state).join();
		window.said = () => document.querySelector('.status').textContent; true`)
}

func (b *trainTab) do(js string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Evaluate[chromedp.Void](js)), js)
}

func awaited(p *cdpruntime.EvaluateParams) {
	yes := true
	p.AwaitPromise = &yes
}

func value[T any](b *trainTab, js string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js, awaited))
	require.NoError(b.t, err, js)
	return v
}

func (b *trainTab) until(condition string) {
	b.t.Helper()
	err := chromedp.Do(b.ctx, chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(50*time.Millisecond),
		chromedp.WithPollingTimeout(3*time.Minute)))
	if err != nil {
		b.t.Log(value[string](b, `document.body.innerText`))
	}
	require.NoError(b.t, err, condition)
}

func (b *trainTab) press(id string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Click("#"+id)))
}

func (b *trainTab) picture(name string) {
	dir := os.Getenv("SAOT_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(90))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".jpeg"), png, 0o600))
}

// folder writes the files of a run on the page into a folder.
func (b *trainTab) folder(key string) string {
	b.t.Helper()
	files := value[map[string]string](b, `Object.fromEntries(Object.entries(page.runs.get('`+key+`').files).map(([p, d]) => {
		let s = '';
		for (const x of d) s += String.fromCharCode(x);
		return [p.replace('/run/', ''), btoa(s)];
	}))`)
	dir := b.t.TempDir()
	for path, content := range files {
		data, err := base64.StdEncoding.DecodeString(content)
		require.NoError(b.t, err)
		to := filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(b.t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(b.t, os.WriteFile(to, data, 0o600))
	}
	return dir
}

func (b *trainTab) request(key string) (q training.Request) {
	b.t.Helper()
	text := value[string](b, `JSON.stringify(page.runs.get('`+key+`').request)`)
	require.NoError(b.t, json.Unmarshal([]byte(text), &q))
	return q
}

// What the page trains is what pure Go trains in this process: accuracies, losses and the recording, to the last bit
// where both compute alike.
func TestTrainingInTheTab(t *testing.T) {
	b := openTraining(t)
	b.load(small)
	b.press("start")
	b.until(`states() === 'done,done'`)
	b.until(`now() === 'task 2 of 2, step 3'`)
	b.picture("trained")

	for _, key := range []string{"saot", "random"} {
		dir, native := b.folder(key), filepath.Join(t.TempDir(), "native")
		require.NoError(t, training.Run(b.ctx, native, b.request(key), func(training.Message) {}))
		is, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
		require.NoError(t, err)
		want, err := continual.ReadResult(filepath.Join(native, continual.ResultFile))
		require.NoError(t, err)
		require.Equal(t, "go", is.Engine.Name)
		sameScores(t, want.Scores, is.Scores)
		recorded, err := record.Read(dir)
		require.NoError(t, err)
		native2, err := record.Read(native)
		require.NoError(t, err)
		same(t, native2, recorded)

		require.Equal(t, continual.Confirmed, audit(b.ctx, t, dir).Verdict(), "saot audit of %s", key)
		shown := value[string](b, `document.querySelector('[data-method="`+key+`"]').cells[4].textContent`)
		require.Equal(t, fmt.Sprintf("%.1f", is.Scores[0].AP), shown, "AP in the table")
	}
}

// sameScores holds accuracies against each other, which are equal, and the norms of the probes' gradients, which are not:
// gonum sums in assembly on amd64 and in Go in the tab.
func sameScores(t *testing.T, want, got []continual.Score) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Matrix, got[i].Matrix)
		require.Equal(t, want[i].AP, got[i].AP)
		require.Equal(t, want[i].AF, got[i].AF)
		for k := range want[i].Fits {
			for j, fit := range want[i].Fits[k] {
				require.Equal(t, fit.Strength, got[i].Fits[k][j].Strength)
				require.InEpsilon(t, fit.Gradient, got[i].Fits[k][j].Gradient, 1e-6)
			}
		}
	}
}

// same holds two recordings against each other: bit for bit on amd64, where Go fuses no products and sums, and to a
// thousandth elsewhere.
func same(t *testing.T, want, got *record.Recording) {
	t.Helper()
	require.Equal(t, want.Head, got.Head)
	if runtime.GOARCH == "amd64" {
		require.Equal(t, want.Tasks, got.Tasks)
		return
	}
	for i := range want.Tasks {
		for k, f := range want.Tasks[i].Frames {
			for j, v := range f.Terms {
				require.InEpsilon(t, 1+float64(v), 1+float64(got.Tasks[i].Frames[k].Terms[j]), 1e-3)
			}
		}
	}
}

// An audit embeds the tasks again with the model that the tab kept, and confirms the tab's figures.
func audit(ctx context.Context, t *testing.T, dir string) *continual.AuditReport {
	t.Helper()
	r, err := experiment.ResumeRun(dir)
	require.NoError(t, err)
	stream, err := r.OpenStream()
	require.NoError(t, err)
	e, err := r.OpenEngine()
	require.NoError(t, err)
	defer e.Close()
	l, err := r.NewLearner(e, stream)
	require.NoError(t, err)
	opt, err := r.Options()
	require.NoError(t, err)
	opt.Engine, opt.Dir = e, dir
	report, err := continual.Audit(ctx, stream, l, opt)
	require.NoError(t, err)
	return report
}

// Every control of the page does what it says.
func TestTrainingControls(t *testing.T) {
	b := openTraining(t)
	t.Run("recording", func(t *testing.T) {
		b.load("")
		b.until(`document.querySelector('saot-recording') && now() === 'task 9 of 9, step 30'`)
		require.Empty(t, value[string](b, `states()`), "nothing trains before it is asked for")
		b.press("back")
		b.until(`now() === 'task 9 of 9, step 24'`)
		b.until(`location.hash === '#at=8.24'`)
		b.load("#at=3.12")
		b.until(`document.querySelector('saot-recording') && now() === 'task 4 of 9, step 12'`)
	})
	t.Run("settings", func(t *testing.T) {
		b.load(small)
		for name, to := range map[string]string{"homophily": "0.5", "imbalance": "2", "alpha": "0.5", "beta": "1",
			"seed": "2", "tasks": "3", "nodes": "200", "words": "20", "points": "24", "buffer": "20", "epochs": "5"} {
			b.do(`{ const i = document.querySelector('input[name=` + name + `]'); i.value = ` + to +
				`; i.dispatchEvent(new Event('input')) }`)
			require.Equal(t, to, value[string](b, `String(page.settings.`+name+`)`), name)
		}
		b.do(`{ const i = document.querySelector('input[name=eps]'); i.value = Math.log10(0.5); i.dispatchEvent(new Event('input')) }`)
		b.until(`location.hash.includes('homophily=0.5') && location.hash.includes('eps=0.5')`)
		require.Contains(t, value[string](b, `document.querySelector('#command').textContent`),
			"--dataset synthetic,nodes=200,classes=6,degree=4.1,homophily=0.5,imbalance=2,words=20 --method saot --seed 2")
		b.do(`document.querySelector('input[name=train-naive]').click(); document.querySelector('input[name=view-naive]').click()`)
		b.until(`location.hash.includes('methods=saot.naive.random') && location.hash.includes('show=random.naive')`)
	})
	t.Run("steps", func(t *testing.T) {
		b.load(small)
		b.press("step")
		b.until(`states() === 'paused,paused' || states() === 'paused,waiting'`)
		b.until(`document.querySelector('saot-recording') && now() === 'task 1 of 2, step 1'`)
		b.press("step")
		b.until(`now() === 'task 1 of 2, step 2'`)
		b.press("back")
		b.until(`now() === 'task 1 of 2, step 1'`)
		b.press("start") // which now says Continue
		b.until(`states() === 'done,done'`)
		require.Equal(t, "task 1 of 2, step 1", value[string](b, `now()`), "who went back stays there")
		b.until(`location.hash.includes('play=1') && location.hash.includes('at=0.1')`)
		address := value[string](b, `location.hash`)
		b.load(address)
		b.until(`states() === 'done,done' && now() === 'task 1 of 2, step 1'`)
		b.press("clear")
		b.until(`page.runs.size === 0 && !location.hash.includes('play')`)
	})
	t.Run("worker lost", func(t *testing.T) {
		b.load(small + "&play=1&epochs=6")
		b.until(`page.runs.get('saot').words.startsWith('task 2 of 2, step 2')`)
		b.do(`page.runs.get('saot').kill()`)
		b.until(`said().includes('The worker of SAOT is gone (the browser ended the worker). 1 of 2 tasks are kept: ' +
			'press Start to continue with task 2.')`)
		b.press("start")
		b.until(`states() === 'done,done'`)
		dir := b.folder("saot")
		require.Equal(t, continual.Confirmed, audit(b.ctx, t, dir).Verdict())
		recorded, err := record.Read(dir)
		require.NoError(t, err)
		require.Len(t, recorded.Tasks, 2)
	})
	t.Run("wrong setting", func(t *testing.T) {
		b.load("#tasks=8&nodes=160&epochs=2&imbalance=8&methods=saot&play=1&recording=")
		b.until(`states() === 'failed' && said().includes('training: ')`)
	})
	t.Run("drop", func(t *testing.T) { b.drop(t) })
	t.Run("pictures", func(t *testing.T) { b.accessible(t) })
}

// drop drops the files of a run folder, and what is none, on the page.
func (b *trainTab) drop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	q := training.Request{Dataset: "synthetic,nodes=160,classes=4,degree=3,words=12", Method: "random", Record: 1,
		Probes: []string{"converged"}}
	require.NoError(t, training.Run(b.ctx, dir, q, func(training.Message) {}))
	b.load(small)
	put := func(files map[string]string) {
		text, err := json.Marshal(files)
		require.NoError(t, err)
		b.do(`{ const dataTransfer = new DataTransfer();
			for (const [name, content] of Object.entries(` + string(text) + `)) dataTransfer.items.add(new File([content], name));
			window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true })) }`)
	}
	files := map[string]string{}
	for _, name := range []string{"head.json", "task-0001.json", "task-0002.json"} {
		text, err := os.ReadFile(filepath.Join(dir, record.Folder, name))
		require.NoError(t, err)
		files[name] = string(text)
	}
	put(files)
	b.until(`said() === 'Shown: random on synthetic-citation, seed 0.' && now() === 'task 2 of 2, step 0'`)
	put(map[string]string{"head.json": files["head.json"]})
	b.until(`said().startsWith('The recording of head.json has no frames')`)
	put(map[string]string{"head.json": `{"format": "saot-recording", "version": 9}`})
	b.until(`said() === 'head.json has version 9: this page reads version 1.'`)
	put(map[string]string{"head.json": `{`})
	b.until(`said().startsWith('head.json is not JSON')`)
	put(map[string]string{"notes.json": `{}`})
	b.until(`said().startsWith('There is no recording in these files')`)
}

// accessible looks at the page at the widths of a phone and of a desk, light and dark: axe finds no violation, and
// nothing is wider than the page.
func (b *trainTab) accessible(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("no axe-core in playground/node_modules (npm ci brings it)")
	}
	for _, width := range []int64{380, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
			b.load("")
			b.until(`document.querySelector('saot-recording') && now() === 'task 9 of 9, step 30'`)
			require.LessOrEqual(t, value[int64](b, `document.documentElement.scrollWidth`), width)
			b.do(string(axe) + `; true`)
			found := value[string](b, `axe.run().then(r => r.violations.map(v => v.id + ': ' +
				v.nodes.map(n => n.target + ' ' + n.failureSummary).join('; ')).join('\n'))`)
			require.Empty(t, found, "axe at %d pixels, %s", width, scheme)
			b.picture(fmt.Sprintf("continual-%d-%s", width, scheme))
		}
	}
}

// A hundred starts and restarts leave no worker and no memory behind.
func TestTrainingRestarts(t *testing.T) {
	b := openTraining(t)
	b.load(small)
	heap := func() float64 {
		_, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(t, err)
		used, err := chromedp.Call(b.ctx, cdpruntime.GetHeapUsage, cdp.Empty{})
		require.NoError(t, err)
		return used.UsedSize + used.BackingStorageSize
	}
	restart := func(times int) {
		b.do(fmt.Sprintf(`window.restarts = 0; (async () => {
			for (let i = 0; i < %d; i++) {
				page.start();
				while (!/start|run/.test(states())) await new Promise(r => setTimeout(r, 10));
				page.clear();
				window.restarts++;
			}
		})(); true`, times))
		b.until(fmt.Sprintf(`window.restarts === %d`, times))
	}
	restart(10)
	before := heap()
	restart(100)
	require.Less(t, heap(), before+2e6, "bytes of the page's heap after a hundred restarts")
	require.Equal(t, "", value[string](b, `states()`))
	b.press("start")
	b.until(`states() === 'done,done'`)
}
