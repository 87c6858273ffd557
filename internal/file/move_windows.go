package file

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long move tries: a reader or a virus scanner has a file open for less.
const patience = 2 * time.Second

// move renames a file. Windows replaces none that somebody has open, so move tries until it is closed.
func move(from, to string) error {
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := os.Rename(from, to)
		open := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !open || time.Now().After(until) {
			return err
		}
	}
}
