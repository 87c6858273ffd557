package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/playground/viewer"
	"github.com/saot-go/saot/saot/continual/record"
)

const recordingPage = "recording.html" // in the run folder

// writeRecordingPage makes a page of the recordings in one run folder or two, and returns its path.
func writeRecordingPage(ctx context.Context, output string, dirs []string) (string, error) {
	output = cmp.Or(output, filepath.Join(dirs[0], recordingPage))
	if err := pageProduct.refuse(output); err != nil {
		return "", err
	}
	page, err := interruptible(ctx, "recordings were read", func() ([]byte, error) { return pageOfRecordings(dirs) })
	if err != nil {
		return "", err
	}
	return output, file.Write(output, page)
}

func pageOfRecordings(dirs []string) ([]byte, error) {
	var runs []viewer.Run
	var names []string
	for _, dir := range dirs {
		r, err := readRecording(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, viewer.Run{Name: viewer.Name(r), Recording: r})
		names = append(names, viewer.Name(r))
	}
	return viewer.Page(strings.Join(names, " · "), runs...)
}

func readRecording(dir string) (*record.Recording, error) {
	r, err := record.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no recording: run again with saot run --record N", dir)
	}
	return r, err
}
