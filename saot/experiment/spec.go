package experiment

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
)

// Spec names runs: each entry is the product of its datasets, methods, seeds and grid. In YAML:
//
//	about: AP of SAOT and its ablations by α
//	runs:
//	- datasets: [uai, cora-ml]
//	  methods: [saot, saot-mse]
//	  seeds: [0, 1, 2]
//	  probes: [converged]           # default: all that score the method
//	  set: {epochs: 50}             # fields of the methods' settings, as saot run records them
//	  grid: {alpha: [0, 0.5, 1]}    # the same with several values: a run for each combination
//
// Further keys of an entry are preset (paper or fast, of the compared methods), features, direction, probe_rows, and stream,
// whose fields are those of datasets.StreamOptions.
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

// OpenSpec reads the spec in a file, or, where there is no such file, the one of that name among Specs. Its error lists every
// fault with its line.
func OpenSpec(name string) (*Spec, error) {
	data, err := specText(name)
	if err != nil {
		return nil, err
	}
	return ParseSpec(name, data)
}

// specText reads a spec that is a file, or one that comes with the program.
func specText(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			err = fmt.Errorf("experiment: %w", err)
		}
		return data, err
	}
	if data, err = embedded.ReadFile("specs/" + name + ".yaml"); err != nil {
		return nil, fmt.Errorf("experiment: there is no file %s, and no spec of that name comes with the program: those are %s",
			name, strings.Join(Specs(), ", "))
	}
	return data, nil
}

// ParseSpec reads a spec from YAML; name is what its errors begin with.
func ParseSpec(name string, data []byte) (*Spec, error) {
	var file specFile
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("experiment: %s: %s", name, yaml.FormatError(err, false, false))
	}
	s := &Spec{Name: strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), path.Ext(name)), About: file.About}
	known := map[string]bool{}
	var faults []error
	for i := range file.Runs {
		runs, errs := file.Runs[i].expand()
		for _, err := range errs {
			faults = append(faults, fmt.Errorf("experiment: %s:%w", name, err))
		}
		for _, r := range runs {
			if hash := r.Hash(); !known[hash] {
				known[hash] = true
				s.Runs = append(s.Runs, r)
			}
		}
	}
	if len(faults) == 0 && len(s.Runs) == 0 {
		faults = append(faults, fmt.Errorf("experiment: %s names no run: list entries with datasets, methods and seeds under runs", name))
	}
	return s, errors.Join(faults...)
}

// specFile is a spec as it is written.
type specFile struct {
	About string  `yaml:"about"`
	Runs  []entry `yaml:"runs"`
}

// entry is a product of runs.
type entry struct {
	Datasets  []item[string] `yaml:"datasets"`
	Methods   []item[string] `yaml:"methods"`
	Seeds     []item[uint64] `yaml:"seeds"`
	Preset    item[string]   `yaml:"preset"`
	Probes    []item[string] `yaml:"probes"`
	ProbeRows *item[int]     `yaml:"probe_rows"`
	Features  item[string]   `yaml:"features"`
	Direction item[string]   `yaml:"direction"`
	Stream    settings       `yaml:"stream"`
	Set       settings       `yaml:"set"`
	Grid      settings       `yaml:"grid"`
	line      int
}

// item is a value and the line where it stands.
type item[T any] struct {
	value T
	line  int
}

// UnmarshalYAML reads the value and keeps its line.
func (i *item[T]) UnmarshalYAML(node ast.Node) error {
	i.line = node.GetToken().Position.Line
	return yaml.NodeToValue(node, &i.value)
}

// settings are fields by name, in the order of the file.
type settings []field

// field is a setting, and its value or values as JSON.
type field struct {
	name  string
	value json.RawMessage
	line  int
}

// UnmarshalYAML reads a mapping; a mapping within gives names with a point.
func (s *settings) UnmarshalYAML(node ast.Node) error { return s.add("", node) }

func (s *settings) add(prefix string, node ast.Node) error {
	m, ok := node.(ast.MapNode)
	if !ok {
		return fmt.Errorf("[%d] want fields with a value each, such as {epochs: 30}", node.GetToken().Position.Line)
	}
	for it := m.MapRange(); it.Next(); {
		name := prefix + it.Key().GetToken().Value
		if _, ok := it.Value().(ast.MapNode); ok {
			if err := s.add(name+".", it.Value()); err != nil {
				return err
			}
			continue
		}
		var value any
		if err := yaml.NodeToValue(it.Value(), &value); err != nil {
			return err
		}
		data, err := json.Marshal(numbers(value))
		if err != nil {
			return fmt.Errorf("[%d] %s: %w", it.Value().GetToken().Position.Line, name, err)
		}
		*s = append(*s, field{name: name, value: data, line: it.Key().GetToken().Position.Line})
	}
	return nil
}

