// Package install brings XLA: its CPU plugin, and its CUDA plugin with NVIDIA's libraries. They come as Python
// packages, whose wheels are pinned, checked and unpacked; neither Python nor pip is needed. It imports datasets/fetch
// and the engine.
package install

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/engine"
)

//go:embed wheels.txt
var pins string

// wheel is a package of a library, with its content pinned.
type wheel struct {
	requirement string // NAME==VERSION
	sha256      string // of the wheel, in hexadecimal
	path        string // below files.pythonhosted.org/packages
}

func (w wheel) name() string { return path.Base(w.path) }

// wheelsOf returns the packages of an engine for a platform, GOOS/GOARCH; none where none is known.
func wheelsOf(name, platform string) (wheels []wheel) {
	for line := range strings.Lines(pins) {
		if f := strings.Fields(line); f[0] == name && f[1] == platform {
			wheels = append(wheels, wheel{requirement: f[2], sha256: f[3], path: f[4]})
		}
	}
	return wheels
}

// Engine puts the libraries of an engine, "xla" or "cuda", into the user's cache, where engine.Open finds them,
// and returns the path of the main library. Wheels come from the files that from names, else from the index that pip is
// set to, where pip is present, else from PyPI. Downloads resume, in this call or a later one. Every wheel is checked
// against a pinned SHA-256, and all are unpacked next to the place where they go, which changes when they are whole.
// Progress is written as lines. Where no package is known for the platform, go-xla's own installer brings "xla".
//
// It returns an error for another name, for a platform without packages, if a wheel cannot be fetched
// (fetch.ErrUnavailable) or is not the pinned one, and if the cache cannot be written; then what was there stays.
func Engine(ctx context.Context, name string, from []string, progress io.Writer) (string, error) {
	folder, err := engine.Folder(name)
	if err != nil {
		return "", err
	}
	b := bundle{folder: folder, wheels: wheelsOf(name, runtime.GOOS+"/"+runtime.GOARCH), progress: progress,
		index: "https://files.pythonhosted.org/packages"}
	if engine.CheckInstalled(name) != nil { // or a damaged library would stay
		if err := os.RemoveAll(filepath.Join(folder, complete)); err != nil {
			return "", fmt.Errorf("install %s: %w", name, err)
		}
	}
	switch {
	case len(b.wheels) > 0:
		err = b.install(ctx, from)
	case name == "xla" && len(from) == 0:
		err = installGoXLA(folder)
	default:
		err = fmt.Errorf("no package is known for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	library := engine.Installed(name)
	if library == "" {
		return "", fmt.Errorf("install %s: no library was found in %s", name, folder)
	}
	return library, nil
}

type bundle struct {
	folder   string  // where the wheels are unpacked
	wheels   []wheel // what goes there
	index    string  // the address of a package index's files
	progress io.Writer
}

// complete is a file in the folder that lists the wheels which were unpacked.
const complete = "wheels"

// list is the content of complete.
func (b bundle) list() string {
	var sums strings.Builder
	for _, w := range b.wheels {
		sums.WriteString(w.sha256 + "\n")
	}
	return sums.String()
}

// isComplete reports, and says, that the folder has all wheels.
func (b bundle) isComplete() bool {
	have, err := os.ReadFile(filepath.Join(b.folder, complete))
	if err != nil || string(have) != b.list() {
		return false
	}
	b.say("%s is complete", b.folder)
	return true
}

func (b bundle) install(ctx context.Context, from []string) error {
	if b.isComplete() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.folder), 0o755); err != nil {
		return err
	}
	lock, err := file.Acquire(ctx, b.folder)
	if err != nil {
		return err
	}
	defer lock.Release()
	temporary := b.temporary()
	if err := file.TidyFolder(b.folder, temporary); err != nil {
		return err
	}
	if b.isComplete() { // by the process that held the lock
		return nil
	}
	defer func() { _ = os.RemoveAll(temporary) }() // nothing more to do where it cannot be removed
	var fetched []string
	for k, w := range b.wheels {
		archive, err := b.find(ctx, w, from, fmt.Sprintf("%d of %d", k+1, len(b.wheels)))
		if err != nil {
			return err
		}
		if len(from) == 0 {
			fetched = append(fetched, archive)
		}
		if err := unpack(ctx, archive, temporary); err != nil {
			return err
		}
	}
	if err := file.Write(filepath.Join(temporary, complete), []byte(b.list())); err != nil {
		return err
	}
	if err := file.ReplaceFolder(b.folder, temporary); err != nil {
		return err
	}
	for _, archive := range fetched {
		_ = os.Remove(archive) // it is unpacked
	}
	b.say("installed %s", b.folder)
	return nil
}

