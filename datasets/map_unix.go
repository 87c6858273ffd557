//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datasets

import (
	"os"
	"syscall"
)

// mapFile maps a file's first bytes into memory, read-only and shared with other processes. The mapping outlives f.
func mapFile(f *os.File, bytes int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, bytes, syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(data []byte) error { return syscall.Munmap(data) }
