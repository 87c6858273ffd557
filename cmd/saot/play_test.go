package main

import (
	"archive/zip"
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/playground"

	"github.com/saot-go/saot/internal/browsertest"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
)

// played runs saot play and returns the address that it prints. At the end of the test it is interrupted, and must end
// well.
func played(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var errs strings.Builder
	status := make(chan int, 1)
	go func() {
		code := execute(ctx, []string{"play", "--address", "127.0.0.1:0"}, in, &errs)
		_ = in.Close() // which ends the scan below
		status <- code
	}()
	t.Cleanup(func() {
		stop()
		require.Zero(t, <-status)
	})
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), &errs)
	url, found := strings.CutPrefix(lines.Text(), "the playground is at ")
	require.True(t, found, lines.Text())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return url
}

func TestPlayServes(t *testing.T) {
	url := played(t)
	for _, path := range []string{"", "transport.html", "assets/solver.wasm.gz"} {
		answer, err := http.Get(url + path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.NoError(t, answer.Body.Close())
	}
}

// A listener on all addresses is printed by an address that a browser opens.
func TestPlayPrintsAnAddressToOpen(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:7": "http://127.0.0.1:7/", "[::1]:7": "http://[::1]:7/",
		"0.0.0.0:7": "http://127.0.0.1:7/", "[::]:7": "http://127.0.0.1:7/",
	} {
		at, err := net.ResolveTCPAddr("tcp", address)
		require.NoError(t, err)
		url, more := reached(at)
		require.Equal(t, want, url, address)
		require.Equal(t, at.IP.IsUnspecified(), strings.Contains(more, "this machine's name"), more)
	}
}

// Where the port of the notebooks' links is taken, another is used, and a line says what that means.
func TestPlayWhereItsPortIsTaken(t *testing.T) {
	first, taken, err := listen("127.0.0.1:0", true)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	require.Empty(t, taken)
	address := first.Addr().String()
	second, taken, err := listen(address, false)
	require.NoError(t, err)
	require.NoError(t, second.Close())
	_, port, _ := strings.Cut(address, ":")
	require.Equal(t, "port "+port+" is taken: links in notebooks do not lead here\n", taken)
	_, _, err = listen(address, true)
	require.ErrorContains(t, err, "choose another --address")
	_, taken, err = listen("127.0.0.1:99999", false) // no port
	require.ErrorContains(t, err, "choose another --address")
	require.Empty(t, taken)
}

// The command line reads what the tab saves, and the tab what the command line records.
func TestRunsCrossTheTab(t *testing.T) {
	url := played(t)
	answer, err := http.Get(url + "assets/learner.wasm.gz") // a build may take longer than a tab has
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	b := browsertest.Open(t)
	b.Go(url + "continual.html#tasks=2&nodes=160&words=12&points=16&buffer=10&epochs=2&methods=saot&show=saot" +
		"&recording=")
	b.Until(`document.body.dataset.ready !== undefined`)
	press := func(element string) func() { return func() { b.Click(b.Middle(element)) } }
	press(`document.getElementById('start')`)()
	const save = `document.querySelector('[aria-label="save SAOT"]')`
	b.Until(save + `.hidden === false`) // the run is done
	dir := t.TempDir()
	saved := b.Download(press(save))
	require.Equal(t, "saot-s0.zip", filepath.Base(saved))
	unpack(t, saved, dir)
	run := filepath.Join(dir, "saot-s0")

	is, err := continual.ReadResult(filepath.Join(run, continual.ResultFile))
	require.NoError(t, err)
	require.Contains(t, told(t, "audit", run), "confirmed")
	require.Contains(t, told(t, "show", run), "synthetic,nodes=160,classes=4,")
	page := strings.TrimSpace(told(t, "show", "--html", run))
	require.FileExists(t, page)

	// The command that the page prints does the same run.
	command := strings.Fields(b.Text(`document.getElementById('command').textContent`))
	again := filepath.Join(dir, "again")
	told(t, append(command[1:], "--out", again)...)
	want, err := continual.ReadResult(filepath.Join(again, continual.ResultFile))
	require.NoError(t, err)
	require.Equal(t, want.Scores[0].Matrix, is.Scores[0].Matrix)

	shown := func(act func()) {
		b.Do(`page.status.say(''), true`)
		act()
		const said = `document.querySelector('.status').textContent`
		b.Until(said + ` !== ''`)
		require.Equal(t, "Shown: saot on "+is.Dataset.Name+", seed 0.", b.Text(said))
		b.Until(`document.querySelector('saot-recording').shadowRoot.querySelector('.now').textContent ===
			'task 2 of 2, step 2'`)
	}
	x, y := b.Middle(`document.getElementById('shown')`)
	for _, path := range []string{again, saved, page} {
		shown(func() { b.Drop(x, y, path) })
	}
	recording, err := filepath.Glob(filepath.Join(again, record.Folder, "*.json"))
	require.NoError(t, err)
	shown(func() { b.Choose(press(`document.getElementById('open')`), recording...) })
	shown(func() { b.Choose(press(`document.getElementById('open')`), saved) })
}

// unpack writes the files of a zip archive below a folder.
func unpack(t *testing.T, archive, dir string) {
	r, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	require.NoError(t, os.CopyFS(dir, r))
}

// Help is the same for every user.
func TestSiteHelpNamesNoPath(t *testing.T) {
	t.Setenv("SAOT_JUPYTER", "/home/me/bin/jupyter")
	stdout := told(t, "site", "build", "--help")
	require.Contains(t, stdout, "default: $SAOT_JUPYTER")
	require.NotContains(t, stdout, "/home/me")
}

func TestSiteBuildWritesAFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	dir := t.TempDir()
	var text strings.Builder
	require.Zero(t, execute(t.Context(), []string{"site", "build", "-o", dir}, &text, &text), text.String())
	require.Contains(t, text.String(), filepath.Join(dir, "index.html"))
	require.Contains(t, text.String(), "python3 -m http.server -d "+dir)
	for _, name := range []string{"index.html", "transport.html", "assets/wasm_exec.js", "assets/solver.wasm.gz"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
	}
	texts, err := os.ReadFile(filepath.Join(dir, playground.LicenseFile))
	require.NoError(t, err)
	for _, of := range []string{"Apache License", "The Go Authors", "==== gonum.org/v1/gonum: LICENSE",
		"==== github.com/gomlx/gomlx: LICENSE", "Jintang Li"} {
		require.Contains(t, string(texts), of)
	}
	require.NotContains(t, string(texts), "liberation", "no font is linked")
}
