package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual/record"
)

// A run is recorded, shown and reported; another run's recording stands next to it.
func TestRecordShowReport(t *testing.T) {
	dir := t.TempDir()
	run, plain := filepath.Join(dir, "runs", "saot"), filepath.Join(dir, "runs", "plain")
	toy := filepath.Join(dir, "toy")
	told(t, small("--record", "1", "--probe", "converged", "--out", run)...)
	told(t, small("--probe", "converged", "--seed", "1", "--out", plain)...)
	told(t, "run", "--method", "toy", "--engine", "go", "--probe", "converged", "--record", "1", "--out", toy)
	r, err := record.Read(run)
	require.NoError(t, err)
	require.Len(t, r.Tasks, 4)
	require.Len(t, r.Tasks[1].Frames, 3, "before the first of two steps, and after each")
	require.NotNil(t, r.Tasks[1].Teacher)

	page := filepath.Join(run, "recording.html")
	require.Equal(t, page+"\n", told(t, "show", "--html", run))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "<title>saot on synthetic-citation, seed 0</title>")
	both := filepath.Join(dir, "pages", "both.html")
	require.Equal(t, both+"\n", told(t, "show", "--html", run, toy, "--output", both))
	text, err = os.ReadFile(both)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"name":"toy on synthetic-citation, seed 0","recording":{"head"`)
	require.Contains(t, told(t, "show", run), "saot show --html "+run)

	// The page of runs holds the recording of the one that has one, once, and the viewer.
	report := filepath.Join(dir, "report.html")
	told(t, "report", filepath.Join(dir, "runs"), "--output", report)
	text, err = os.ReadFile(report)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), `<saot-recording><script type="application/json">`))
	require.Equal(t, 1, strings.Count(string(text), `<details class="saot-recording">`))
	require.NoError(t, os.RemoveAll(filepath.Join(run, record.Folder)))
	told(t, "report", filepath.Join(dir, "runs"), "--output", report)
	text, err = os.ReadFile(report)
	require.NoError(t, err)
	require.NotContains(t, string(text), "<script")
	require.NoError(t, os.Mkdir(filepath.Join(run, record.Folder), 0o755))
	require.NotContains(t, told(t, "show", run), "--html", "an empty folder is no recording")
}

func TestShowRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"show"}, exitUsage, "want saot show DIR..., got 0 arguments"},
		{[]string{"show", "--html", dir, dir, dir}, exitUsage, "one run or two, not 3"},
		{[]string{"show", dir}, exitFailure, dir + " holds no result.json: name the folder of a finished run"},
		{[]string{"show", "--html", dir}, exitFailure, dir + " holds no recording: run again with saot run --record N"},
		{[]string{"run", "--record", "-1", "--engine", "go", "--out", filepath.Join(dir, "run")}, exitUsage,
			"--record is -1, want 0 (no frames) or more"},
	} {
		status, _, stderr := call(t, c.args...)
		require.Equal(t, c.exit, status, stderr)
		require.Contains(t, stderr, c.want)
	}
	require.NoDirExists(t, filepath.Join(dir, "run"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, record.Folder), 0o755))
	path := filepath.Join(dir, record.Folder, "head.json")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	refused(t, exitFailure, path+`: field format is ""`, "show", "--html", dir)
}
