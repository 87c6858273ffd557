// Package install installs XLA: its CPU plugin, and its CUDA plugin with NVIDIA's libraries. They come as Python
// packages, whose wheels are pinned, checked and unpacked; neither Python nor pip is needed. It imports datasets/fetch
// and the engine.
package install

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/parallel"
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
// and returns the path of the main library. If from is not empty, wheels come from the files that it lists and from the
// .whl files in the folders that it lists. Otherwise they come from the index that pip is configured to use, or else
// from PyPI. Downloads resume, in this call or a later one. Every wheel is checked against a pinned SHA-256. All are
// unpacked next to their final folder, which is replaced once they are complete. Progress is written as lines. If no
// package is known for the platform, go-xla's own installer fetches "xla", unchecked.
//
// It returns an error for another name, for a platform without packages, if a wheel cannot be fetched
// (fetch.ErrUnavailable) or is not the pinned one, if from lacks wheels (a *MissingError with the addresses of all that
// are missing), and if the cache cannot be written. If the pinned wheels cannot be installed, what was in the cache
// stays.
func Engine(ctx context.Context, name string, from []string, progress io.Writer) (string, error) {
	folder, err := engine.Folder(name)
	if err != nil {
		return "", err
	}
	b := bundle{folder: folder, wheels: wheelsOf(name, runtime.GOOS+"/"+runtime.GOARCH), progress: progress,
		index: "https://files.pythonhosted.org/packages", check: func() error { return engine.CheckInstalled(name) }}
	switch {
	case len(b.wheels) > 0:
		err = b.install(ctx, from)
	case name == "xla" && len(from) == 0:
		b.say("fetching XLA's plugin from the release page of go-xla's authors")
		_, err = parallel.Until(ctx, func() (any, error) { return nil, installGoXLA(folder) })
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
	check    func() error // of the main library, once it is there
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

// isComplete reports, and says, that the folder has all wheels. A folder with a damaged library counts as incomplete,
// so that the library is replaced.
func (b bundle) isComplete() bool {
	have, err := os.ReadFile(filepath.Join(b.folder, complete))
	if err != nil || string(have) != b.list() || b.check() != nil {
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
	lock, err := file.AcquireTelling(ctx, b.folder, func() {
		b.say("another process installs %s: waiting for it", filepath.Base(b.folder))
	})
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
	archives, err := b.find(ctx, from)
	if err != nil {
		return err
	}
	for k, archive := range archives {
		if err := b.unpack(ctx, b.wheels[k], archive, len(from) > 0); err != nil {
			return err
		}
	}
	if err := file.Write(filepath.Join(temporary, complete), []byte(b.list())); err != nil {
		return err
	}
	if err := file.ReplaceFolder(b.folder, temporary); err != nil {
		return err
	}
	if len(from) == 0 {
		for _, archive := range archives {
			_ = os.Remove(archive) // it is unpacked
		}
	}
	b.say("installed %s", b.folder)
	return nil
}

// temporary is where the wheels are unpacked: next to the folder, for a rename, and under a name of its own, because
// other engines are installed next to it. The lock of the folder guards it.
func (b bundle) temporary() string {
	return filepath.Join(filepath.Dir(b.folder), ".install-"+filepath.Base(b.folder))
}

// unpack unpacks a wheel to the temporary folder. A given wheel may lie in a folder that others can write to. unpack
// copies such a wheel, checks the copy, and unpacks the copy.
func (b bundle) unpack(ctx context.Context, w wheel, archive string, given bool) error {
	if !given {
		return unpack(ctx, archive, b.temporary())
	}
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	target := filepath.Join(b.temporary(), w.name())
	err = file.Replace(target, func(to io.Writer) error {
		hash := sha256.New()
		_, err := io.Copy(io.MultiWriter(to, hash), file.Reader(ctx, in))
		if err == nil && hex.EncodeToString(hash.Sum(nil)) != w.sha256 {
			err = fmt.Errorf("%s changed during the install: it is no longer the pinned package", archive)
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(unpack(ctx, target, b.temporary()), os.Remove(target))
}

// find returns the paths of the wheels, in their order: those that were given, if any were, else downloads.
func (b bundle) find(ctx context.Context, from []string) (archives []string, err error) {
	if len(from) > 0 {
		return b.given(ctx, from)
	}
	index := pipIndex(ctx, filepath.Dir(b.folder))
	for k, w := range b.wheels {
		archive, err := b.fetch(ctx, w, index, fmt.Sprintf("%d of %d", k+1, len(b.wheels)))
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// given finds the wheels among files, and the .whl files in folders, by their content: a file may have another name.
func (b bundle) given(ctx context.Context, from []string) (archives []string, err error) {
	b.say("checking the given files")
	bySum := map[string]string{}
	for _, name := range withinFolders(from) {
		sum, err := file.SHA256Context(ctx, name)
		if err != nil {
			return nil, err
		}
		bySum[sum] = name
	}
	var missing []string
	for _, w := range b.wheels {
		archives = append(archives, bySum[w.sha256])
		if bySum[w.sha256] == "" {
			missing = append(missing, b.index+"/"+w.path)
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{Packages: len(b.wheels), URLs: missing}
	}
	return archives, nil
}

// MissingError says that packages of an engine are not among the files that Engine was given.
type MissingError struct {
	Packages int      // of the engine
	URLs     []string // of the missing ones
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%d of the %d packages are not among the given files, or damaged, or other builds", len(e.URLs),
		e.Packages)
}

// withinFolders returns paths with the .whl files in each folder instead of the folder.
func withinFolders(paths []string) (files []string) {
	for _, name := range paths {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			files = append(files, name)
			continue
		}
		found, _ := fs.Glob(os.DirFS(name), "*.whl") // the only error is a bad pattern
		for _, wheel := range found {
			files = append(files, filepath.Join(name, wheel))
		}
	}
	return files
}

// fetch downloads a wheel next to the folder, from the index of a mirror, if there is one and it has the wheel.
func (b bundle) fetch(ctx context.Context, w wheel, mirror, count string) (string, error) {
	urls := []string{b.index + "/" + w.path}
	target := filepath.Join(filepath.Dir(b.folder), "downloads", w.name())
	const every = 2 * time.Second
	var said time.Time
	b.say("%s: fetching %s", count, w.requirement)
	if mirror != "" {
		if address := inIndex(ctx, mirror, w); address != "" && address != urls[0] {
			urls = []string{address, urls[0]}
		}
	}
	_, err := fetch.Fetch(ctx, fetch.Request{URLs: urls, Path: target, SHA256: w.sha256, Retries: 2,
		Progress: func(done, total int64) {
			if time.Since(said) > every && total > 0 {
				said = time.Now()
				b.say("%s: %s: %d of %d MB", count, w.requirement, done>>20, total>>20)
			}
		},
		ByHand: "name it, or a folder of all packages, with --from"})
	return target, err
}

func (b bundle) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...) // progress that cannot be shown is no reason to stop
}
