package file

import (
	"fmt"
	"io"
	"os"
)

// Open opens a file for reading, and follows symbolic links. It returns an error for a pipe or a device: reading from
// one may never end, and opening a pipe waits for a writer.
func Open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.Open(path)
}

// Read returns the content of a file that Open accepts. It returns an error if the file has more than most bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %.4g MiB", path, float64(most)/(1<<20))
	}
	return data, err
}
