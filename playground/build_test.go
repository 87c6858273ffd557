package playground

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed bundles are what the sources and the pinned packages make, byte for byte. The packages come by npm ci.
func TestBundlesAreBuiltFromTheirSources(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on PATH: the bundles are not built again")
	}
	if _, err := os.Stat("node_modules/esbuild"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no packages in playground/node_modules (npm ci brings them): the bundles are not built again")
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	text, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	require.NotContains(t, string(text), `"resolved"`, "the lock file names no registry")
	require.NoError(t, json.Unmarshal(text, &lock))
	for _, name := range []string{"esbuild", "typescript", "d3-force", "d3-scale", "d3-shape", "axe-core"} {
		var is struct{ Version string }
		text, err := os.ReadFile(filepath.Join("node_modules", name, "package.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &is))
		require.Equal(t, lock.Packages["node_modules/"+name].Version, is.Version, "%s: run npm ci", name)
	}
	output, err := exec.Command(node, "node_modules/typescript/bin/tsc", "--noEmit").CombinedOutput()
	require.NoError(t, err, string(output))
	out := t.TempDir()
	output, err = exec.Command(node, "build.mjs", out).CombinedOutput()
	require.NoError(t, err, string(output))
	built, err := os.ReadDir(out)
	require.NoError(t, err)
	for _, b := range built {
		want, err := os.ReadFile(filepath.Join(out, b.Name()))
		require.NoError(t, err)
		committed := filepath.Join("pages", b.Name())
		if b.Name() == "viewer.js" || b.Name() == "theme.js" {
			committed = filepath.Join("viewer", b.Name())
		}
		is, err := os.ReadFile(committed)
		require.NoError(t, err)
		require.True(t, string(want) == string(is), "%s is out of date: go generate ./playground", committed)
	}
	committed, err := filepath.Glob("pages/*.js")
	require.NoError(t, err)
	require.Len(t, built, len(committed)+2, "a bundle in pages has no source")
}
