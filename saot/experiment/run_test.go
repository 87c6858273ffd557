package experiment

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// What a run says of its features and its seed is what its stream and its learner are made with.
func TestFeaturesAndSeedAreUsed(t *testing.T) {
	s, err := DefaultSettings("synthetic", "gbt", method.Fast)
	require.NoError(t, err)
	r := &Run{Settings: s}
	require.NoError(t, r.Change(fields.Change{Path: "hidden", Value: fields.Value{Text: "8"}}))
	features := map[graph.Normalization]graph.Features{}
	var stream *datasets.Stream
	for _, r.Features = range []graph.Normalization{graph.L2, graph.Raw} {
		stream, err = r.OpenStream()
		require.NoError(t, err)
		features[r.Features] = stream.Tasks[0].Graph.Features
	}
	require.NotEqual(t, features[graph.L2], features[graph.Raw])

	e := enginetest.Go(t)
	embedding := func(seed uint64) *continual.Embedding {
		r.Seed = seed
		l, err := r.NewLearner(e, stream)
		require.NoError(t, err)
		z, err := l.(continual.Learner).Embed(t.Context(), stream.Tasks[0].Graph)
		require.NoError(t, err)
		return z
	}
	first := embedding(1)
	require.Equal(t, first, embedding(1))
	require.NotEqual(t, first, embedding(2))
}

// Run folders may be older than a setting, or than its name.
func TestEarlierRunFolders(t *testing.T) {
	dir := t.TempDir()
	for name, config := range map[string]string{
		"saot": `{"dataset": "synthetic", "features": "l2", "split_seed": 1, "method": "saot", "seed": 2, "probes": ["paper"],
			"settings": {"encoder": {"kind": "gcn", "hidden": 64}, "epochs": 7, "centred": true,
			"distil_buffered": true},
			"engine": "go"}`,
		"gbt": `{"dataset": "synthetic", "features": "l2", "split_seed": 1, "method": "gbt", "seed": 2, "probes": ["paper"],
			"preset": "fast", "settings": {"epochs": 7}, "engine": "go"}`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, ConfigFile), []byte(config), 0o600))
	}
	r, err := ReadRun(filepath.Join(dir, "saot"))
	require.NoError(t, err)
	want := saot.ConfigFor("synthetic", method.Default)
	want.Encoder.Hidden, want.Epochs, want.Centered, want.DistillBuffered = 64, 7, true, true
	require.Equal(t, &want, r.Of)
	r, err = ReadRun(filepath.Join(dir, "gbt"))
	require.NoError(t, err)
	require.Equal(t, method.Fast, r.Preset)
	require.Equal(t, 7, r.Of.(*baseline.GBTSettings).Epochs)
	require.Equal(t, 3, r.Of.(*baseline.GBTSettings).WarmUp, "what is not recorded is as the preset has it")

	_, err = OpenSweep(dir)
	require.ErrorContains(t, err, "none of a sweep")
	require.NoError(t, os.Rename(filepath.Join(dir, "saot"), filepath.Join(dir, "synthetic-saot-s2-0123456789")))
	s, err := OpenSweep(dir)
	require.NoError(t, err)
	require.Len(t, s.Runs, 1, "whose name has the digits of another version")
	require.Equal(t, filepath.Join(dir, s.Runs[0].Name()), s.Folder(0),
		"it begins again: what it began with is not known of settings that were added")
}

type weight struct {
	Weight float64 `json:"weight"`
}

func (weight) Validate() error { return nil }

func TestSettingsWithoutJSON(t *testing.T) {
	s, err := DefaultSettings("synthetic", "saot", method.Default)
	require.NoError(t, err)
	s.Of = &weight{1}
	require.NoError(t, s.Validate())
	s.Of = &weight{math.NaN()}
	require.ErrorContains(t, s.Validate(), "settings of saot: json: unsupported value: NaN")
}

// What the method does not have is an error in a run's file.
func TestRunFilesAreStrict(t *testing.T) {
	for _, bad := range []string{`{"method": "saot", "color": 1}`, `{"method": "saot", "settings": {"epoch": 3}}`,
		`{"method": "soat"}`, `{"method": "gbt", "settings": {"alpha": 1}}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(Run)), bad)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ConfigFile), []byte(bad), 0o600))
		_, err := ReadRun(dir)
		require.Error(t, err, bad)
		again := strings.Contains(err.Error(), "start the run again in an empty folder")
		require.Equal(t, !errors.Is(err, method.ErrUnknown), again, "a run of another program's method is sound")
	}
}

// What a terminal takes as commands is refused in settings, and left out of a failure, whose log may have colors.
func TestRunFilesArePlain(t *testing.T) {
	dir := t.TempDir()
	s, err := DefaultSettings("synthetic", "majority", method.Default)
	require.NoError(t, err)
	require.NoError(t, writeJSON(filepath.Join(dir, ConfigFile), &Run{Settings: s, Place: Place{Data: "\x1b[31m"}}))
	_, err = ReadRun(dir)
	require.ErrorContains(t, err, ConfigFile+": a text holds a control character")
	require.NoError(t, writeJSON(filepath.Join(dir, FailedFile), Failure{Error: "\x1b[31mred"}))
	f, err := readFailure(dir)
	require.NoError(t, err)
	require.Equal(t, " [31mred", f.Error)
}

// A device or a pipe may have no end.
func TestRunFilesAreRegular(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{ConfigFile, FailedFile} {
		if err := os.Symlink(os.DevNull, filepath.Join(dir, name)); err != nil {
			t.Skip("no links on this system: ", err)
		}
	}
	_, err := ReadRun(dir)
	require.ErrorContains(t, err, ConfigFile+" is not a regular file")
	_, err = readFailure(dir)
	require.ErrorContains(t, err, FailedFile+" is not a regular file")
}
