// Command golden shows that a change of the code changed no figure. It runs a list of small runs with one build of saot
// and keeps what they found; a second call compares two such folders to the last bit.
//
//	go build -o /tmp/before ./cmd/saot        # at the commit before
//	go run ./bench/golden -saot /tmp/before -out /tmp/golden-before
//	go build -o /tmp/after ./cmd/saot         # at the commit after
//	go run ./bench/golden -saot /tmp/after -out /tmp/golden-after
//	go run ./bench/golden -compare /tmp/golden-before /tmp/golden-after
//
// Runs on Cora-ML need SAOT_DATA; without it they are left out, and the program says so. What is there already is not
// run again, so that a call that was stopped continues.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	saot := flag.String("saot", "", "the build of saot to run")
	out := flag.String("out", "", "folder that keeps what the runs found")
	engines := flag.String("engines", "go,onnx", "engines, with commas between")
	only := flag.String("only", "", "runs whose name contains this, and no others")
	compare := flag.Bool("compare", false, "compare the two folders that follow")
	flag.Parse()
	var err error
	switch {
	case *compare && flag.NArg() == 2:
		err = compareFolders(flag.Arg(0), flag.Arg(1))
	case !*compare && *saot != "" && *out != "":
		err = runAll(*saot, *out, strings.Split(*engines, ","), *only)
	default:
		err = errors.New("want -saot BUILD -out FOLDER, or -compare FOLDER FOLDER; -help lists the flags")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

// run is one call of saot.
type run struct {
	name string
	args []string
}

// runs lists the calls on an engine: every method on Cora-ML, and, so that sampled training takes part, on a generated
// graph that each method is told to take in samples.
func runs(engine string) (all []run) {
	add := func(name string, args ...string) {
		all = append(all, run{engine + "-" + name, append([]string{"run", "--engine", engine, "--log", "text"},
			args...)})
	}
	ours := []string{"saot", "saot-l", "saot-no-distill", "saot-barlow", "saot-cosine", "saot-mse"}
	small := []string{"--epochs", "2", "--encoder-hidden", "64", "--encoder-out", "32", "--points", "48", "--buffer",
		"40"}
	for _, m := range slices.Concat(ours, []string{"random-calibrated", "propagated-pca", "propagated-random", "random",
		"majority"}) {
		add("cora-ml-"+m, slices.Concat([]string{"--dataset", "cora-ml", "--method", m}, small)...)
	}
	for m, settings := range theirs() {
		args := []string{"--dataset", "cora-ml", "--method", m, "--preset", "fast"}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		add("cora-ml-"+m, args...)
	}
	for _, m := range ours {
		add("sampled-"+m, slices.Concat([]string{"--dataset", "synthetic", "--method", m}, small,
			[]string{"--encoder-whole-graph", "60", "--encoder-sample-fan-out", "4,3"})...)
	}
	gat := []string{"--dataset", "synthetic", "--encoder-kind", "gat", "--encoder-layers", "2", "--encoder-heads", "2",
		"--encoder-sample-fan-out", "4,3"}
	add("gat-saot", slices.Concat(gat, small)...)
	add("gat-sampled-saot", slices.Concat(gat, small, []string{"--encoder-whole-graph", "60"})...)
	for m, settings := range theirs() {
		args := []string{"--dataset", "synthetic", "--method", m, "--preset", "fast", "--set", "whole_graph=60"}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		add("sampled-"+m, args...)
	}
	slices.SortFunc(all, func(a, b run) int { return strings.Compare(a.name, b.name) })
	return all
}

// theirs returns the methods of the comparison with settings that make them quick.
func theirs() map[string][]string {
	pretext := []string{"epochs=3", "hidden=48"}
	classifier := []string{"epochs=3", "hidden=32"}
	return map[string][]string{
		"gae": {"epochs=3", "hidden=48", "out=32"}, "gbt": {"epochs=3", "warm_up=1", "hidden=48", "out=32"},
		"dgi": {"epochs=3", "out=48"}, "gcn-clu": pretext, "gcn-par": pretext, "gcn-comp": pretext,
		"riegrace": {"epochs=3"}, "trace": {"epochs=2", "fast_epochs=2", "warm_up=1", "hidden=48", "out=32"},
		"joint": classifier, "twp": classifier, "er-gnn": classifier, "taco": classifier,
		"cat":  {"epochs=3", "hidden=32", "encoders=5", "encoder_width=32"},
		"puma": {"epochs=3", "hidden=32", "encoders=5", "encoder_width=64"},
	}
}

// runAll does the runs that the folder lacks.
func runAll(saot, out string, engines []string, only string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, engine := range engines {
		for _, r := range runs(engine) {
			path := filepath.Join(out, r.name+".json")
			if _, err := os.Stat(path); err == nil || !strings.Contains(r.name, only) {
				continue
			}
			if strings.Contains(r.name, "cora-ml") && os.Getenv("SAOT_DATA") == "" {
				fmt.Println(r.name, "left out: SAOT_DATA is not set")
				continue
			}
			if err := r.do(saot, path); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			fmt.Println(r.name)
		}
	}
	return nil
}

// found is what must not change: the matrices, the probes' fits, and the losses.
type found struct {
	Scores []json.RawMessage `json:"scores"`
	Tasks  []struct {
		Nodes, Steps int
		First        json.RawMessage `json:"first_loss"`
		Last         json.RawMessage `json:"last_loss"`
	} `json:"tasks"`
	Dataset json.RawMessage `json:"dataset"`
}

// do runs saot in a folder of its own and keeps the figures.
func (r run) do(saot, path string) error {
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	text, err := exec.Command(saot, append(r.args, "--out", filepath.Join(dir, "run"))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "run", "result.json"))
	if err != nil {
		return err
	}
	var f found
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if data, err = json.MarshalIndent(f, "", " "); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// compareFolders returns an error that names every run whose figures differ, or that one folder lacks.
func compareFolders(a, b string) error {
	names := map[string]bool{}
	for _, dir := range []string{a, b} {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			return err
		}
		for _, f := range files {
			names[filepath.Base(f)] = true
		}
	}
	var differ []string
	for name := range names {
		x, err1 := os.ReadFile(filepath.Join(a, name))
		y, err2 := os.ReadFile(filepath.Join(b, name))
		if err1 != nil || err2 != nil || string(x) != string(y) {
			differ = append(differ, strings.TrimSuffix(name, ".json"))
		}
	}
	slices.Sort(differ)
	fmt.Printf("%d runs, %d differ\n", len(names), len(differ))
	if len(differ) > 0 || len(names) == 0 {
		return fmt.Errorf("these differ or are missing: %s", strings.Join(differ, ", "))
	}
	return nil
}
