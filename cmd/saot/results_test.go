package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables in docs/results.md are what the results beside it say.
func TestResultsDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/results.md")
	require.NoError(t, err)
	groups, err := collect([]string{"../../docs/results"})
	require.NoError(t, err)
	var tables strings.Builder
	require.NoError(t, writeTables(&tables, groups))
	require.Contains(t, string(document), tables.String(), "run: go run ./cmd/saot table docs/results")
}
