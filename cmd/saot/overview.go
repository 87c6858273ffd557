package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// overviewOptions are the flags of saot overview.
type overviewOptions struct {
	setting continual.Setting
	probe   continual.Probe
	streams bool
	figure  string // a file
	against string // the method of the pairs
}

func newOverviewCommand() *cobra.Command {
	var p printed
	format := "text"
	o := overviewOptions{probe: continual.ProbeConverged}
	cmd := &cobra.Command{
		Use:   "overview PATH...",
		Short: "rank methods over streams and seeds, with tests",
		Long: `Rank the methods by AP within each block, and print mean ranks by stream, the test of Friedman, the
critical difference of Nemenyi, and for one method against each other one: the mean difference of AP, the rank-biserial
effect size, and the p value of Wilcoxon's signed-rank test, raw and after Holm's correction.

A block is one seed of one stream. Seeds of a stream are alike, so small p values do not carry to streams that were not
run. --streams takes the mean over the seeds of each stream as one block instead: few streams then show little.

Methods are compared on the streams and seeds that all of them have. A stream is left out if fewer than half of the
methods ran on it. A method is left out if it has no runs on one of the other streams, or fewer than half of the seeds
that most methods have there. The output names what is left out.`,
		Example: `  saot overview results/chosen.jsonl.gz
  saot overview results/chosen.jsonl.gz --streams --format md
  saot overview results/chosen.jsonl.gz --against saot          saot against each other method
  saot overview results/chosen.jsonl.gz --figure ranks.svg      a critical-difference diagram
  saot overview runs/table2 --setting task-il --json`,
	}
	onGroups(cmd, func(_ []string, sel selection) (writer, error) {
		if format != "text" && format != "md" {
			return nil, usagef("--format is %q: want text or md", format)
		}
		view, err := o.overview(sel)
		return func(_ context.Context, out io.Writer) error {
			if err := saveRanks(view, o.figure); err != nil {
				return err
			}
			return p.print(out, view, func(out io.Writer) error {
				text, err := overviewText(view, format == "md")
				if err == nil {
					_, err = io.WriteString(out, text)
				}
				return err
			})
		}, err
	})
	cmd.Flags().Var(text{&o.setting}, "setting", "class-il or task-il")
	cmd.Flags().Var(text{&o.probe}, "probe", "converged, paper or head (own classifiers)")
	cmd.Flags().BoolVar(&o.streams, "streams", false, "take each stream as one block, not each of its seeds")
	cmd.Flags().StringVar(&o.figure, "figure", "",
		"write a critical-difference diagram to this file (.png, .svg or .pdf)")
	cmd.Flags().StringVar(&o.against, "against", "", "method that is compared with each other one; default: the first")
	cmd.Flags().StringVar(&format, "format", format, "text or md (Markdown)")
	p.flag(cmd)
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	return cmd
}

// overview ranks the methods.
func (o *overviewOptions) overview(sel selection) (*experiment.Overview, error) {
	by := experiment.BySeed
	if o.streams {
		by = experiment.ByStream
	}
	view, err := experiment.NewOverview(sel.groups, o.setting, o.probe, by, o.against)
	if err != nil {
		return nil, err
	}
	if len(sel.programs) > 1 {
		view.Programs = sel.programs
	}
	return view, nil
}

func saveRanks(o *experiment.Overview, path string) error {
	if path == "" {
		return nil
	}
	var methods []plotting.Ranking
	for _, m := range o.Methods {
		methods = append(methods, plotting.Ranking{Name: m.Method, Rank: m.MeanRank})
	}
	f, err := plotting.CriticalDifference(methods, o.CriticalDifference, "mean rank of AP")
	if err != nil {
		return err
	}
	return f.WithNote(fmt.Sprintf("%s, %s, %d blocks: %s", o.Setting.Label(), o.Probe.Label(), len(o.Blocks),
		strings.Join(o.Streams(), ", "))).Save(path)
}

// overviewText returns two tables, in Markdown or with columns of spaces.
func overviewText(o *experiment.Overview, markdown bool) (string, error) {
	out, text := &strings.Builder{}, func(text string) string { return text }
	if markdown {
		text = untrusted.Markdown
	}
	fmt.Fprintf(out, "%s AP, %s: %d methods on %d blocks (%s)\n\n", o.Setting, o.Probe.Label(), len(o.Methods),
		len(o.Blocks), text(strings.Join(o.Streams(), ", ")))
	ranks := [][]string{append([]string{"method", "mean rank", "AP"}, o.Streams()...)}
	for _, m := range o.Methods {
		row := []string{m.Method, fmt.Sprintf("%.2f", m.MeanRank), fmt.Sprintf("%.1f", m.AP)}
		for _, s := range o.Streams() {
			row = append(row, fmt.Sprintf("%.1f", m.Streams[s]))
		}
		ranks = append(ranks, row)
	}
	if err := writeRows(out, ranks, markdown); err != nil {
		return "", err
	}
	fmt.Fprintf(out,
		"\nFriedman: chi-squared %.2f with %d degrees of freedom, p = %.2g. Mean ranks that differ by less "+
			"than %.2f\ncannot be told apart (Nemenyi, 0.05).\n\n", o.ChiSquare, len(o.Methods)-1, o.P,
		o.CriticalDifference)
	pairs := [][]string{{o.Pairs[0].Method + " against", "difference", "effect", "Wilcoxon p", "Holm p", "Nemenyi p"}}
	for _, d := range o.Pairs {
		pairs = append(pairs, []string{d.Against, fmt.Sprintf("%+.1f", d.Difference), fmt.Sprintf("%+.2f", d.Effect),
			fmt.Sprintf("%.2g", d.Wilcoxon), fmt.Sprintf("%.2g", d.Holm), fmt.Sprintf("%.2g", d.Nemenyi)})
	}
	if err := writeRows(out, pairs, markdown); err != nil {
		return "", err
	}
	for i, left := range o.Left {
		if i == 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(out, "Not compared: %s\n", text(left))
	}
	if len(o.Programs) > 0 {
		fmt.Fprintf(out, "\nThe runs are of several programs: %s.\n", text(strings.Join(o.Programs, ", ")))
	}
	return out.String(), nil
}

func writeRows(out *strings.Builder, rows [][]string, markdown bool) error {
	if !markdown {
		t := newTable(out, 0)
		for _, row := range rows {
			t.say("%s", strings.Join(row, "\t"))
		}
		return t.Flush()
	}
	for i, row := range rows {
		for _, cell := range row {
			fmt.Fprintf(out, "| %s ", untrusted.Markdown(cell))
		}
		out.WriteString("|\n")
		if i == 0 {
			fmt.Fprintf(out, "|---%s|\n", strings.Repeat("|--:", len(row)-1))
		}
	}
	return nil
}
