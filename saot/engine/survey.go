package engine

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Candidate is an engine as far as it can be seen without opening it.
type Candidate struct {
	Spec    string // the name that Open takes
	Library string // path of its shared library; empty where none was found, and for pure Go
	Missing string // why it cannot be used; empty where it is present
	Hint    string // how to get it
}

// NoCgo is Candidate.Missing of every engine but pure Go in a binary that was built without cgo: no library helps it.
const NoCgo = "this binary was built without cgo"

// NoGPU is Candidate.Missing of xla:cuda on a machine without an NVIDIA GPU.
const NoGPU = "no NVIDIA GPU was found"

// pluginPathEnv lists the folders of PJRT plugins, as in go-xla.
const pluginPathEnv = "PJRT_PLUGIN_LIBRARY_PATH"

// Survey lists every engine in the order in which Open chooses, the missing ones too. It opens nothing.
func Survey() []Candidate {
	return []Candidate{findXLA(nameCUDA), findXLA(nameCPU), findGo()}
}

func (c Candidate) where() string {
	if c.Library == "" {
		return c.label()
	}
	return c.label() + " at " + c.Library
}

func (c Candidate) label() string {
	switch c.Spec {
	case nameGo:
		return "pure Go"
	case nameCUDA:
		return "XLA on CUDA"
	case nameCPU:
		return "XLA on the CPU"
	default:
		return "XLA"
	}
}

func findGo() Candidate { return Candidate{Spec: nameGo, Hint: "built in"} }

// Folder returns the folder in the user's cache that holds the libraries of "xla" or "cuda", as package install puts
// them there. It returns an error for another name, and where there is no cache.
func Folder(name string) (string, error) {
	if _, known := installedAs[name]; !known {
		return "", fmt.Errorf("engine: %w %q: choose one of xla, cuda", ErrUnknown, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("engine: no folder for the library: %w", err)
	}
	return filepath.Join(cache, "saot", "engines", name), nil
}

// installedAs lists where the libraries lie in the folders, which are unpacked Python packages, or go-xla's: its
// installer links the version that it installed last.
var installedAs = map[string][]string{
	"xla":  {"*/pjrt_c_api_cpu_plugin.so", "xla_plugins/*/*.so", "pjrt_c_api_cpu_plugin.so"},
	"cuda": {"jax_plugins/*/xla_cuda_plugin.so"},
}

// Installed returns the path of the main library in Folder(name), "" where there is none.
func Installed(name string) string {
	dir, err := Folder(name)
	if err != nil {
		return ""
	}
	for _, pattern := range installedAs[name] {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 { // the only error is a bad pattern
			return found[0]
		}
	}
	return ""
}

// CheckInstalled returns an error unless the main library in Folder(name) is there and, on Linux, whole.
func CheckInstalled(name string) error { return checkLibrary(Installed(name)) }

// pluginSymbol is what a PJRT plugin exports.
const pluginSymbol = "GetPjrtApi"

// findXLA returns the PJRT plugin for a device, nameCPU or nameCUDA, if one is installed.
func findXLA(name string) Candidate {
	path, lacksGPU := "", name == nameCUDA && !hasGPU()
	if !lacksGPU {
		path = pluginFor(name)
	}
	c := xlaAt(name, path)
	switch _, set := os.LookupEnv(pluginPathEnv); {
	case path != "" || c.Missing != "":
	case lacksGPU:
		c.Missing = NoGPU
		c.Hint = "it needs an NVIDIA GPU with its driver; then " + c.Hint
	case set:
		c.Missing = "no PJRT plugin was found in the folders of " + pluginPathEnv + ", and no others are searched"
		c.Hint = "unset " + pluginPathEnv + ", then " + c.Hint
	default:
		c.Missing = "no PJRT plugin was found"
	}
	return c
}

// pluginFor returns the path of the plugin for a device, "" where there is none.
func pluginFor(name string) string {
	if _, set := os.LookupEnv(pluginPathEnv); !set {
		if path := Installed(installName(name)); path != "" {
			return path
		}
	}
	for _, dir := range pluginFolders() {
		// The last is what JAX's package for CUDA calls its plugin.
		for _, pattern := range []string{"pjrt_c_api_*_plugin.*", "pjrt[-_]plugin[-_]*", "xla_cuda_plugin.so"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern)) // sorted; the only error is a bad pattern
			for _, path := range found {
				if pluginDevice(path) == name && filepath.Ext(path) != ".lock" { // go-xla's installer leaves locks
					return path
				}
			}
		}
	}
	return ""
}

