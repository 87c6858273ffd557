package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// earlierConfigs are as versions before the registry wrote them.
var earlierConfigs = map[string]string{
	"saot": `{"dataset": "synthetic", "features": "l2", "split_seed": 1, "method": "saot", "seed": 2, "probes": ["paper"],
		"learner": {"encoder": {"kind": "gcn", "hidden": 64}, "epochs": 7}, "engine": "go"}`,
	"gbt": `{"dataset": "synthetic", "features": "l2", "split_seed": 1, "method": "gbt", "seed": 2, "probes": ["paper"],
		"preset": "fast", "compared": {"epochs": 7}, "engine": "go"}`,
}

// Folders of earlier versions are read, their sweeps too, and are refused in one line where a learner is asked for.
func TestEarlierRunFolders(t *testing.T) {
	dir := t.TempDir()
	for name, config := range earlierConfigs {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, ConfigFile), []byte(config), 0o600))
		_, err := ReadRun(filepath.Join(dir, name))
		require.NoError(t, err)
		_, err = ResumeRun(filepath.Join(dir, name))
		require.ErrorContains(t, err,
			"was written by an earlier version of saot: start the run again in an empty folder")
	}
	r, err := ReadRun(filepath.Join(dir, "saot"))
	require.NoError(t, err)
	want := saot.ConfigFor("synthetic", method.Default)
	want.Encoder.Hidden, want.Epochs = 64, 7
	require.Equal(t, &want, r.Of)
	r, err = ReadRun(filepath.Join(dir, "gbt"))
	require.NoError(t, err)
	require.Equal(t, method.Fast, r.Preset)
	require.Equal(t, 7, r.Of.(*baseline.GBTSettings).Epochs)
	require.Equal(t, 3, r.Of.(*baseline.GBTSettings).WarmUp, "what is not recorded is as the preset has it")

	config, err := json.Marshal(&r.Settings)
	require.NoError(t, err)
	result := &continual.Result{Schema: continual.ResultSchema, Method: "gbt", Config: config}
	require.NoError(t, result.WriteFile(filepath.Join(dir, "gbt", continual.ResultFile)))
	s, err := OpenSweep(dir)
	require.NoError(t, err)
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 1, Waiting: 1}, count)
}

// What the method does not have is an error in a run's file.
func TestRunFilesAreStrict(t *testing.T) {
	for _, bad := range []string{`{"method": "saot", "colour": 1}`, `{"method": "saot", "settings": {"epoch": 3}}`,
		`{"method": "soat"}`, `{"method": "gbt", "compared": {"alpha": 1}}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(Run)), bad)
	}
}
