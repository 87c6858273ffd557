package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/baseline"
)

// newMethodsCommand builds "saot methods".
func newMethodsCommand() *cobra.Command {
	dataset, preset := "", baseline.PaperPreset
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "list what saot run --method takes, or one method's settings",
		Long: `Without a name: every method, what it is and how it is scored: by probes of its embeddings, or, where it trains on labels, by
its own classifier. With the name of a method that SAOT is compared with: its settings and their defaults for a dataset, as
saot run --set changes them. The settings of saot, its variants and its controls are flags of saot run.`,
		Example: `  saot methods
  saot methods gbt
  saot methods cat --dataset ogbn-arxiv --preset fast`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listMethods(cmd.OutOrStdout())
			}
			m, err := baseline.ParseMethod(args[0])
			if err != nil {
				return usageError{err}
			}
			return showMethod(cmd.OutOrStdout(), m, dataset, preset)
		},
	}
	cmd.Flags().StringVar(&dataset, "dataset", "", "whose defaults are shown; default those of no dataset in particular")
	cmd.Flags().Var(text{&preset}, "preset", "paper or fast")
	return cmd
}

func listMethods(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format, args...) } // Flush reports the error
	say("method\tscored by\twhat it is\n")
	for _, m := range baseline.Methods() {
		by := "probes"
		if m.Supervised() {
			by = "own classifier"
		}
		say("%s\t%s\t%s\n", m, by, m.Description())
	}
	return table.Flush()
}

// showMethod prints a method's description and its settings, a line each.
func showMethod(out io.Writer, m baseline.Method, dataset string, preset baseline.Preset) error {
	if _, err := fmt.Fprintf(out, "%s: %s\n", m, m.Description()); err != nil {
		return err
	}
	if !m.Compared() {
		_, err := fmt.Fprintln(out, "its settings are flags: see saot run --help")
		return err
	}
	data, err := json.MarshalIndent(m.Defaults(dataset, preset), "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", data)
	return err
}
