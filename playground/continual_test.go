package playground

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/playground/training"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// small is a stream that a worker learns in seconds.
const small = "#tasks=2&nodes=160&words=12&points=16&buffer=10&epochs=3&methods=saot.random&show=saot.random" +
	"&recording="

// alone is the same with one run: scores cost a tab more time than steps.
var alone = strings.ReplaceAll(small, "saot.random", "saot")

// train opens the continual page in a state.
func (b *tab) train(t *testing.T, state string) {
	t.Helper()
	b.at(t, "continual.html"+state)
	b.Do(`window.now = () => document.querySelector('saot-recording')?.shadowRoot.querySelector('.now').textContent;
		window.states = () => [...page.runs.values()].map(r => r.state).join();
		window.said = () => document.querySelector('.status').textContent; true`)
}

// folder writes the files of a run on the page into a folder.
func (b *tab) folder(key string) string {
	b.T.Helper()
	text := b.Text(`JSON.stringify(Object.fromEntries(Object.entries(page.runs.get('` + key + `').files).map(([p, d]) => {
		let s = '';
		for (const x of d) s += String.fromCharCode(x);
		return [p.replace('/run/', ''), btoa(s)];
	})))`)
	files := map[string]string{}
	require.NoError(b.T, json.Unmarshal([]byte(text), &files))
	dir := b.T.TempDir()
	for path, content := range files {
		data, err := base64.StdEncoding.DecodeString(content)
		require.NoError(b.T, err)
		to := filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(b.T, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(b.T, os.WriteFile(to, data, 0o600))
	}
	return dir
}

func (b *tab) request(key string) (q training.Request) {
	b.T.Helper()
	text := b.Text(`JSON.stringify(page.runs.get('` + key + `').request)`)
	require.NoError(b.T, json.Unmarshal([]byte(text), &q))
	return q
}

// What the page trains is what pure Go trains in this process: accuracies, losses and the recording, to the last bit
// where both compute alike.
func TestTrainingInTheTab(t *testing.T) {
	b := open(t)
	b.train(t, small)
	b.press("start")
	b.Until(`states() === 'done,done'`)
	b.Until(`now() === 'task 2 of 2, step 3'`)
	b.Picture("trained")

	for _, key := range []string{"saot", "random"} {
		dir, native := b.folder(key), filepath.Join(t.TempDir(), "native")
		require.NoError(t, training.Run(b.Context, native, b.request(key), func(training.Message) {}))
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

		require.Equal(t, continual.Confirmed, audit(b.Context, t, dir).Verdict(), "saot audit of %s", key)
		shown := b.Text(`document.querySelector('[data-method="` + key + `"]').cells[4].textContent`)
		require.Equal(t, fmt.Sprintf("%.1f", is.Scores[0].AP), shown, "AP in the table")
	}
}

// sameScores holds accuracies against each other, which are equal, and the norms of the probes' gradients, which are
// not: gonum sums in assembly on amd64 and in Go in the tab.
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

// same compares two recordings. On amd64, where Go fuses no products and sums, they are equal bit for bit, except for
// the marginal errors of the plans between graphs: these are rounding, and gonum sums in another order. Elsewhere
// losses agree to a thousandth.
func same(t *testing.T, want, got *record.Recording) {
	t.Helper()
	require.Equal(t, want.Head, got.Head)
	require.Len(t, got.Tasks, len(want.Tasks))
	for i := range want.Tasks {
		w, g := &want.Tasks[i], &got.Tasks[i]
		if !golden.Exact() {
			for k, f := range w.Frames {
				for j, v := range f.Terms {
					require.InDelta(t, float64(v), float64(g.Frames[k].Terms[j]), 1e-3*(1+math.Abs(float64(v))))
				}
			}
			continue
		}
		const rounding = 1e-14
		closeUp := func(a, b *float64) {
			require.InDelta(t, *a, *b, rounding)
			*b = *a
		}
		if w.Graph != nil {
			closeUp(&w.Graph.MarginalError, &g.Graph.MarginalError)
		}
		for k := range w.Frames {
			for j, name := range w.Figures {
				if strings.HasSuffix(name, "marginal_error") && j < len(w.Frames[k].Figures) {
					closeUp((*float64)(&w.Frames[k].Figures[j]), (*float64)(&g.Frames[k].Figures[j]))
				}
			}
		}
		require.Equal(t, *w, *g)
	}
}

// An audit embeds the tasks again with the model that the tab kept, and confirms the tab's figures.
func audit(ctx context.Context, t *testing.T, dir string) *continual.AuditReport {
	t.Helper()
	r, err := experiment.ReadRun(dir)
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
	b := open(t)
	t.Run("recording", func(t *testing.T) {
		b.train(t, "")
		b.Until(`document.querySelector('saot-recording') && now() === 'task 9 of 9, step 30'`)
		require.Empty(t, b.Text(`states()`), "nothing trains before it is asked for")
		const command = `document.querySelector('#command').checkVisibility()`
		b.Until(`!` + command) // which does another run
		b.press("back")
		b.Until(`now() === 'task 9 of 9, step 24'`)
		b.Until(`location.hash === '#at=8.24'`)
		b.train(t, "#at=3.12")
		b.Until(`document.querySelector('saot-recording') && now() === 'task 4 of 9, step 12'`)
		for _, c := range []struct{ name, last string }{
			{"pair", "task 4 of 4, step 30"}, {"links", "task 3 of 3, step 30"},
		} {
			b.set("recording", c.name)
			b.Until(`now() === '` + c.last + `' && location.hash === '#recording=` + c.name + `'`)
		}
		require.Equal(t, float64(3), b.Number(`document.querySelectorAll('[name=recording] :enabled').length - 1`),
			"and no more")
		b.Do(`page.status.say('of another recording', true), true`)
		b.set("recording", "")
		b.Until(`document.querySelector('saot-recording') === null && said() === '' && ` + command)
		b.train(t, "#tasks=1e9&nodes=1e12")
		require.Equal(t, []float64{8, 800}, b.Numbers(`[page.settings.tasks, page.settings.nodes]`), "bounds hold")
	})
	t.Run("settings", func(t *testing.T) {
		b.train(t, small)
		for name, to := range map[string]string{"homophily": "0.5", "imbalance": "2", "alpha": "0.5", "beta": "1",
			"seed": "2", "tasks": "3", "nodes": "200", "words": "20", "points": "24", "buffer": "20", "epochs": "5"} {
			b.set(name, to)
			require.Equal(t, to, b.Text(`String(page.settings.`+name+`)`), name)
		}
		b.set("eps", "-0.301") // the logarithm of 0.5
		b.Until(`location.hash.includes('homophily=0.5') && location.hash.includes('eps=0.5')`)
		require.Contains(t, b.Text(`document.querySelector('#command').textContent`),
			"--dataset synthetic,nodes=200,classes=6,degree=4.1,homophily=0.5,imbalance=2,words=20 --method saot "+
				"--seed 2")
	})
	t.Run("the command", func(t *testing.T) {
		set := regexp.MustCompile(`--set ([a-z_.]+)=`)
		b.train(t, small)
		keys := b.Text(`[...document.querySelectorAll('tr[data-method]')].map(m => m.dataset.method).join()`)
		require.Contains(t, keys, "barlow")
		for key := range strings.SplitSeq(keys, ",") {
			b.train(t, strings.ReplaceAll(small, "saot.random", key))
			command := b.Text(`document.querySelector('#command').textContent`)
			_, name, _ := strings.Cut(command, "--method ")
			d, err := method.Lookup(strings.Fields(name)[0])
			require.NoError(t, err, command)
			settings, err := experiment.DefaultSettings("synthetic", d.Name, method.Default)
			require.NoError(t, err)
			var reads []string
			for _, f := range d.Fields(settings.Of) {
				reads = append(reads, f.Path)
			}
			for _, given := range set.FindAllStringSubmatch(command, -1) {
				require.Contains(t, reads, given[1], "saot run refuses it: %s", command)
			}
		}
	})
	t.Run("a setting that some runs have not", func(t *testing.T) {
		b.train(t, small+"&play=1")
		b.Until(`states() === 'done,done' && document.getElementById('start').disabled`)
		b.set("alpha", "0.5")
		b.Until(`[...page.runs.keys()].join() === 'random' && states() === 'done' && !location.hash.includes('play')`)
		require.Equal(t, "1 run had other settings and is gone: press Start.", b.Text(`said()`))
		b.press("start")
		b.Until(`page.runs.size === 2 && states() === 'done,done'`)
		b.Until(`/^SAOT is done: AP [\d.]+ percent, Class-IL.$/.test(said())`)
		b.set("seed", "1")
		b.Until(`page.runs.size === 0`)
		require.Equal(t, "2 runs had other settings and are gone: press Start.", b.Text(`said()`))
	})
	t.Run("methods", func(t *testing.T) {
		b.train(t, small)
		click := func(name string) { b.Click(b.Middle(`document.querySelector('input[name=` + name + `]')`)) }
		require.Equal(t, []float64{6, 6}, b.Numbers(`(m => [m.length, new Set(m).size])(
			[...document.querySelectorAll('.swatch path')].map(p => p.getAttribute('d')))`), "marks differ in shape, too")
		click("train-naive")
		click("view-naive")
		b.Until(`location.hash.includes('methods=saot.naive.random') && location.hash.includes('show=random.naive')`)
		for _, method := range []string{"saot", "saot-l", "naive", "barlow", "random", "hellinger"} {
			for box, list := range map[string]string{"train-": "methods", "view-": "show"} {
				chosen := `String(page.settings.` + list + `.split('.').includes('` + method + `'))`
				before := b.Text(chosen)
				click(box + method)
				require.NotEqual(t, before, b.Text(chosen), box+method)
			}
		}
		require.Equal(t, "saot-l.barlow.hellinger", b.Text(`page.settings.methods`), "the others")
	})
	t.Run("steps", func(t *testing.T) {
		b.train(t, alone)
		b.press("step")
		b.Until(`states() === 'paused'`)
		b.Until(`document.querySelector('saot-recording') && now() === 'task 1 of 2, step 1'`)
		b.press("step")
		b.Until(`now() === 'task 1 of 2, step 2'`)
		b.press("back")
		b.Until(`now() === 'task 1 of 2, step 1'`)
		b.press("start") // which now says Continue
		b.Until(`states() === 'done'`)
		require.Equal(t, "task 1 of 2, step 1", b.Text(`now()`), "who went back stays there")
		b.Until(`location.hash.includes('play=1') && location.hash.includes('at=0.1')`)
		address := b.Text(`location.hash`)
		b.train(t, address)
		b.Until(`states() === 'done' && now() === 'task 1 of 2, step 1'`)
		b.press("clear")
		b.Until(`page.runs.size === 0 && !location.hash.includes('play')`)
	})
	t.Run("pause", func(t *testing.T) {
		b.train(t, strings.Replace(alone, "epochs=3", "epochs=60", 1))
		b.press("start")
		b.Until(`/^task 1 of 2, step (?![12]\b)/.test(page.runs.get('saot').words)`) // a slow browser sees few of them
		b.press("pause")
		b.Until(`states() === 'paused'`)
		b.Until(`(words => {
			window.still = words === window.heard ? still + 1 : 0;
			window.heard = words;
			return still === 20;
		})(page.runs.get('saot').words)`) // the step at work ends
		require.Contains(t, b.Text(`document.querySelector('[data-method=saot] .words').textContent`), "paused, task ")
		require.Equal(t, "paused", b.Text(`states()`), "it has not run to its end")
		require.Equal(t, "Continue", b.Text(`document.getElementById('start').textContent`))
		b.press("start")
		b.Until(`page.runs.get('saot').words !== heard && states() === 'running'`)
		b.press("clear")
		b.Until(`states() === ''`)
	})
	t.Run("no longer chosen", func(t *testing.T) {
		b.train(t, strings.NewReplacer("epochs=3", "epochs=60", "=saot.random", "=saot.naive").Replace(small))
		b.press("start")
		b.Until(`page.runs.get('saot').words.startsWith('task 1 of 2, step 3')`)
		b.Click(b.Middle(`document.querySelector('input[name=train-saot]')`))
		b.Until(`!page.runs.has('saot') && page.runs.get('naive').words.startsWith('task 1 of 2, step 3')`)
		require.InDelta(t, 0, b.Number(`Number(document.getElementById('pause').disabled)`), 0)
		b.Until(`location.hash.includes('methods=naive')`)
		b.Do(`location.hash = location.hash.replace('methods=naive', 'methods=random'), true`)
		b.Until(`!page.runs.has('naive') && states() === 'done'`)
	})
	t.Run("worker lost", func(t *testing.T) {
		b.train(t, strings.Replace(alone, "epochs=3", "epochs=12&play=1", 1))
		b.Do(`window.watch = setInterval(() => {
			const run = page.runs.get('saot');
			// The checkpoint of task 1 follows the first step of task 2.
			if (!run?.words.startsWith('task 2 of 2, step') || !run.kept) return;
			clearInterval(watch);
			run.kill();
		}, 5), true`)
		b.Until(`said().includes('The worker of SAOT is gone (the browser ended the worker). 1 of 2 tasks are kept: ' +
			'press Start to continue with task 2.')`)
		b.Do(`page.status.say('Shown: another.'), page.show(), true`)
		require.Equal(t, "Shown: another.", b.Text(`said()`), "a loss is said once")
		b.press("start")
		b.Until(`states() === 'done'`)
		b.Until(`said().startsWith('SAOT is done: AP ') && !document.querySelector('.status.wrong')`)
		dir := b.folder("saot")
		require.Equal(t, continual.Confirmed, audit(b.Context, t, dir).Verdict())
		recorded, err := record.Read(dir)
		require.NoError(t, err)
		require.Len(t, recorded.Tasks, 2)
	})
	t.Run("worker lost before its checkpoint came", func(t *testing.T) {
		b.train(t, alone)
		b.Do(`{
			page.start();
			const run = page.runs.get('saot');
			run.hear = (...message) => {
				Object.getPrototypeOf(run).hear.call(run, ...message);
				if (message[0].kind !== 'scores') return;
				delete run.hear;
				run.lose('a test');
			};
			true;
		}`)
		b.Until(`said().includes('0 of 2 tasks are kept: press Start to continue with task 1.')`)
		b.press("start")
		b.Until(`states() === 'done'`)
	})
	t.Run("wrong setting", func(t *testing.T) {
		b.train(t, "#buffer=-5&methods=saot&play=1&recording=")
		b.Until(`states() === 'failed' && said().includes("uffer is -5")`)
	})
	t.Run("drop", func(t *testing.T) { b.drop(t) })
}

// put drops files on the page.
func (b *tab) put(files map[string]string) {
	b.T.Helper()
	text, err := json.Marshal(files)
	require.NoError(b.T, err)
	b.Do(`{ const dataTransfer = new DataTransfer();
		for (const [name, content] of Object.entries(` + string(text) + `)) dataTransfer.items.add(new File([content], name));
		window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true })); true }`)
}

const recordedDataset = "synthetic,nodes=160,classes=4,degree=3,words=12"

// recordedFiles returns the files of the recording of a short run.
func recordedFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	q := training.Request{Dataset: recordedDataset, Method: "random", Record: 1, Probes: []string{"converged"}}
	require.NoError(t, training.Run(t.Context(), dir, q, func(training.Message) {}))
	files := map[string]string{}
	for _, name := range []string{"head.json", "task-0001.json", "task-0002.json"} {
		text, err := os.ReadFile(filepath.Join(dir, record.Folder, name))
		require.NoError(t, err)
		files[name] = string(text)
	}
	return files
}

