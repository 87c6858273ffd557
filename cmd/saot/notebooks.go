package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/notebooks/course"
)

func newNotebooksCommand() *cobra.Command {
	return group("notebooks", "the course of notebooks", "", newNotebooksBuildCommand(), newNotebooksStudentCommand())
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

func newNotebooksStudentCommand() *cobra.Command {
	var from, out string
	cmd := &cobra.Command{
		Use:   "student",
		Short: "copy the notebooks without the solutions of their exercises",
		Long: `Write copies of the notebooks to hand out: without the solutions of exercises, and without outputs of the
cells with an exercise or its check. All else stays, with the outputs of other cells. A file there with other content,
such as a student's work or an older copy, is never replaced: the command says its name and writes nothing.

A copy looks for the repository in the folder above its own. So it runs in a folder of any name that lies directly in a
checkout, as notebooks does. Students put their copies into such a folder of their own checkout.`,
		Example: `  saot notebooks student
  saot notebooks student -o homework`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			copies, err := course.Student(from, out)
			if err != nil {
				return err
			}
			say := func(format string, args ...any) { _, _ = fmt.Fprintf(cmd.OutOrStdout(), format, args...) }
			say("%d notebooks: %s\n", len(copies), out)
			if _, err := os.Stat(filepath.Join(out, "..", "notebooks", "kit")); err != nil {
				say("to run them, move them to a folder directly in a checkout of the repository\n")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "notebooks", "notebooks", "folder of the notebooks")
	cmd.Flags().StringVarP(&out, "out", "o", "student", "folder of the copies")
	return cmd
}
