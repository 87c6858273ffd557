package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/engine"
)

// zipped makes a wheel of names and contents, one after the other.
func zipped(t *testing.T, entries ...string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for k := 0; k < len(entries); k += 2 {
		member, err := w.Create(entries[k])
		require.NoError(t, err)
		_, err = io.WriteString(member, entries[k+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return buffer.Bytes()
}

// indexed serves wheels, and returns a bundle of them that goes to a folder of the test.
func indexed(t *testing.T, wheels ...[]byte) (bundle, *bytes.Buffer) {
	t.Helper()
	t.Setenv("PATH", "") // no pip
	t.Setenv("PIP_INDEX_URL", "")
	served := map[string][]byte{}
	var progress bytes.Buffer
	b := bundle{folder: filepath.Join(t.TempDir(), "engines", "some"), progress: &progress,
		check: func() error { return nil }}
	for k, content := range wheels {
		sum := sha256.Sum256(content)
		name := string(rune('a'+k)) + "/lib-1.0-py3-none-any" + string(rune('a'+k)) + ".whl"
		served["/"+name] = content
		b.wheels = append(b.wheels, wheel{requirement: "lib==1.0", sha256: hex.EncodeToString(sum[:]), path: name})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, found := served[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	b.index = server.URL
	return b, &progress
}

// below lists the files below a folder.
func below(t *testing.T, folder string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

func TestInstall(t *testing.T) {
	b, progress := indexed(t, zipped(t, "lib/one.so", "first", "lib/code.py", "no", "lib/LICENSE", "yes"),
		zipped(t, "nvidia/two.so", "second"))
	require.NoError(t, b.install(context.Background(), nil))
	require.Equal(t, []string{"lib/LICENSE", "lib/one.so", "nvidia/two.so", "wheels"}, below(t, b.folder))
	require.Empty(t, below(t, filepath.Join(filepath.Dir(b.folder), "downloads")), "what is unpacked is gone")

	b.index = "http://127.0.0.1:1"
	require.NoError(t, b.install(context.Background(), nil), "what is there is not fetched again")
	require.Contains(t, progress.String(), "is complete")
	b.wheels = b.wheels[:1]
	require.ErrorIs(t, b.install(context.Background(), nil), fetch.ErrUnavailable)
	require.Contains(t, below(t, b.folder), "nvidia/two.so", "the old one stays")
}

// A library that is damaged is no reason to fetch nothing.
func TestRepair(t *testing.T) {
	wheels := wheelsOf("xla", runtime.GOOS+"/"+runtime.GOARCH)
	if runtime.GOOS != "linux" || len(wheels) == 0 {
		t.Skip("libraries are looked into on Linux, where there are wheels")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder, err := engine.Folder("xla")
	require.NoError(t, err)
	library := filepath.Join(folder, "some", "pjrt_c_api_cpu_plugin.so")
	require.NoError(t, os.MkdirAll(filepath.Dir(library), 0o755))
	require.NoError(t, os.WriteFile(library, []byte("\x7fELF"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, complete), []byte(bundle{wheels: wheels}.list()), 0o644))
	_, err = Engine(context.Background(), "xla", []string{library}, io.Discard)
	require.ErrorContains(t, err, "not among the given files")
	require.FileExists(t, library, "what was there stays")
	require.FileExists(t, filepath.Join(folder, complete), "another process may install meanwhile")
}

// A new version takes the place of the old one, of which nothing is left.
func TestReplace(t *testing.T) {
	b, _ := indexed(t, zipped(t, "lib/one.so", "first"), zipped(t, "lib/two.so", "second"))
	both := b.wheels
	b.wheels = both[:1]
	require.NoError(t, b.install(context.Background(), nil))
	b.wheels = both[1:]
	require.NoError(t, b.install(context.Background(), nil))
	require.Equal(t, []string{"lib/two.so", "wheels"}, below(t, b.folder))
	require.Equal(t, []string{"some/lib/two.so", "some/wheels"}, below(t, filepath.Dir(b.folder)))
}

// What an install that was killed left goes, and the engine that it was about to replace is back.
func TestInstallAfterAKill(t *testing.T) {
	b, _ := indexed(t, zipped(t, "lib/one.so", "first"))
	require.NoError(t, b.install(context.Background(), nil))
	require.NoError(t, os.Rename(b.folder, b.temporary()+".old"))
	require.NoError(t, file.Write(filepath.Join(b.temporary(), "lib", "two.so"), []byte("half")))
	b.index = "http://127.0.0.1:1"
	require.NoError(t, b.install(context.Background(), nil))
	require.Equal(t, []string{"some/lib/one.so", "some/wheels"}, below(t, filepath.Dir(b.folder)))
}

// Neither checking nor unpacking a wheel outlasts the call.
func TestInstallStops(t *testing.T) {
	content := zipped(t, "lib/one.so", "first")
	b, _ := indexed(t, content)
	archive := filepath.Join(t.TempDir(), "x.whl")
	require.NoError(t, file.Write(archive, content))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.find(ctx, []string{archive})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, unpack(ctx, archive, t.TempDir()), context.Canceled)
}

// asked is a context that calls a function when it is first asked whether it is over, as who waits for a lock does.
type asked struct {
	context.Context
	first func()
}

func (c asked) Err() error {
	c.first()
	return c.Context.Err()
}

// What another process has installed while this one waited for the lock, and said so, is not fetched again.
func TestInstallAfterAnother(t *testing.T) {
	b, progress := indexed(t, zipped(t, "lib/one.so", "first"))
	late := b
	late.index = "http://127.0.0.1:1"
	require.NoError(t, os.MkdirAll(filepath.Dir(b.folder), 0o755))
	lock, err := file.Try(b.folder)
	require.NoError(t, err)
	ctx := asked{context.Background(), sync.OnceFunc(func() {
		require.Equal(t, "another process installs some: waiting for it\n", progress.String())
		lock.Release()
		require.NoError(t, b.install(context.Background(), nil))
	})}
	require.NoError(t, late.install(ctx, nil))
	require.Contains(t, progress.String(), "is complete")
}

// A second call takes what the first has fetched before it was stopped.
func TestInstallContinues(t *testing.T) {
	b, progress := indexed(t, zipped(t, "lib/one.so", "first"), zipped(t, "lib/two.so", "second"))
	whole := b.wheels
	b.wheels = append(append([]wheel{}, whole[0]), wheel{requirement: "gone==1", sha256: whole[1].sha256,
		path: "gone/gone-1-py3-none-any.whl"})
	require.ErrorIs(t, b.install(context.Background(), nil), fetch.ErrUnavailable)
	require.NoDirExists(t, b.folder)
	downloads := filepath.Join(filepath.Dir(b.folder), "downloads")
	require.Contains(t, below(t, downloads), whole[0].name())

	b.wheels = whole
	require.NoError(t, b.install(context.Background(), nil))
	require.Equal(t, []string{"lib/one.so", "lib/two.so", "wheels"}, below(t, b.folder))
	require.Contains(t, progress.String(), "2 of 2")
}

func TestInstallFromFiles(t *testing.T) {
	one, two := zipped(t, "lib/one.so", "first"), zipped(t, "lib/two.so", "second")
	b, _ := indexed(t, one, two)
	b.index = "http://127.0.0.1:1"
	dir := t.TempDir()
	first, second := filepath.Join(dir, "x.whl"), filepath.Join(dir, "y.whl")
	require.NoError(t, file.Write(first, one))
	require.NoError(t, file.Write(second, two))
	err := b.install(context.Background(), []string{first})
	require.ErrorContains(t, err, "1 of the 2 packages")
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{b.index + "/" + b.wheels[1].path}, missing.URLs)
	err = b.install(context.Background(), []string{t.TempDir()})
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{b.index + "/" + b.wheels[0].path, b.index + "/" + b.wheels[1].path}, missing.URLs)
	require.NoDirExists(t, b.folder)
	require.NoError(t, b.install(context.Background(), []string{second, first}))
	require.Equal(t, []string{"lib/one.so", "lib/two.so", "wheels"}, below(t, b.folder))
	require.NoError(t, os.RemoveAll(b.folder))
	require.NoError(t, b.install(context.Background(), []string{dir}), "a folder of them")
	require.Equal(t, []string{"lib/one.so", "lib/two.so", "wheels"}, below(t, b.folder))
	require.FileExists(t, first, "a file of the user stays")
}

// A given file that changes after it was found is not unpacked.
func TestGivenFileChanges(t *testing.T) {
	b, _ := indexed(t, zipped(t, "lib/one.so", "first"))
	archive := filepath.Join(t.TempDir(), "x.whl")
	require.NoError(t, file.Write(archive, zipped(t, "lib/one.so", "other")))
	require.ErrorContains(t, b.unpack(t.Context(), b.wheels[0], archive, true), "no longer the pinned package")
	require.Empty(t, below(t, b.temporary()))
}

func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		content   []byte
		complaint string
	}{
		"a way out":   {zipped(t, "../../evil.so", "x"), "outside of the folder"},
		"an absolute": {zipped(t, "/tmp/evil.so", "x"), "outside of the folder"},
		"no wheel":    {[]byte("some text"), "no wheel"},
		"two alike":   {zipped(t, "lib/a.so", "x", "lib/a.so", "y"), "file exists"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := indexed(t, c.content)
			err := b.install(context.Background(), nil)
			require.Error(t, err)
			require.Contains(t, strings.ToLower(err.Error()), c.complaint)
			require.NoDirExists(t, b.folder)
			b.wheels[0].sha256 = strings.Repeat("0", 64)
			require.Error(t, b.install(context.Background(), nil), "other bytes than the pinned")
		})
	}
	b, _ := indexed(t, zipped(t, "lib/one.so", "first"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.install(ctx, nil), context.Canceled)
	_, err := Engine(context.Background(), "tpu", nil, io.Discard)
	require.ErrorContains(t, err, "choose one of")
}

// The index that pip is set to comes before PyPI.
func TestMirrorOfPip(t *testing.T) {
	content := zipped(t, "lib/one.so", "first")
	b, _ := indexed(t, content)
	b.index = "http://127.0.0.1:1"
	name := b.wheels[0].name()
	pages := map[string]string{
		"/relative/lib/": `<a href="../other-1.0.whl">x</a> <a data-x="" href="../../file/` + name + `#sha256=0">x</a>`,
		"/absolute/lib/": `<A HREF='http://HOST/file/` + name + `?a=1&amp;b=2'>x</A>`,
		"/without/lib/":  `<a href="../../file/x` + name + `">x</a> <a href="file:///` + name + `">x</a>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		if r.URL.Path == "/file/"+name {
			_, _ = w.Write(content)
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(pages[r.URL.Path], "HOST", "me:secret@"+r.Host))
	}))
	defer server.Close()
	host := strings.Replace(server.URL, "//", "//me:secret@", 1)
	for _, index := range []string{"/relative", "/absolute/"} {
		require.NoError(t, os.RemoveAll(b.folder))
		t.Setenv("PIP_INDEX_URL", host+index)
		require.NoError(t, b.install(context.Background(), nil), index)
	}
	for _, index := range []string{host + "/without", host + "/nothing", server.URL + "/relative", "nonsense"} {
		require.Empty(t, inIndex(context.Background(), index, b.wheels[0]), index)
	}
	b.wheels[0].sha256 = strings.Repeat("0", 64)
	err := b.install(context.Background(), nil)
	require.ErrorContains(t, err, server.Listener.Addr().String(), "the mirror was asked")
	require.NotContains(t, err.Error(), "secret")
}

// Where no variable names an index, pip's configuration may.
func TestIndexOfPip(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("PIP_INDEX_URL", "")
	require.Empty(t, pipIndex(t.Context(), dir), "no Python")
	script := "#!/bin/sh\n[ \"$*\" = '-m pip config get global.index-url' ] && [ -e python3 ] && " +
		"echo https://mirror/simple\n" // where it starts is not where the user is
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755))
	if runtime.GOOS == "windows" {
		t.Skip("a script is no program there")
	}
	require.Equal(t, "https://mirror/simple", pipIndex(t.Context(), dir))
	t.Setenv("PIP_INDEX_URL", "https://another/simple")
	require.Equal(t, "https://another/simple", pipIndex(t.Context(), dir))
}

func TestPins(t *testing.T) {
	for line := range strings.Lines(pins) {
		if f := strings.Fields(line); f[0] != "#" {
			require.Len(t, f, 5, line)
			require.Regexp(t, "^[0-9a-f]{64}$", f[3])
			require.Regexp(t, `^\w\w/\w\w/\w{60}/[\w.]+-[\w.]+-\w+-\w+-[\w.]+\.whl$`, f[4])
			require.Regexp(t, "^[a-z0-9]+(-[a-z0-9]+)*==[0-9.]+$", f[2], "the name as it is in an index")
			require.NotEmpty(t, wheelsOf(f[0], f[1]))
		}
	}
	require.Len(t, wheelsOf("cuda", "linux/amd64"), 16)
	require.Empty(t, wheelsOf("cuda", "plan9/arm"))
}
