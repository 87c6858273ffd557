package main

import (
	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment"
)

// newTableCommand builds "saot table".
func newTableCommand() *cobra.Command {
	var format experiment.Format
	var only []string
	var paper bool
	cmd := &cobra.Command{
		Use:   "table PATH...",
		Short: "make tables of the finished runs",
		Long: `Find every result.json and all packed results under the paths and print a table for each dataset: a row
for each method, the mean and the sample standard deviation (n − 1) over seeds of AP and AF, for both settings under
each probe, then the time of training on a task and the peak of memory. Runs of one method with different settings
stand in rows of their own, which name the settings that differ.

The best figure of a column is bold, the next one underlined; all rows take part. A † marks rows that are below the
best by a paired t-test over common seeds (three or more), after Holm's correction. A footnote marks figures of runs
whose paper probe stopped before it had learned. On the paper's own streams, and on no others, what the paper prints
stands beside it in columns of its own.

Runs of one dataset that differ in data, split, scaling of features, direction of edges, engine or probe rows are
refused: choose some with --only. CSV holds the raw figures.`,
		Example: `  saot table runs                                    Markdown
  saot table runs --format csv > figures.csv         raw figures, a line a method, setting and probe
  saot table runs --format latex > table.tex         for booktabs
  saot table runs --only engine=onnx                 of runs on several engines, those of one
  saot table runs --only split=fd01d5bd              of runs on several splits, those of one
  saot table results/quick/table2.jsonl.gz           of packed results, see saot pack
  saot table --paper                                 the paper's Tables 2 to 4
  saot table --paper runs                            the same, the methods alone that were run`,
		Args: func(cmd *cobra.Command, dirs []string) error {
			if paper && len(dirs) == 0 {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, dirs)
		},
		RunE: func(cmd *cobra.Command, dirs []string) error {
			tables, err := makeTables(dirs, only, paper)
			if err != nil {
				return err
			}
			return format.Write(cmd.OutOrStdout(), tables)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(text{&format}, "format", "md, csv, latex or html")
	f.StringArrayVar(&only, "only", nil,
		"only runs with the setting name=value: a name of result.json's config, or data, split or engine")
	f.BoolVar(&paper, "paper", false,
		"what the paper prints, in tables of its own; with folders, for the methods in them")
	return cmd
}

// makeTables makes the tables of the runs in folders, or the paper's of their methods.
func makeTables(dirs, only []string, paper bool) (tables []*experiment.Table, err error) {
	var groups []*experiment.Group
	if len(dirs) > 0 {
		if groups, err = experiment.Collect(dirs); err != nil {
			return nil, err
		}
		if groups, err = experiment.Select(groups, only); err != nil {
			return nil, err
		}
	}
	if paper {
		return experiment.PaperTables(groups)
	}
	return experiment.Tables(groups)
}
