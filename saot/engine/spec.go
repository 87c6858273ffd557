package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Names of the engines, as Candidate.Spec and Info.Name hold them.
const (
	nameGo   = "go"
	nameONNX = "onnx"
	nameXLA  = "xla" // a plugin whose file name tells no device
	nameCPU  = "xla:cpu"
	nameCUDA = "xla:cuda"
)

const knownSpecs = "go, onnx, onnx:/path/to/libonnxruntime.so, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so"

// ErrUnknown marks an engine name that Open does not know, as opposed to a missing library.
var ErrUnknown = errors.New("unknown engine")

// spec is a parsed engine name: family[:target][,options]. Options are GoMLX's and are passed on as they stand.
type spec struct {
	family  string // go, onnx or xla
	target  string // "", cpu, cuda or the absolute path of a library
	options string // what follows the first comma
}

// parseSpec reads an engine name. It returns ErrUnknown with a list of the known names.
func parseSpec(text string) (spec, error) {
	family, rest, _ := strings.Cut(text, ":")
	target, options, _ := strings.Cut(rest, ",")
	s := spec{family: family, target: target, options: options}
	unknown := fmt.Errorf("engine: %w %q: choose one of %s", ErrUnknown, text, knownSpecs)
	switch {
	case family == "go" && rest == "", family == "xla" && (target == "" || target == "cpu" || target == "cuda"):
		return s, nil
	case family == "onnx" && (target == "" || target == "cpu"): // GoMLX's onnx:cpu is the onnx of this package
		s.target = ""
		return s, nil
	case family == "onnx" || family == "xla":
		if !strings.ContainsAny(target, `/\`) && filepath.Ext(target) == "" {
			return spec{}, unknown
		}
		path, err := filepath.Abs(target)
		if err != nil {
			return spec{}, fmt.Errorf("engine: %s: %w", text, err)
		}
		s.target = path
		return s, nil
	}
	return spec{}, unknown
}

// find looks for what the name stands for on this machine.
func (s spec) find() Candidate {
	switch {
	case s.family == "go":
		return findGo()
	case s.family == "onnx" && s.target == "":
		return findONNX()
	case s.family == "onnx":
		return onnxAt(s.target)
	case s.target == "cpu":
		return findXLA(nameCPU)
	case s.target == "cuda":
		return findXLA(nameCUDA)
	case s.target == "":
		if cuda := findXLA(nameCUDA); cuda.Missing == "" {
			return cuda
		}
		return findXLA(nameCPU)
	default:
		return xlaAt(pluginDevice(s.target), s.target)
	}
}
