package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/method"
)

// newMethodsCommand builds "saot methods".
func newMethodsCommand() *cobra.Command {
	dataset, preset := "", method.Paper
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "list what saot run --method takes, or one method's settings",
		Long: `Without a name: every method, its kind, how it is scored (by probes of its embeddings, or, where it
trains on labels, by its own classifier) and what it is. With the name of a method: its settings and their defaults
for a dataset, as saot run --set changes them.`,
		Example: `  saot methods
  saot methods gbt
  saot methods cat --dataset ogbn-arxiv --preset fast`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listMethods(cmd.OutOrStdout())
			}
			d, err := method.Lookup(args[0])
			if err != nil {
				return usageError{err}
			}
			return showMethod(cmd.OutOrStdout(), d, d.Defaults(datasets.RecipeOf(dataset), preset))
		},
	}
	cmd.Flags().StringVar(&dataset, "dataset", "",
		"whose defaults are shown; default those of no dataset in particular")
	cmd.Flags().Var(text{&preset}, "preset", "paper or fast")
	return cmd
}

func listMethods(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format, args...) } // Flush reports the error
	say("method\tkind\tscored by\twhat it is\n")
	for _, d := range method.All() {
		by := "probes"
		if !d.Probed() {
			by = "own classifier"
		}
		say("%s\t%s\t%s\t%s\n", d.Name, d.Kind, by, d.Summary)
	}
	return table.Flush()
}

// showMethod prints what a method is and its settings, a line each.
func showMethod(out io.Writer, d *method.Definition, s method.Settings) error {
	if _, err := fmt.Fprintf(out, "%s: %s\n\n", d.Name, d.Summary); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format, args...) } // Flush reports the error
	say("setting\tdefault\twhat it is\n")
	for _, f := range fields.All(s) {
		say("%s\t%s\t%s\n", f.Path, f.Text(), f.Help)
	}
	return table.Flush()
}
