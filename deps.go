// Package deps is temporary: it keeps requirements in go.mod while packages are being written.
package deps

import (
	_ "github.com/gomlx/compute-onnx"
	_ "github.com/gomlx/compute/gobackend"
	_ "github.com/gomlx/go-xla/compute/xla"
	_ "github.com/gomlx/gomlx/core/graph"
	_ "github.com/gomlx/gomlx/ml/model"
	_ "github.com/gomlx/gomlx/ml/train/optimizer"
	_ "github.com/gomlx/gomlx/ui/commandline"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/janpfeifer/gonb/gonbui"
	_ "github.com/sbinet/npyio/npz"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/optimize"
	_ "gonum.org/v1/plot"
	_ "gonum.org/v1/plot/vg/vgsvg"
	_ "gonum.org/v1/plot/vg/vgpdf"
)
