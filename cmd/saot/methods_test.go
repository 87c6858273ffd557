package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	status, _, stderr = call(t, "methods", "gtb")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, `unknown method "gtb"`)
}
