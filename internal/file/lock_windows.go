package file

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock of a path if nobody holds it, and returns nil where somebody does: the lock is an open file
// that nobody else may open. Windows closes and removes it when its process ends, however it ends, so that a lock is
// never stale.
func tryLock(path string) (*Lock, error) {
	if err := checkOwn(path); err != nil {
		return nil, err
	}
	f, err := open(path, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE, 0, windows.OPEN_ALWAYS,
		windows.FILE_FLAG_DELETE_ON_CLOSE|windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) && isGoing(path) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Lock{file: f, path: path}, nil
}

// isGoing reports whether a file is to be removed when the last program that has it open, such as a virus scanner,
// closes it. Until then Windows tells nothing of it. In a folder that cannot be written there is no such file.
func isGoing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrPermission)
}

// unname does nothing: the name goes when the file is closed.
func (l *Lock) unname() {}

// held tries to read the file of a path's lock, which its holder prevents.
func held(path string) (bool, error) {
	const all = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	f, err := open(path, windows.GENERIC_READ, all, windows.OPEN_EXISTING, 0)
	switch {
	case err == nil:
		return false, f.Close()
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION):
		return true, nil
	}
	return true, err
}

// open opens a file as CreateFile of Windows does.
func open(path string, access, share, create, flags uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := windows.CreateFile(name, access, share, nil, create, windows.FILE_ATTRIBUTE_NORMAL|flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
