package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// ConfigFile is the name of the settings' file in a run folder.
const ConfigFile = "config.json"

// Place is where and on what a run computes.
type Place struct {
	Data   string `json:"data,omitempty"`  // folder of the dataset's file
	Split  string `json:"split,omitempty"` // file that the split is read from; "" where it is drawn
	Engine string `json:"engine"`          // as engine.Open takes it
}

// Run is a method on a stream: the content of a run folder's config.json, and what it takes to do the run or to resume
// it.
type Run struct {
	Settings
	Place
	earlier bool // read from the file of an earlier version
}

// UnmarshalJSON reads a run as Settings reads its own fields, but unknown fields and settings are an error.
func (r *Run) UnmarshalJSON(data []byte) error {
	var f struct {
		settingsFile
		Place
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return err
	}
	r.Place, r.earlier = f.Place, f.Learner != nil || f.Compared != nil
	return r.from(&f.settingsFile, true)
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

// NewLearner makes the learner of the settings for a stream. It returns an error if the settings don't fit the stream.
func (r *Run) NewLearner(e *engine.Engine, stream *datasets.Stream) (continual.Method, error) {
	return method.New(r.Method, method.Build{Engine: e, Stream: method.StreamOf(stream), Settings: r.Of, Seed: r.Seed})
}

// Options returns those of the protocol for this run. The engine, the folder and the observers are the caller's to fill
// in.
func (r *Run) Options() (continual.Options, error) {
	config, err := json.Marshal(&r.Settings)
	return continual.Options{Probes: r.Probes, ProbeRows: r.ProbeRows, Seed: r.Seed,
		Manifest: continual.Manifest{Method: r.Method, Config: config}}, err
}

// ResumeRun reads the run in a folder, to continue it or to ask its learner. It refuses runs of earlier versions, whose
// checkpoints cannot be read.
func ResumeRun(dir string) (*Run, error) {
	r, err := ReadRun(dir)
	if err == nil && r.earlier {
		return nil, fmt.Errorf("%s was written by an earlier version of saot: start the run again in an empty folder; "+
			"its result, if there is one, is still read by saot table", filepath.Join(dir, ConfigFile))
	}
	return r, err
}

// ReadRun reads the settings of the run in a folder.
func ReadRun(dir string) (*Run, error) {
	path := filepath.Join(dir, ConfigFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("%s holds no run that could be resumed (there is no %s in it): name the folder of an "+
				"interrupted run",
				dir, ConfigFile)
	}
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: start the run again in an empty folder", path, err)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}
