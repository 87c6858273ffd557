package playground

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/licenses"
)

const path = "github.com/saot-go/saot"

// modules lists the Go programs that pages load as WebAssembly, by their folders below wasm.
var modules = []string{
	"solver",  // optimal transport, without GoMLX
	"learner", // training, which the page loads when it is first wanted
}

// toolchain is the go command that builds the modules, and where the sources are.
type toolchain struct {
	goroot string
	dir    string // of this module's sources
	cache  string
}

// newToolchain finds Go and the sources: those that belong to the current folder's module, or else those of the version
// that this program was installed at.
func newToolchain(ctx context.Context, cache string) (*toolchain, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("playground: the pages run Go that is built for the browser, and no go command is on "+
			"PATH: install Go from https://go.dev/dl: %w", err)
	}
	dir, err := ask(ctx, "", "list", "-m", "-f", "{{.Dir}}", path)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil || dir == "" {
		if dir, err = installed(ctx); err != nil {
			return nil, err
		}
	}
	// Asked where the modules are built: a folder's go.mod may choose another Go.
	goroot, err := ask(ctx, dir, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return &toolchain{goroot: goroot, dir: dir, cache: cache}, nil
}

// installed returns the folder of the module cache with the sources of this program's version.
func installed(ctx context.Context) (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != path || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "", errors.New("playground: the sources of " + path + " are not here: run saot within its repository, " +
			"or install it by go install " + path + "/cmd/saot@latest")
	}
	return download(ctx, info.Main.Version)
}

func download(ctx context.Context, version string) (dir string, err error) {
	if dir, err = ask(ctx, "", "mod", "download", "-json", path+"@"+version); err != nil {
		return "", fmt.Errorf("%w: run saot within its repository, or where Go can download its sources", err)
	}
	return dir, nil
}

// patience is how long an interrupted go command may wait for the compilers that it started.
const patience = time.Second

// ask returns what the go command prints in a folder, "" for the current one; of JSON, the field Dir. With -json it
// prints its errors there too.
func ask(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.WaitDelay = dir, patience
	output, err := command.Output()
	var module struct{ Dir, Error string }
	isJSON := json.Unmarshal(output, &module) == nil
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		reason := strings.Fields(module.Error + " " + string(exit.Stderr))
		err = fmt.Errorf("%w: %s", err, strings.Join(reason, " "))
	}
	if err != nil {
		return "", fmt.Errorf("playground: go %s: %w", strings.Join(args, " "), errors.Join(err, ctx.Err()))
	}
	if isJSON {
		return module.Dir, nil
	}
	return strings.TrimSpace(string(output)), nil
}

// runtime returns the script that connects a module with a page. It must be of the Go that built the module.
func (t *toolchain) runtime() ([]byte, error) {
	script, err := os.ReadFile(filepath.Join(t.goroot, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, fmt.Errorf("playground: Go's files for WebAssembly are missing: %w", err)
	}
	return script, nil
}

// build returns the compressed module. It builds in the cache, where an up-to-date module costs little; one process at
// a time does.
func (t *toolchain) build(ctx context.Context, module string) ([]byte, error) {
	if err := os.MkdirAll(t.cache, 0o755); err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	built := filepath.Join(t.cache, module+".wasm")
	lock, err := file.Acquire(ctx, built)
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	defer lock.Release()
	command := exec.CommandContext(ctx, "go", "build", "-o", built, "-trimpath", "-ldflags=-s -w", "-buildvcs=false",
		path+"/playground/wasm/"+module)
	command.Dir, command.WaitDelay = t.dir, patience
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("playground: build of the module %s for the browser: %w: %s", module,
			errors.Join(err, ctx.Err()), bytes.TrimSpace(output))
	}
	return compressed(built)
}

// licenses returns SAOT's license, those of what the modules link, and that of the recordings' graphs.
func (t *toolchain) licenses(ctx context.Context) ([]byte, error) {
	own, err := os.ReadFile(filepath.Join(t.dir, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	var packages []string
	for _, module := range modules {
		packages = append(packages, path+"/playground/wasm/"+module)
	}
	linked, err := licenses.Of(ctx, t.dir, [][]string{{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}}, packages...)
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	return slices.Concat([]byte("==== SAOT\n\n"), own, linked, []byte("\n"), notice), nil
}

// compressed returns a module as gzip has it, which the page unpacks. The cache keeps it with the module's hash as its
// comment: the module's time tells nothing, because go build touches it.
func compressed(built string) ([]byte, error) {
	data, err := os.ReadFile(built)
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	packed, sum := built+".gz", fmt.Sprintf("SHA-256 %x", sha256.Sum256(data))
	kept, err := os.ReadFile(packed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("playground: %w", err)
	}
	if r, err := gzip.NewReader(bytes.NewReader(kept)); err == nil && r.Comment == sum {
		return kept, nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		w.Comment = sum
		_, err = w.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	return out.Bytes(), file.Write(packed, out.Bytes())
}
