//go:build cgo && (linux || darwin)

package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error names the variable that hides what is installed.
func TestHiddenEngine(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	_, err := Open("xla:cpu")
	require.ErrorContains(t, err, "unset PJRT_PLUGIN_LIBRARY_PATH")
}

// Opening CUDA sets the flags that the user has not set.
func TestCUDAFlags(t *testing.T) {
	t.Setenv("XLA_FLAGS", "--xla_gpu_autotune_level=4 --other")
	require.NoError(t, setCUDA("/nowhere/jax_plugins/xla_cuda13/xla_cuda_plugin.so"))
	require.NoError(t, setCUDA("/nowhere/jax_plugins/xla_cuda13/xla_cuda_plugin.so"))
	require.Equal(t, []string{"--xla_gpu_autotune_level=4", "--other", "--xla_gpu_enable_triton_gemm=false"},
		strings.Fields(os.Getenv("XLA_FLAGS")))
}

// A folder of the libraries whose name has spaces stays one value.
func TestCUDAFolderWithSpaces(t *testing.T) {
	t.Setenv("XLA_FLAGS", "")
	t.Setenv("GOPJRT_CUDA_CHECKS", "0")
	dir := filepath.Join(t.TempDir(), `my "own" packages`)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "nvidia", "cu13"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "jax_plugins", "xla_cuda13"), 0o755))
	require.NoError(t, setCUDA(filepath.Join(dir, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")))
	require.Contains(t, os.Getenv("XLA_FLAGS"), `--xla_gpu_cuda_data_dir="`+filepath.Dir(dir)+
		`/my \"own\" packages/nvidia/cu13"`)
}

// CUDA keeps float32 unless TF32 is asked for. The CPU's plugin does not know the option.
func TestPluginConfig(t *testing.T) {
	cuda, cpu := Candidate{Spec: nameCUDA, Library: "/a.so"}, Candidate{Spec: nameCPU, Library: "/a.so"}
	require.Equal(t, "/a.so,tf32=false", pluginConfig(cuda, ""))
	require.Equal(t, "/a.so,tf32=false,other=1", pluginConfig(cuda, "other=1"))
	require.Equal(t, "/a.so,tf32=true", pluginConfig(cuda, "tf32=true"))
	require.Equal(t, "/a.so", pluginConfig(cpu, ""))
}

func TestShapePrice(t *testing.T) {
	var none *Engine
	require.Equal(t, 1, none.ShapePrice())
	require.Equal(t, 1, (&Engine{info: Info{Name: nameCPU}}).ShapePrice())
	require.Greater(t, (&Engine{info: Info{Name: nameCUDA}}).ShapePrice(), 1)
}