// drop drops the files of a run folder, and what is none, on the page.
func (b *tab) drop(t *testing.T) {
	files := recordedFiles(t)
	b.train(t, small)
	b.put(files)
	b.Until(`said() === 'Shown: random on ` + recordedDataset + `, seed 0.' && now() === 'task 2 of 2, step 0'`)
	require.InDelta(t, 0, b.Number(`Number(document.querySelector('#command').checkVisibility())`), 0)
	const menu = `document.querySelector('[name=recording]')`
	require.Equal(t, "from files", b.Text(menu+`.selectedOptions[0].textContent`))
	b.press("back")
	b.Until(`now() === 'task 1 of 2, step 0'`)
	require.Empty(t, b.Text(`page.settings.at`), "an address holds no frame of files")
	b.set("recording", "links")
	b.Until(`now() === 'task 3 of 3, step 30'`)
	b.put(files)
	b.Until(`now() === 'task 2 of 2, step 0' && location.hash.endsWith('&recording=')`)
	b.set("recording", "")
	b.Until(`document.querySelector('saot-recording') === null`)
	b.put(map[string]string{"head.json": files["head.json"]})
	b.Until(`said().startsWith('The recording of head.json has no frames')`)
	b.put(map[string]string{"head.json": `{"format": "saot-recording", "version": 9}`})
	b.Until(`said() === 'head.json has version 9: this page reads version 1.'`)
	b.put(map[string]string{"head.json": `{`})
	b.Until(`said().startsWith('head.json is not JSON')`)
	b.put(map[string]string{"notes.json": `{}`})
	b.Until(`said().startsWith('There is no recording in these files')`)
}

// A hundred starts and restarts leave no worker and no memory behind.
func TestTrainingRestarts(t *testing.T) {
	b := open(t)
	b.train(t, small)
	heap := func() float64 {
		_, err := chromedp.Call(b.Context, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(t, err)
		used, err := chromedp.Call(b.Context, cdpruntime.GetHeapUsage, cdp.Empty{})
		require.NoError(t, err)
		return used.UsedSize + used.BackingStorageSize
	}
	restart := func(times int) {
		b.Do(fmt.Sprintf(`window.restarts = 0; (async () => {
			for (let i = 0; i < %d; i++) {
				page.start();
				while (!/start|run/.test(states())) await new Promise(r => setTimeout(r, 10));
				page.clear();
				window.restarts++;
			}
		})(); true`, times))
		b.Until(fmt.Sprintf(`window.restarts === %d`, times))
	}
	restart(10)
	before := heap()
	restart(100)
	require.Less(t, heap(), before+2e6, "bytes of the page's heap after a hundred restarts")
	require.Equal(t, "", b.Text(`states()`))
	b.press("start")
	b.Until(`states() === 'done,done'`)
}
