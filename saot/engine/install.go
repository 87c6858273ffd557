package engine

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
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

	"github.com/saot-go/saot/internal/file"
)

// onnxVersion is the ONNX Runtime that InstallONNX brings; its checksums stand in onnxPins.
const onnxVersion = "1.30.0"

// maxLibrary bounds what is unpacked from an archive, in bytes: several times the size of the library.
const maxLibrary = 512 << 20

// pin names the ONNX Runtime library of one platform in one package, and its content.
type pin struct {
	client   string // package client that brings the archive: npm or pip
	platform string // GOOS/GOARCH
	tag      string // pip's name of the platform
	entry    string // path of the library in the archive
	sha256   string // of the library, in hexadecimal
}

// onnxPins returns the libraries that InstallONNX accepts. Checksums were taken from the packages onnxruntime-node
// 1.30.0 (npm) and onnxruntime 1.30.0 (pip).
func onnxPins() []pin {
	return []pin{
		{"npm", "linux/amd64", "", "package/bin/napi-v6/linux/x64/libonnxruntime.so.1",
			"ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23"},
		{"npm", "linux/arm64", "", "package/bin/napi-v6/linux/arm64/libonnxruntime.so.1",
			"1f549d46250b005580b597f4164984aaf75b3bcb9f3aeb07c7f8a8fe60b23c76"},
		{"npm", "darwin/arm64", "", "package/bin/napi-v6/darwin/arm64/libonnxruntime.1.dylib",
			"685d2be5dba1309c89d3a5324b7fd06a5c42f1a61bfea32d14c4cc28d072121d"},
		{"pip", "linux/amd64", "manylinux_2_28_x86_64", "onnxruntime/capi/libonnxruntime.so.1.30.0",
			"c902c70b3003c0e99fada202f37478c515ae9bba7944c2b2abd0017bae0c82ed"},
		{"pip", "linux/arm64", "manylinux_2_28_aarch64", "onnxruntime/capi/libonnxruntime.so.1.30.0",
			"8a218e1e446880131115c368ec7005969a5022af9a15a26173de648fef0b7789"},
		{"pip", "darwin/arm64", "macosx_14_0_arm64", "onnxruntime/capi/libonnxruntime.1.30.0.dylib",
			"b46713ea6a25a5227541c21001f6422c1ccdeaecc369aa026a61b752520325c3"},
	}
}

// ErrFetch marks a failure of the package client: none on the machine, or no network.
var ErrFetch = errors.New("the package could not be fetched")

// InstallONNX puts ONNX Runtime into the user's cache, where Open finds it, and returns the path of the library. The
// package comes from the archive (.tgz of onnxruntime-node or .whl of onnxruntime) that from names, or, if from is
// empty, through npm or pip, whichever works on the machine; no script of a package is run. Only the library is
// unpacked; it is checked against a pinned SHA-256 and moved into place in one step. Progress is written as lines.
//
// It returns an error if the platform has no pinned library, the package cannot be fetched (ErrFetch), the archive
// lacks the library, the checksum differs, or the cache cannot be written; then no file is left behind.
func InstallONNX(ctx context.Context, from string, progress io.Writer) (string, error) {
	dir, err := onnxCache()
	if err != nil {
		return "", err
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	pins := slices.DeleteFunc(onnxPins(), func(p pin) bool { return p.platform != platform })
	if len(pins) == 0 {
		return "", fmt.Errorf("engine: no ONNX Runtime is known for %s: set %s to a libonnxruntime of your own",
			platform, onnxPathEnv)
	}
	i := installer{target: filepath.Join(dir, onnxLibrary()), pins: pins, progress: progress}
	if err := i.install(ctx, from); err != nil {
		return "", fmt.Errorf("engine: install ONNX Runtime %s: %w", onnxVersion, err)
	}
	return i.target, nil
}

func onnxCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("engine: no folder for the library: %w", err)
	}
	return filepath.Join(cache, "saot", "onnxruntime", onnxVersion), nil
}

func onnxLibrary() string {
	if runtime.GOOS == "darwin" {
		return "libonnxruntime.1.dylib"
	}
	return "libonnxruntime.so.1"
}

type installer struct {
	target   string // where the library goes
	pins     []pin  // what it may be, in order of preference
	progress io.Writer
}

