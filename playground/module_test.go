package playground

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Outside the repository and offline, the error has the go command's reason and says what to do.
func TestSourcesThatAreNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	_, err := download(t.Context(), "v0.0.0-20200101000000-abcdefabcdef")
	require.ErrorContains(t, err, "module lookup disabled by GOPROXY=off")
	require.ErrorContains(t, err, "run saot within its repository")
	require.NotContains(t, err.Error(), "\n")
	_, err = ask(t.Context(), "", "list", "-m", path)
	require.ErrorContains(t, err, "go list -m "+path)
}

// The script of the runtime is that of the Go in the folder of the sources, which may choose another than the current
// folder does.
func TestRuntimeIsOfTheSourcesGo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the go command of this test is a shell script")
	}
	bin, sources := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nif [ $1 = list ]; then echo " + sources + "; else pwd; fi\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tools, err := newToolchain(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, sources, tools.goroot)
}

// Stopped while the go command runs, the error says so, and not that there are no sources. It does not wait for what
// the go command started.
func TestToolchainStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the go command of this test is a shell script")
	}
	bin := t.TempDir()
	child := filepath.Join(bin, "child")
	script := "#!/bin/sh\nsleep 600 & echo $! >" + child + "; kill -INT $PPID; wait\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, do := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := ask(ctx, "", "env", "GOROOT"); return err },
		func(ctx context.Context) error { _, err := newToolchain(ctx, ""); return err },
		func(ctx context.Context) error {
			_, err := (&toolchain{dir: bin, cache: t.TempDir()}).build(ctx, "solver")
			return err
		},
	} {
		ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
		require.ErrorIs(t, do(ctx), context.Canceled)
		stop()
		text, err := os.ReadFile(child)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		process, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, process.Kill(), "the compiler had ended")
	}
}

// A module is compressed once, whatever its time: the build touches one that is up to date.
func TestCompressedIsKept(t *testing.T) {
	built := filepath.Join(t.TempDir(), "solver.wasm")
	unpacked := func() string {
		data, err := compressed(built)
		require.NoError(t, err)
		r, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(text)
	}
	require.NoError(t, os.WriteFile(built, []byte("one"), 0o600))
	require.Equal(t, "one", unpacked())
	before, err := os.Stat(built + ".gz")
	require.NoError(t, err)
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(built, later, later))
	require.Equal(t, "one", unpacked())
	after, err := os.Stat(built + ".gz")
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "it was written again")

	require.NoError(t, os.WriteFile(built, []byte("two"), 0o600))
	earlier := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(built, earlier, earlier))
	require.Equal(t, "two", unpacked())
}