// temporary is where the wheels are unpacked: next to the folder, for a rename, and under a name of its own, because
// other engines are installed next to it. The lock of the folder guards it.
func (b bundle) temporary() string {
	return filepath.Join(filepath.Dir(b.folder), ".install-"+filepath.Base(b.folder))
}

// find returns the path of a wheel: the file of from that is it, or a download.
func (b bundle) find(ctx context.Context, w wheel, from []string, count string) (string, error) {
	if len(from) == 0 {
		return b.fetch(ctx, w, count)
	}
	for _, archive := range from {
		sum, err := file.SHA256Context(ctx, archive)
		if err != nil {
			return "", err
		}
		if sum == w.sha256 {
			return archive, nil
		}
	}
	return "", fmt.Errorf("none of the given files is the wheel of %s, %s with SHA-256 %s: one is missing, damaged or "+
		"another build", w.requirement, w.name(), w.sha256)
}

// fetch downloads a wheel next to the folder.
func (b bundle) fetch(ctx context.Context, w wheel, count string) (string, error) {
	urls := []string{b.index + "/" + w.path}
	if mirror := pipURL(ctx, w); mirror != "" && mirror != urls[0] {
		urls = append([]string{mirror}, urls...)
	}
	target := filepath.Join(filepath.Dir(b.folder), "downloads", w.name())
	const every = 2 * time.Second
	var said time.Time
	b.say("%s: fetching %s", count, w.requirement)
	_, err := fetch.Fetch(ctx, fetch.Request{URLs: urls, Path: target, SHA256: w.sha256, Retries: 2,
		Progress: func(done, total int64) {
			if time.Since(said) > every && total > 0 {
				said = time.Now()
				b.say("%s: %s: %d of %d MB", count, w.requirement, done>>20, total>>20)
			}
		},
		ByHand: "name it with --from"})
	return target, err
}

// pipURL asks pip where its index has a wheel: users who have a mirror have told pip. It returns "" where pip is
// absent, too old for reports (before 22.2), or without network.
func pipURL(ctx context.Context, w wheel) string {
	tags := strings.Split(strings.TrimSuffix(w.name(), ".whl"), "-")
	args := []string{"-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", "--no-deps",
		"--only-binary=:all:", "--disable-pip-version-check", "--retries=1", "--timeout=5", "--target", os.TempDir()}
	if version, found := strings.CutPrefix(tags[2], "cp3"); found {
		args = append(args, "--implementation", "cp", "--python-version", "3."+version)
	}
	for platform := range strings.SplitSeq(tags[4], ".") {
		args = append(args, "--platform", platform)
	}
	output, err := exec.CommandContext(ctx, "python3", append(args, w.requirement)...).Output()
	if err != nil {
		return ""
	}
	var report struct {
		Install []struct {
			Download struct {
				URL string `json:"url"`
			} `json:"download_info"`
		} `json:"install"`
	}
	if json.Unmarshal(output, &report) != nil || len(report.Install) != 1 ||
		path.Base(report.Install[0].Download.URL) != w.name() {
		return ""
	}
	return report.Install[0].Download.URL
}

func (b bundle) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...) // progress that cannot be shown is no reason to stop
}

// leftOut lists the endings of files that no library needs.
var leftOut = []string{".py", ".pyi", ".pyc", ".h", ".hpp", ".a"}

// errOutside marks a wheel that would write outside of its folder.
var errOutside = errors.New("a file would land outside of the folder")

// unpack writes the files of a wheel, a zip archive whose content is known, below a folder.
func unpack(ctx context.Context, archive, folder string) error {
	return eachFile(archive, func(name string, mode os.FileMode, content io.Reader) error {
		if slices.Contains(leftOut, path.Ext(name)) {
			return nil
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%w: %q", errOutside, name)
		}
		target := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()&0o755|0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, file.Reader(ctx, content))
		return errors.Join(err, f.Close())
	})
}
