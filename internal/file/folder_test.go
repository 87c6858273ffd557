package file

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func folder(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, Write(filepath.Join(path, "content"), []byte(content)))
}

func requireContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(path, "content"))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func TestReplaceFolder(t *testing.T) {
	dir := t.TempDir()
	place, next := filepath.Join(dir, "place"), filepath.Join(dir, "next")
	for _, content := range []string{"first", "second"} {
		folder(t, next, content)
		require.NoError(t, ReplaceFolder(place, next))
		requireContent(t, place, content)
	}
	require.ErrorIs(t, ReplaceFolder(place, next), fs.ErrNotExist)
	requireContent(t, place, "second")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// What a kill leaves at each step goes, and the place has a whole folder.
func TestTidyFolder(t *testing.T) {
	for name, there := range map[string][]string{"while it is made": {"place", "next"},
		"between the renames": {"next", "next.old"}, "before the old one is removed": {"place", "next.old"},
		"never": {"place"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, n := range there {
				folder(t, filepath.Join(dir, n), n)
			}
			place := filepath.Join(dir, "place")
			require.NoError(t, TidyFolder(place, filepath.Join(dir, "next")))
			want := "place"
			if name == "between the renames" {
				want = "next.old"
			}
			requireContent(t, place, want)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1)
		})
	}
	dir := t.TempDir()
	require.NoError(t, TidyFolder(filepath.Join(dir, "place"), filepath.Join(dir, "next")), "there may be nothing")
}

func TestReaderStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := Reader(ctx, strings.NewReader("abc"))
	part := make([]byte, 1)
	n, err := r.Read(part)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	cancel()
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, context.Canceled)
	_, err = SHA256Context(ctx, "folder_test.go")
	require.ErrorIs(t, err, context.Canceled)
}
