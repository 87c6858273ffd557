package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

func TestLoosePlans(t *testing.T) {
	r := &continual.Result{Tasks: []continual.TaskReport{
		{Diagnostics: map[string]float64{"marginal_error": 1e-3, "graph_marginal_error": 9e-3}}, {},
	}}
	require.Empty(t, loosePlans(r))
	r.Tasks[1].Diagnostics = map[string]float64{"marginal_error": 0.02, "graph_marginal_error": 0.125}
	require.Equal(t, "\nnote: transport plans missed their marginals by up to 0.12 of a mass of 1 "+
		"(graph_marginal_error, task 2): raise epsilon or gromov_sweeps.\n", loosePlans(r))
	r.Tasks[1].Diagnostics["distillation_marginal_error"] = 0.5
	require.Contains(t, loosePlans(r), "(distillation_marginal_error, task 2): raise epsilon or sweeps.\n")
}

// Settings that float32 cannot carry say so instead of scores that mean nothing.
func TestNumericNonsense(t *testing.T) {
	run := func(more ...string) (int, string, string) {
		return call(t, small(append(more, "--probe", "converged", "--out", filepath.Join(t.TempDir(), "run"))...)...)
	}
	status, stdout, _ := run("--epsilon", "1e-2")
	require.Zero(t, status)
	require.Contains(t, stdout, "note: transport plans missed their marginals")
	status, stdout, _ = run()
	require.Zero(t, status)
	require.NotContains(t, stdout, "marginals")
	status, _, stderr := run("--epsilon", "1e-7")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "the transport plan of the distillation is not valid")
	status, _, stderr = run("--epsilon", "1e-9")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "raise epsilon (1e-09)")
	status, _, stderr = run("--alpha", "1e22")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "the weights of the losses (alpha, beta)")
}
