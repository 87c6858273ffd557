package main

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// asTagged is a version that nobody publishes.
var asTagged = module.Version{Path: "github.com/saot-go/saot", Version: "v0.0.0-20000101000000-0123456789ab"}

// As once a version is tagged: go install takes the module from a proxy, a folder here, and what it builds works in an
// empty folder. Modules of others come from the module cache.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("go install compiles the module again: skipped with -short")
	}
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	proxy, bin := moduleProxy(t), t.TempDir()
	t.Cleanup(func() { forget(t, cache) })
	command(t, bin, []string{"GOBIN=" + bin, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOWORK=off", "CGO_ENABLED=0",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(cache) + "/cache/download,off"},
		"go", "install", asTagged.Path+"/cmd/saot@latest")

	saot, empty := filepath.Join(bin, "saot"), t.TempDir()
	require.Contains(t, command(t, empty, nil, saot, "version"), asTagged.Version)
	// Specs and the viewer are inside.
	require.Contains(t, command(t, empty, nil, saot, "sweep", "quick/table2", "--dry-run"), "runs")
	command(t, empty, nil, saot, "run", "--dataset", "synthetic:120", "--epochs", "1", "--record", "1", "--out", "r")
	command(t, empty, nil, saot, "show", "r")
	require.FileExists(t, filepath.Join(empty, "r", "recording.html"))
}

// moduleProxy writes the repository's files as one version of the module into a folder, as proxies lay it out.
func moduleProxy(t *testing.T) string {
	t.Helper()
	if err := exec.Command("git", "ls-files", "--error-unmatch", "main.go").Run(); err != nil {
		t.Skip("git does not know this folder: the module's files are not known")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var files []zip.File
	for _, path := range strings.Split(command(t, root, nil, "git", "ls-files", "-z", "--cached"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, path)); path != "" && err == nil {
			files = append(files, repositoryFile{root, path})
		}
	}
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(asTagged.Path), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), data, 0o600))
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	write(asTagged.Version+".mod", mod)
	write("list", nil) // no version has a tag; then @latest says which is the newest
	info := []byte(`{"Version": "` + asTagged.Version + `", "Time": "2000-01-01T00:00:00Z"}`)
	write(asTagged.Version+".info", info)
	write("../@latest", info)
	archive, err := os.Create(filepath.Join(versions, asTagged.Version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.Create(archive, asTagged, files))
	require.NoError(t, archive.Close())
	return proxy
}

// forget takes the version out of the module cache.
func forget(t *testing.T, cache string) {
	t.Helper()
	path := filepath.FromSlash(asTagged.Path)
	require.NoError(t, os.RemoveAll(filepath.Join(cache, path+"@"+asTagged.Version)))
	left, err := filepath.Glob(filepath.Join(cache, "cache", "download", path, "@v", asTagged.Version+".*"))
	require.NoError(t, err)
	for _, name := range left {
		require.NoError(t, os.Remove(name))
	}
}

// repositoryFile is a file as a module's zip takes it.
type repositoryFile struct{ root, path string }

func (f repositoryFile) Path() string                 { return f.path }
func (f repositoryFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.path)) }
func (f repositoryFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.path)) }

// command runs a program in a folder with more variables and returns what it writes, or fails the test.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s\n%s%s", name, strings.Join(args, " "), out, stderr)
	return string(out)
}
