package notebooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// lab starts JupyterLab on this folder, without autosave, and returns its address without the final slash and its
// token, or skips the test.
func lab(t *testing.T, jupyter string, env []string) (address, token string) {
	t.Helper()
	if output, err := exec.Command(jupyter, "lab", "--version").CombinedOutput(); err != nil {
		t.Skipf("jupyter has no JupyterLab: the live notebook is not tried: %s", output)
	}
	settings := filepath.Join(t.TempDir(), "settings")
	plugin := filepath.Join(settings, "@jupyterlab", "docmanager-extension")
	require.NoError(t, os.MkdirAll(plugin, 0o755))
	config := filepath.Join(plugin, "plugin.jupyterlab-settings")
	require.NoError(t, os.WriteFile(config, []byte(`{"autosave": false}`), 0o600))
	port := freePort(t)
	token = "test-of-the-notebooks"
	running, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(running, jupyter, "lab", "--no-browser", "--allow-root", "--expose-app-in-browser",
		"--ServerApp.ip=127.0.0.1", fmt.Sprint("--ServerApp.port=", port), "--ServerApp.port_retries=0",
		"--IdentityProvider.token="+token, "--ServerApp.root_dir=.",
		"--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
	server.Env = append(slices.Clone(env), "JUPYTERLAB_SETTINGS_DIR="+settings, "JUPYTER_CONFIG_DIR="+t.TempDir(),
		"JUPYTER_RUNTIME_DIR="+t.TempDir())
	address = fmt.Sprint("http://127.0.0.1:", port)
	serve(t, stop, server, http.DefaultClient, address+"/api?token="+token)
	return address, token
}

// serve starts a server, which stop ends, and waits until an address of it answers a client.
func serve(t *testing.T, stop func(), server *exec.Cmd, client *http.Client, address string) {
	t.Helper()
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 30 * time.Second // then it is killed
	log := new(strings.Builder)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop() // the server ends what it started: kernels and their cells, other servers
		err := server.Wait()
		if t.Failed() {
			t.Logf("%s, %v:\n%s", server.Path, err, log)
		}
	})
	require.Eventually(t, func() bool {
		response, err := client.Get(address)
		if err != nil {
			return false
		}
		return errors.Join(response.Body.Close()) == nil && response.StatusCode == http.StatusOK
	}, 2*time.Minute, 200*time.Millisecond, "%s doesn't answer", server.Path)
}

// action is something done in the page.
type action = chromedp.Action[chromedp.Void]

// script runs JavaScript in the page and ignores its value.
func script(js string) action { return chromedp.Evaluate[chromedp.Void](js) }

// watch records in the page when the reader acts and when a part of the picture changes.
const watch = `(() => {
	window.saotParts = () => [...document.querySelectorAll('img.saot-picture')].map(part => part.src);
	const picture = () => saotParts().join();
	window.saotWatch = {shown: picture(), done: 0, changed: 0};
	const hand = () => { saotWatch.done = performance.now() };
	document.addEventListener('input', hand, true);
	document.addEventListener('change', hand, true);
	document.addEventListener('click', hand, true);
	new MutationObserver(() => {
		const now = picture();
		if (now && now !== saotWatch.shown) { saotWatch.shown = now; saotWatch.changed = performance.now() }
	}).observe(document.body, {subtree: true, childList: true, attributes: true, attributeFilter: ['src']});
	return true;
})()`

// until polls a condition in the page, long enough for a loaded machine.
func until(condition string) action {
	return chromedp.Poll[chromedp.Void](condition,
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(3*time.Minute))
}

// openPanel runs all cells of the notebook that the tab shows, until the panel is there.
func openPanel(tab context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab,
		until(ready),
		// Not awaited: the last cell runs until its button is pressed.
		script(`jupyterapp.commands.execute('notebook:run-all-cells'), true`),
		until(`document.querySelector('img.saot-picture')?.complete === true`),
		script(watch),
	), "open the panel")
}

// ready is true when a notebook is open and its kernel answers.
const ready = `window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady === true && ` +
	`jupyterapp.commands.hasCommand('notebook:run-all-cells')`

// redraws does something in the page and waits until the picture has changed.
func redraws(tab context.Context, act action) error {
	return chromedp.Do(tab, script(`saotWatch.parts = saotParts(), saotWatch.done = saotWatch.changed = 0`), act,
		until(`saotWatch.changed > saotWatch.done && saotWatch.done > 0`))
}

// redrawn is redraws, and logs how long the page takes from the reader's act to the new picture.
func redrawn(tab context.Context, t *testing.T, name string, act action) {
	t.Helper()
	require.NoError(t, redraws(tab, act), name)
	milliseconds, err := chromedp.Run(tab, chromedp.Evaluate[float64](`saotWatch.changed - saotWatch.done`))
	require.NoError(t, err)
	t.Logf("%-16s %4.0f ms", name, milliseconds)
}

