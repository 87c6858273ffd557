// Package browsertest tests pages in a headless Chromium.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// shared is the browser of a package's tests that run under Main; else nil, and each test starts its own.
var shared *chromium

// chromium is a browser that starts when the first test needs it.
type chromium struct {
	once    sync.Once
	context context.Context
	close   func()
	err     error
}

// Main runs the tests of a package. Their browser is one Chromium: each test has a tab of its own in it, with storage
// and a cache of its own. At the end Main closes the browser, and then calls what comes after. It returns what TestMain
// exits with.
func Main(m *testing.M, after ...func() error) int {
	shared = &chromium{close: func() {}}
	code := m.Run()
	shared.close()
	for _, f := range after {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// Start starts a headless Chromium and returns the context of a tab in it, or skips the test. More options follow the
// usual ones. Under Main, and without more options, the tab is one of the shared Chromium.
func Start(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := find()
	if path == "" {
		t.Skip("no Chromium on PATH and SAOT_CHROMIUM is not set: nothing is tested in a browser")
	}
	var ctx context.Context
	var cancel func()
	if shared == nil || len(more) > 0 {
		var err error
		ctx, cancel, err = launch(path, more...)
		t.Cleanup(cancel)
		require.NoError(t, err, "start %s", path)
	} else {
		shared.once.Do(func() { shared.context, shared.close, shared.err = launch(path) })
		require.NoError(t, shared.err, "start %s", path)
		ctx, cancel = chromedp.NewContext(shared.context, chromedp.WithNewBrowserContext())
		t.Cleanup(cancel)
	}
	ctx, cancel = context.WithTimeout(ctx, 6*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// find returns the Chromium of this machine, or "".
func find() string {
	path := os.Getenv("SAOT_CHROMIUM")
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	return path
}

// launch starts a browser with a profile of its own, and returns the context of its first tab. The end of a test does
// not end the browser: the function does.
func launch(path string, more ...chromedp.ExecAllocatorOption) (context.Context, func(), error) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.WindowSize(1400, 1400), chromedp.WSURLReadTimeout(time.Minute), // a loaded machine starts it slowly
		chromedp.NoSandbox) // it refuses root, and systems without user namespaces; all pages are our own
	ctx, end := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, cancel := chromedp.NewContext(ctx)
	closed := func() {
		cancel()
		end()
	}
	return ctx, closed, chromedp.Do(ctx, chromedp.Navigate("about:blank"))
}

// Requests collects the addresses that a tab requests, except those within the page (data:, blob:).
func Requests(ctx context.Context, t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var urls []string
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		e, ok := event.(*network.EventRequestWillBeSent)
		if ok && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "blob:") {
			mu.Lock()
			defer mu.Unlock()
			urls = append(urls, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(urls)
	}
}
