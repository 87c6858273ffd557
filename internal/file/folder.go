package file

import (
	"errors"
	"io/fs"
	"os"
)

// oldFolder is where ReplaceFolder keeps the folder that it replaces by next until it is done.
func oldFolder(next string) string { return next + ".old" }

// ReplaceFolder replaces a folder, which may be absent, by the folder next. If that fails, the old one stays. Both are
// on one file system. TidyFolder repairs the folders after a process was killed in the middle.
func ReplaceFolder(folder, next string) error {
	old := oldFolder(next)
	err := move(folder, old)
	if errors.Is(err, fs.ErrNotExist) {
		return move(next, folder)
	}
	if err != nil {
		return err
	}
	if err := move(next, folder); err != nil {
		return errors.Join(err, move(old, folder))
	}
	_ = os.RemoveAll(old) // the new one serves, whether or not the old one can be removed
	return nil
}

// TidyFolder removes what a process left when it was killed while it made or moved next. If folder is missing, it puts
// the replaced one back. No process may work on the folders meanwhile.
func TidyFolder(folder, next string) error {
	old := oldFolder(next)
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := move(old, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(os.RemoveAll(old), os.RemoveAll(next))
}
