package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// eachFile calls visit for every regular file of a zip archive.
func eachFile(archive string, visit func(name string, mode os.FileMode, content io.Reader) error) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%s: no wheel: %w", filepath.Base(archive), err)
	}
	defer func() { _ = reader.Close() }() // opened for reading only
	for _, f := range reader.File {
		if !f.Mode().IsRegular() {
			continue
		}
		content, err := f.Open()
		if err == nil {
			err = errors.Join(visit(f.Name, f.Mode(), content), content.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
	}
	return nil
}
