package experiment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// ConfigFile is the name of the settings' file in a run folder.
const ConfigFile = "config.json"

// Settings is all that determines a run's figures. It is the config of the Result.
type Settings struct {
	Dataset   string            `json:"dataset"`
	Features  string            `json:"features"` // a graph.Normalization
	SplitSeed uint64            `json:"split_seed"`
	Method    baseline.Method   `json:"method"`
	Seed      uint64            `json:"seed"`
	Probes    []continual.Probe `json:"probes"`
	ProbeRows int               `json:"probe_rows,omitempty"`
	Learner   saot.Config       `json:"learner,omitzero"` // of SAOT, its ablations and controls

	Preset   string          `json:"preset,omitempty"`   // that Compared began with
	Compared json.RawMessage `json:"compared,omitempty"` // settings of a method that SAOT is compared with

	Stream    datasets.StreamOptions `json:"stream,omitzero"`      // but the seed; absent where all are the defaults or a file has them
	SplitHash string                 `json:"split_hash,omitempty"` // of the split where it comes from a file
	Direction datasets.Direction     `json:"direction,omitempty"`  // absent where edges are read undirected, as before there was a choice
}

// Place is where and on what a run computes.
type Place struct {
	Data   string `json:"data,omitempty"`  // folder of the dataset's file
	Split  string `json:"split,omitempty"` // file that the split is read from; "" where it is drawn
	Engine string `json:"engine"`          // as engine.Open takes it
}

// Run is a method on a stream: the content of a run folder's config.json, and what it takes to do the run or to resume it.
type Run struct {
	Settings
	Place
}

// DefaultProbeRows bounds the train nodes of a probe.
const DefaultProbeRows = 100_000

// DefaultSettings returns the settings under which "saot run" takes a method through a dataset.
func DefaultSettings(dataset string, m baseline.Method, p baseline.Preset) (Settings, error) {
	s := Settings{Dataset: dataset, Features: "l2", Method: m, Probes: continual.Probes(), ProbeRows: DefaultProbeRows}
	s.SetCut(datasets.DefaultStreamOptions())
	if m.Supervised() {
		s.Probes, s.ProbeRows = []continual.Probe{continual.ProbeHead}, 0
	}
	if !m.Compared() {
		s.Learner = m.Settings(LearnerDefaults(dataset))
		return s, nil
	}
	return s, s.SetCompared(m.Defaults(dataset, p), p)
}

// LearnerDefaults returns SAOT's settings for a dataset: those of saot.DefaultConfig but for the generated stream, which is
// small enough for the pure-Go engine.
func LearnerDefaults(dataset string) saot.Config {
	c := saot.DefaultConfig()
	if dataset == "synthetic" {
		c.Encoder.Hidden, c.Encoder.Out = 256, 128
		c.Points = 80
		c.Buffer = 50
	}
	return c
}

// SetCompared records the settings of a method that SAOT is compared with, and the preset that they began as.
func (s *Settings) SetCompared(of baseline.Settings, p baseline.Preset) error {
	data, err := json.Marshal(of)
	s.Compared, s.Preset = data, p.String()
	return err
}

// compared is the inverse of SetCompared.
func (s *Settings) compared() (baseline.Settings, error) {
	of := s.Method.Defaults(s.Dataset, baseline.PaperPreset)
	d := json.NewDecoder(bytes.NewReader(s.Compared))
	d.DisallowUnknownFields()
	if err := d.Decode(of); err != nil {
		return nil, fmt.Errorf("experiment: settings of %s: %w", s.Method, err)
	}
	return of, nil
}

// completed returns the settings that a result records; those that did not exist when it was made have their defaults, by which it
// ran.
func completed(config json.RawMessage) (*Settings, error) {
	var s Settings
	if err := json.Unmarshal(config, &s); err != nil {
		return nil, err
	}
	if !s.Method.Compared() {
		s.Learner = s.Method.Settings(LearnerDefaults(s.Dataset))
		return &s, json.Unmarshal(config, &s) // what is recorded overwrites the defaults
	}
	var preset baseline.Preset
	if err := preset.UnmarshalText([]byte(s.Preset)); err != nil {
		return nil, err
	}
	of := s.Method.Defaults(s.Dataset, preset)
	if err := json.Unmarshal(s.Compared, of); err != nil {
		return nil, err
	}
	return &s, s.SetCompared(of, preset)
}

// SetCut records how the stream is cut. Defaults leave no trace, so that runs from before there were options stay comparable.
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
	if _, err := graph.ParseNormalization(s.Features); err != nil {
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
	if err := s.validateProbes(); err != nil {
		return err
	}
	if !s.Method.Compared() {
		return s.Learner.Validate()
	}
	of, err := s.compared()
	if err != nil {
		return err
	}
	return of.Validate()
}

