package engine

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// checkLibrary returns an error if the file cannot be the shared library that exports symbol: missing, truncated, of
// another machine or another library. The loader is not asked, because it maps a truncated file and dies of SIGBUS.
// Outside Linux only the file's presence is checked.
func checkLibrary(path, symbol string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	case info.IsDir():
		return errors.New("is a folder, not a library")
	case runtime.GOOS != "linux":
		return nil
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("truncated, or no shared library: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, known := machines[runtime.GOARCH]; known && file.Machine != want {
		return fmt.Errorf("built for %v, this machine is %v", file.Machine, want)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD && segment.Off+segment.Filesz > uint64(info.Size()) {
			return errors.New("truncated: a segment ends after the file")
		}
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("no shared library: %w", err)
	}
	for _, s := range symbols {
		if s.Name == symbol && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return fmt.Errorf("another library: it does not export %s", symbol)
}
