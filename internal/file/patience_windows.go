package file

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long patiently tries: a reader or a virus scanner has a file open for less.
const patience = 2 * time.Second

// patiently renames or removes a file. Windows does neither to a file that is open, so it tries until it is closed.
func patiently(do func() error) error {
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := do()
		open := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !open || time.Now().After(until) {
			return err
		}
	}
}
