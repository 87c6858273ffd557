package nb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
)

func TestShowOutsideANotebook(t *testing.T) {
	f, err := plotting.Matrix([][]float64{{50}}, plotting.MatrixOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, nb.Show(f), nb.ErrNoNotebook)
	require.ErrorContains(t, nb.Show(plotting.Figure{}), "empty")
}
