package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
)

// configFile is the name of the settings' file in a run folder.
const configFile = "config.json"

// settings is all that determines a run's figures. It is the config of the Result.
type settings struct {
	Dataset   string            `json:"dataset"`
	Features  string            `json:"features"` // a datasets.Normalization
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

// setCut records how the stream is cut. Defaults leave no trace, so that runs from before there were options stay comparable.
func (s *settings) setCut(o datasets.StreamOptions) {
	s.SplitSeed, s.Stream = o.SplitSeed, datasets.StreamOptions{}
	d := datasets.DefaultStreamOptions()
	o.SplitSeed, d.SplitSeed = 0, 0
	if !reflect.DeepEqual(o, d) {
		s.Stream = o
	}
}

// cut is the inverse of setCut.
func (s *settings) cut() datasets.StreamOptions {
	o := s.Stream
	o.SplitSeed = s.SplitSeed
	return o
}

// place is where and on what a run computes.
type place struct {
	Data   string `json:"data,omitempty"`  // folder of the dataset's file
	Split  string `json:"split,omitempty"` // file that the split is read from; "" where it is drawn
	Engine string `json:"engine"`          // as engine.Open takes it
}

// record is the content of a run folder's config.json: what it takes to resume.
type record struct {
	settings
	place
}

// defaultsFor returns the method's settings for a dataset: those of saot.DefaultConfig but for the generated stream,
// which is small enough for the pure-Go engine.
func defaultsFor(dataset string) saot.Config {
	c := saot.DefaultConfig()
	if dataset == "synthetic" {
		c.Encoder.Hidden, c.Encoder.Out = 256, 128
		c.Points = 80
		c.Buffer = 50
	}
	return c
}

// validate finds wrong settings before anything is opened.
func (s *settings) validate() error {
	if _, err := datasets.ParseNormalization(s.Features); err != nil {
		return err
	}
	if !datasets.IsPath(s.Dataset) {
		if _, err := datasets.Lookup(s.Dataset); err != nil {
			return err
		}
	}
	if err := s.cut().Validate(); err != nil {
		return err
	}
	if s.Method.Compared() {
		return nil // settleMethod has looked
	}
	return s.Learner.Validate()
}

// stream reads the dataset and cuts it into tasks, by the options or by a file, whose hash it records.
func (r *record) stream() (*datasets.Stream, error) {
	normalization, err := datasets.ParseNormalization(r.Features)
	if err != nil {
		return nil, err
	}
	ds, err := datasets.Open(r.Dataset, r.Data, datasets.Options{Normalization: normalization, Direction: r.Direction})
	if err != nil {
		return nil, err
	}
	if r.Split == "" {
		return datasets.NewStream(ds, r.cut())
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

// readRecord reads the settings of the run in a folder.
func readRecord(dir string) (*record, error) {
	path := filepath.Join(dir, configFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no run that could be resumed (there is no %s in it): name the folder of an interrupted run", dir, configFile)
	}
	if err != nil {
		return nil, err
	}
	var r record
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w: start the run anew in an empty folder", path, err)
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}
