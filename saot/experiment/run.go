package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// ConfigFile is the name of the settings' file in a run folder.
const ConfigFile = "config.json"

// maxFile bounds the files of a run folder that a few settings or an error fill, in bytes.
const maxFile = 1 << 20

// Place is where and on what a run computes.
type Place struct {
	Data   string `json:"data,omitempty"`  // folder of the dataset's file
	Split  string `json:"split,omitempty"` // file that the split is read from; "" where it is drawn
	Engine string `json:"engine"`          // as engine.Open takes it

	Embeddings string `json:"embeddings,omitempty"` // folder of an external method's files

	Devices int  `json:"devices,omitempty"` // that sampled steps are split over; 0 is 1
	Keep    bool `json:"keep,omitempty"`    // keep the learner when the run ends
}

// Run is a method on a stream: the content of a run folder's config.json, and what it takes to do the run or to resume
// it.
type Run struct {
	Settings
	Place
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
	r.Place = f.Place
	return r.from(&f.settingsFile, true)
}

// Absolute makes paths absolute, so that the run can be resumed from any folder.
func (r *Run) Absolute() (err error) {
	for _, path := range []*string{&r.Data, &r.Split, &r.Embeddings} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	if err == nil && datasets.IsPath(r.Dataset) {
		r.Dataset, err = filepath.Abs(r.Dataset)
	}
	return err
}

// OpenDataset reads the dataset, its features scaled and its edges directed as the settings say.
func (r *Run) OpenDataset() (*datasets.Dataset, error) {
	return datasets.Open(r.Dataset, r.Data, datasets.Options{Normalization: r.Features, Direction: r.Direction})
}

// OpenStream reads the dataset and cuts it into tasks, by the options or by a file. It records the hash of a split from
// a file.
func (r *Run) OpenStream() (*datasets.Stream, error) {
	ds, err := r.OpenDataset()
	if err != nil {
		return nil, err
	}
	if r.Split == "" {
		return datasets.NewStream(ds, r.Cut())
	}
	split, err := datasets.ReadSplitFile(r.Split)
	if err != nil {
		return nil, err
	}
	s, err := split.Stream(ds)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Split, err)
	}
	r.SplitHash = s.SplitHash
	return s, nil
}

// OpenEngine opens the engine of the run, with its devices.
func (r *Run) OpenEngine() (*engine.Engine, error) {
	return engine.OpenDevices(r.Engine, cmp.Or(r.Devices, 1))
}

// NewLearner makes the learner of the settings for a stream. It returns an error if the settings don't fit the stream.
// Of an external method it reads all files, and records their checksum.
func (r *Run) NewLearner(e *engine.Engine, stream *datasets.Stream) (continual.Method, error) {
	if r.External {
		return r.newExternal(stream)
	}
	return method.New(r.Method, method.Build{Engine: e, Stream: method.StreamOf(stream), Settings: r.Of, Seed: r.Seed})
}

// Options returns those of the protocol for this run. The engine, the folder and the observers are the caller's to fill
// in.
func (r *Run) Options() (continual.Options, error) {
	config, err := json.Marshal(&r.Settings)
	return continual.Options{Probes: r.Probes, ProbeRows: r.ProbeRows, Seed: r.Seed,
		Manifest: continual.Manifest{Method: r.Method, Config: config}}, err
}

// ReadRun reads the settings of the run in a folder.
func ReadRun(dir string) (*Run, error) {
	path := filepath.Join(dir, ConfigFile)
	data, err := file.Read(path, maxFile)
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
	switch err := json.Unmarshal(data, &r); {
	case errors.Is(err, method.ErrUnknown): // of this program: the run may be sound
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: use the version of saot that wrote it, or start the run again in an empty "+
			"folder", path, err)
	}
	if err := cmp.Or(untrusted.CheckJSON(data), r.Validate()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// FreshName names the folder of a run that the user did not name.
func FreshName(s *Settings, now time.Time) string {
	return filepath.Join("runs", s.base()+"-"+now.Format("20060102-150405.000"))
}

// NewFolder makes the folder of a new run, claims it, and records the run's settings there. It refuses a folder that
// holds another run.
func NewFolder(path string, r *Run) (*Folder, error) {
	if err := HoldsNoRun(path); err != nil {
		return nil, err
	}
	f := &Folder{Path: path, created: firstMissing(path)}
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		if err := f.Claim(); err != nil {
			if !errors.Is(err, ErrClaimed) {
				f.unclaimed()
			}
			return nil, err
		}
		if err := HoldsNoRun(path); err != nil { // a process that was faster
			f.Release()
			return nil, err
		}
		err = writeJSON(filepath.Join(path, ConfigFile), r)
	}
	if err != nil {
		f.Remove()
		return nil, fmt.Errorf("run folder: %w: name a folder that can be written with --out", err)
	}
	return f, nil
}

// HoldsNoRun returns an error if a folder, which need not exist, holds a run already.
func HoldsNoRun(path string) error {
	for _, name := range append(continual.RunFiles(), ConfigFile) {
		if _, err := os.Lstat(filepath.Join(path, name)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return fmt.Errorf("run folder: %w: name another folder with --out", err)
			}
			return fmt.Errorf("run folder %s already holds the file %s of an earlier run: continue that one with "+
				"saot run --resume %s, or name another folder with --out", path, name, shell.Typed(path))
		}
	}
	return nil
}

// firstMissing returns the topmost folder on the way to path that does not exist, or "".
func firstMissing(path string) string {
	missing := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = p
		if p == filepath.Dir(p) {
			return missing
		}
	}
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return file.Write(path, append(data, '\n'))
}

// createJSON is writeJSON by file.Create: a file that is there stays.
func createJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return file.Create(path, append(data, '\n'))
}
