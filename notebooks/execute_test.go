package notebooks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	path, err := exec.LookPath("jupyter")
	if err != nil {
		t.Skip("no jupyter on PATH and SAOT_JUPYTER is not set: notebooks are not executed")
	}
	return path
}

// buildTime is the limit for building the kernel from an empty cache.
const buildTime = 10 * time.Minute

// kernel builds the GoNB of go.mod, installs it into a folder of this test, and returns an environment in which Jupyter
// finds it.
func kernel(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	run(t, nil, buildTime, "go", "build", "-o", bin+string(filepath.Separator), "github.com/janpfeifer/gonb")
	if _, err := exec.LookPath("goimports"); err != nil {
		build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "golang.org/x/tools/cmd/goimports")
		if output, err := build.CombinedOutput(); err != nil {
			t.Skipf("GoNB needs goimports, which is not on PATH and cannot be built "+
				"(go install golang.org/x/tools/cmd/goimports in a checkout): %s", output)
		}
	}
	env := append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"JUPYTER_DATA_DIR="+filepath.Join(dir, "jupyter"),
		"GOFLAGS=", "GOWORK=", // the kernel's own go.work decides
		"GOMLX_NO_AUTO_INSTALL=1",
		"SAOT_HEADLESS=1", // live panels give up at once
		kit.EngineEnv+"=", // pure Go, whose numbers are committed
	)
	run(t, env, buildTime, filepath.Join(bin, "gonb"), "--install", "--raw_error", "--force_deps", "--force_copy")
	return env
}

// execute runs a notebook from top to bottom and returns it with its new outputs.
func execute(t *testing.T, jupyter string, env []string, path string) *notebook {
	t.Helper()
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
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Env = env
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	require.NoError(t, errors.Join(err, ctx.Err()), "%s %s\n%s", name, strings.Join(args, " "), output)
}
