//go:build darwin || windows

package memory

import "github.com/shirou/gopsutil/v4/mem"

// Total returns the bytes of the machine's memory. It is 0 where the system does not tell.
func Total() int64 {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return int64(m.Total)
}

// Available returns the bytes of the machine's memory that are free or hold copies of files; on macOS also those that
// no program has used lately, which it compresses. It is 0 where the system does not tell.
func Available() int64 {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return int64(m.Available)
}
