package continual

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeakBytesGrows(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process its peak")
	}
	const size = 256 << 20
	before := peakBytes()
	require.Positive(t, before)
	held := make([]byte, before+size)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	require.Greater(t, peakBytes(), before+size/2)
	runtime.KeepAlive(held)
}
