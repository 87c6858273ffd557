package memory

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const peakEnv = "SAOT_TEST_PEAK"

// The process that grows is one of its own: the tests' peak may be gigabytes.
func TestPeakGrows(t *testing.T) {
	if !slices.Contains(telling, runtime.GOOS) {
		t.Skip("this system does not tell a process its peak")
	}
	if os.Getenv(peakEnv) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestPeakGrows$")
		child.Env = append(os.Environ(), peakEnv+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	const size = 64 << 20
	before := Peak()
	require.Positive(t, before)
	held := make([]byte, before+size)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	require.Greater(t, Peak(), before+size/2)
	require.Less(t, Peak(), Total())
	runtime.KeepAlive(held)
}
