package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Tab is a tab of a headless Chromium, in the hands of a test. What fails in it ends the test.
type Tab struct {
	T       *testing.T // the test, or the part of it, that the tab is in the hands of
	Context context.Context
	Asked   func() []string // the addresses that it has requested, see Requests

	mu     sync.Mutex
	faults []string
}

// Open starts a browser, or skips the test. The test fails at its end if the console had errors or warnings, among them
// what a content security policy refuses.
func Open(t *testing.T) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts a browser")
	}
	tab := &Tab{T: t, Context: Start(t)}
	tab.Asked = Requests(tab.Context, t)
	require.NoError(t, chromedp.Listen(tab.Context, func(event any) {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			tab.faults = append(tab.faults, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *cdpruntime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				tab.faults = append(tab.faults, fmt.Sprint(e.Args))
			}
		case *cdplog.EventEntryAdded:
			if e.Entry.Level == "error" {
				tab.faults = append(tab.faults, e.Entry.Text)
			}
		}
	}))
	_, err := chromedp.Call(tab.Context, cdplog.Enable, chromedp.Void{})
	require.NoError(t, err)
	t.Cleanup(func() { require.Empty(t, tab.Faults(), "the console") })
	return tab
}

// Faults returns the errors and warnings of the console so far, and forgets them.
func (b *Tab) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := slices.Clone(b.faults)
	b.faults = nil
	return faults
}

// Go opens an address.
func (b *Tab) Go(url string) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.Navigate(url)), url)
}

// Address returns the address of a file.
func Address(path string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String()
}

// Show opens a page that is one file, and returns its address. The test fails at its end if the page asked for anything
// else.
func (b *Tab) Show(page []byte) string {
	b.T.Helper()
	path := filepath.Join(b.T.TempDir(), "page.html")
	require.NoError(b.T, os.WriteFile(path, page, 0o600))
	url := Address(path)
	b.T.Cleanup(func() {
		require.Equal(b.T, []string{url}, slices.Compact(b.Asked()), "the page asks for nothing else")
	})
	b.Go(url)
	return url
}

// Do runs JavaScript.
func (b *Tab) Do(js string) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.Evaluate[chromedp.Void](js)), js)
}

// Text returns a string of the page.
func (b *Tab) Text(js string) string { return value[string](b, js) }

// Number returns a number of the page.
func (b *Tab) Number(js string) float64 { return value[float64](b, js) }

// Numbers returns an array of numbers of the page.
func (b *Tab) Numbers(js string) []float64 { return value[[]float64](b, "Array.from("+js+")") }

func value[T any](b *Tab, js string) T {
	b.T.Helper()
	x, err := chromedp.Run(b.Context, chromedp.Evaluate[T](js))
	require.NoError(b.T, err, js)
	return x
}

// Until waits until a condition of the page holds, or of the page that it leads to.
func (b *Tab) Until(condition string) {
	b.T.Helper()
	poll := chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(30*time.Millisecond),
		chromedp.WithPollingTimeout(2*time.Minute))
	err := chromedp.Do(b.Context, poll)
	for deadline := time.Now().Add(2 * time.Minute); left(err) && time.Now().Before(deadline); {
		err = chromedp.Do(b.Context, poll)
	}
	require.NoError(b.T, err, condition)
}

// left says whether the page at which the browser looked is left. The protocol has one code for all such errors.
func left(err error) bool {
	e, ok := errors.AsType[*cdproto.Error](err)
	return ok && e.Code == -32000 &&
		(strings.Contains(e.Message, "context") || strings.Contains(e.Message, "navigated"))
}

// Press presses keys.
func (b *Tab) Press(keys string) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.KeyEvent(keys)))
}

// Move moves the mouse.
func (b *Tab) Move(x, y float64) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y)))
}

// Click clicks at a place.
func (b *Tab) Click(x, y float64) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.MouseClickXY(x, y)))
}

// Drag presses the mouse at the first of some places, moves along the others and lets go at the last.
func (b *Tab) Drag(places ...[2]float64) {
	b.T.Helper()
	event := func(kind input.DispatchMouseEventType, at [2]float64) {
		_, err := chromedp.Call(b.Context, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind,
			X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
		require.NoError(b.T, err)
	}
	event(input.DispatchMouseEventTypeMousePressed, places[0])
	for _, at := range places[1:] {
		event(input.DispatchMouseEventTypeMouseMoved, at)
	}
	event(input.DispatchMouseEventTypeMouseReleased, places[len(places)-1])
}

// Middle scrolls to an element, given by JavaScript, and returns its middle in the window.
func (b *Tab) Middle(element string) (x, y float64) {
	b.T.Helper()
	b.Do(element + `.scrollIntoView({block: 'center'}), true`)
	at := b.Numbers(`(r => [r.x + r.width / 2, r.y + r.height / 2])(` + element + `.getBoundingClientRect())`)
	return at[0], at[1]
}

// Resize sets the size of the window.
func (b *Tab) Resize(width, height int64) {
	b.T.Helper()
	require.NoError(b.T, chromedp.Do(b.Context, chromedp.EmulateViewport(width, height)))
}

// Scheme sets the preferred color scheme: light or dark.
func (b *Tab) Scheme(scheme string) {
	b.T.Helper()
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(b.T, err)
}

// Picture saves a screenshot in the folder that SAOT_SCREENSHOTS names, for a reader's eye.
func (b *Tab) Picture(name string) {
	dir := os.Getenv("SAOT_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
	require.NoError(b.T, err)
	require.NoError(b.T, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}
