package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/experiment/report"
)

func newReportCommand() *cobra.Command {
	var output, title string
	cmd := &cobra.Command{
		Use:   "report PATH...",
		Short: "put tables, figures and settings of finished runs on one page",
		Long: `Write a self-contained page of HTML. It has the tables of saot table, the figures of saot figures, the
recordings of recorded runs (see saot show --html), the software and the machines that made the runs, and a spec with
all settings, with which saot sweep makes them again.

Runs of one dataset that saot table refuses to put in one table are refused here too; --only chooses some, and --mixed
lets engines and versions differ, and names those that it found.`,
		Example: `  saot report runs/table2
  saot report runs/table2 --output table2.html --title "Table 2, quick"`,
	}
	onGroups(cmd, func(dirs []string, sel selection) (writer, error) {
		if err := pageProduct.refuse(output); err != nil {
			return nil, err
		}
		title := cmp.Or(title, "SAOT: "+filepath.Base(filepath.Clean(dirs[0])))
		page, err := report.Page(title, sel.groups, sel.programs)
		return func(_ context.Context, out io.Writer) error {
			if err := file.Write(output, page); err != nil {
				return err
			}
			_, err = fmt.Fprintln(out, output)
			return err
		}, err
	})
	cmd.Flags().StringVarP(&output, "output", "o", "report.html", "file to write")
	cmd.Flags().StringVar(&title, "title", "", "title of the page")
	return cmd
}

// selection is the runs that a command's arguments name.
type selection struct {
	groups   []*experiment.Group
	programs []string // that made the runs, under --mixed
	undone   []string // lines about folders with runs that have no result
}

func writeLines(out io.Writer, prefix string, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintf(out, "%s%s\n", prefix, line); err != nil {
			return err
		}
	}
	return nil
}

// writer writes what a command has made.
type writer func(ctx context.Context, out io.Writer) error

// onGroups makes a command read the runs under its arguments, choose among them by --only and, under --mixed, let their
// programs differ. The function do writes nothing, so that it may be left when a signal comes; the writer that it
// returns does.
func onGroups(cmd *cobra.Command, do func(dirs []string, sel selection) (writer, error)) {
	var only []string
	var mixed bool
	cmd.Flags().BoolVar(&mixed, "mixed", false, "let the engines and versions that made the runs differ")
	onlyFlag(cmd, &only)
	if cmd.Args == nil {
		cmd.Args = cobra.MinimumNArgs(1)
	}
	cmd.RunE = func(cmd *cobra.Command, dirs []string) error {
		if err := checkOnly(only); err != nil {
			return err
		}
		write, err := interruptible(cmd.Context(), "results were read: nothing was written", func() (writer, error) {
			sel, err := selected(dirs, only, mixed)
			if err != nil {
				return nil, err
			}
			write, err := do(dirs, sel)
			return func(ctx context.Context, out io.Writer) error {
				if err := writeLines(cmd.ErrOrStderr(), "", sel.undone); err != nil {
					return err
				}
				return write(ctx, out)
			}, err
		})
		if err == nil {
			err = unlessInterrupted(cmd.Context(), "nothing was written")
		}
		if err != nil {
			return err
		}
		return write(cmd.Context(), cmd.OutOrStdout())
	}
}

func onlyFlag(cmd *cobra.Command, only *[]string) {
	cmd.Flags().StringArrayVar(only, "only", nil,
		"only runs with this setting, as name=value: a setting, seed, data, split or engine; repeat it with the same "+
			"name to allow another value, or with another name to require both settings")
}

func checkOnly(only []string) error {
	for _, want := range only {
		if !strings.Contains(want, "=") {
			return usagef("--only %s: write it as name=value", want)
		}
	}
	return nil
}

// collected reads runs and chooses among them. Those with a split of their own seed are not joined.
func collected(dirs, only []string) ([]*experiment.Group, error) {
	groups, err := experiment.Collect(dirs)
	if err != nil {
		return nil, err
	}
	return experiment.Select(groups, only)
}

func selected(dirs, only []string, mixed bool) (sel selection, err error) {
	if len(dirs) > 0 {
		sel.undone = undone(dirs)
		if sel.groups, err = collected(dirs, only); err != nil {
			return sel, err
		}
		sel.groups = experiment.JoinBySeed(sel.groups)
	}
	if mixed {
		sel.groups, sel.programs = experiment.Mixed(sel.groups)
	}
	return sel, nil
}

