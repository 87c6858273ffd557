// Command saot runs self-supervised continual graph learning with optimal transport.
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "saot", Short: "self-supervised continual graph learning with optimal transport", SilenceUsage: true}
	root.AddCommand(newEnginesCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
