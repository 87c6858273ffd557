package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/continual"
)

func newPackCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "pack PATH... --output FILE",
		Short: "put the results of many runs into one file",
		Long: `Write every result under the paths to one compressed file of JSON lines. Each line is a result and its
run folder. Nothing of result.json is lost; models, pictures and metrics stay where they are. Equal results make equal
files. A file that is there is replaced if all runs in it are packed again.

Every command that reads results takes such a file instead of a folder, and finds those in a folder whose names end in
` + continual.PackedExt + `. saot unpack makes the run folders again.`,
		Example: `  saot pack runs/table2 -o results/table2.jsonl.gz
  saot table results/table2.jsonl.gz
  zcat results/table2.jsonl.gz | jq -r .path             the run folders in it`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if output == "" {
				return usagef("name the file to write: --output FILE")
			}
			if !strings.HasSuffix(output, continual.PackedExt) { // commands would not find it in a folder
				return usagef("--output is %s: want a name that ends in %s", output, continual.PackedExt)
			}
			count, err := continual.PackResults(cmd.Context(), output, paths...)
			if errors.Is(err, context.Canceled) {
				return interrupted{err, "interrupted while results were packed: nothing was written"}
			}
			if err != nil {
				return err
			}
			if err := writeLines(cmd.ErrOrStderr(), "", undone(paths)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d results\n", output, count)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write, such as results/table2"+continual.PackedExt)
	return cmd
}

func newUnpackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unpack FILE DIR",
		Short: "make run folders of packed results",
		Long: `Write each result in a file of saot pack to its run folder below DIR. A result that is there already is
left alone if it is the same. If any is different, nothing is written.`,
		Example: `  saot unpack results/ablations.jsonl.gz runs/ablations
  saot sweep real/ablations --out runs/ablations          does what is not done yet`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var kept int
			written, err := interruptible(cmd.Context(), "results were unpacked: the same command continues",
				func() (written int, err error) {
					written, kept, err = continual.UnpackResults(args[0], args[1])
					return written, err
				})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d results written, %d were there\n", args[1], written, kept)
			return err
		},
	}
}
