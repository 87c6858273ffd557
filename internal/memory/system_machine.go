//go:build darwin || windows

package memory

import "github.com/shirou/gopsutil/v4/mem"

// machine returns the bytes of the machine's memory, and of those that are free or hold what can be dropped. Both are 0
// where the system does not tell.
func machine() (total, free int64) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, 0
	}
	return int64(m.Total), int64(m.Available)
}
