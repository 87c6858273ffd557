package file

import (
	"fmt"
	"os"
)

// OpenOwn opens a file to write in place, with permissions 0644 where the flags create it. It returns an
// error for a symbolic link, which may lead to any of the user's files, and for a pipe or a device.
func OpenOwn(path string, flags int) (*os.File, error) {
	if err := checkOwn(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags|noFollow, 0o644) // a link may have appeared since
}

// checkOwn returns an error for what OpenOwn refuses.
func checkOwn(path string) error {
	if info, err := os.Lstat(path); err == nil {
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, which is not followed: remove it", path)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", path)
		}
	}
	return nil
}
