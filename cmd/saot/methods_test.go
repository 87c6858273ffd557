package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/baseline"
)

func TestMethods(t *testing.T) {
	status, stdout, stderr := call(t, "methods")
	require.Zero(t, status, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, len(baseline.Methods())+1)
	require.Regexp(t, `(?m)^gbt +probes +Graph Barlow Twins`, stdout)
	require.Regexp(t, `(?m)^twp +own classifier +`, stdout)
	for _, m := range baseline.Methods() {
		require.NotEmpty(t, m.Description(), m)
		status, stdout, stderr := call(t, "methods", m.String())
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, m.Description())
	}
	_, stdout, _ = call(t, "methods", "gbt", "--preset", "fast")
	require.Contains(t, stdout, `"epochs": 30`)
	_, stdout, _ = call(t, "methods", "saot")
	require.Contains(t, stdout, "saot run --help")
	status, _, stderr = call(t, "methods", "gtb")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, `unknown method "gtb"`)
}
