package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// brokenLibraries makes files that are no usable plugin, by what is wrong with them.
func brokenLibraries(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o755))
		return path
	}
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	broken := map[string]string{
		"absent":                 filepath.Join(dir, "absent.so"),
		"a folder":               dir,
		"empty":                  write("empty.so", nil),
		"a text":                 write("text.so", []byte("<html>404</html>")),
		"another program":        write("program.so", program),
		"a truncated program":    write("half.so", program[:len(program)/2]),
		"an ELF header, no more": write("header.so", program[:64]),
	}
	if needy := libraryWithoutItsDependency(t, dir); needy != "" {
		broken["a dependency missing"] = needy
	}
	for _, candidate := range engine.Survey() {
		if candidate.Spec == "xla:cpu" && candidate.Missing == "" {
			whole, err := os.ReadFile(candidate.Library)
			require.NoError(t, err)
			broken["half a plugin"] = write("pjrt_c_api_cpu_half_plugin.so", whole[:len(whole)/2])
			broken["a plugin without its end"] = write("pjrt_c_api_cpu_end_plugin.so", whole[:len(whole)-5000])
		}
	}
	return broken
}

// libraryWithoutItsDependency builds a library that is whole and exports what a plugin does, but needs one that is
// gone. It returns nothing on a machine without a C compiler.
func libraryWithoutItsDependency(t *testing.T, dir string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		return ""
	}
	source, dependency, library := filepath.Join(dir, "a.c"), filepath.Join(dir, "libgone.so"),
		filepath.Join(dir, "libneedy.so")
	require.NoError(t, os.WriteFile(source, []byte("int gone(void) { return 1; }"), 0o644))
	require.NoError(t, exec.Command(cc, "-shared", "-fPIC", "-o", dependency, source).Run())
	require.NoError(t, os.WriteFile(source, []byte("int gone(void); int GetPjrtApi(void) { return gone(); }"),
		0o644))
	require.NoError(t, exec.Command(cc, "-shared", "-fPIC", "-o", library, source, dependency).Run())
	require.NoError(t, os.Remove(dependency))
	return library
}
