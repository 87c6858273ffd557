package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all" // whose runs are read
)

// dataset has four tasks: kills fall between two of them.
const dataset = "synthetic:300,classes=8,degree=4,imbalance=1"

// settings are those of a run of less than a second on the pure-Go engine.
var settings = []string{"--dataset", dataset, "--epochs", "3", "--points", "20", "--encoder-hidden", "32",
	"--encoder-out", "16", "--buffer", "5", "--probe", "converged", "--keep-model", "--log", "text"}

const spec = `about: torture
runs:
- datasets: ["` + dataset + `"]
  methods: [saot]
  seeds: [0, 1, 2]
  probes: [converged]
  set: {epochs: 3, points: 20, buffer: 5, encoder: {hidden: 32, out: 16}}
`

func (t *torturer) begin(dir string) []string {
	return append([]string{"run", "--engine", t.engine, "--out", dir}, settings...)
}

// resume is the command that takes a run up, or begins it where it has left nothing.
func (t *torturer) resume(dir string) []string {
	if exists(filepath.Join(dir, experiment.ConfigFile)) {
		return []string{"run", "--resume", dir, "--log", "text"}
	}
	return t.begin(dir)
}

// prepare does a run, a sweep and an import that are left alone.
func (t *torturer) prepare() error {
	alone := filepath.Join(t.dir, "alone")
	start := time.Now()
	err := t.must(t.begin(alone)...)
	if err != nil {
		return err
	}
	t.took = time.Since(start)
	if t.want, err = outcomeOf(alone); err != nil {
		return err
	}
	if len(t.want.losses) < 2*3 {
		return fmt.Errorf("a run of %s has fewer than three tasks, between which it is to be killed", dataset)
	}
	t.spec = filepath.Join(t.dir, "torture.yaml")
	if err := os.WriteFile(t.spec, []byte(spec), 0o600); err != nil {
		return err
	}
	swept := filepath.Join(t.dir, "swept")
	if err := t.must(t.sweep(swept)...); err != nil {
		return err
	}
	t.swept = map[string]*outcome{}
	s, err := experiment.OpenSweep(swept)
	if err != nil {
		return err
	}
	for i := range s.Runs {
		if t.swept[s.Runs[i].Name()], err = outcomeOf(s.Folder(i)); err != nil {
			return err
		}
	}
	return t.prepareImport()
}

func (t *torturer) sweep(out string) []string {
	return []string{"sweep", t.spec, "--out", out, "--engine", t.engine, "--keep-model", "--retry-failed"}
}

// interrupted begins a run and kills it a number of times at most. It returns an error if a finished task is lost.
func (t *torturer) interrupted(dir string, kills int) error {
	before := 0
	for range kills {
		p, err := t.start(t.resume(dir)...)
		if err != nil {
			return err
		}
		if t.rng.IntN(2) == 0 {
			t.strike(p, t.took)
		} else { // between two tasks, or near it
			p.await(filepath.Join(dir, continual.EarlierFile))
			t.strike(p, t.took/100)
		}
		_, done, err := continual.ReadIdentity(dir)
		switch {
		case errors.Is(err, os.ErrNotExist): // not begun, or finished
			if before > 0 && !exists(filepath.Join(dir, continual.ResultFile)) {
				return fmt.Errorf("the checkpoint of %d tasks is gone", before)
			}
		case err != nil:
			return err
		case done < before:
			return fmt.Errorf("%d tasks are done after a kill, %d were before", done, before)
		default:
			before = done
		}
	}
	return nil
}

// finish lets a run come to its end and compares it.
func (t *torturer) finish(dir string) error {
	if err := t.must(t.resume(dir)...); err != nil {
		return err
	}
	return t.want.is(dir)
}

// kills is a run that is killed up to ten times.
func (t *torturer) kills() error {
	if err := t.interrupted(t.round, 1+t.rng.IntN(10)); err != nil {
		return err
	}
	return t.finish(t.round)
}

