package file

import "os"

// OpenOwn opens a file to write in place, with permissions 0644 where the flags create it. It fails where the path is a
// symbolic link, on systems that can tell: in a folder of somebody else it may lead to any file of the user.
func OpenOwn(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|noFollow, 0o644)
}
