package install

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/internal/file"
)

// leftOut lists the endings of files that no library needs.
var leftOut = []string{".py", ".pyi", ".pyc", ".h", ".hpp", ".a"}

// unpack writes the files of a wheel, a zip archive whose content is known, below a folder.
func unpack(ctx context.Context, archive, folder string) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%s: no wheel: %w", filepath.Base(archive), err)
	}
	defer func() { _ = reader.Close() }() // opened for reading only
	for _, f := range reader.File {
		if err := extract(ctx, f, folder); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
	}
	return nil
}

func extract(ctx context.Context, packed *zip.File, folder string) error {
	name := filepath.FromSlash(packed.Name)
	if !packed.Mode().IsRegular() || slices.Contains(leftOut, path.Ext(packed.Name)) {
		return nil
	}
	if !filepath.IsLocal(name) {
		return fmt.Errorf("a file would land outside of the folder: %q", packed.Name)
	}
	target := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	content, err := packed.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read; a bad checksum shows in the last Read
	f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, packed.Mode().Perm()&0o755|0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, file.Reader(ctx, content))
	return errors.Join(err, f.Close())
}
