package main

import (
	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment"
)

// newTuneCommand builds "saot tune".
func newTuneCommand() *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:   "tune PATH...",
		Short: "choose settings on validation among the finished runs",
		Long: `For each dataset and method that was run with several settings, print the settings with the highest
class-il AP on the valid nodes, as entries of a spec, and the figures of all. What the runs score on test plays no
part. Runs under the paper probe alone have no such figure: that probe is stopped by the nodes that it is scored on.`,
		Example: `  saot sweep quick/lr-grid --out runs/lr-grid
  saot tune runs/lr-grid`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			groups, err := collect(dirs, only)
			if err != nil {
				return err
			}
			choices, err := experiment.Choose(groups)
			if err != nil {
				return err
			}
			return experiment.WriteChoices(cmd.OutOrStdout(), choices)
		},
	}
	cmd.Flags().StringArrayVar(&only, "only", nil, "runs with this setting alone, as name=value; may be repeated")
	return cmd
}
