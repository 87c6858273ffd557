package playground

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Outside the repository and offline, the error has the go command's reason and says what to do.
func TestSourcesThatAreNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	_, err := download(t.Context(), "v0.0.0-20200101000000-abcdefabcdef")
	require.ErrorContains(t, err, "module lookup disabled by GOPROXY=off")
	require.ErrorContains(t, err, "run saot within its repository")
	require.NotContains(t, err.Error(), "\n")
	_, err = ask(t.Context(), "list", "-m", path)
	require.ErrorContains(t, err, "go list -m "+path)
}