const figuresHelp = `Draw all figures that the runs under the paths allow: performance matrices side by side (the
paper's Figure 2), AP and AF against a setting in which runs of a method differ (Figure 3, and the figures of buffer
sizes), AP against time (Figure 4), AP over tasks, drift of distances and plans, effective rank, loss terms and marginal
errors.

With --paper it draws the paper's own figures, each as one picture of 6.75 inches: TRACE over SAOT on up to three
datasets, α next to β, time against AP, and the buffer's size. It says what runs a figure lacks.

Runs of one dataset that saot table refuses to put in one table are refused here too; --only chooses some, and --mixed
lets engines and versions differ.`

func newFiguresCommand() *cobra.Command {
	var folder, format, name string
	var paper bool
	probe := continual.ProbeConverged
	cmd := &cobra.Command{
		Use:   "figures PATH...",
		Short: "draw the figures of finished runs",
		Long:  figuresHelp,
		Example: `  saot figures runs/fig3 --out figures
  saot figures --paper results/quick --format pdf
  saot figures runs --format svg --only dataset=cora-ml
  saot figures runs --name progress-cora-ml-class-il-converged    one of them`,
	}
	onGroups(cmd, func(_ []string, sel selection) (writer, error) {
		if !slices.Contains([]string{"png", "svg", "pdf"}, format) {
			return nil, usagef("--format is %q: want png, svg or pdf", format)
		}
		var pictures []report.Picture
		var lacks []string
		var err error
		if paper {
			pictures, lacks, err = report.PaperPictures(sel.groups, probe)
		} else {
			pictures, err = report.Pictures(sel.groups)
		}
		if err != nil {
			return nil, err
		}
		if name != "" {
			every := pictures
			pictures = slices.DeleteFunc(slices.Clone(every), func(p report.Picture) bool { return p.Name != name })
			if len(pictures) == 0 {
				return nil, fmt.Errorf("--name: the runs give no figure %q, but %s", name, names(every))
			}
		}
		return func(ctx context.Context, out io.Writer) error {
			if err := savePictures(ctx, out, pictures, folder, format); err != nil {
				return err
			}
			return writeLines(out, "not drawn: ", lacks)
		}, nil
	})
	cmd.Flags().StringVar(&folder, "out", "figures", "folder of the pictures")
	cmd.Flags().StringVar(&format, "format", "png", "png, svg or pdf")
	cmd.Flags().StringVar(&name, "name", "", "name of the one figure to draw; default: all")
	cmd.Flags().BoolVar(&paper, "paper", false, "only the paper's figures, in its layout, as wide as two columns")
	cmd.Flags().Var(text{&probe}, "probe", "probe for --paper: converged or paper")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return checkPaperProbe(cmd, probe) }
	return cmd
}

func checkPaperProbe(cmd *cobra.Command, probe continual.Probe) error {
	if probe == continual.ProbeHead {
		return usagef("--probe is %v: want converged or paper", probe)
	}
	return needs(cmd, "probe", "paper")
}

