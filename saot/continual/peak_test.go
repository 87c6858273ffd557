package continual

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

const peakEnv = "SAOT_TEST_PEAK"

// The process that grows is one of its own: the tests' peak may be gigabytes.
func TestPeakBytesGrows(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process its peak")
	}
	if os.Getenv(peakEnv) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestPeakBytesGrows$")
		child.Env = append(os.Environ(), peakEnv+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	const size = 64 << 20
	before := peakBytes()
	require.Positive(t, before)
	held := make([]byte, before+size)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	require.Greater(t, peakBytes(), before+size/2)
	runtime.KeepAlive(held)
}
