package notebooks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/notebooks/kit"
)

// findJupyter returns the jupyter command, or skips the test.
func findJupyter(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("SAOT_JUPYTER"); path != "" {
		require.FileExists(t, path, "SAOT_JUPYTER must be the path of the jupyter command")
		return path
	}
	path, err := jupyterOnPath()
	if err != nil {
		t.Skipf("no jupyter with nbconvert on PATH and SAOT_JUPYTER is not set: notebooks are not executed: %v", err)
	}
	return path
}

var jupyterOnPath = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("jupyter")
	if err != nil {
		return "", err
	}
	return path, exec.Command(path, "nbconvert", "--version").Run()
})

// buildTime is the limit for building the kernel from an empty cache.
const buildTime = 10 * time.Minute

// kernel returns an environment in which Jupyter finds the GoNB of go.mod, and a folder for what else it keeps.
func kernel(t *testing.T) []string {
	t.Helper()
	err := installed()
	if errors.Is(err, errNoImports) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return slices.Clip(append(environment(), "JUPYTER_PATH="+kernelData(), "JUPYTER_DATA_DIR="+t.TempDir()))
}

// kernels is the folder of the kernel that all tests share. TestMain makes and removes it.
var kernels string

func kernelData() string { return filepath.Join(kernels, "jupyter") }

func TestMain(m *testing.M) {
	var err error
	if kernels, err = os.MkdirTemp("", "saot-kernel-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(kernels); err != nil {
		panic(err)
	}
	os.Exit(code)
}

var errNoImports = errors.New("GoNB needs goimports, which is not on PATH and cannot be built " +
	"(go install golang.org/x/tools/cmd/goimports in a checkout)")

// installed builds and installs the kernel, which takes longer than most tests.
var installed = sync.OnceValue(func() error {
	bin := filepath.Join(kernels, "bin")
	build := func(path string) error {
		return attempt(context.Background(), nil, buildTime, "go", "build", "-o", bin+string(filepath.Separator), path)
	}
	if err := build("github.com/janpfeifer/gonb"); err != nil {
		return err
	}
	if _, err := exec.LookPath("goimports"); err != nil {
		if err := build("golang.org/x/tools/cmd/goimports"); err != nil {
			return fmt.Errorf("%w: %w", errNoImports, err)
		}
	}
	return attempt(context.Background(), append(environment(), "JUPYTER_DATA_DIR="+kernelData()), buildTime,
		filepath.Join(bin, "gonb"), "--install", "--raw_error", "--force_deps", "--force_copy")
})

// environment is what the kernel runs in.
func environment() []string {
	return append(os.Environ(),
		"PATH="+filepath.Join(kernels, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOFLAGS=", "GOWORK=", // the kernel's own go.work decides
		"GOMLX_NO_AUTO_INSTALL=1",
		"SAOT_HEADLESS=1", // live panels give up at once
		kit.EngineEnv+"=", // pure Go, whose numbers are committed
	)
}

// needed covers a notebook whose cells Go compiles for the first time on two busy processors.
const needed = 4 * time.Minute

// execute runs a notebook from top to bottom and returns it with its new outputs. It skips the test where the time
// limit of `go test`, ten minutes unless told, could end all tests of the package first.
func execute(t *testing.T, jupyter string, env []string, path string) *notebook {
	t.Helper()
	if deadline, ok := t.Deadline(); ok && time.Until(deadline) < needed {
		t.Skipf("less than %s are left: go test -timeout 60m ./notebooks executes this notebook too", needed)
	}
	dir := t.TempDir()
	start := time.Now()
	run(t, env, slack*executionTime, jupyter, "nbconvert", "--to", "notebook", "--execute", "--allow-errors",
		fmt.Sprintf("--ExecutePreprocessor.timeout=%.0f", (slack*executionTime).Seconds()), "--output-dir", dir,
		"--output", "executed", path)
	t.Logf("%.0f s", time.Since(start).Seconds())
	return read(t, filepath.Join(dir, "executed.ipynb"))
}

// run fails the test if a command does, or takes longer than the limit.
func run(t *testing.T, env []string, limit time.Duration, name string, args ...string) {
	t.Helper()
	require.NoError(t, attempt(t.Context(), env, limit, name, args...))
}

// attempt returns an error if a command fails, or takes longer than the limit.
func attempt(ctx context.Context, env []string, limit time.Duration, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Env = env
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}
