package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/experiment"
)

func TestOverview(t *testing.T) {
	const results = "../../results/quick/table2.jsonl.gz"
	picture := filepath.Join(t.TempDir(), "ranks.svg")
	out := told(t, "overview", results, "--figure", picture)
	require.Contains(t, out, "Friedman: chi-squared")
	require.Contains(t, out, "on 3 blocks (synthetic-citation)")
	require.FileExists(t, picture)
	require.Contains(t, told(t, "overview", results, "--format", "md"), "|---|--:|--:|--:|")
	var o experiment.Overview
	require.NoError(t, json.Unmarshal([]byte(told(t, "overview", results, "--json")), &o))
	require.Len(t, o.Blocks, 3)
	require.Equal(t, o.Methods[0].Method, o.Pairs[0].Method)
	o.Methods[0].Method, o.Left = "a|<b>", []string{"*c*"}
	out, err := overviewText(&o, true)
	require.NoError(t, err)
	require.Contains(t, out, `| a\|&lt;b> | `)
	require.Contains(t, out, `Not compared: \*c\*`)
}

// The committed results suffice for the paper's figures.
func TestFiguresPaper(t *testing.T) {
	dir := t.TempDir()
	out := told(t, "figures", "--paper", "../../results/quick", "--format", "pdf", "--out", dir)
	require.FileExists(t, filepath.Join(dir, "paper-figure4.pdf"))
	require.Contains(t, out, "paper-figure3.pdf: ")
}
