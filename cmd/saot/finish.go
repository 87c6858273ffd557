package main

import (
	"path/filepath"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// finish returns what is done at the end of a run in a folder: it draws the run's matrices and removes what killed
// processes left of other files.
func finish(dir string) func(r *continual.Result) error {
	return func(r *continual.Result) error {
		for _, name := range []string{experiment.ConfigFile, matrixFile} {
			if err := file.Tidy(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return draw(r, filepath.Join(dir, matrixFile))
	}
}

func draw(r *continual.Result, path string) error {
	figure, err := plotting.Result(r, plotting.MatrixOptions{})
	if err != nil {
		return err
	}
	return figure.Save(path)
}
