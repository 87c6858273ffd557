package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/playground/viewer"
	"github.com/saot-go/saot/saot/continual/record"
)

const recordingPage = "recording.html" // in the run folder

func newShowCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show DIR [DIR]",
		Short: "make a page that plays the recording of a run, or of two runs side by side",
		Long: `Write a page of HTML that plays what saot run --record recorded in a run folder: the transport plans
between the watched nodes, their embeddings, the two views, losses, gradients and marginal errors, and the performance
matrix so far. The parts are linked. Point at an entry of a plan: both nodes and their neighbors are marked in the
graphs and in the embedding. Choose a cell of the matrix: the task is shown. Two runs play on one clock, task by task.

The page needs neither a server nor a network: open it in a browser. It saves a frame as SVG and a span as an animated
GIF. A run that is still at work, or was interrupted, can be shown as far as it got.`,
		Example: `  saot run --dataset uai --record 1 --out runs/uai
  saot show runs/uai                           writes runs/uai/recording.html
  saot show runs/uai runs/uai-gbt              SAOT next to another method, on one clock
  saot show runs/uai --output ~/uai.html`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			var runs []viewer.Run
			var names []string
			for _, dir := range dirs {
				r, err := readRecording(dir)
				if err != nil {
					return err
				}
				runs = append(runs, viewer.Run{Name: viewer.Name(r), Recording: r})
				names = append(names, viewer.Name(r))
			}
			page, err := viewer.Page(strings.Join(names, " · "), runs...)
			if err != nil {
				return err
			}
			if output == "" {
				output = filepath.Join(dirs[0], recordingPage)
			}
			if err := file.Write(output, page); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), output)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; default "+recordingPage+" in the first DIR")
	return cmd
}

func readRecording(dir string) (*record.Recording, error) {
	r, err := record.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no recording: run again with saot run --record N", dir)
	}
	return r, err
}
