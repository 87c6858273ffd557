package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// newVersionCommand builds "saot version".
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "show the versions of saot, Go and the libraries that compute",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this binary holds no build information: build it with go build in module mode")
			}
			out := cmd.OutOrStdout()
			_, err := fmt.Fprintf(out, "saot %s, %s\n", info.Main.Version, info.GoVersion)
			for _, dep := range info.Deps {
				switch dep.Path {
				case "github.com/gomlx/gomlx", "github.com/gomlx/compute", "github.com/gomlx/compute-onnx",
					"github.com/gomlx/go-xla":
					_, err = fmt.Fprintf(out, "%s %s\n", dep.Path, dep.Version)
				}
			}
			return err
		},
	}
}
