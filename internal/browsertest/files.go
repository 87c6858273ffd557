package browsertest

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Download acts on the page, which then saves one file, and returns the path of that file.
func (b *Tab) Download(act func()) string {
	b.T.Helper()
	dir := b.T.TempDir()
	c := chromedp.FromContext(b.Context)
	_, err := cdp.Call(b.Context, c.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: c.BrowserContextID, DownloadPath: dir})
	require.NoError(b.T, err)
	act()
	var whole []string
	require.Eventually(b.T, func() bool {
		all, err := os.ReadDir(dir)
		require.NoError(b.T, err)
		whole = nil
		for _, f := range all {
			if filepath.Ext(f.Name()) != ".crdownload" && f.Name()[0] != '.' {
				whole = append(whole, f.Name())
			}
		}
		return len(whole) == 1 && len(all) == 1
	}, time.Minute, 30*time.Millisecond, "one file is saved")
	return filepath.Join(dir, whole[0])
}

// Choose acts on the page, which then lets its reader choose files, and chooses these.
func (b *Tab) Choose(act func(), paths ...string) {
	b.T.Helper()
	opened := make(chan cdp.BackendNodeID, 1)
	require.NoError(b.T, chromedp.Listen(b.Context, func(event any) {
		if e, ok := event.(*page.EventFileChooserOpened); ok {
			opened <- e.BackendNodeID
		}
	}))
	b.intercept(true)
	act()
	select {
	case node := <-opened:
		_, err := chromedp.Call(b.Context, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths,
			BackendNodeID: node})
		require.NoError(b.T, err)
	case <-time.After(time.Minute):
		require.Fail(b.T, "the page asks for no file")
	}
	b.intercept(false)
}

func (b *Tab) intercept(on bool) {
	_, err := chromedp.Call(b.Context, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{
		Enabled: on})
	require.NoError(b.T, err)
}

// Drop drags files or folders of this machine over a place of the page and drops them there.
func (b *Tab) Drop(x, y float64, paths ...string) {
	b.T.Helper()
	const copies = 1
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: copies}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter,
		input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		_, err := chromedp.Call(b.Context, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x,
			Y: y, Data: data})
		require.NoError(b.T, err)
	}
}

// Copied acts on the page, which then copies text, and returns what the clipboard holds.
func (b *Tab) Copied(act func()) string {
	b.T.Helper()
	c := chromedp.FromContext(b.Context)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := cdp.Call(b.Context, c.Browser, browser.SetPermission, browser.SetPermissionParams{
			BrowserContextID: c.BrowserContextID, Permission: &browser.PermissionDescriptor{Name: name},
			Setting: browser.PermissionSettingGranted})
		require.NoError(b.T, err)
	}
	b.Do(`navigator.clipboard.writeText('nothing').then(() => window.emptied = true); true`)
	b.Until(`window.emptied`)
	act()
	b.Do(`window.copied = 'nothing'; {
		const look = () => navigator.clipboard.readText().then(text => {
			window.copied = text;
			if (text === 'nothing') setTimeout(look, 30);
		});
		look();
	} true`)
	b.Until(`copied !== 'nothing'`)
	return b.Text(`copied`)
}

// Elements counts the elements of a picture in SVG by their names. It fails the test if the picture is not XML.
func Elements(t *testing.T, svg string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
}
