package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/experiment/report"
)

// newReportCommand builds "saot report".
func newReportCommand() *cobra.Command {
	var output, title string
	var only []string
	cmd := &cobra.Command{
		Use:   "report PATH...",
		Short: "put tables, figures and settings of finished runs on one page",
		Long: `Write a page of HTML that needs nothing but itself: the tables of saot table, the figures of saot
figures, what software made the runs, and a spec with all settings, with which saot sweep makes them again.`,
		Example: `  saot report runs/table2
  saot report runs/table2 --output table2.html --title "Table 2, quick"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			groups, err := collect(dirs, only)
			if err != nil {
				return err
			}
			if title == "" {
				title = "SAOT: " + filepath.Base(filepath.Clean(dirs[0]))
			}
			page, err := report.Page(title, groups)
			if err != nil {
				return err
			}
			if err := experiment.WriteFile(output, page); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), output)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&output, "output", "report.html", "file to write")
	f.StringVar(&title, "title", "", "of the page")
	f.StringArrayVar(&only, "only", nil, "runs with this setting alone, as name=value; may be repeated")
	return cmd
}

// newFiguresCommand builds "saot figures".
func newFiguresCommand() *cobra.Command {
	var out, format string
	var only []string
	cmd := &cobra.Command{
		Use:   "figures PATH...",
		Short: "draw the figures of finished runs",
		Long: `Draw what the runs under the paths have the figures for: performance matrices side by side (the paper's
Figure 2), AP and AF against a setting in which runs of a method differ (Figure 3, and the figures of buffer sizes),
AP against time (Figure 4), AP over tasks; and drift of distances and plans, effective rank, loss terms and marginal
errors.`,
		Example: `  saot figures runs/fig3 --out figures
  saot figures runs --format svg --only dataset=uai`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			groups, err := collect(dirs, only)
			if err != nil {
				return err
			}
			pictures, err := report.Pictures(groups)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			for _, p := range pictures {
				path := filepath.Join(out, p.Name+"."+format)
				if err := p.Figure.Save(path); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", path, p.Caption); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "figures", "folder of the pictures")
	f.StringVar(&format, "format", "png", "png, svg or pdf")
	f.StringArrayVar(&only, "only", nil, "runs with this setting alone, as name=value; may be repeated")
	return cmd
}

// collect reads the runs in folders and chooses among them.
func collect(dirs, only []string) ([]*experiment.Group, error) {
	groups, err := experiment.Collect(dirs)
	if err != nil {
		return nil, err
	}
	return experiment.Select(groups, only)
}