func names(pictures []report.Picture) string {
	var out []string
	for _, p := range pictures {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// savePictures saves pictures in a folder, and says where they are.
func savePictures(ctx context.Context, out io.Writer, pictures []report.Picture, folder, format string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, p := range pictures {
		name := p.Name + "." + format
		if filepath.Base(name) != name { // it holds the name of a dataset
			return fmt.Errorf("figure %q: the name leads out of the folder %s", name, folder)
		}
		path := filepath.Join(folder, name)
		if err := unlessInterrupted(ctx, "the same command draws the rest"); err != nil {
			return err
		}
		if err := p.Figure.Save(path); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", path, p.Caption); err != nil {
			return err
		}
	}
	return nil
}

const tableHelp = `Find every result.json and all packed results under the paths and print a table for each dataset. It
has a row for each method: the mean and the sample standard deviation (n − 1) over seeds of AP and AF, for both settings
under each probe, then the training time per task and the peak of memory. Runs of one method with different settings
have separate rows, which name the settings that differ.

The best score of a column is bold, the next best underlined; all rows are ranked. A † marks rows that are below the
best row with three seeds or more, by a paired t-test over common seeds (three or more), after Holm's correction. A
footnote marks scores of runs whose paper probe stopped before it had learned. Only on the paper's own streams, more
columns show what the paper prints.

With --across there is one table instead, a column for each dataset: AP of one setting under the converged probe with
its place in the column, and the same of the methods that see labels, by their own classifier.

Runs of one dataset that differ in data, split, scaling of features, direction of edges, engine, version of the program
or probe rows are refused: choose some with --only. Splits and orders of classes may differ where each run draws its own
from its seed. --mixed lets engines and versions differ, and names those that it found. CSV holds the raw numbers.`

const tableExamples = `  saot table runs                                    Markdown
  saot table runs --format csv > figures.csv         numbers, a line per method, setting and probe
  saot table runs --format latex > table.tex         for booktabs
  saot table runs --only engine=xla:cpu              of runs on several engines, those of one
  saot table runs --only split=fd01d5bd              of runs on several splits, those of one
  saot table runs --only method=saot --only method=gbt
  saot table results/quick/table2.jsonl.gz           of packed results, see saot pack
  saot table --across results/chosen.jsonl.gz        one table of all datasets
  saot table --paper                                 the paper's Tables 2 to 4
  saot table --paper runs                            the same, only for the methods that were run`

// tableOptions are the flags of saot table.
type tableOptions struct {
	paper, across bool
	setting       continual.Setting // of across
}

func newTableCommand() *cobra.Command {
	var format experiment.Format
	var o tableOptions
	var p printed
	cmd := &cobra.Command{
		Use:     "table PATH...",
		Short:   "make tables of the finished runs",
		Long:    tableHelp,
		Example: tableExamples,
		Args: func(cmd *cobra.Command, dirs []string) error {
			if o.paper && len(dirs) == 0 {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, dirs)
		},
	}
	onGroups(cmd, func(_ []string, sel selection) (writer, error) {
		tables, err := o.tables(sel)
		if p.json {
			format = experiment.JSON
		}
		return func(_ context.Context, out io.Writer) error { return format.Write(out, tables) }, err
	})
	cmd.Flags().Var(text{&format}, "format", "md, csv, latex, html or json")
	cmd.Flags().BoolVar(&o.across, "across", false, "one table of all datasets: AP of a setting, with places")
	cmd.Flags().Var(text{&o.setting}, "setting", "setting for --across: class-il or task-il")
	cmd.Flags().BoolVar(&o.paper, "paper", false, "what the paper prints; with folders, for the methods in them")
	cmd.PreRunE = func(cmd *cobra.Command, dirs []string) error {
		for _, flag := range []string{"only", "mixed"} {
			if cmd.Flags().Changed(flag) && len(dirs) == 0 {
				return usagef("--%s is for finished runs: name their folders", flag)
			}
		}
		return needs(cmd, "setting", "across")
	}
	cmd.MarkFlagsMutuallyExclusive("paper", "across")
	p.flag(cmd)
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	return cmd
}

func (o *tableOptions) tables(sel selection) (tables []*experiment.Table, err error) {
	switch {
	case o.paper:
		tables, err = experiment.PaperTables(sel.groups)
		if err == nil && len(tables) == 0 {
			err = errors.New("the paper has results for none of the methods that were run: saot table --paper " +
				"prints all of its results")
		}
	case o.across:
		tables, err = experiment.Across(sel.groups, o.setting)
	default:
		tables, err = experiment.Tables(sel.groups)
	}
	if !o.paper { // the paper's tables hold no runs
		experiment.NotePrograms(tables, sel.programs)
	}
	return tables, err
}

func newTuneCommand() *cobra.Command {
	var seeds []uint
	var table bool
	cmd := &cobra.Command{
		Use:   "tune PATH...",
		Short: "choose settings on validation among the finished runs",
		Long: `For each dataset and method that was run with several settings, print the settings with the highest
class-il AP on the validation nodes, as a spec that saot sweep reads. Comments in it have the scores of all settings.
Test nodes play no part. Runs with only the paper probe have no such score, because that probe is stopped by the nodes
that it is scored on. A grid on the first tasks of a stream (stream: {first: 0.33}) chooses for all of it.

With --table, print a table of the choices instead, with the cost of each and what the other settings had.`,
		Example: `  saot sweep tune --dataset cora-ml
  saot tune runs/tune-cora-ml --table
  saot tune runs/tune-cora-ml --seeds 0,1,2 > chosen.yaml
  saot sweep chosen.yaml --out runs/chosen`,
	}
	onGroups(cmd, func(_ []string, sel selection) (writer, error) {
		choices, err := experiment.Choose(sel.groups)
		var wanted []uint64
		for _, seed := range seeds {
			wanted = append(wanted, uint64(seed))
		}
		return func(_ context.Context, out io.Writer) error {
			notes := sel.undone
			if len(sel.programs) > 1 {
				programs := "The runs are of several programs: " + strings.Join(sel.programs, ", ") + "."
				notes = append([]string{programs}, notes...)
			}
			if table {
				return errors.Join(experiment.WriteChoiceTable(out, choices), writeLines(out, "", notes))
			}
			if err := writeLines(out, "# ", notes); err != nil {
				return err
			}
			return experiment.WriteChoices(out, choices, wanted)
		}, err
	})
	cmd.Flags().UintSliceVar(&seeds, "seeds", nil, "seeds of the spec; default: those of the runs")
	cmd.Flags().BoolVar(&table, "table", false, "print a table in Markdown instead of a spec")
	cmd.MarkFlagsMutuallyExclusive("table", "seeds")
	return cmd
}
