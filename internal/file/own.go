package file

import (
	"fmt"
	"os"
)

// OpenOwn opens a file to write in place, with permissions 0644 where the flags create it. It refuses a symbolic link,
// which in a folder of somebody else may lead to any file of the user, and whatever else is no regular file.
func OpenOwn(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a symbolic link, which is not followed: remove it", path)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file", path)
		}
	}
	return os.OpenFile(path, flags|noFollow, 0o644) // there may be a link by now
}
