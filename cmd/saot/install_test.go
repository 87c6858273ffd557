package main

import (
	"crypto/sha256"
	"encoding/hex"
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

// As once a version is tagged: go install takes the module from a proxy, a folder here, and what it builds works in an
// empty folder. Modules of others come from the module cache.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("go install compiles the module again: skipped with -short")
	}
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	probe, err := os.CreateTemp(cache, "probe")
	if err != nil {
		t.Skipf("go install writes into the module cache, which cannot be written: %v", err)
	}
	require.NoError(t, probe.Close())
	require.NoError(t, os.Remove(probe.Name()))
	proxy, version := moduleProxy(t)
	bin := t.TempDir()
	t.Cleanup(func() { forget(t, cache, version) })
	t.Setenv("GOMLX_BACKEND", "")
	address := func(path string) string { // on windows the path of a file has no slash before it
		return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	}
	command(t, bin, []string{"GOBIN=" + bin, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOWORK=off", "CGO_ENABLED=0",
		"GOPROXY=" + address(proxy) + "," + address(cache) + "/cache/download,off"},
		"go", "install", version.Path+"/cmd/saot@latest")

	saot, empty := filepath.Join(bin, "saot"), t.TempDir()
	require.Contains(t, command(t, empty, nil, saot, "version"), version.Version)
	// Specs and the viewer are inside.
	require.Contains(t, command(t, empty, nil, saot, "sweep", "quick/table2", "--dry-run"), "runs")
	command(t, empty, nil, saot, "run", "--dataset", "synthetic:400", "--epochs", "1", "--probe",
		"converged", "--record", "1", "--out", "r")
	command(t, empty, nil, saot, "show", "--html", "r")
	require.FileExists(t, filepath.Join(empty, "r", "recording.html"))
}

// moduleProxy writes the repository's files as one version of the module into a folder, as proxies lay it out.
func moduleProxy(t *testing.T) (string, module.Version) {
	t.Helper()
	files, sum := repositoryFiles(t)
	// Go keeps what it knows of a version for good, so that each content has a version of its own.
	version := module.Version{Path: "github.com/saot-go/saot", Version: "v0.0.0-20000101000000-" + sum}
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), data, 0o600))
	}
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	info := []byte(`{"Version": "` + version.Version + `", "Time": "2000-01-01T00:00:00Z"}`)
	write(version.Version+".mod", mod)
	write(version.Version+".info", info)
	write("list", nil) // no version has a tag; then @latest says which is the newest
	write("../@latest", info)
	archive, err := os.Create(filepath.Join(versions, version.Version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.Create(archive, version, files))
	require.NoError(t, archive.Close())
	return proxy, version
}

// repositoryFiles returns the files that git knows, and twelve digits of their contents' checksum.
func repositoryFiles(t *testing.T) ([]zip.File, string) {
	t.Helper()
	if err := exec.Command("git", "ls-files", "--error-unmatch", "main.go").Run(); err != nil {
		t.Skip("git does not know this folder: the module's files are not known")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var files []zip.File
	sum := sha256.New()
	for _, path := range strings.Split(command(t, root, nil, "git", "ls-files", "-z", "--cached"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			continue // the end of the list, or a file that is gone
		}
		sum.Write([]byte(path))
		sum.Write(data)
		files = append(files, repositoryFile{root, path})
	}
	return files, hex.EncodeToString(sum.Sum(nil))[:12]
}

// forget takes the version out of the module cache.
func forget(t *testing.T, cache string, version module.Version) {
	t.Helper()
	path := filepath.FromSlash(version.Path)
	require.NoError(t, os.RemoveAll(filepath.Join(cache, path+"@"+version.Version)))
	left, err := filepath.Glob(filepath.Join(cache, "cache", "download", path, "@v", version.Version+".*"))
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
