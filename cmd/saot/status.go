package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// newStatusCommand builds "saot status".
func newStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status PATH",
		Short: "say how far the runs of a sweep are",
		Long: `List the runs in the folder of a sweep that are not done: waiting, halted (begun, and no process is at
work), running or failed, with the tasks that are done and the error. In a file of packed results every run is done.`,
		Example: "  saot status runs/table2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isFile(args[0]) {
				packed, err := continual.ReadResults(args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(),
					summary(map[experiment.State]int{experiment.Done: len(packed)}, len(packed)))
				return err
			}
			s, err := experiment.OpenSweep(args[0])
			if err != nil {
				return err
			}
			return writeStatus(cmd.OutOrStdout(), s)
		},
	}
}

func writeStatus(out io.Writer, s *experiment.Sweep) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format, args...) } // Flush reports the error
	count := map[experiment.State]int{}
	for i := range s.Runs {
		state, err := s.State(i)
		if err != nil {
			return err
		}
		count[state]++
		note := ""
		switch state {
		case experiment.Done:
			continue
		case experiment.Failed:
			failure, err := s.Failure(i)
			if err != nil {
				return err
			}
			note = failure.Error
		case experiment.Running, experiment.Halted:
			if id, done, err := continual.ReadIdentity(s.Folder(i)); err == nil {
				note = fmt.Sprintf("%d of %d tasks", done, id.Dataset.Tasks)
			}
		}
		say("%s\t%s\t%s\n", state, s.Runs[i].Name(), note)
	}
	say("%s\n", summary(count, len(s.Runs)))
	return table.Flush()
}
