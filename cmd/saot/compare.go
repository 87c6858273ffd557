package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment"
)

const compareHelp = `Find the runs that two sets of results have in common, and say how far apart their scores are. Runs
are the same if dataset, method, settings, split and seed are; programs, engines and machines may differ, and the output
lists them.

A run has the same scores if its accuracy on each task after each task is the same to the last digit, in every setting
and under every probe that both have. For each method whose scores differ, it prints the mean AP in both sets and the
largest difference of a single run (second minus first). Where a method's settings differ between the sets, it names
those that do.`

func newCompareCommand() *cobra.Command {
	var only []string
	var p printed
	cmd := &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "compare the scores of the same runs in two sets of results",
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
					groups, err := collected([]string{path}, only)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", path, err)
					}
					sets[i] = groups
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
		machines := cmp.Or(strings.Join(c.Machines[i], "; "), "a machine that is not recorded")
		fmt.Fprintf(text, "        on %s\n", machines)
	}
	fmt.Fprintf(text, "\n%s\n", c.Summary())
	rows := [][]string{{"dataset", "method", "seeds", "same", "score", "AP, first", "AP, second",
		"largest ΔAP", "largest ΔAF"}}
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
		text.WriteString("\nAP: means over the runs, in percent. Δ: the largest difference of a run, second minus " +
			"first.\n")
	}
	for _, more := range [][][]string{equalRows(c), apartRows(c)} {
		if len(more) > 1 {
			text.WriteString("\n")
			if err := writeRows(text, more, false); err != nil {
				return err
			}
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

// apartRows lists the settings that keep runs of a method from being compared.
func apartRows(c *experiment.Comparison) [][]string {
	rows := [][]string{{"dataset", "method", "not compared: differs in (first and second)"}}
	for _, a := range c.Apart {
		rows = append(rows, []string{a.Dataset, a.Label, a.List()})
	}
	return rows
}

func comparisonRows(pair *experiment.Pair) (rows [][]string) {
	row := []string{pair.Dataset, pair.Label, pair.SeedList(), fmt.Sprintf("%d of %d", pair.Same, len(pair.Seeds))}
	for _, s := range pair.Scores {
		score := fmt.Sprintf("%v, %s", s.Setting, s.Probe.Label())
		if s.Runs < len(pair.Seeds) {
			score += fmt.Sprintf(" (%d of %d runs)", s.Runs, len(pair.Seeds))
		}
		rows = append(rows, append(row, score, fmt.Sprintf("%.1f", s.First), fmt.Sprintf("%.1f", s.Second),
			fmt.Sprintf("%+.2f", s.AP), fmt.Sprintf("%+.2f", s.AF)))
		row = []string{"", "", "", ""}
	}
	return rows
}
