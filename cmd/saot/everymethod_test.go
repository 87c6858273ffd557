package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// Audit confirms one run of every method from its checkpoint.
func TestAuditOfEveryMethod(t *testing.T) {
	tiny := map[string]string{"encoder.hidden": "16", "encoder.out": "8", "points": "8", "epochs": "2",
		"fast_epochs": "2", "warm_up": "1", "hidden": "8", "out": "4", "encoders": "2", "encoder_width": "16",
		"clusters": "3", "parts": "3", "components": "2", "proxies": "4", "budget": "4", "buffer": "10"}
	var dirs []string
	rows := 0 // of both settings
	for _, d := range method.All() {
		args := []string{"--method", d.Name}
		for _, f := range d.Fields(d.Defaults(datasets.NoRecipe, method.Fast)) {
			if value, ok := tiny[f.Path]; ok {
				args = append(args, "--set", f.Path+"="+value)
			}
		}
		dirs = append(dirs, runKept(t, args...))
		rows += 2 * len(d.Probes())
	}
	stdout := told(t, append([]string{"audit"}, dirs...)...)
	require.Equal(t, len(dirs), strings.Count(stdout, ": confirmed ("), stdout)
	require.Equal(t, rows, strings.Count(stdout, "largest difference 0 "), stdout)
}

// Two runs of a committed table, done again, have the same scores.
func TestQuickRowsFromNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	text, err := exec.Command(build(t), "sweep", "quick/table2", "--only", "1,2", "--engine", "go", "--out", out).
		CombinedOutput()
	require.NoError(t, err, string(text))
	var c experiment.Comparison
	require.NoError(t, json.Unmarshal([]byte(told(t, "compare", "../../results/quick/table2.jsonl.gz", out, "--json")),
		&c))
	require.Equal(t, 2, c.Both, "propagated-pca and random, seed 0")
	if runtime.GOARCH != "amd64" {
		t.Skip("the committed runs are of amd64: other processors may round differently")
	}
	require.Equal(t, 2, c.Same, c.Summary())
}