// key presses a key at the knob with a name.
func key(name, key string) action {
	return chromedp.Steps(chromedp.Focus(chromedp.CSS(fmt.Sprintf(`.saot-control[aria-label="%s"]`, name))),
		chromedp.KeyEvent(key))
}

// button is the place of the panel's button with a label.
func button(label string) string {
	return fmt.Sprintf(`//button[contains(@class, "saot-control") and text()="%s"]`, label)
}

func TestLiveExplorer(t *testing.T) {
	if testing.Short() {
		t.Skip("driving a browser takes a minute: skipped with -short")
	}
	jupyter := findJupyter(t)
	tab := browsertest.Start(t)
	const notebook = live
	before, err := os.ReadFile(notebook)
	require.NoError(t, err)
	address, token := lab(t, jupyter, withoutHeadless(kernel(t)))

	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(address+"/lab/tree/"+notebook+"?token="+token)))
	screenshotOnFailure(tab, t)
	openPanel(tab, t)
	for _, act := range []struct {
		name   string
		action action
	}{
		{"ε to the right", key("ε", kb.ArrowRight)},
		{"ε to the left", key("ε", kb.ArrowLeft)},
		{"step an epoch", chromedp.Click(button("step an epoch"))},
		{"σ to the right", key("σ", kb.ArrowRight)},
		{"α to the left", key("α", kb.ArrowLeft)},
		{"M to the left", key("M", kb.ArrowLeft)},
		{"step an epoch", chromedp.Click(button("step an epoch"))},
		{"step a task", chromedp.Click(button("step a task"))},
		{"step an epoch", chromedp.Click(button("step an epoch"))},
		{"step an epoch", chromedp.Click(button("step an epoch"))},
		{"β to the right", key("β", kb.ArrowRight)},
		{"step a sweep", chromedp.Click(button("step a sweep"))},
		{"step back", chromedp.Click(button("step back"))},
		{"another seed", key("seed", kb.ArrowRight)},
		{"two methods", key("next to it", kb.ArrowDown)},
		{"another task", key("task", kb.ArrowDown)},
		{"another dataset", key("dataset", kb.ArrowDown)},
	} {
		redrawn(tab, t, act.name, act.action)
		require.NoError(t, chromedp.Do(tab, chromedp.Sleep(time.Second))) // further parts may follow
		checkParts(tab, t, act.name)
	}

	// The cell ends, and the picture stays as an ordinary output.
	require.NoError(t, chromedp.Do(tab,
		chromedp.Click(button("keep this picture")),
		until(`jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'`),
		until(`!document.querySelector('.saot-panel')`),
	))
	outputs, err := chromedp.Run(tab, chromedp.Evaluate[string](
		`JSON.stringify(jupyterapp.shell.currentWidget.content.widgets.at(-1).model.outputs.toJSON())`))
	require.NoError(t, err)
	var kept cell
	require.NoError(t, json.Unmarshal([]byte(outputs), &kept.Outputs))
	pictures, err := kept.pictures()
	require.NoError(t, err)
	require.Equal(t, 1, pictures, "%.2000s", outputs)
	after, err := os.ReadFile(notebook)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the test has changed the notebook")
}

// checkParts holds the parts of the picture against what the reader has done: a step of the sweeps changes one, and two
// methods stand side by side in full size.
func checkParts(tab context.Context, t *testing.T, act string) {
	t.Helper()
	var check string
	switch act {
	case "step a sweep":
		check = `saotParts().length === 7 && saotParts().filter(part => !saotWatch.parts.includes(part)).length === 1`
	case "two methods":
		check = `(() => {
			const [one, other] = ['saot: π_Z', 'saot-no-distill: π_Z'].map(name =>
				document.querySelector('img.saot-picture[alt="' + name + '"]').getBoundingClientRect());
			return one.bottom === other.bottom && one.right <= other.left && one.width > 400;
		})()`
	default:
		return
	}
	require.NoError(t, chromedp.Do(tab, until(check)), act)
}

// withoutHeadless drops SAOT_HEADLESS from an environment.
func withoutHeadless(env []string) []string {
	headless := func(v string) bool { return strings.HasPrefix(v, "SAOT_HEADLESS=") }
	return slices.DeleteFunc(slices.Clone(env), headless)
}

// screenshotOnFailure leaves a picture of the tab in the folder that SAOT_SCREENSHOTS names, if the test fails.
func screenshotOnFailure(tab context.Context, t *testing.T) {
	dir := os.Getenv("SAOT_SCREENSHOTS")
	if dir == "" {
		return
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		png, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".png"), png, 0o600)
		}
		t.Logf("screenshot: %v", err)
	})
}