func (i installer) install(ctx context.Context, from string) error {
	if sum, err := file.SHA256(i.target); err == nil &&
		slices.ContainsFunc(i.pins, func(p pin) bool { return p.sha256 == sum }) {
		i.say("%s is already there", i.target)
		return nil
	}
	dir := filepath.Dir(i.target)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, ".install-*") // next to the target, so that the rename is one step
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing more to do where the folder cannot be removed
	if from != "" {
		return i.unpack(from, temp)
	}
	var failures []string
	for _, p := range i.pins {
		archive, err := i.fetch(ctx, p, temp)
		if err == nil {
			return i.unpack(archive, temp)
		}
		failures = append(failures, err.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("%w: %s", ErrFetch, strings.Join(failures, "; "))
}

// fetch downloads the package of a pin with its client into a folder of its own, and returns the archive's path.
func (i installer) fetch(ctx context.Context, p pin, temp string) (string, error) {
	dir := filepath.Join(temp, p.client)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	var args []string
	switch p.client {
	case "npm":
		args = []string{"npm", "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", dir,
			"--fetch-retries=1", "--fetch-retry-mintimeout=2000", "onnxruntime-node@" + onnxVersion}
	default:
		args = []string{"python3", "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--retries=1",
			"--no-deps", "--only-binary=:all:",
			"--implementation", "cp", "--python-version", "3.12", "--platform", p.tag, "--dest", dir,
			"onnxruntime==" + onnxVersion}
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return "", fmt.Errorf("%s is not on PATH", args[0])
	}
	i.say("fetching ONNX Runtime %s with %s …", onnxVersion, p.client)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", p.client, err, complaintOf(output))
	}
	archives, _ := filepath.Glob(filepath.Join(dir, "*.[tw]*")) // .tgz or .whl; the only error is a bad pattern
	if len(archives) != 1 {
		return "", fmt.Errorf("%s left %d archives, not one", p.client, len(archives))
	}
	return archives[0], nil
}

func (i installer) unpack(archive, temp string) error {
	i.say("checking %s …", filepath.Base(archive))
	unpacked := filepath.Join(temp, "library")
	open := eachTar
	if ext := filepath.Ext(archive); ext == ".whl" || ext == ".zip" {
		open = eachZip
	}
	found := -1
	err := open(archive, func(name string, content io.Reader) (done bool, err error) {
		found = slices.IndexFunc(i.pins, func(p pin) bool { return p.entry == path.Clean(name) })
		if found < 0 {
			return false, nil
		}
		return true, writeLibrary(unpacked, content)
	})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", archive, err)
	case found < 0:
		return fmt.Errorf("%s does not hold %s: take onnxruntime-node-%s.tgz or the onnxruntime %s wheel of this "+
			"platform",
			archive, i.pins[0].entry, onnxVersion, onnxVersion)
	}
	want := i.pins[found]
	sum, err := file.SHA256(unpacked)
	if err != nil {
		return err
	}
	if sum != want.sha256 {
		return fmt.Errorf("%s: %s has SHA-256 %s, not the pinned %s: the file is damaged or another build; "+
			"nothing was installed",
			archive, want.entry, sum, want.sha256)
	}
	if err := file.Commit(unpacked, i.target); err != nil {
		return err
	}
	i.say("installed %s", i.target)
	return nil
}

func (i installer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(i.progress, format+"\n", args...) // progress that cannot be shown is no reason to stop
}

// eachTar calls visit for every regular file of a gzipped tar archive, until it is done. Names of the archive are only
// compared, never written to.
func eachTar(archive string, visit func(name string, content io.Reader) (done bool, err error)) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("no .tgz archive: %w", err)
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("damaged archive: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if done, err := visit(header.Name, reader); done || err != nil {
			return err
		}
	}
}

// eachZip is eachTar for a zip archive, which a wheel is.
func eachZip(archive string, visit func(name string, content io.Reader) (done bool, err error)) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("no .whl archive: %w", err)
	}
	defer func() { _ = reader.Close() }() // opened for reading only
	for _, f := range reader.File {
		if !f.Mode().IsRegular() {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return fmt.Errorf("damaged archive: %w", err)
		}
		done, err := visit(f.Name, content)
		_ = content.Close() // opened for reading only; the checksum is what counts
		if done || err != nil {
			return err
		}
	}
	return nil
}

func writeLibrary(target string, content io.Reader) error {
	f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, maxLibrary+1))
	if err == nil && n > maxLibrary {
		err = fmt.Errorf("the library is larger than %d bytes", maxLibrary)
	}
	return errors.Join(err, f.Close())
}

// complaintOf returns the line of a client's output that says what went wrong: the first that speaks of an error, else
// the last.
func complaintOf(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	complaint := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(strings.ToLower(line),
			"error")
	})
	if complaint < 0 {
		complaint = len(lines) - 1
	}
	return strings.TrimSpace(lines[complaint])
}
