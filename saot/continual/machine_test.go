package continual

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachine(t *testing.T) {
	const info = "processor\t: 0\nvendor_id\t: Intel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon: a\n\n" +
		"processor\t: 1\nmodel\t\t: 99\n"
	require.Equal(t, "Xeon: a, family 6, model 85", processorIn(strings.NewReader(info)))
	require.Empty(t, processorIn(strings.NewReader("processor : 0\nBogoMIPS : 50\n")))
	const arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
	require.Equal(t, "implementer 0x41, part 0xd0c", processorIn(strings.NewReader(arm)))

	require.Equal(t, "Xeon, avx2, 2 threads", Machine{"linux/amd64", "Xeon", "avx2", 2}.String())
	require.Equal(t, "Xeon, 1 thread", Machine{"linux/amd64", "Xeon", "", 1}.String())
	require.Equal(t, "darwin/arm64, 8 threads", Machine{System: "darwin/arm64", Threads: 8}.String())
	require.Empty(t, Machine{}.String())

	here := machine()
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, here.System)
	require.Positive(t, here.Threads)
	require.True(t, here.like(Machine{}), "an early result does not say")
	more := here
	more.Threads++
	require.True(t, here.like(more), "threads change no figure")
	more.Processor = ""
	require.True(t, here.like(more))
	here.Processor, more.Processor = "a", "b"
	require.False(t, here.like(more))
}