func (s *Settings) validateProbes() error {
	if len(s.Probes) == 0 {
		return errors.New("experiment: no probe: choose paper, converged or both")
	}
	for _, p := range s.Probes {
		if (p == continual.ProbeHead) != s.Method.Supervised() {
			return fmt.Errorf("experiment: the probe %v does not score %s: supervised methods are scored by %v alone, others by %v",
				p, s.Method, continual.ProbeHead, continual.Probes())
		}
	}
	if s.ProbeRows < 0 {
		return fmt.Errorf("experiment: probe_rows is %d, want 0 (all) or more", s.ProbeRows)
	}
	return nil
}

// Hash identifies the settings: runs with the same hash give the same figures on the same data and engine.
func (s *Settings) Hash() string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of plain values
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Name is a name for the run's folder, for people first and unlike those of all other settings: cora-ml-saot-s0-1f2e3d4c5b.
func (s *Settings) Name() string { return s.base() + "-" + s.Hash()[:10] }

func (s *Settings) base() string {
	dataset := strings.NewReplacer(":", "-", ",", "-", "=", "").Replace(filepath.Base(s.Dataset)) // of synthetic:1000,degree=5
	return fmt.Sprintf("%s-%s-s%d", dataset, s.Method, s.Seed)
}

// Absolute makes paths absolute, so that the run can be resumed from any folder.
func (r *Run) Absolute() (err error) {
	for _, path := range []*string{&r.Data, &r.Split} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	if err == nil && datasets.IsPath(r.Dataset) {
		r.Dataset, err = filepath.Abs(r.Dataset)
	}
	return err
}

// OpenStream reads the dataset and cuts it into tasks, by the options or by a file, whose hash it records.
func (r *Run) OpenStream() (*datasets.Stream, error) {
	normalization, err := graph.ParseNormalization(r.Features)
	if err != nil {
		return nil, err
	}
	ds, err := datasets.Open(r.Dataset, r.Data, datasets.Options{Normalization: normalization, Direction: r.Direction})
	if err != nil {
		return nil, err
	}
	if r.Split == "" {
		return datasets.NewStream(ds, r.Cut())
	}
	file, err := datasets.ReadSplitFile(r.Split)
	if err != nil {
		return nil, err
	}
	s, err := file.Stream(ds)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Split, err)
	}
	r.SplitHash = s.SplitHash
	return s, nil
}

// A Runner takes a method through a stream.
type Runner func(ctx context.Context, stream *datasets.Stream, opt continual.Options) (*continual.Result, error)

// Runner makes the learner of the settings for a stream. It returns an error if the settings don't fit the stream.
func (r *Run) Runner(e *engine.Engine, stream *datasets.Stream) (Runner, error) {
	l, supervised, err := r.NewLearner(e, stream)
	return func(ctx context.Context, stream *datasets.Stream, opt continual.Options) (*continual.Result, error) {
		if supervised != nil {
			return continual.RunSupervised(ctx, stream, supervised, opt)
		}
		return continual.Run(ctx, stream, l, opt)
	}, err
}

// NewLearner makes the learner of the settings for a stream: one of the two, as the method is self-supervised or supervised; the
// other is nil. It returns an error if the settings don't fit the stream.
func (r *Run) NewLearner(e *engine.Engine, stream *datasets.Stream) (continual.Learner, continual.Supervised, error) {
	features, sizes := stream.Tasks[0].Graph.Features.Cols, saot.SizesOf(stream)
	if !r.Method.Compared() {
		l, err := baseline.New(r.Method, e, r.Learner, features, sizes, r.Seed)
		return l, nil, err
	}
	s, err := r.compared()
	if err != nil {
		return nil, nil, err
	}
	b := baseline.Build{Engine: e, Settings: s, Seed: r.Seed,
		Stream: baseline.Stream{Dataset: r.Dataset, Features: features, Classes: stream.NumClasses, Sizes: sizes}}
	if r.Method.Supervised() {
		l, err := baseline.NewSupervised(r.Method, b)
		return nil, l, err
	}
	l, err := baseline.NewCompared(r.Method, b)
	return l, nil, err
}

// Options returns those of the protocol for this run. The engine, the folder and the observers are the caller's to fill in.
func (r *Run) Options() (continual.Options, error) {
	config, err := json.Marshal(&r.Settings)
	return continual.Options{Probes: r.Probes, ProbeRows: r.ProbeRows, Seed: r.Seed,
		Manifest: continual.Manifest{Method: r.Method.String(), Config: config}}, err
}

// ReadRun reads the settings of the run in a folder.
func ReadRun(dir string) (*Run, error) {
	path := filepath.Join(dir, ConfigFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no run that could be resumed (there is no %s in it): name the folder of an interrupted run", dir, ConfigFile)
	}
	if err != nil {
		return nil, err
	}
	var r Run
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w: start the run anew in an empty folder", path, err)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}
