package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

func TestMethods(t *testing.T) {
	status, stdout, stderr := call(t, "methods")
	require.Zero(t, status, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, len(method.All())+1)
	require.Regexp(t, `(?m)^gbt +self-supervised +probes +Graph Barlow Twins`, stdout)
	require.Regexp(t, `(?m)^twp +supervised +own classifier +`, stdout)
	for _, d := range method.All() {
		status, stdout, stderr := call(t, "methods", d.Name)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, d.Summary)
	}
	_, stdout, _ = call(t, "methods", "gbt", "--preset", "fast")
	require.Regexp(t, `(?m)^epochs +30 +per task`, stdout)
	_, stdout, _ = call(t, "methods", "saot", "--dataset", "synthetic")
	require.Regexp(t, `(?m)^encoder.hidden +256 +width`, stdout)
	_, stdout, _ = call(t, "methods", "dgi")
	require.Regexp(t, `(?m)^out +512 +width of the embeddings \(flag --method-out\)$`, stdout)
	require.Equal(t, 1, strings.Count(stdout, "(flag "), "the others' flags have their names")
	_, stdout, _ = call(t, "methods", "dgi", "--json")
	require.Contains(t, stdout, `"flag": "--learning-rate"`)
	status, _, stderr = call(t, "methods", "gtb")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, `unknown method "gtb"`)
}

// Every setting that a method reads is a flag of saot run and a name for --set, and both say the same.
func TestSettingsAreFlagsAndNames(t *testing.T) {
	for _, d := range method.All() {
		s, err := experiment.DefaultSettings("synthetic", d.Name, method.Default)
		require.NoError(t, err)
		byFlag, byName := new(runOptions), new(runOptions)
		first, second := byFlag.command(), byName.command()
		var flags, names []string
		var want []fields.Change
		for _, f := range d.Fields(s.Of) {
			flags = append(flags, "--"+settingFlag(first.Flags(), f.Path)+"="+f.Text())
			names = append(names, "--set", f.Path+"="+f.Text())
			want = append(want, fields.Change{Path: f.Path, Value: fields.Value{Text: f.Text()}})
		}
		require.NoError(t, first.ParseFlags(flags), d.Name)
		require.NoError(t, second.ParseFlags(names), d.Name)
		got, err := changesOf(first.Flags(), byFlag.set, &s)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got, d.Name)
		got, err = changesOf(second.Flags(), byName.set, &s)
		require.NoError(t, err)
		require.Equal(t, want, got, d.Name)
	}
	status, _, stderr := call(t, "run", "--method", "gbt", "--method-out", "x")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "setting out")
}
