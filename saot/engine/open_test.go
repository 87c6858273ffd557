package engine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

const (
	backendEnv = "GOMLX_BACKEND"
	pluginEnv  = "PJRT_PLUGIN_LIBRARY_PATH"
)

func TestUnknownNamesListTheKnown(t *testing.T) {
	for _, name := range []string{"tpu", "xla:rocm", "onnx", "go:fast", ":", "XLA", "go,fast=true",
		"xla:rocm,tf32=true"} {
		_, err := engine.Open(name)
		require.ErrorIs(t, err, engine.ErrUnknown, name)
		require.ErrorContains(t, err, "choose one of go, xla,", name)
	}
}

func TestPathWithAComma(t *testing.T) {
	for _, name := range []string{"xla:/opt/no,such.so", "xla:/opt/a,b/plugin.so"} {
		_, err := engine.Open(name)
		require.ErrorIs(t, err, engine.ErrUnknown, name)
		require.ErrorContains(t, err, "move the plugin to a path without one")
	}
	require.NoError(t, engine.CheckName("xla:/opt/plugin.so,tf32=true"))
}

// Too few devices are an error, also where no engine is named: what was passed over may be the reason.
func TestTooFewDevicesOfTheFastest(t *testing.T) {
	t.Setenv(pluginEnv, t.TempDir())
	t.Setenv(backendEnv, "")
	_, err := engine.OpenDevices("", 2)
	require.ErrorContains(t, err, "engine: go: too few devices: 2 were asked for, pure Go has 1")
}

func TestNamedButMissingIsAnError(t *testing.T) {
	t.Setenv(pluginEnv, t.TempDir())
	for _, name := range []string{"xla", "xla:cpu", "xla:/absent/plugin.so"} {
		_, err := engine.Open(name)
		require.ErrorContains(t, err, "cannot be used", name)
		require.ErrorContains(t, err, "engine: "+name, name)
	}
}

func TestIsPath(t *testing.T) {
	for _, name := range []string{"xla:/tmp/plugin.so", "xla:./plugin.so", "xla:plugin.so,tf32=true", "xla:cpu/x"} {
		require.True(t, engine.IsPath(name), name)
	}
	for _, name := range []string{"", "go", "xla", "xla:", "xla:cpu", "xla:cuda,tf32=true", "xla:abacus"} {
		require.False(t, engine.IsPath(name), name)
	}
}

func TestBackendVariable(t *testing.T) {
	t.Setenv(backendEnv, "go")
	e, err := engine.Open("")
	require.NoError(t, err)
	defer e.Close()
	require.Equal(t, "go", e.Info().Name)
	require.Contains(t, e.Info().Reason, backendEnv)

	t.Setenv(backendEnv, "nonsense")
	_, err = engine.Open("")
	require.ErrorContains(t, err, "unknown engine")
	require.ErrorContains(t, err, backendEnv)
	named, err := engine.Open("go")
	require.NoError(t, err, "a name beats the variable")
	named.Close()
}

func TestSurveyIsInOrderOfChoice(t *testing.T) {
	var names []string
	for _, candidate := range engine.Survey() {
		names = append(names, candidate.Spec)
		require.NotEmpty(t, candidate.Hint)
	}
	require.Equal(t, []string{"xla:cuda", "xla:cpu", "go"}, names)
}

// probe is what a process of its own found when it opened engines in turn.
type probe struct {
	Infos  []engine.Info
	Errors []string
}

// openElsewhere opens the engines in turn in another process: a library that is loaded cannot be unloaded, and a broken
// one could kill the process. Nothing installed on this machine is seen there, beyond what env names.
func openElsewhere(t *testing.T, names []string, env ...string) probe {
	t.Helper()
	request, err := json.Marshal(names)
	require.NoError(t, err)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProbe$", "-test.v=false")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home, pluginEnv+"="+home, backendEnv+"=",
		"SAOT_ENGINE_PROBE="+string(request))
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.Output()
	require.NoError(t, err, string(output))
	var found probe
	require.NoError(t, json.NewDecoder(bytes.NewReader(output)).Decode(&found), string(output))
	left, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, left, "opening an engine must write nothing into the user's folders")
	return found
}

// TestProbe is the other process of openElsewhere.
func TestProbe(t *testing.T) {
	request, set := os.LookupEnv("SAOT_ENGINE_PROBE")
	if !set {
		t.Skip("runs only as the other process of openElsewhere")
	}
	var names []string
	require.NoError(t, json.Unmarshal([]byte(request), &names))
	var found probe
	for _, name := range names {
		e, err := engine.Open(name)
		if err != nil {
			found.Infos, found.Errors = append(found.Infos, engine.Info{}), append(found.Errors, err.Error())
			continue
		}
		found.Infos, found.Errors = append(found.Infos, e.Info()), append(found.Errors, "")
	}
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(found))
}

func TestNothingInstalledMeansPureGo(t *testing.T) {
	if gpu, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(gpu) > 0 {
		t.Skip("this machine has a GPU")
	}
	found := openElsewhere(t, []string{""})
	require.Equal(t, "go", found.Infos[0].Name, found)
}

func TestNamedBrokenLibraryIsAnError(t *testing.T) {
	requireNative(t)
	for name, library := range brokenLibraries(t) {
		t.Run(name, func(t *testing.T) {
			found := openElsewhere(t, []string{"xla:" + library})
			require.Contains(t, found.Errors[0], library+" cannot be used: ")
			require.NotContains(t, found.Errors[0], "\n", "a named engine must not fall back")
		})
	}
}

func TestBrokenPluginFallsBack(t *testing.T) {
	requireNative(t)
	dir := t.TempDir()
	plugin := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	require.NoError(t, os.WriteFile(plugin, []byte("not a library"), 0o644))
	found := openElsewhere(t, []string{"", "xla", "xla:cpu"}, pluginEnv+"="+dir)
	require.Equal(t, "go", found.Infos[0].Name, found)
	require.Contains(t, found.Infos[0].Reason, "XLA on the CPU could not be loaded (")
	require.NotContains(t, found.Infos[0].Reason, dir)
	require.Contains(t, found.Errors[1], plugin)
	require.Contains(t, found.Errors[2], plugin)
}

func requireNative(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("libraries are checked before loading on Linux only")
	}
	for _, candidate := range engine.Survey() {
		if candidate.Missing == engine.NoCgo {
			t.Skip(candidate.Missing)
		}
	}
}
