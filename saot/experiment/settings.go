package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Settings is all that determines a run's figures on given data and a given engine. It is the config of the Result.
type Settings struct {
	Dataset   string              `json:"dataset"`
	Features  graph.Normalization `json:"features"`
	SplitSeed uint64              `json:"split_seed"`
	Method    string              `json:"method"`
	External  bool                `json:"external,omitempty"` // the method is another program's: see Embeddings
	Seed      uint64              `json:"seed"`
	Probes    []continual.Probe   `json:"probes"`
	ProbeRows int                 `json:"probe_rows,omitempty"`
	Preset    method.Preset       `json:"preset,omitzero"` // that Of began with; absent where it changes nothing
	Of        method.Settings     `json:"settings"`        // the method's own

	Stream    datasets.StreamOptions `json:"stream,omitzero"`      // but the seed; absent for the defaults or a file
	SplitHash string                 `json:"split_hash,omitempty"` // of the split where it comes from a file
	Direction datasets.Direction     `json:"direction,omitempty"`  // absent where edges are read undirected
}

// DefaultProbeRows bounds the train nodes of a probe.
const DefaultProbeRows = 100_000

// DefaultSettings returns the settings under which "saot run" takes a method through a dataset.
func DefaultSettings(dataset, name string, p method.Preset) (Settings, error) {
	d, err := method.Lookup(name)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Dataset: dataset, Method: name, Probes: d.Probes(), ProbeRows: DefaultProbeRows,
		Preset: p}
	if !d.Probed() {
		s.ProbeRows = 0
	}
	s.begin(d)
	s.SetCut(datasets.DefaultStreamOptions())
	return s, nil
}

// Change changes settings of the method. Its error may join several *method.Fault.
func (s *Settings) Change(changes ...method.Change) error {
	d, err := s.Definition()
	if err != nil {
		return err
	}
	return d.Change(s.Of, changes...)
}

// UnmarshalJSON reads settings. A setting of the method that is missing gets its default: a result may be older than
// the setting.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var f settingsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	return s.from(&f, false)
}

// bare is Settings without methods.
type bare Settings

type settingsFile struct {
	bare
	Of json.RawMessage `json:"settings"`
}

// from takes what a file has. Read strictly, settings that the method does not have are an error.
func (s *Settings) from(f *settingsFile, strict bool) error {
	d, err := (*Settings)(&f.bare).Definition()
	if err != nil {
		return err
	}
	*s = Settings(f.bare)
	s.begin(d)
	if f.Of == nil {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(continual.CurrentNames(f.Of)))
	if strict {
		in.DisallowUnknownFields()
	}
	if err := in.Decode(s.Of); err != nil {
		return fmt.Errorf("settings of %s: %w", f.Method, err)
	}
	return nil
}

// begin sets the defaults of the method for the preset. A preset that changes nothing leaves no trace.
func (s *Settings) begin(d *method.Definition) {
	recipe := datasets.RecipeOf(s.Dataset)
	s.Of = d.Defaults(recipe, s.Preset)
	if reflect.DeepEqual(s.Of, d.Defaults(recipe, method.Default)) {
		s.Preset = method.Default
	}
}

// SetCut records how the stream is cut. Defaults leave no trace, so that runs from before there were options stay
// comparable.
func (s *Settings) SetCut(o datasets.StreamOptions) {
	s.SplitSeed, s.Stream = o.SplitSeed, datasets.StreamOptions{}
	d := datasets.DefaultStreamOptions()
	o.SplitSeed, d.SplitSeed = 0, 0
	if !reflect.DeepEqual(o, d) {
		s.Stream = o
	}
}

// Cut is the inverse of SetCut.
func (s *Settings) Cut() datasets.StreamOptions {
	o := s.Stream
	o.SplitSeed = s.SplitSeed
	return o
}

// Validate finds wrong settings before anything is opened.
func (s *Settings) Validate() error {
	if _, err := s.Features.MarshalText(); err != nil {
		return err
	}
	if !datasets.IsPath(s.Dataset) {
		if _, err := datasets.Lookup(s.Dataset); err != nil {
			return err
		}
	}
	if err := s.Cut().Validate(); err != nil {
		return err
	}
	if err := s.checkName(); err != nil {
		return err
	}
	d, err := s.Definition()
	if err != nil {
		return err
	}
	if err := s.validateProbes(d); err != nil {
		return err
	}
	if s.Of == nil {
		return fmt.Errorf("experiment: there are no settings of %s: take those of DefaultSettings", s.Method)
	}
	if err := d.Validate(s.Of); err != nil {
		return err
	}
	if _, err := json.Marshal(s); err != nil { // or Hash would panic
		return fmt.Errorf("experiment: settings of %s: %w", s.Method, err)
	}
	return nil
}

func (s *Settings) validateProbes(d *method.Definition) error {
	if len(s.Probes) == 0 {
		return errors.New("experiment: no probe: choose paper, converged or both")
	}
	for _, p := range s.Probes {
		if (p == continual.ProbeHead) == d.Probed() {
			return fmt.Errorf("experiment: the probe %v does not score %s: supervised methods are scored only by %v, "+
				"others by %v",
				p, s.Method, continual.ProbeHead, continual.Probes())
		}
	}
	if s.Cut().FoldValid && slices.Contains(s.Probes, continual.ProbeConverged) {
		return fmt.Errorf("experiment: fold_valid (--fold-valid) leaves no validation nodes, on which the probe %v "+
			"chooses its strength: score by %v alone (probes: [%[2]v], --probe %[2]v)", continual.ProbeConverged,
			continual.ProbePaper)
	}
	if s.ProbeRows < 0 {
		return fmt.Errorf("experiment: probe_rows is %d, want 0 (all) or more", s.ProbeRows)
	}
	return nil
}

// Hash identifies the settings: runs with the same hash give the same figures on the same data and engine. It panics
// for settings that Validate refuses because JSON has no form of them.
func (s *Settings) Hash() string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Name returns a readable name for the run's folder, which differs for different settings: cora-ml-saot-s0-1f2e3d4c5b.
func (s *Settings) Name() string { return s.base() + "-" + s.Hash()[:10] }

// named reports whether a folder has a name as Name makes it. Its digits may be those of a version that had other
// settings.
func (s *Settings) named(folder string) bool {
	digits, ok := strings.CutPrefix(folder, s.base()+"-")
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 10
}

func (s *Settings) base() string {
	return fmt.Sprintf("%s-%s-s%d", FileName(filepath.Base(s.Dataset)), FileName(s.Method), s.Seed)
}

// FileName replaces what some systems refuse in the name of a file: a dataset may be called synthetic:1000,degree=5.
func FileName(name string) string {
	return strings.NewReplacer(":", "-", ",", "-", "=", "").Replace(name)
}
