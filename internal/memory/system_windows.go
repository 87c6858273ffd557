package memory

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// counters is PROCESS_MEMORY_COUNTERS of Windows.
type counters struct {
	size, faults     uint32
	peak, workingSet uintptr
	pools            [4]uintptr
	committed, most  uintptr
}

var processMemory = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// Peak returns the largest working set that this process has had, in bytes, and 0 where the system does not tell.
func Peak() int64 {
	c := counters{size: uint32(unsafe.Sizeof(counters{}))}
	done, _, _ := processMemory.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&c)), uintptr(c.size))
	if done == 0 {
		return 0
	}
	return int64(c.peak)
}