// together is a run that several processes take up at once, of which one may be killed.
func (t *torturer) together() error {
	if err := t.interrupted(t.round, 1); err != nil {
		return err
	}
	var all []*process
	for range 2 + t.rng.IntN(2) {
		p, err := t.start(t.resume(t.round)...)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if t.rng.IntN(2) == 0 {
		t.strike(pick(t.rng, all), t.took)
	}
	for _, p := range all {
		if status := p.end(); status == 1 && !strings.Contains(p.said(), "another process works on the run") &&
			!strings.Contains(p.said(), "already holds the file") {
			return fmt.Errorf("a process that was not alone: %s", p.said())
		}
	}
	return t.finish(t.round)
}

// sweeps are two in one folder, which are killed, and then one that ends the work.
func (t *torturer) sweeps() error {
	for range 1 + t.rng.IntN(3) {
		first, err := t.start(t.sweep(t.round)...)
		if err != nil {
			return err
		}
		second, err := t.start(t.sweep(t.round)...)
		if err != nil {
			return err
		}
		t.strike(first, 3*t.took)
		t.strike(second, t.took)
	}
	if err := t.finishSweep(t.round); err != nil {
		return err
	}
	for name, want := range t.swept {
		if err := want.is(filepath.Join(t.round, name)); err != nil {
			return err
		}
	}
	return nil
}

// finishSweep calls a sweep until it counts no run as running. The process of a run lives for a moment after its sweep
// was killed: a sweep that is called then leaves the run to it, or finds that it stopped.
func (t *torturer) finishSweep(dir string) error {
	const calls = 50
	for range calls {
		p, err := t.start(t.sweep(dir)...)
		if err != nil {
			return err
		}
		status := p.end()
		left := strings.Contains(p.output.String(), " running in ") ||
			status == 1 && strings.Contains(p.said(), "the same command continues")
		switch {
		case left:
			t.count["sweeps called again"]++
			time.Sleep(100 * time.Millisecond)
		case status != 0:
			return fmt.Errorf("saot sweep: exit status %d: %s", status, p.said())
		default:
			return nil
		}
	}
	return fmt.Errorf("after %d calls of the sweep its runs are not done", calls)
}

// smallFiles is a run that cannot write files beyond some length, as on a full disk.
func (t *torturer) smallFiles() error {
	args := append(t.begin(t.round), "--seed", "0")
	for range 1 + t.rng.IntN(3) {
		if exists(filepath.Join(t.round, experiment.ConfigFile)) {
			args = t.resume(t.round)
		}
		p, err := t.limited(t.rng.IntN(200), args...)
		if err != nil {
			return err
		}
		t.count[fmt.Sprintf("writes cut short (exit status %d)", p.end())]++
	}
	return t.finish(t.round)
}

// damage is a run whose last checkpoint is damaged after a kill.
func (t *torturer) damage() error {
	at := func(name string) string { return filepath.Join(t.round, name) }
	for range 20 {
		if err := t.interrupted(t.round, 1); err != nil {
			return err
		}
		if exists(at(continual.EarlierFile)) || exists(at(continual.ResultFile)) {
			break
		}
	}
	path := at(continual.CheckpointFile)
	content, err := os.ReadFile(path)
	if err == nil && exists(at(continual.EarlierFile)) && !exists(at(continual.ResultFile)) {
		if t.rng.IntN(2) == 0 {
			content = content[:t.rng.IntN(len(content))]
		} else {
			content[t.rng.IntN(len(content))] ^= 1 << t.rng.IntN(8)
		}
		if err := os.Remove(path); err != nil { // it may be one file with the earlier
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
		t.count["checkpoints damaged"]++
	}
	return t.finish(t.round)
}

// fullDisk is a run on a file system that is nearly full and later has room again.
func (t *torturer) fullDisk() error {
	var err error
	if t.round, err = os.MkdirTemp(t.disk, "round-*"); err != nil {
		return err
	}
	filler := filepath.Join(t.disk, "filler")
	for range 1 + t.rng.IntN(3) {
		if err := fill(filler, t.rng.IntN(300)<<10); err != nil {
			return err
		}
		p, err := t.start(t.resume(t.round)...)
		if err != nil {
			return err
		}
		t.count[fmt.Sprintf("runs on a full disk (exit status %d)", p.end())]++
		if err := os.Remove(filler); err != nil {
			return err
		}
	}
	return t.finish(t.round)
}

// fill writes a file until the disk is full, and makes it shorter by some bytes.
func fill(path string, free int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	size := 0
	for block := make([]byte, 4096); err == nil; size += len(block) {
		if size > 1<<30 {
			err := fmt.Errorf("%s is on a file system of more than 1 GB: name a small one", path)
			return errors.Join(err, f.Close(), os.Remove(path))
		}
		_, err = f.Write(block)
	}
	return errors.Join(f.Truncate(int64(max(0, size-free))), f.Close())
}

// imported is what imports are made of.
type imported struct {
	source string
	sum    [32]byte
}

// prepareImport writes a graph of some megabytes, in the layout of Wiki-CS, whose file is text.
func (t *torturer) prepareImport() error {
	const nodes = 4000
	var graph struct {
		Features [][]float64 `json:"features"`
		Labels   []int       `json:"labels"`
		Links    [][]int     `json:"links"`
	}
	for i := range nodes {
		row := make([]float64, 50)
		for k := range row {
			row[k] = t.rng.Float64()
		}
		graph.Features = append(graph.Features, row)
		graph.Labels = append(graph.Labels, i%4)
		graph.Links = append(graph.Links, []int{t.rng.IntN(nodes), t.rng.IntN(nodes)})
	}
	content, err := json.Marshal(&graph)
	if err != nil {
		return err
	}
	t.importing = imported{filepath.Join(t.dir, "wikics.json"), sha256.Sum256(content)}
	return os.WriteFile(t.importing.source, content, 0o600)
}

// imports are two at once, which are killed, and then one that ends the work.
func (t *torturer) imports() error {
	args := []string{"data", "import", "wikics", t.importing.source, "--trust", "--data", t.round}
	for range 1 + t.rng.IntN(3) {
		first, err := t.start(args...)
		if err != nil {
			return err
		}
		second, err := t.start(args...)
		if err != nil {
			return err
		}
		t.strike(first, t.took/2)
		t.strike(second, t.took/2)
	}
	if err := t.must(args...); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(t.round, "wikics.json"))
	if err != nil {
		return err
	}
	if sha256.Sum256(content) != t.importing.sum {
		return errors.New("the imported file is another")
	}
	if err := t.must("data", "verify", "wikics", "--data", t.round); err != nil {
		return err
	}
	entries, err := os.ReadDir(t.round)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != "wikics.json" && name != "checksums.json" {
			return fmt.Errorf("%s is left in the data folder", name)
		}
	}
	return nil
}
