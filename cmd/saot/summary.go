package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// largestPrinted is the number of tasks up to which a performance matrix fits a terminal.
const largestPrinted = 12

// summarize prints what a run came to: AP and AF, the performance matrix of class-il under the last probe, notes.
func summarize(out io.Writer, r *continual.Result, dir string) error {
	var b strings.Builder
	p, probes := paintFor(out), r.Probes()
	b.WriteString(p.bold(headline(r)))
	fmt.Fprintf(&b, "\n\n%13s", "")
	for _, probe := range probes {
		fmt.Fprintf(&b, "%18s", probe.Label())
	}
	fmt.Fprintf(&b, "\n%13s%s", "", strings.Repeat(fmt.Sprintf("%10s%8s", "AP", "AF"), len(probes)))
	for _, s := range continual.Settings() {
		fmt.Fprintf(&b, "\n%-13s", s)
		for _, probe := range probes {
			if score, ok := r.Score(s, probe); ok {
				fmt.Fprintf(&b, "%10.1f%+8.1f", score.AP, score.AF)
			}
		}
	}
	b.WriteString("\n")
	if len(probes) > 0 {
		last := probes[len(probes)-1]
		if score, ok := r.Score(continual.ClassIL, last); ok && len(score.Matrix) <= largestPrinted {
			fmt.Fprintf(&b, "\nclass-il, %s: accuracy (%%) on each task, after each task\n", last.Label())
			writeMatrix(&b, score.Matrix, p)
		}
	}
	if early := r.EarlyStops(); len(early) > 0 {
		fmt.Fprintf(&b, `
note: the paper probe of class-il stopped before it had learned, after %d of %d tasks (first after %d). Its rule gives
up after ten checks without a new best; on small embeddings the accuracy may fall for longer before it rises.
`, len(early), r.Dataset.Tasks, early[0]+1)
	}
	b.WriteString(loosePlans(r))
	b.WriteString(dataNotes(r))
	files := continual.ResultFile
	if exists(filepath.Join(dir, matrixFile)) {
		files += ", " + matrixFile
	}
	fmt.Fprintf(&b, "\nrun folder: %s (%s)\n", dir, files)
	_, err := io.WriteString(out, b.String())
	return err
}

// headline is, for example, "saot on uai (9 tasks, 18 classes), seed 0, engine xla:cpu, 56 s".
func headline(r *continual.Result) string {
	kind := ""
	if r.Dataset.Synthetic {
		kind = ", generated data"
	}
	return fmt.Sprintf("%s on %s (%d tasks, %d classes%s), seed %d, engine %s, %.0f s", r.Method, r.Dataset.Name,
		r.Dataset.Tasks, r.Dataset.Classes, kind, r.Seed, r.Engine.Name, r.Seconds)
}

// writeMatrix writes a performance matrix, in colors from its lowest figure to its highest.
func writeMatrix(b *strings.Builder, m continual.Matrix, p paint) {
	low, high := 100.0, 0.0
	for _, row := range m {
		for _, v := range row {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, row := range m {
		fmt.Fprintf(b, "after %2d ", i+1)
		for _, v := range row {
			b.WriteString(p.heat(fmt.Sprintf("%6.1f", v), (v-low)/max(high-low, 1e-9)))
		}
		b.WriteString("\n")
	}
}

// runJSON is a finished run for programs.
type runJSON struct {
	Folder  string      `json:"folder"`
	Method  string      `json:"method"`
	Dataset string      `json:"dataset"`
	Tasks   int         `json:"tasks"`
	Classes int         `json:"classes"`
	Seed    uint64      `json:"seed"`
	Engine  string      `json:"engine"`
	Program string      `json:"program"` // saot's version and commit, and the engine's
	Machine string      `json:"machine"`
	Seconds float64     `json:"seconds"`
	Scores  []scoreJSON `json:"scores"`
	Notes   []string    `json:"notes"` // on the data
}

type scoreJSON struct {
	Setting continual.Setting `json:"setting"`
	Probe   continual.Probe   `json:"probe"`
	AP      float64           `json:"ap"`
	AF      float64           `json:"af"`
	Matrix  continual.Matrix  `json:"matrix"`
}

func runAsJSON(r *continual.Result, dir string) runJSON {
	out := runJSON{Folder: dir, Method: r.Method, Dataset: r.Dataset.Name, Tasks: r.Dataset.Tasks,
		Classes: r.Dataset.Classes, Seed: r.Seed, Engine: r.Engine.Name, Program: r.Program(),
		Machine: r.Machine.String(), Seconds: r.Seconds,
		Notes: append([]string{}, r.Dataset.Notes...)}
	for _, s := range r.Scores {
		out.Scores = append(out.Scores, scoreJSON{s.Setting, s.Probe, s.AP, s.AF, s.Matrix})
	}
	return out
}
