package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/notebooks/course"
)

func newNotebooksCommand() *cobra.Command {
	return group("notebooks", "the course of notebooks", "", newNotebooksBuildCommand())
}

func newNotebooksBuildCommand() *cobra.Command {
	var o course.Options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "write the notebooks as web pages that need no network",
		Long: `Write a page for each executed notebook and an index with a picture of each. Sliders of frames work in
the pages, formulas are MathML, pictures and style are inside: nothing is loaded from the network. The command runs
jupyter nbconvert, whose Python needs latex2mathml too: pip install nbconvert latex2mathml.`,
		Example: `  saot notebooks build
  saot notebooks build --out /tmp/course --pictures notebooks/pictures`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pages, err := course.Build(cmd.Context(), o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d pages: %s\n", len(pages), filepath.Join(o.Out, "index.html"))
			return err
		},
	}
	cmd.Flags().StringVar(&o.Notebooks, "notebooks", "notebooks", "folder of the notebooks")
	cmd.Flags().StringVar(&o.Out, "out", "docs/course", "folder of the pages")
	cmd.Flags().StringVar(&o.Pictures, "pictures", "", "folder for a small picture of each notebook; default: none")
	cmd.Flags().StringVar(&o.Playground, "playground", "",
		"folder of the playground, as the pages see it, such as ../playground: figures open live in them")
	cmd.Flags().StringVar(&o.Jupyter, "jupyter", "", "jupyter command; default: $SAOT_JUPYTER, or the one on PATH")
	return cmd
}
