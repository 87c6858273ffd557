package engine

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const fakeLibrary = "what stands for a library"

// fakeInstaller installs fakeLibrary, which npm and pip are to bring, into a folder of the test.
func fakeInstaller(t *testing.T) (installer, *bytes.Buffer) {
	t.Helper()
	sum := sha256.Sum256([]byte(fakeLibrary))
	var progress bytes.Buffer
	return installer{
		target: filepath.Join(t.TempDir(), "cache", "lib.so"),
		pins: []pin{
			{client: "npm", entry: "package/bin/lib.so", sha256: hex.EncodeToString(sum[:])},
			{client: "pip", entry: "capi/lib.so", sha256: hex.EncodeToString(sum[:]), tag: "some_platform"},
		},
		progress: &progress,
	}, &progress
}

// tgz writes a gzipped tar archive; a content of "->x" stands for a symbolic link to x.
func tgz(t *testing.T, entries ...string) string {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipped)
	for i := 0; i < len(entries); i += 2 {
		name, content := entries[i], entries[i+1]
		header := &tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644, Typeflag: tar.TypeReg}
		if len(content) > 2 && content[:2] == "->" {
			header = &tar.Header{Name: name, Linkname: content[2:], Typeflag: tar.TypeSymlink}
			content = ""
		}
		require.NoError(t, writer.WriteHeader(header))
		_, err := io.WriteString(writer, content)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	name := filepath.Join(t.TempDir(), "package.tgz")
	require.NoError(t, os.WriteFile(name, buffer.Bytes(), 0o644))
	return name
}

// wheel writes a zip archive with one file.
func wheel(t *testing.T, entry, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "package.whl")
	file, err := os.Create(name)
	require.NoError(t, err)
	writer := zip.NewWriter(file)
	member, err := writer.Create(entry)
	require.NoError(t, err)
	_, err = io.WriteString(member, content)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, file.Close())
	return name
}

// clients puts shell scripts on a PATH that holds nothing else but cp.
func clients(t *testing.T, scripts map[string]string) {
	t.Helper()
	cp, err := exec.LookPath("cp")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(cp, filepath.Join(dir, "cp")))
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir)
}

// installed returns the names in the target's folder, none if there is no folder.
func installed(t *testing.T, i installer) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(i.target))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestInstallThroughNpm(t *testing.T) {
	i, progress := fakeInstaller(t)
	archive := tgz(t, "package/readme", "no", "package/bin/lib.so", fakeLibrary)
	npm := `[ "$1 $2" = "pack --ignore-scripts" ] && cp ` + archive + ` "$5/onnxruntime-node.tgz"`
	clients(t, map[string]string{"npm": npm})
	require.NoError(t, i.install(context.Background(), ""))
	content, err := os.ReadFile(i.target)
	require.NoError(t, err)
	require.Equal(t, fakeLibrary, string(content))
	require.Equal(t, []string{"lib.so"}, installed(t, i), "the temporary folder is gone")
	require.Contains(t, progress.String(), "with npm")

	t.Setenv("PATH", "")
	require.NoError(t, i.install(context.Background(), ""), "what is there needs no client")
	require.Contains(t, progress.String(), "already there")
}

func TestInstallThroughPipWhereNpmFails(t *testing.T) {
	i, _ := fakeInstaller(t)
	archive := wheel(t, "capi/lib.so", fakeLibrary)
	clients(t, map[string]string{
		"npm":     "echo npm is ill >&2; exit 3",
		"python3": `while [ "$1" != --dest ]; do shift; done; cp ` + archive + ` "$2/"`,
	})
	require.NoError(t, i.install(context.Background(), ""))
	require.Equal(t, []string{"lib.so"}, installed(t, i))
}

func TestInstallWithoutNetworkOrClient(t *testing.T) {
	i, _ := fakeInstaller(t)
	clients(t, map[string]string{"npm": "echo first; echo no network >&2; exit 1"})
	err := i.install(context.Background(), "")
	require.ErrorIs(t, err, ErrFetch)
	require.ErrorContains(t, err, "npm: exit status 1: no network; python3 is not on PATH")
	require.Empty(t, installed(t, i))
}

func TestInstallFromFile(t *testing.T) {
	for name, archive := range map[string]string{
		"tgz":   tgz(t, "package/bin/lib.so", fakeLibrary),
		"wheel": wheel(t, "capi/lib.so", fakeLibrary),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", "")
			i, _ := fakeInstaller(t)
			require.NoError(t, i.install(context.Background(), archive))
			require.Equal(t, []string{"lib.so"}, installed(t, i))
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	whole, err := os.ReadFile(tgz(t, "package/bin/lib.so", fakeLibrary))
	require.NoError(t, err)
	truncated := filepath.Join(t.TempDir(), "half.tgz")
	require.NoError(t, os.WriteFile(truncated, whole[:len(whole)/2], 0o644))
	text := filepath.Join(t.TempDir(), "text.whl")
	require.NoError(t, os.WriteFile(text, []byte("no archive"), 0o644))
	for name, c := range map[string]struct{ archive, complaint string }{
		"another content":             {tgz(t, "package/bin/lib.so", "evil"), "not the pinned"},
		"another package":             {tgz(t, "package/readme", "hello"), "does not hold package/bin/lib.so"},
		"a path out of the archive":   {tgz(t, "../../lib.so", fakeLibrary, "/lib.so", fakeLibrary), "does not hold"},
		"a link instead of a library": {tgz(t, "package/bin/lib.so", "->/etc/passwd"), "does not hold"},
		"a truncated archive":         {truncated, "unexpected EOF"},
		"no archive":                  {text, "no .whl archive"},
		"no file":                     {filepath.Join(t.TempDir(), "absent.tgz"), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			i, _ := fakeInstaller(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(i.target), 0o755))
			require.NoError(t, os.WriteFile(i.target, []byte("the old one"), 0o644))
			require.ErrorContains(t, i.install(context.Background(), c.archive), c.complaint)
			require.Equal(t, []string{"lib.so"}, installed(t, i))
			old, err := os.ReadFile(i.target)
			require.NoError(t, err)
			require.Equal(t, "the old one", string(old))
		})
	}
}

func TestInstallIsCancelled(t *testing.T) {
	i, _ := fakeInstaller(t)
	clients(t, map[string]string{"npm": "exit 0", "python3": "exit 0"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, i.install(ctx, ""), "context canceled")
	require.Empty(t, installed(t, i))
}

// The real package of this platform, through the real client.
func TestInstallONNX(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches a package; not in -short")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	library, err := InstallONNX(context.Background(), "", io.Discard)
	if errors.Is(err, ErrFetch) {
		t.Skipf("no package client or no network: %v", err)
	}
	require.NoError(t, err)
	t.Setenv(onnxPathEnv, "")
	require.Equal(t, library, onnxPaths()[0], "Open looks where InstallONNX puts it")
	require.NoError(t, checkLibrary(library, "OrtGetApiBase"))
}