// installName is what package install calls nameCPU and nameCUDA.
func installName(name string) string {
	return map[string]string{nameCPU: "xla", nameCUDA: "cuda"}[name]
}

// installable lists the platforms, GOOS/GOARCH, on which package install brings an engine.
var installable = map[string][]string{
	nameCPU:  {"linux/amd64", "linux/arm64", "darwin/arm64"},
	nameCUDA: {"linux/amd64"},
}

// hint says how to get an engine on a platform.
func hint(name, platform string) string {
	const byHand = "name a plugin as xla:/path/to/plugin.so"
	if slices.Contains(installable[name], platform) {
		return "run `saot engines install " + installName(name) + "`, or " + byHand
	}
	return byHand
}

// xlaAt fills Missing: the build must have the backend, and the library, if there is one, must be whole.
func xlaAt(name, path string) Candidate {
	if !hasNative {
		return Candidate{Spec: name, Missing: NoCgo,
			Hint: "build with CGO_ENABLED=1 and a C compiler on Linux or macOS"}
	}
	c := Candidate{Spec: name, Library: path, Hint: hint(name, runtime.GOOS+"/"+runtime.GOARCH)}
	if path != "" {
		if err := checkLibrary(path); err != nil {
			c.Missing = err.Error()
		}
	}
	return c
}

// pluginFolders lists where PJRT plugins are looked for. go-xla's own search is not used, because it loads every plugin
// that it finds, and a truncated one then kills the process.
func pluginFolders() []string {
	if dirs, set := os.LookupEnv(pluginPathEnv); set {
		return filepath.SplitList(dirs)
	}
	var dirs []string
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "lib", "go-xla"), filepath.Join(home, ".local", "lib",
			"go-xla", "nvidia"),
			filepath.Join(home, "Library", "Application Support", "go-xla"))
	}
	dirs = append(dirs, "/usr/local/lib/go-xla", "/usr/local/lib/go-xla/nvidia")
	return append(dirs, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
}

// pluginDevice tells a plugin's engine name from its file name.
func pluginDevice(path string) string {
	switch base := strings.ToLower(filepath.Base(path)); {
	case strings.Contains(base, "cuda"):
		return nameCUDA
	case strings.Contains(base, "cpu"):
		return nameCPU
	default:
		return nameXLA
	}
}

// hasGPU reports whether the kernel shows an NVIDIA GPU, or, under WSL2, Windows lends its driver.
func hasGPU() bool {
	devices, _ := filepath.Glob("/dev/nvidia[0-9]*") // the only error is a bad pattern
	_, err := os.Stat("/usr/lib/wsl/lib/libcuda.so.1")
	return len(devices) > 0 || err == nil
}

// checkLibrary returns an error if the file cannot be a PJRT plugin: missing, truncated, of another machine or another
// library. The loader is not asked, because it maps a truncated file and dies of SIGBUS. Outside Linux only the file's
// presence is checked.
func checkLibrary(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	case info.IsDir():
		return errors.New("is a folder, not a library")
	case runtime.GOOS != "linux":
		return nil
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("truncated, or no shared library: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, known := machines[runtime.GOARCH]; known && file.Machine != want {
		return fmt.Errorf("built for %v, this machine is %v", file.Machine, want)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD && segment.Off+segment.Filesz > uint64(info.Size()) {
			return errors.New("truncated: a segment ends after the file")
		}
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("no shared library: %w", err)
	}
	for _, s := range symbols {
		if s.Name == pluginSymbol && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return errors.New("a different library: it does not export " + pluginSymbol)
}
