package experiment

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/near"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Spec names runs: each entry is the product of its datasets, methods, seeds and grid. In YAML:
//
//	about: AP of SAOT and its ablations by α
//	runs:
//	- datasets: [uai, cora-ml]
//	  methods: [saot, saot-mse]     # or groups: ours, controls, self-supervised, supervised, paper, all
//	  seeds: [0, 1, 2]
//	  probes: [converged]           # default: all that score the method
//	  set: {epochs: 50}             # fields of the methods' settings, as saot run records them
//	  grid: {alpha: [0, 0.5, 1]}    # the same with several values: a run for each combination
//
// More keys of an entry are preset (default, paper or fast), features, direction, probe_rows, and stream, whose fields
// are those of datasets.StreamOptions. In stream, split_seed and order_seed may be the word seed, which stands for the
// seed of each run.
type Spec struct {
	Name  string // of its file, without the extension
	About string
	Runs  []Run // each once, in the order of the entries; in an entry by seed, dataset, method and grid
}

//go:embed specs
var embedded embed.FS

// Specs returns the names of the specs that come with the program, such as "quick/table2".
func Specs() (names []string) {
	_ = fs.WalkDir(embedded, "specs", func(p string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(p) == ".yaml" {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(p, "specs/"), ".yaml"))
		}
		return err
	})
	return names
}

// OpenSpec reads the spec in a file, or, where there is no such file, the one of that name among Specs. Given datasets
// replace those of the entries if all entries name the same ones. Otherwise they choose among the datasets that the
// entries name. Its error lists every fault with its line.
func OpenSpec(name string, on ...string) (*Spec, error) {
	data, err := specText(name)
	if err != nil {
		return nil, err
	}
	s, err := parseSpec(name, data, on)
	if err == nil && slices.Contains(Specs(), name) { // full/table2 and quick/table2 are not one
		s.Name = strings.ReplaceAll(name, "/", "-")
	}
	return s, err
}

// specText is the text of a file, or of a spec that comes with the program. A folder of the spec's name, which may be
// that of its runs, does not hide it.
func specText(name string) ([]byte, error) {
	data, err := readSpec(name)
	if err == nil {
		return data, nil
	}
	missing := errors.Is(err, fs.ErrNotExist)
	if info, statErr := os.Stat(name); missing || statErr == nil && info.IsDir() {
		if data, embeddedErr := embedded.ReadFile("specs/" + name + ".yaml"); embeddedErr == nil {
			return data, nil
		}
	}
	if !missing {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return nil,
		fmt.Errorf("experiment: there is no file %s, and no spec of that name comes with the program%s: those are %s",
			name, near.Hint(name, Specs()), strings.Join(Specs(), ", "))
}

// readSpec reads at most one byte more than the longest spec. The file may be a pipe.
func readSpec(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, maxSpec+1))
}

// ParseSpec reads a spec from YAML; name is what its errors begin with.
func ParseSpec(name string, data []byte) (*Spec, error) { return parseSpec(name, data, nil) }

func parseSpec(name string, data []byte, on []string) (*Spec, error) {
	file, err := parseSpecFile(data)
	if err != nil {
		return nil, unreadable(name, err)
	}
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	s := &Spec{Name: strings.TrimSuffix(base, path.Ext(name)), About: file.About}
	known := map[string]bool{}
	bad := file.bad
	file.replaceDatasets(on, &bad)
	for i, left := 0, float64(mostRuns); i < len(file.Runs); i++ {
		runs, wrong := file.Runs[i].expand(left)
		left -= float64(len(runs))
		bad = append(bad, wrong...)
		for _, r := range runs {
			if hash := r.Hash(); !known[hash] {
				known[hash] = true
				s.Runs = append(s.Runs, r)
			}
		}
	}
	if len(bad) == 0 && len(s.Runs) == 0 {
		return nil, fmt.Errorf("experiment: %s names no run: list entries under runs:, each with datasets, methods "+
			"and seeds", name)
	}
	return s, bad.in(name)
}

