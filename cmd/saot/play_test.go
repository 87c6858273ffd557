package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// saot play prints an address at which the playground is, and ends when it is interrupted.
func TestPlayServes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	status := make(chan int)
	go func() {
		status <- execute(ctx, []string{"play", "--address", "127.0.0.1:0"}, in, io.Discard)
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	url, found := strings.CutPrefix(lines.Text(), "the playground is at ")
	require.True(t, found, lines.Text())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for _, path := range []string{"", "transport.html", "assets/solver.wasm.gz"} {
		answer, err := http.Get(url + path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.NoError(t, answer.Body.Close())
	}
	stop()
	require.Zero(t, <-status)
}

func TestSiteBuildWritesAFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	dir := t.TempDir()
	var text strings.Builder
	require.Zero(t, execute(t.Context(), []string{"site", "build", "-o", dir}, &text, &text), text.String())
	require.Contains(t, text.String(), filepath.Join(dir, "index.html"))
	for _, name := range []string{"index.html", "transport.html", "assets/wasm_exec.js", "assets/solver.wasm.gz"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
	}
}
