package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment"
)

const compareHelp = `Find the runs that two sets of results have in common, and say how far apart their scores are. Runs
are the same if dataset, method, settings, split and seed are; programs, engines and machines may differ, and are named.

A run has the same scores if its accuracy on each task after each task is the same to the last digit, in every setting
and under every probe that both have. For methods with other runs the output has the mean AP of both sets, and the
largest differences of a single run, second minus first.`

func newCompareCommand() *cobra.Command {
	var only []string
	var p printed
	cmd := &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "say how far two sets of the same runs are apart",
		Long:  compareHelp,
		Example: `  saot compare results/chosen.jsonl.gz runs/chosen-cora-ml     are the committed results reproduced?
  saot compare runs/here runs/there --only method=saot         how much another machine changes`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := checkOnly(only); err != nil {
				return err
			}
			c, err := interruptible(cmd.Context(), "results were read", func() (*experiment.Comparison, error) {
				var sets [2][]*experiment.Group
				for i, path := range paths {
					sel, err := selected([]string{path}, only, false)
					if err != nil {
						return nil, err
					}
					sets[i] = sel.groups
				}
				return experiment.Compare(sets[0], sets[1])
			})
			if err != nil {
				return err
			}
			return p.print(cmd.OutOrStdout(), c, func(out io.Writer) error { return writeComparison(out, c) })
		},
	}
	onlyFlag(cmd, &only)
	return p.flag(cmd)
}

func writeComparison(out io.Writer, c *experiment.Comparison) error {
	text := &strings.Builder{}
	for i, name := range []string{"first", "second"} {
		fmt.Fprintf(text, "%-8s%s\n", name, strings.Join(c.Programs[i], "\n        "))
		for _, machine := range c.Machines[i] {
			fmt.Fprintf(text, "        on %s\n", machine)
		}
	}
	fmt.Fprintf(text, "\n%s\n", c.Summary())
	rows := [][]string{{"dataset", "method", "seeds", "same", "score", "AP of first", "of second", "AP by", "AF by"}}
	for _, pair := range c.Pairs {
		if !pair.Equal() {
			rows = append(rows, comparisonRows(pair)...)
		}
	}
	if len(rows) > 1 {
		text.WriteString("\n")
		if err := writeRows(text, rows, false); err != nil {
			return err
		}
		text.WriteString("\nAP of first, of second: means over the seeds, in percent. By: the largest difference of " +
			"a run, in points.\n")
	}
	if same := equalRows(c); len(same) > 1 {
		text.WriteString("\n")
		if err := writeRows(text, same, false); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// equalRows lists by dataset what is the same.
func equalRows(c *experiment.Comparison) [][]string {
	rows := [][]string{{"dataset", "the same in every run"}}
	for _, pair := range c.Pairs {
		last := rows[len(rows)-1]
		switch {
		case !pair.Equal():
		case last[0] == pair.Dataset:
			last[1] += ", " + pair.Label
		default:
			rows = append(rows, []string{pair.Dataset, pair.Label})
		}
	}
	return rows
}

func comparisonRows(pair *experiment.Pair) (rows [][]string) {
	row := []string{pair.Dataset, pair.Label, strings.Trim(fmt.Sprint(pair.Seeds), "[]"),
		fmt.Sprintf("%d of %d", pair.Same, len(pair.Seeds))}
	for _, s := range pair.Scores {
		rows = append(rows, append(row, fmt.Sprintf("%v, %s", s.Setting, s.Probe.Label()),
			fmt.Sprintf("%.1f", s.First), fmt.Sprintf("%.1f", s.Second), fmt.Sprintf("%+.2f", s.AP),
			fmt.Sprintf("%+.2f", s.AF)))
		row = []string{"", "", "", ""}
	}
	return rows
}
