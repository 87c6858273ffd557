package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/experiment"
)

// fetchAll fetches the files of entries that are not there yet, and shows how far it is.
func fetchAll(
	cmd *cobra.Command, store datasets.Store, entries []datasets.Entry,
) (got []datasets.FileStatus, err error) {
	bar := newTransfer(cmd.ErrOrStderr())
	store.Progress = bar.follow
	store.Waiting = func(file string) {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: another process is downloading it: waiting for that\n", file)
	}
	for _, e := range entries {
		if len(e.Files) > 0 {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s; license: %s; cite: %s\n", e.Name, total(e),
				e.License, e.Citation)
		}
		all, err := store.Get(cmd.Context(), e)
		bar.stop()
		if err != nil {
			return nil, err
		}
		got = append(got, all...)
	}
	return got, nil
}

// fetchMissing fetches the datasets of the chosen runs that are not in the data folder.
func (o *sweepOptions) fetchMissing(cmd *cobra.Command, runs []experiment.Run) error {
	s := &experiment.Sweep{Runs: runs}
	if err := o.choose(s); err != nil {
		return err
	}
	store, entries, err := missing(o.data, s.Runs)
	if err != nil || len(entries) == 0 {
		return err
	}
	_, err = fetchAll(cmd, store, entries)
	return err
}

// missing returns the datasets of the runs whose files are not in the data folder.
func missing(dir string, runs []experiment.Run) (store datasets.Store, entries []datasets.Entry, err error) {
	var names []string
	for i := range runs {
		if name := runs[i].Dataset; !datasets.IsPath(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 { // of no name, openEntries returns all
		return store, nil, nil
	}
	store, entries, err = openEntries(dir, names)
	return store, slices.DeleteFunc(entries, store.Ready), err
}

// checkData returns an error if the data of a numbered run are missing: the run would fail.
func (o *sweepOptions) checkData(s *experiment.Sweep, numbers []int) error {
	var runs []experiment.Run
	for _, i := range numbers {
		r, err := experiment.ReadRun(s.Folder(i))
		if err != nil { // there is none yet, or the run says what is wrong with it
			r = &s.Runs[i]
		} else if o.data == "" && r.Data != "" { // the run looks there first
			continue
		}
		if datasets.IsPath(r.Dataset) {
			if _, err := os.Stat(r.Dataset); err != nil {
				return fmt.Errorf("the sweep has runs on %s: %w", r.Dataset, err)
			}
		}
		runs = append(runs, *r)
	}
	store, entries, err := missing(o.data, runs)
	if err != nil || len(entries) == 0 {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return fmt.Errorf("the folder %s lacks files of %s: name their folder with --data, or fetch them first with "+
		"--fetch", store.Dir, strings.Join(names, ", "))
}

// findDatasets looks for the datasets of the flag, and makes their paths absolute. Those for Kubernetes are the
// containers'.
func (o *sweepOptions) findDatasets() error {
	for i, name := range o.datasets {
		var err error
		switch {
		case !datasets.IsPath(name):
			_, err = datasets.Lookup(name)
		case o.launcher != experiment.Kubernetes:
			if _, err = os.Stat(name); err == nil {
				o.datasets[i], err = filepath.Abs(name)
			}
		case !path.IsAbs(name):
			err = fmt.Errorf("%s is not a path of the containers, which begins with /", name)
		}
		if err != nil {
			return usageError{fmt.Errorf("--dataset: %w", err)}
		}
	}
	return nil
}

// datasetNames are those of --dataset as the name of a folder has them.
func (o *sweepOptions) datasetNames() (names []string) {
	for _, name := range o.datasets {
		if datasets.IsPath(name) {
			name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		names = append(names, experiment.FileName(name))
	}
	return names
}
