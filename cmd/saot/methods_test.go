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
		stdout := told(t, "methods", d.Name)
		require.Contains(t, stdout, d.Summary)
	}
	stdout = told(t, "methods", "gbt", "--preset", "fast")
	require.Regexp(t, `(?m)^epochs +30 +per task`, stdout)
	stdout = told(t, "methods", "saot", "--dataset", "synthetic")
	require.Regexp(t, `(?m)^encoder.hidden +256 +width`, stdout)
	stdout = told(t, "methods", "dgi")
	require.Regexp(t, `(?m)^out +512 +width of the embeddings \(flag --method-out\)$`, stdout)
	require.Equal(t, 1, strings.Count(stdout, "(flag "), "the others' flags have their names")
	stdout = told(t, "methods", "dgi", "--json")
	require.Contains(t, stdout, `"flag": "--learning-rate"`)
	refused(t, exitUsage, `unknown method "gtb"`, "methods", "gtb")
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
	refused(t, exitUsage, "setting out", "run", "--method", "gbt", "--method-out", "x")
}
