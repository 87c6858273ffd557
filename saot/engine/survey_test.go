package engine

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// go-xla's installer leaves its locks, and older versions: the link that it makes names the newest.
func TestPluginOfGoXLA(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("go-xla's installer does not run there")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	folder, err := Folder("xla")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	write := func(dir, name string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	write(folder, "pjrt_c_api_cpu_v0.99.0_plugin.so")
	write(folder, "pjrt_c_api_cpu_v0.114.0_plugin.so")
	write(folder, "pjrt_c_api_cpu_v0.115.0_plugin.so.lock")
	require.Empty(t, Installed("xla"))
	link := filepath.Join(folder, "pjrt_c_api_cpu_plugin.so")
	require.NoError(t, os.Symlink("pjrt_c_api_cpu_v0.114.0_plugin.so", link))
	require.Equal(t, link, Installed("xla"))

	dir := t.TempDir()
	t.Setenv(pluginPathEnv, dir)
	write(dir, "pjrt_c_api_cpu_v0.115.0_plugin.so.lock")
	require.Empty(t, findXLA(nameCPU).Library)
}

// The plugin of a Python's JAX is found in its folder.
func TestPluginOfPython(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jax_plugins", "xla_cuda13")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, "xla_cuda_plugin.so")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	t.Setenv(pluginPathEnv, dir)
	require.Equal(t, path, pluginFor(nameCUDA))
	require.Empty(t, pluginFor(nameCPU))
}

// A GPU that runs out of memory says what takes less of it.
func TestAdviceOnMemory(t *testing.T) {
	exhausted := errors.New("PJRT error (code=8): Out of memory while trying to allocate 51539607552 bytes")
	gpu, cpu := &Engine{info: Info{Name: nameCUDA + ",tf32=true"}}, &Engine{info: Info{Name: nameCPU}}
	err := gpu.advise(exhausted)
	require.ErrorIs(t, err, exhausted)
	for _, knob := range []string{"whole_graph", "points", "--probe-rows", "memory_fraction"} {
		require.ErrorContains(t, err, knob)
	}
	require.ErrorContains(t, cpu.advise(exhausted), "whole_graph")
	require.NotContains(t, cpu.advise(exhausted).Error(), "memory_fraction")
	other := errors.New("INVALID_ARGUMENT: no")
	require.Equal(t, other, gpu.advise(other))
}

// The command that installs an engine is named where it has a package.
func TestHint(t *testing.T) {
	require.Contains(t, hint(nameCUDA, "linux/amd64"), "`saot engines install cuda`")
	require.Contains(t, hint(nameCPU, "linux/arm64"), "`saot engines install xla`")
	for _, none := range []string{hint(nameCUDA, "linux/arm64"), hint(nameCUDA, "darwin/arm64"),
		hint(nameCPU, "linux/riscv64"), hint(nameXLA, "linux/amd64")} {
		require.Equal(t, "name a plugin as xla:/path/to/plugin.so", none)
	}
}

// A run at another precision is one of another engine.
func TestPrecisionIsPartOfTheName(t *testing.T) {
	for options, want := range map[string]string{"": "", "tf32=false": "", "preallocate=true": "",
		"tf32=0": "", "tf32": ",tf32=true", "tf32=1": ",tf32=true", "tf32=True": ",tf32=true",
		"preallocate=true,tf32=true": ",tf32=true", "float64": ",float64",
		"float64,preallocate=true": ",float64", "float64,tf32": ",tf32=true,float64"} {
		require.Equal(t, want, precision(options), options)
	}
	for options, want := range map[string]string{"": "", "tf32": "tf32", "float64": "",
		"float64,preallocate=true": "preallocate=true", "a,float64,b": "a,b"} {
		rest, double := cutDouble(options)
		require.Equal(t, want, rest, options)
		require.Equal(t, strings.Contains(options, "float64"), double, options)
	}
}

// A plugin that is installed and fails is not to be installed again.
func TestAdviceOnPluginsThatFail(t *testing.T) {
	for _, c := range []struct {
		Candidate
		want string
	}{
		{Candidate{Spec: nameCUDA, Library: "/a/xla_cuda_plugin.so", Hint: "install"}, "nvidia-smi"},
		{Candidate{Spec: nameCPU, Library: "/home/nvidia/pjrt_c_api_cpu_plugin.so", Hint: "install"}, "XDG_CACHE_HOME"},
		{Candidate{Spec: nameCPU, Library: "/home/ada/pjrt_c_api_cpu_plugin.so", Hint: "install"}, "install"},
		{Candidate{Spec: nameCUDA, Hint: "install"}, "install"},
	} {
		require.Contains(t, c.advice(), c.want)
	}
}
