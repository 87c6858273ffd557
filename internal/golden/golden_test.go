package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSameText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	require.ErrorIs(t, SameText(path, "one\ntwo\n", false), os.ErrNotExist)
	require.NoError(t, SameText(path, "one\ntwo\n", true))
	require.NoError(t, SameText(path, "one\ntwo\n", false))
	require.ErrorContains(t, SameText(path, "one\n2\n", false), "page.md:2 is old:\n- two\n+ 2")
	require.ErrorContains(t, SameText(path, "one\ntwo\n\nmore", false), "page.md:4 is old:\n- (the end)\n+ more")
	require.NoError(t, SameText(path, "one\ntwo\n", false), "a comparison writes nothing")
}
