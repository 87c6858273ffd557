package main

import (
	"fmt"
	"slices"

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

// fetchMissing fetches the datasets of runs that are not in the data folder.
func (o *sweepOptions) fetchMissing(cmd *cobra.Command, runs []experiment.Run) error {
	var names []string
	for i := range runs {
		if name := runs[i].Dataset; !datasets.IsPath(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 { // of no name, openEntries returns all
		return nil
	}
	store, entries, err := openEntries(o.data, names)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, store.Ready)
	_, err = fetchAll(cmd, store, entries)
	return err
}
