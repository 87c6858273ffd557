//go:build cgo && (linux || darwin)

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// hasNative tells whether XLA is part of this binary.
const hasNative = true

// native serializes what is true of the whole process: the backend's switches are global variables.
var native sync.Mutex

// openNative opens the PJRT plugin of the candidate, with downloads switched off, and returns its version too. On CUDA
// matrix products keep float32's precision unless options ask for TF32: its ten bits are too few for the marginals of a
// transport plan. A CPU counts as any number of devices.
func openNative(c Candidate, options string, devices int) (compute.Backend, string, error) {
	native.Lock()
	defer native.Unlock()
	xla.EnableAutoInstall(false)
	if strings.ContainsAny(c.Library, ",=") {
		return nil, "", fmt.Errorf("GoMLX cannot read the path %s: move it to one without , and =", c.Library)
	}
	if c.Spec == nameCUDA {
		if err := setCUDA(c.Library); err != nil {
			return nil, "", err
		}
	}
	var client pjrt.NamedValuesMap
	if c.Spec == nameCPU {
		if err := addXLAFlag("xla_backend_extra_options", quickToCompile); err != nil {
			return nil, "", err
		}
		if devices > 1 {
			client = pjrt.NamedValuesMap{"cpu_device_count": int64(devices)}
		}
	}
	keepMemory()
	backend, err := xla.NewWithOptions(pluginConfig(c, options), client)
	if err != nil {
		return nil, "", err
	}
	version := "go-xla " + moduleVersion("github.com/gomlx/go-xla")
	if plugin, err := pjrt.GetPlugin(c.Library); err == nil {
		major, minor := plugin.Version()
		version += fmt.Sprintf(", PJRT %d.%d", major, minor)
	}
	return backend, version, nil
}

// pluginConfig is what GoMLX reads of a library: its path, and after it the options. TF32 has too few bits for the
// marginals of a plan: CUDA uses it only if the user asks for it.
func pluginConfig(c Candidate, options string) string {
	config := c.Library
	if c.Spec == nameCUDA && !strings.Contains(options, "tf32") {
		config += ",tf32=false"
	}
	if options != "" {
		config += "," + options
	}
	return config
}

// setCUDA tells XLA where CUDA's compiler is, if it lies next to the plugin as Python packages put it, and switches off
// go-xla's check, which looks elsewhere and warns at length. It also switches off XLA's search for the fastest kernel
// of each matrix product: the search makes compiling several times as long, and its choice, and with it the last
// digits, can differ from run to run. A user who has set the variables is left alone.
func setCUDA(library string) error {
	for _, flag := range []struct{ name, value string }{
		{"xla_gpu_enable_triton_gemm", "false"},
		{"xla_gpu_autotune_level", "0"},
	} {
		if err := addXLAFlag(flag.name, flag.value); err != nil {
			return err
		}
	}
	dir := filepath.Join(filepath.Dir(library), "..", "..", "nvidia", "cu13")
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // the libraries are the user's own
	}
	if _, set := os.LookupEnv("GOPJRT_CUDA_CHECKS"); !set {
		if err := os.Setenv("GOPJRT_CUDA_CHECKS", "0"); err != nil {
			return err
		}
	}
	return addXLAFlag("xla_gpu_cuda_data_dir", dir)
}

// quickToCompile makes XLA's CPU plugin compile a training step in less than half the time, at the same speed of the
// step: the emitters of fusions that came with MLIR, LLVM's SLP vectorizer and its unrolling of loops gain nothing
// here.
const quickToCompile = "xla_cpu_disable_new_fusion_emitters,xla_cpu_disable_slp_vectorizer," +
	"xla_cpu_disable_loop_unrolling"

// escaped writes backslashes and quotes as XLA reads them between quotes.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// addXLAFlag sets one of XLA's flags, which it reads from XLA_FLAGS, unless the user has set it there. A value with
// spaces is quoted.
func addXLAFlag(name, value string) error {
	flags := os.Getenv("XLA_FLAGS")
	if strings.Contains(flags, name) {
		return nil
	}
	if strings.ContainsAny(value, " \t\r\n") {
		value = `"` + escaped.Replace(value) + `"`
	}
	return os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" --"+name+"="+value))
}
