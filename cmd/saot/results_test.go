package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables in docs/results.md are what the results beside it say.
func TestResultsDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/results.md")
	require.NoError(t, err)
	status, tables, stderr := call(t, "table", "../../docs/results")
	require.Zero(t, status, stderr)
	_, rest, ok := strings.Cut(string(document), "<!-- table -->\n")
	require.True(t, ok)
	inside, _, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	require.Equal(t, tables, inside, "paste what go run ./cmd/saot table docs/results prints between the markers")
}

// The paper's rows need no folder; beside a folder, they are those of its methods, in every format.
func TestTableFlags(t *testing.T) {
	status, stdout, stderr := call(t, "table", "--paper")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "| TRACE | 71.2 ± 0.2 |")
	status, stdout, stderr = call(t, "table", "--paper", "../../docs/results", "--format", "csv")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "CoraFull-CL,saot-cosine,w/ Cosine,class-il")
	require.NotContains(t, stdout, "trace")

	status, stdout, stderr = call(t, "table", "../../docs/results", "--only", "method=saot-mse", "--only", "dataset=uai", "--format", "html")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "<th>saot-mse</th>")
	require.NotContains(t, stdout, "cora-ml")

	status, _, stderr = call(t, "table", "../../docs/results", "--format", "pdf")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "md, csv, latex, html")
	status, _, stderr = call(t, "table", "../../docs/results", "--only", "split=00")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "no run has split=00")
}

// flatten adds the leaves of a JSON object as path → text.
func flatten(into map[string]string, prefix string, value json.RawMessage) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil || object == nil {
		text, err := json.Marshal(value) // compact
		into[strings.TrimSuffix(prefix, ".")] = string(text)
		return err
	}
	for name, field := range object {
		if err := flatten(into, prefix+name+".", field); err != nil {
			return err
		}
	}
	return nil
}
