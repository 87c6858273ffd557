package experiment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// The methods still have every setting that the committed results name. One that is renamed needs its old name in
// continual.CurrentNames.
func TestCommittedResultsHaveCurrentSettings(t *testing.T) {
	results, err := continual.ReadResults("../../results")
	require.NoError(t, err)
	require.NotEmpty(t, results)
	for _, r := range results {
		var f settingsFile
		require.NoError(t, json.Unmarshal(r.Result.Config, &f), r.Path)
		require.NoError(t, new(Settings).from(&f, true), r.Path)
	}
}
