package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
)

// newTableCommand builds "saot table".
func newTableCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "table DIR...",
		Short: "make Markdown tables of the finished runs in folders",
		Long: `Find every result.json under the folders and print a Markdown table for each dataset: a row for each method, the mean and
the sample standard deviation (n − 1) over seeds of AP and AF, for both settings under each probe, the time of training on a task
and the peak of memory. Runs of one method with
different settings stand in rows of their own, which name the settings that differ.`,
		Example: `  saot table runs
  saot table runs/uai-saot-s0 runs/uai-random-s0 > table.md`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			groups, err := collect(dirs)
			if err != nil {
				return err
			}
			return writeTables(cmd.OutOrStdout(), groups)
		},
	}
}

// group is the runs that differ in nothing but the seed.
type group struct {
	dataset, method string
	settings        map[string]string // flat, without the seed
	runs            map[uint64]*continual.Result
	paths           map[uint64]string
}

// collect reads every result under the folders and groups them, in the order of the tables.
func collect(dirs []string) ([]*group, error) {
	byKey := map[string]*group{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != continual.ResultFile {
				return err
			}
			r, err := continual.ReadResult(path)
			if err != nil {
				return err
			}
			return add(byKey, r, path)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(byKey) == 0 {
		return nil, fmt.Errorf("there is no %s under %s: name folders of finished runs", continual.ResultFile, strings.Join(dirs, ", "))
	}
	groups := slices.Collect(maps.Values(byKey))
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.order(), b.order()) })
	return groups, nil
}

func add(byKey map[string]*group, r *continual.Result, path string) error {
	g := &group{dataset: r.Dataset.Name, method: r.Method, settings: map[string]string{}, runs: map[uint64]*continual.Result{}, paths: map[uint64]string{}}
	if err := flatten(g.settings, "", r.Config); err != nil {
		return fmt.Errorf("%s: field config: %w", path, err)
	}
	delete(g.settings, "seed")
	g.settings["data"], g.settings["split"] = r.Dataset.Checksum, r.Dataset.SplitHash
	key := g.order()
	if known, ok := byKey[key]; ok {
		g = known
	}
	byKey[key] = g
	if before, ok := g.paths[r.Seed]; ok {
		return fmt.Errorf("%s and %s are the same run (seed %d): move one away", before, path, r.Seed)
	}
	g.runs[r.Seed], g.paths[r.Seed] = r, path
	return nil
}

// flatten adds the leaves of a JSON object as path → text.
func flatten(into map[string]string, prefix string, value json.RawMessage) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil || object == nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		into[strings.TrimSuffix(prefix, ".")] = compact.String()
		return nil
	}
	for name, field := range object {
		if err := flatten(into, prefix+name+".", field); err != nil {
			return err
		}
	}
	return nil
}

// order sorts groups: dataset, place of the method, settings. No two groups have the same.
func (g *group) order() string {
	place := 99 // a method of another version
	if m, err := baseline.ParseMethod(g.method); err == nil {
		place = int(m)
	}
	return fmt.Sprintf("%s\n%02d %s\n%v", g.dataset, place, g.method, g.settings)
}

// label names a group: its method, and what it alone among the groups of the method has.
func (g *group) label(all []*group) string {
	var differing []string
	for _, name := range slices.Sorted(maps.Keys(g.settings)) {
		if slices.ContainsFunc(all, func(o *group) bool {
			return o.dataset == g.dataset && o.method == g.method && o.settings[name] != g.settings[name]
		}) {
			differing = append(differing, name+" "+strings.Trim(g.settings[name], `"`))
		}
	}
	if len(differing) == 0 {
		return g.method
	}
	return g.method + ", " + strings.Join(differing, ", ")
}

// writeTables prints a table for each dataset.
func writeTables(out io.Writer, groups []*group) error {
	var b strings.Builder
	dataset := ""
	var probes []continual.Probe
	for _, g := range groups {
		if g.dataset != dataset {
			dataset = g.dataset
			probes = probesOf(groups, dataset)
			writeHead(&b, g, probes)
		}
		fmt.Fprintf(&b, "| %s | %d |", g.label(groups), len(g.runs))
		for _, s := range continual.Settings() {
			for _, p := range probes {
				fmt.Fprintf(&b, " %s | %s |", g.figure(s, p, func(s *continual.Score) float64 { return s.AP }),
					g.figure(s, p, func(s *continual.Score) float64 { return s.AF }))
			}
		}
		fmt.Fprintf(&b, " %s | %s |\n", g.mean("%.1f", secondsPerTask), g.mean("%.1f", peakGigabytes))
	}
	b.WriteString("\nMean ± sample standard deviation (n − 1) over n seeds, per cent; training time a task and the process's largest memory, means.\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// probesOf returns the probes of a dataset's columns: those of embeddings, and supervised methods' own classifiers where there
// are any.
func probesOf(groups []*group, dataset string) []continual.Probe {
	probes := continual.Probes()
	for _, g := range groups {
		for _, r := range g.runs {
			if _, ok := r.Score(continual.ClassIL, continual.ProbeHead); ok && g.dataset == dataset {
				return append(probes, continual.ProbeHead)
			}
		}
	}
	return probes
}

func writeHead(b *strings.Builder, g *group, probes []continual.Probe) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	info := slices.Collect(maps.Values(g.runs))[0].Dataset
	kind := ""
	if info.Synthetic {
		kind = ", generated data"
	}
	fmt.Fprintf(b, "### %s (%d tasks, %d classes%s)\n\n| method | n |", info.Name, info.Tasks, info.Classes, kind)
	rule := "|---|---|"
	for _, s := range continual.Settings() {
		for _, p := range probes {
			fmt.Fprintf(b, " %s AP, %s | AF |", s, p)
			rule += "---|---|"
		}
	}
	b.WriteString(" s a task | peak, GB |\n" + rule + "---|---|\n")
}

// secondsPerTask is the mean time that a run trained on a task.
func secondsPerTask(r *continual.Result) float64 {
	sum := 0.0
	for _, t := range r.Tasks {
		sum += t.Seconds
	}
	return sum / float64(max(1, len(r.Tasks)))
}

func peakGigabytes(r *continual.Result) float64 { return float64(r.PeakBytes) / 1e9 }

// mean formats the mean of a figure over the runs that have it, an en dash where none has.
func (g *group) mean(format string, of func(*continual.Result) float64) string {
	var values []float64
	for _, r := range g.runs {
		if v := of(r); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return "–"
	}
	slices.Sort(values) // so that the sum does not depend on the map's order
	mean, _ := meanDeviation(values)
	return fmt.Sprintf(format, mean)
}

// figure formats one cell, an en dash where no run has the score.
func (g *group) figure(s continual.Setting, p continual.Probe, of func(*continual.Score) float64) string {
	var values []float64
	for _, seed := range slices.Sorted(maps.Keys(g.runs)) {
		if score, ok := g.runs[seed].Score(s, p); ok {
			values = append(values, of(score))
		}
	}
	if len(values) == 0 {
		return "–"
	}
	mean, deviation := meanDeviation(values)
	text := fmt.Sprintf("%.1f", mean)
	if len(values) > 1 {
		text += fmt.Sprintf(" ± %.1f", deviation)
	}
	return strings.ReplaceAll(text, "-", "−")
}

// meanDeviation returns the mean and the sample standard deviation, which is 0 for one value.
func meanDeviation(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(1, len(values)-1)))
}