// numbers makes numbers of words like 1e-4: YAML 1.2 calls them so, the library only if they have a point.
func numbers(value any) any {
	switch v := value.(type) {
	case string:
		if json.Valid([]byte(v)) && strings.ContainsAny(v, "0123456789") && !strings.ContainsAny(v, `"{[`) {
			return json.Number(v)
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return value
}

// UnmarshalYAML reads an entry and keeps its line.
func (e *entry) UnmarshalYAML(node ast.Node) error {
	type plain entry
	if err := yaml.NodeToValue(node, (*plain)(e), yaml.Strict()); err != nil {
		return err
	}
	e.line = node.GetToken().Position.Line
	return nil
}

// faults collects what is wrong with an entry. Their text begins with the line.
type faults []error

func (f *faults) add(line int, err error) {
	if err != nil {
		*f = append(*f, fmt.Errorf("%d: %w", line, err))
	}
}

// expand returns the entry's runs, each valid, or all that is wrong with it.
func (e *entry) expand() (runs []Run, bad faults) {
	for name, n := range map[string]int{"datasets": len(e.Datasets), "methods": len(e.Methods), "seeds": len(e.Seeds)} {
		if n == 0 {
			bad.add(e.line, fmt.Errorf("the entry has no %s: list one at least", name))
		}
	}
	base := e.base(&bad)
	points := e.points(&bad)
	methods := make([]baseline.Method, len(e.Methods))
	for i, m := range e.Methods {
		var err error
		methods[i], err = baseline.ParseMethod(m.value)
		bad.add(m.line, err)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	for s, seed := range e.Seeds {
		for _, dataset := range e.Datasets {
			for i, m := range methods {
				for _, point := range points {
					r, err := base.of(dataset.value, m, seed.value, slices.Concat(e.Set, point))
					line := e.Methods[i].line
					if located := (*fieldError)(nil); errors.As(err, &located) {
						line = located.line
					}
					if s == 0 { // the other seeds have the same faults
						bad.add(line, err)
					}
					runs = append(runs, r)
				}
			}
		}
	}
	return runs, dedupe(bad)
}

// dedupe keeps the first of equal faults, such as one setting's under several methods.
func dedupe(all faults) (kept faults) {
	seen := map[string]bool{}
	for _, err := range all {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			kept = append(kept, err)
		}
	}
	return kept
}

// points returns every combination of the grid's values; one empty one where there is no grid.
func (e *entry) points(bad *faults) []settings {
	points := []settings{nil}
	for _, f := range e.Grid {
		var values []json.RawMessage
		if json.Unmarshal(f.value, &values) != nil || len(values) == 0 {
			bad.add(f.line, fmt.Errorf("grid: %s is %s, want a list of values", f.name, f.value))
			continue
		}
		var longer []settings
		for _, p := range points {
			for _, v := range values {
				longer = append(longer, append(slices.Clone(p), field{name: f.name, value: v, line: f.line}))
			}
		}
		points = longer
	}
	return points
}

// shared is what the runs of an entry have in common.
type shared struct {
	entry     *entry
	preset    baseline.Preset
	probes    []continual.Probe
	direction datasets.Direction
	cut       datasets.StreamOptions
}

// base reads the keys that are not multiplied.
func (e *entry) base(bad *faults) shared {
	c := shared{entry: e, cut: datasets.DefaultStreamOptions()}
	if e.Preset.line > 0 {
		bad.add(e.Preset.line, c.preset.UnmarshalText([]byte(e.Preset.value)))
	}
	if e.Direction.line > 0 {
		bad.add(e.Direction.line, c.direction.UnmarshalText([]byte(e.Direction.value)))
	}
	if e.Features.line > 0 {
		_, err := graph.ParseNormalization(e.Features.value)
		bad.add(e.Features.line, err)
	}
	for _, p := range e.Probes {
		probe, err := continual.ParseProbe(p.value)
		bad.add(p.line, err)
		c.probes = append(c.probes, probe)
	}
	for _, f := range e.Stream {
		bad.add(f.line, fields.Set(&c.cut, f.name, f.value))
	}
	if len(e.Stream) > 0 {
		bad.add(e.Stream[0].line, c.cut.Validate())
	}
	for _, d := range e.Datasets {
		if !datasets.IsPath(d.value) {
			_, err := datasets.Lookup(d.value)
			bad.add(d.line, err)
		}
	}
	return c
}

// fieldError is what is wrong with a field of set or grid.
type fieldError struct {
	error
	line int
}

func (e *fieldError) Unwrap() error { return e.error }

// of returns the run of a point of the product.
func (c *shared) of(dataset string, m baseline.Method, seed uint64, point settings) (Run, error) {
	s, err := DefaultSettings(dataset, m, c.preset)
	if err != nil {
		return Run{}, err
	}
	s.Seed, s.Direction = seed, c.direction
	if len(c.probes) > 0 && !m.Supervised() {
		s.Probes = c.probes
	}
	if c.entry.ProbeRows != nil && !m.Supervised() {
		s.ProbeRows = c.entry.ProbeRows.value
	}
	if c.entry.Features.line > 0 {
		s.Features = c.entry.Features.value
	}
	s.SetCut(c.cut)
	if err := s.set(point, c.preset); err != nil {
		return Run{}, fmt.Errorf("%s: %w", m, err)
	}
	return Run{Settings: s}, s.Validate()
}

// set changes fields of the method's settings.
func (s *Settings) set(point settings, p baseline.Preset) error {
	if !s.Method.Compared() {
		for _, f := range point {
			if err := fields.Set(&s.Learner, f.name, f.value); err != nil {
				return &fieldError{err, f.line}
			}
		}
		s.Learner = s.Method.Settings(s.Learner)
		return nil
	}
	of, err := s.compared()
	if err != nil {
		return err
	}
	for _, f := range point {
		if err := fields.Set(of, f.name, f.value); err != nil {
			return &fieldError{err, f.line}
		}
	}
	return s.SetCompared(of, p)
}
