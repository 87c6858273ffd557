package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Open opens the engine that spec names, or chooses one where spec is empty (the order and the names are in the package
// doc). It returns ErrUnknown for an unknown name, listing the known ones, and ErrUnavailable for a named engine that
// cannot be used, saying why and how to get it.
//
// Some of what makes XLA fast applies to the whole process. With cgo and glibc, a program that imports this package has
// one arena of malloc. Opening XLA sets XLA_FLAGS and lets malloc keep freed memory instead of returning it.
func Open(spec string) (*Engine, error) { return OpenDevices(spec, 1) }

// OpenDevices is Open for steps that are split over a number of devices, at least 1 (see Split): GPUs, or parts of the
// CPU. It returns an error if the engine has fewer. Only XLA has several.
func OpenDevices(spec string, devices int) (*Engine, error) {
	if devices < 1 {
		return nil, fmt.Errorf("engine: %d devices: want 1 or more", devices)
	}
	if spec != "" {
		return openNamed(spec, devices, "named by the user")
	}
	if spec = os.Getenv(compute.ConfigEnvVar); spec != "" {
		e, err := openNamed(spec, devices, "named by "+compute.ConfigEnvVar)
		if err != nil {
			return nil, fmt.Errorf("%w (the name came from %s)", err, compute.ConfigEnvVar)
		}
		return e, nil
	}
	return openBest(devices)
}

func openNamed(spec string, devices int, reason string) (*Engine, error) {
	name, err := parseSpec(spec)
	if err != nil {
		return nil, err
	}
	candidate := name.find()
	if candidate.Missing != "" {
		return nil, fmt.Errorf("engine: %s: %s %w: %s; %s", spec, candidate.where(), ErrUnavailable, candidate.Missing,
			candidate.Hint)
	}
	e, err := candidate.open(name.options, devices)
	if errors.Is(err, errDevices) {
		return nil, fmt.Errorf("engine: %s: %w", spec, err)
	}
	if err != nil {
		advice := candidate.advice()
		if options, _ := cutDouble(name.options); options != "" {
			advice += fmt.Sprintf("; or drop the option %q, if the engine does not know it", options)
		}
		return nil, fmt.Errorf("engine: %s: %s %w: %w; %s", spec, candidate.where(), ErrUnavailable, err, advice)
	}
	e.info.Reason = reason
	return e, nil
}

// openBest opens the first candidate that works. A library that is there but does not work is noted in Info.Reason.
func openBest(devices int) (*Engine, error) {
	var passedOver []string
	for _, candidate := range Survey() {
		if candidate.Missing != "" {
			if candidate.Library != "" {
				passedOver = append(passedOver, candidate.complaint(errors.New(candidate.Missing)))
			}
			continue
		}
		e, err := candidate.open("", devices)
		if errors.Is(err, errDevices) {
			return nil, fmt.Errorf("engine: %s: %w%s", candidate.Spec, err, after(passedOver))
		}
		if err != nil {
			passedOver = append(passedOver, candidate.complaint(err))
			continue
		}
		e.info.Reason = candidate.reason(passedOver)
		return e, nil
	}
	return nil, fmt.Errorf("engine: no engine works: %s", strings.Join(passedOver, "; "))
}

// after names what was passed over, as a note behind an error.
func after(passedOver []string) string {
	if len(passedOver) == 0 {
		return ""
	}
	return "; " + strings.Join(passedOver, "; ")
}

var errDevices = errors.New("too few devices")

func (c Candidate) open(options string, devices int) (*Engine, error) {
	var backend compute.Backend
	var version string
	var err error
	suffix := precision(options)
	options, double := cutDouble(options)
	caught := exceptions.TryCatch[error](func() {
		if c.Spec == nameGo {
			// One operation at a time, each on all cores. The default, several at once, can wait forever: a goroutine
			// that waits to start one swallows the signal meant for another that splits one up.
			backend, err = gobackend.New("ops_sequential")
			version = moduleVersion("github.com/gomlx/compute")
			return
		}
		backend, version, err = openNative(c, options, devices)
	})
	if caught != nil {
		err = caught
	}
	if err != nil { // the backend may be a non-nil interface holding nothing
		return nil, err
	}
	if has := int(backend.NumDevices()); devices > has {
		backend.Finalize()
		return nil, fmt.Errorf("%w: %d were asked for, %s has %d", errDevices, devices, c.label(), has)
	}
	info := Info{Name: c.Spec + suffix, Version: version, Device: deviceName(c.Spec, backend)}
	if devices > 1 {
		info.Device += fmt.Sprintf(" and %d more", devices-1)
	}
	if c.Library != "" {
		info.Library = filepath.Base(c.Library)
	}
	return &Engine{backend: backend, info: info, devices: devices, double: double}, nil
}

// precision is the part of an engine's options that changes what it computes. It belongs to the engine's name, so that
// no run continues with another.
func precision(options string) (suffix string) {
	all := strings.Split(options, ",")
	for _, option := range all {
		name, value, given := strings.Cut(option, "=")
		if on, _ := strconv.ParseBool(value); name == "tf32" && (on || !given) { // as GoMLX reads it
			suffix = ",tf32=true"
		}
	}
	if slices.Contains(all, optionDouble) {
		suffix += "," + optionDouble
	}
	return suffix
}

// cutDouble returns an engine's options without float64, and whether that was among them.
func cutDouble(options string) (rest string, double bool) {
	all := strings.Split(options, ",")
	kept := slices.DeleteFunc(slices.Clone(all), func(option string) bool { return option == optionDouble })
	return strings.Join(kept, ","), len(kept) < len(all)
}

// advice says what to look at where a plugin is there and does not open.
func (c Candidate) advice() string {
	path := strings.ToLower(c.Library)
	switch {
	case c.Spec == nameCUDA && c.Library != "":
		return "the plugin is there: look at the GPU and its driver with nvidia-smi"
	case c.Spec == nameCPU && (strings.Contains(path, "cuda") || strings.Contains(path, "nvidia")):
		return "go-xla takes a path with cuda or nvidia in it for a GPU's: set XDG_CACHE_HOME to another folder, and " +
			"run saot engines install xla"
	default:
		return c.Hint
	}
}

// complaint says in one line that the candidate is there and does not work, without the path of its library.
func (c Candidate) complaint(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if c.Library != "" {
		text = strings.ReplaceAll(text, c.Library, filepath.Base(c.Library))
	}
	return fmt.Sprintf("%s could not be loaded (%s)", c.label(), text)
}

// reason says in one line why the candidate was chosen. Results hold it and are shared, so it names no path.
func (c Candidate) reason(passedOver []string) string {
	if len(passedOver) > 0 {
		return strings.Join(passedOver, "; ") + "; using " + c.label()
	}
	switch c.Spec {
	case nameGo:
		if !hasNative {
			return "the only engine of a build without cgo"
		}
		return "no faster engine is installed; `saot engines` says how to get one"
	case nameCUDA:
		return "an NVIDIA GPU and a plugin for it were found"
	default:
		return c.label() + " is installed; `saot engines` says where"
	}
}

func deviceName(name string, backend compute.Backend) string {
	if name == nameGo {
		return fmt.Sprintf("CPU (%s/%s, %d threads)", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	}
	return strings.Join(strings.Fields(backend.DeviceDescription(0)), " ") // results may hold no control characters
}

// moduleVersion returns the version of a Go module linked into this binary, "unknown" where the binary does not tell.
func moduleVersion(path string) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}