// replaceDatasets takes other datasets, if any are given. If the entries name different datasets, each has settings for
// its own, and the given datasets only choose among the entries.
func (s *specFile) replaceDatasets(on []string, bad *faults) {
	if len(on) == 0 || len(s.Runs) == 0 {
		return
	}
	all, first := map[string]bool{}, s.Runs[0].datasets()
	same := true
	for i := range s.Runs {
		own := s.Runs[i].datasets()
		same = same && slices.Equal(own, first)
		for _, name := range own {
			all[name] = true
		}
	}
	if !same {
		s.chooseDatasets(on, all, bad)
		return
	}
	for i := range s.Runs {
		e := &s.Runs[i]
		if len(e.Datasets) > 0 { // or else that is a fault
			line := e.Datasets[0].line
			e.Datasets = nil
			for _, name := range on {
				e.Datasets = append(e.Datasets, item[string]{value: name, line: line})
			}
		}
	}
}

// datasets returns the names of the entry's datasets, sorted.
func (e *entry) datasets() (names []string) {
	for _, d := range e.Datasets {
		names = append(names, d.value)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// chooseDatasets leaves only what is on some of the datasets that the entries name.
func (s *specFile) chooseDatasets(on []string, all map[string]bool, bad *faults) {
	for _, name := range on {
		if !all[name] {
			bad.add(s.Runs[0].line, fmt.Errorf("the entries have settings for different datasets, and %s is none of "+
				"them: choose among %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
			return
		}
	}
	other := func(d item[string]) bool { return !slices.Contains(on, d.value) }
	s.Runs = slices.DeleteFunc(s.Runs, func(e entry) bool {
		kept := slices.DeleteFunc(slices.Clone(e.Datasets), other)
		return len(kept) == 0 && len(e.Datasets) > 0 // an entry without any is a fault
	})
	for i := range s.Runs {
		s.Runs[i].Datasets = slices.DeleteFunc(s.Runs[i].Datasets, other)
	}
}

// mostRuns bounds the runs of a spec: a few lines of grid multiply to more than fit into the memory.
const mostRuns = 100_000

// expand returns the entry's runs, each valid and no more than most, or all that is wrong with it.
func (e *entry) expand(most float64) (runs []Run, bad faults) {
	bad = e.bad
	for _, list := range []struct {
		name string
		n    int
	}{{"datasets", len(e.Datasets)}, {"methods", len(e.Methods)}, {"seeds", len(e.Seeds)}} {
		if list.n == 0 {
			bad.add(e.line, fmt.Errorf("the entry has no %s: list one at least", list.name))
		}
	}
	e.twice(&bad)
	base := e.base(&bad)
	methods := e.methods(&bad)
	if n := e.size(len(methods)); n > most {
		bad.add(e.line, fmt.Errorf("datasets, methods, seeds and grid of the entry multiply to %.0f runs, and a spec "+
			"has %d at most: name fewer", n, mostRuns))
		return nil, bad
	}
	points := e.points(&bad)
	base.faulty = len(bad) > 0
	for s, seed := range e.Seeds {
		for _, dataset := range e.Datasets {
			for _, m := range methods {
				for _, point := range points {
					all := slices.Concat(e.Set, point)
					r, err := base.of(dataset.value, m.value, seed.value, all)
					if s == 0 { // the other seeds have the same faults
						bad.addSettings(m, all, err)
					}
					runs = append(runs, r)
				}
			}
		}
	}
	if len(bad) > 0 {
		return nil, bad.distinct()
	}
	return runs, nil
}

// size is how many runs the entry names; an empty list, which is a fault of its own, counts as one. A whole number
// would overflow.
func (e *entry) size(methods int) float64 {
	n := 1.0
	for _, f := range e.Grid {
		n *= float64(max(1, len(f.Value.List)))
	}
	for _, count := range []int{len(e.Datasets), methods, len(e.Seeds)} {
		n *= float64(max(1, count))
	}
	return n
}

func (e *entry) methods(bad *faults) (all []item[*method.Definition]) {
	for _, m := range e.Methods {
		if slices.Contains(method.Groups(), m.value) {
			group, err := method.Group(m.value)
			bad.add(m.line, err)
			for _, d := range group {
				all = append(all, item[*method.Definition]{value: &d, line: m.line})
			}
			continue
		}
		d, err := method.Lookup(m.value)
		if bad.add(m.line, err); err == nil {
			all = append(all, item[*method.Definition]{value: d, line: m.line})
		}
	}
	return all
}

// points returns every combination of the grid's values; one empty one where there is no grid.
func (e *entry) points(bad *faults) []changes {
	points := []changes{nil}
	for _, f := range e.Grid {
		if len(f.Value.List) == 0 {
			bad.add(f.Line, fmt.Errorf("grid: %s is %s, want a list of values", f.Path, f.Value))
			continue
		}
		var longer []changes
		for _, p := range points {
			for _, v := range f.Value.List {
				longer = append(longer, append(slices.Clone(p), fields.Change{Path: f.Path, Value: v, Line: f.Line}))
			}
		}
		points = longer
	}
	return points
}

type shared struct {
	entry     *entry
	preset    method.Preset
	probes    []continual.Probe
	direction datasets.Direction
	features  graph.Normalization
	cut       datasets.StreamOptions
	bySeed    []string // fields of cut that are each run's seed
	faulty    bool     // the entry is wrong in more than settings of methods
}

// stream sets how the dataset is cut.
func (e *entry) stream(c *shared, bad *faults) {
	cut := &c.cut
	for _, f := range e.Stream {
		if ownSeed(cut, f.Path) != nil && f.Value.Text == bySeed {
			c.bySeed = append(c.bySeed, f.Path)
			continue
		}
		bad.add(f.Line, fields.Apply(cut, []fields.Change{f}))
		zero := map[string]bool{"classes_per_task": cut.ClassesPerTask == 0, "train_ratio": cut.TrainRatio == 0,
			"test_ratio": cut.TestRatio == 0}
		if zero[f.Path] { // for the package it would be the default
			bad.add(f.Line, fmt.Errorf("stream: %s is 0, want more", f.Path))
		}
	}
	if cut.Order != datasets.OrderRandom && (cut.OrderSeed != 0 || slices.Contains(c.bySeed, orderSeed)) {
		bad.add(e.line, errors.New("stream: order_seed is set: want class_order: random with it"))
	}
	for _, err := range check.Each(cut.Validate()) {
		inFiles := fields.InFiles(*cut)
		bad.add(e.Stream.line(err, inFiles.Replace, e.line), errors.New(inFiles.Replace(err.Error())))
	}
}

func (e *entry) base(bad *faults) shared {
	c := shared{entry: e, cut: datasets.DefaultStreamOptions()}
	if e.Preset.line > 0 {
		bad.add(e.Preset.line, c.preset.UnmarshalText([]byte(e.Preset.value)))
	}
	if e.Direction.line > 0 {
		bad.add(e.Direction.line, c.direction.UnmarshalText([]byte(e.Direction.value)))
	}
	if e.Features.line > 0 {
		bad.add(e.Features.line, c.features.UnmarshalText([]byte(e.Features.value)))
	}
	for _, p := range e.Probes {
		probe, err := continual.ParseProbe(p.value)
		bad.add(p.line, err)
		if !slices.Contains(c.probes, probe) {
			c.probes = append(c.probes, probe)
		}
	}
	slices.Sort(c.probes) // in another order they are the same run
	e.stream(&c, bad)
	for _, s := range e.Seeds {
		if s.err != nil {
			bad.add(s.line, fmt.Errorf("a seed %w", s.err))
		}
	}
	if rows := e.ProbeRows; rows != nil && rows.err != nil {
		bad.add(rows.line, fmt.Errorf("probe_rows %w", rows.err))
	} else if rows != nil && rows.value < 0 {
		bad.add(rows.line, fmt.Errorf("probe_rows is %d, want 0 (all) or more", rows.value))
	}
	for _, d := range e.Datasets {
		if !datasets.IsPath(d.value) {
			_, err := datasets.Lookup(d.value)
			bad.add(d.line, err)
		}
	}
	return c
}

func (c *shared) of(dataset string, d *method.Definition, seed uint64, point changes) (Run, error) {
	s, err := DefaultSettings(dataset, d.Name, c.preset)
	if err != nil {
		return Run{}, err
	}
	s.Seed, s.Direction, s.Features = seed, c.direction, c.features
	if len(c.probes) > 0 && d.Probed() {
		s.Probes = c.probes
	}
	if c.entry.ProbeRows != nil && d.Probed() {
		s.ProbeRows = c.entry.ProbeRows.value
	}
	cut := c.cut
	for _, name := range c.bySeed {
		*ownSeed(&cut, name) = seed
	}
	s.SetCut(cut)
	if err := s.Change(point...); err != nil || c.faulty {
		return Run{}, errors.Join(err, d.Validate(s.Of))
	}
	return Run{Settings: s}, s.Validate()
}
