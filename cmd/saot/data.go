package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/saot-go/saot/datasets"
)

func newDataCommand() *cobra.Command {
	var dir string
	cmd := group("data", "fetch, describe and check the datasets",
		`Fetch public datasets into the data folder, where saot run finds them; describe them; check that their
files are still what they were. Without network, download a file with a browser and import it.

Every file is checked by its published checksum. Where none was ever published, the checksum of the first fetch is
recorded in checksums.json in the data folder and checked from then on.`,
		newDataListCommand(&dir), newDataGetCommand(&dir), newDataInfoCommand(&dir),
		newDataImportCommand(&dir), newDataVerifyCommand(&dir), newDataSplitCommand(&dir))
	cmd.PersistentFlags().StringVar(&dir, "data", "", "data folder; default: $SAOT_DATA, else saot/data in your cache")
	return cmd
}

// openEntries returns the data folder that a flag names, and the entries of names, or all entries if there are no
// names.
func openEntries(dir string, names []string) (store datasets.Store, entries []datasets.Entry, err error) {
	if len(names) == 0 {
		entries = datasets.Catalog()
	}
	for _, name := range names {
		if datasets.IsPath(name) {
			return store, nil, usagef("%s is a path, want a name that saot data list shows: "+
				"saot data split --dataset %s shows a graph of yours", name, name)
		}
		e, err := datasets.Lookup(name)
		if err != nil {
			return store, nil, usageError{err}
		}
		entries = append(entries, e)
	}
	if dir == "" {
		dir, err = datasets.DefaultDir()
	}
	return datasets.Store{Dir: dir}, entries, err
}

func newDataListCommand(dir *string) *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the datasets, one per line",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, entries, err := openEntries(*dir, nil)
			if err != nil {
				return err
			}
			var all []datasetJSON
			for _, e := range entries {
				all = append(all, datasetAsJSON(store, e))
			}
			return p.print(cmd.OutOrStdout(), all, func(out io.Writer) error {
				t := newTable(out, 0)
				t.say("NAME\tNODES\tCLASSES\tTASKS\tPRESENT\tWHAT")
				for _, d := range all {
					t.say("%s\t%s\t%s\t%s\t%s\t%s", d.Name, figure(d.True.Nodes), figure(d.True.Classes),
						figure(d.True.Tasks), d.Present, d.Title)
				}
				return t.Flush()
			})
		},
	}
	return p.flag(cmd)
}

type datasetJSON struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Layout   string          `json:"layout"`
	Present  string          `json:"present"`
	StandIn  string          `json:"stand_in_for,omitempty"`
	License  string          `json:"license"`
	Citation string          `json:"citation"`
	Note     string          `json:"note"`
	True     datasets.Stats  `json:"real"`
	Paper    datasets.Stats  `json:"paper"`
	Appendix datasets.Stats  `json:"paper_appendix"`
	Files    []datasets.File `json:"files"`
}

func datasetAsJSON(store datasets.Store, e datasets.Entry) datasetJSON {
	return datasetJSON{Name: e.Name, Title: e.Title, Layout: e.Layout.String(), Present: presence(store, e),
		StandIn: e.StandIn, License: e.License, Citation: e.Citation, Note: e.Note, True: e.True, Paper: e.Paper,
		Appendix: e.Appendix, Files: append([]datasets.File{}, e.Files...)}
}

func presence(store datasets.Store, e datasets.Entry) string {
	files, folder := store.Present(e)
	switch {
	case len(e.Files) == 0:
		return "generated"
	case folder:
		return "as a folder"
	case files == len(e.Files):
		return "yes"
	case files > 0:
		return fmt.Sprintf("%d of %d files", files, len(e.Files))
	case store.Ready(e):
		return "as " + e.StandIn
	}
	return "no"
}

// figure writes a number with commas, and 0 as a dash.
func figure[T int | int64](n T) string {
	if n == 0 {
		return "-"
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func size(n int64) string {
	switch {
	case n <= 0:
		return "of unknown size"
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}

func newDataInfoCommand(dir *string) *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:     "info NAME",
		Short:   "describe a dataset: its true sizes and the paper's, its files and its license",
		Example: "  saot data info cora-full",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, entries, err := openEntries(*dir, args)
			if err != nil {
				return err
			}
			return p.print(cmd.OutOrStdout(), datasetAsJSON(store, entries[0]), func(out io.Writer) error {
				return describe(out, store, entries[0])
			})
		},
	}
	return p.flag(cmd)
}

func describe(out io.Writer, store datasets.Store, e datasets.Entry) error {
	t := newTable(out, 0)
	say := t.say
	say("%s: %s\n", e.Name, e.Title)
	say("\tpaper, Table 1\tpaper, appendix\treal files")
	row := func(name string, of func(datasets.Stats) string) {
		say("%s\t%s\t%s\t%s", name, of(e.Paper), of(e.Appendix), of(e.True))
	}
	row("nodes", func(s datasets.Stats) string { return figure(s.Nodes) })
	row("edges", func(s datasets.Stats) string { return figure(s.Edges) })
	row("as stored", func(s datasets.Stats) string { return figure(s.Entries) })
	row("features", func(s datasets.Stats) string { return figure(s.Columns) })
	row("classes", func(s datasets.Stats) string { return figure(s.Classes) })
	row("tasks", func(s datasets.Stats) string { return figure(s.Tasks) })
	say("(edges of the real files: undirected, without duplicates and self-loops)\n")
	if e.Note != "" {
		say("note: %s", e.Note)
	}
	say("license: %s", e.License)
	if e.Citation != "" {
		say("cite: %s", e.Citation)
	}
	say("layout: %s", e.Layout)
	say("present: %s, in %s", presence(store, e), store.Dir)
	for _, f := range e.Files {
		say("file: %s, %s, %s", f.Name, size(f.Bytes), identity(f))
		for _, address := range f.URLs {
			say("  from %s", address)
		}
	}
	return t.Flush()
}

func identity(f datasets.File) string {
	switch {
	case f.SHA256 != "":
		return "SHA-256 " + f.SHA256
	case f.GitBlob != "":
		return "git blob " + f.GitBlob
	case len(f.URLs) == 0:
		return "not published in this form"
	}
	return "checksum recorded at the first fetch"
}

func newDataGetCommand(dir *string) *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:   "get NAME...",
		Short: "fetch datasets into the data folder and check them",
		Long: `Fetch the files of datasets that are not there yet, from the first mirror that has them. A download
that breaks off is resumed, now or by the next get. A file whose checksum is known appears under its
final name only after the checksum has matched.`,
		Example: `  saot data get cora-full
  saot data get ogbn-arxiv reddit --data ~/graphs`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, entries, err := openEntries(*dir, args)
			if err != nil {
				return err
			}
			got, err := fetchAll(cmd, store, entries)
			if err != nil {
				return err
			}
			return writeFiles(cmd.OutOrStdout(), &p, store, got)
		},
	}
	return p.flag(cmd)
}

func total(e datasets.Entry) string {
	var sum int64
	for _, f := range e.Files {
		if f.Bytes == 0 {
			return size(0)
		}
		sum += f.Bytes
	}
	return size(sum)
}

type fileStatusJSON struct {
	Dataset string `json:"dataset"`
	State   string `json:"state"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Detail  string `json:"detail"`
}

func writeFiles(out io.Writer, p *printed, store datasets.Store, all []datasets.FileStatus) error {
	files := []fileStatusJSON{}
	for _, s := range all {
		files = append(files, fileStatusJSON{s.Dataset, s.State.String(), store.Path(datasets.File{Name: s.File}),
			s.Bytes, s.SHA256, s.Detail})
	}
	return p.print(out, files, func(out io.Writer) error {
		t := newTable(out, 0)
		for _, f := range files {
			detail := f.Detail
			if f.SHA256 != "" {
				detail = strings.TrimPrefix(detail+"; SHA-256 "+f.SHA256, "; ")
			}
			t.say("%s\t%s\t%s\t%s", f.Dataset, f.State, f.Path, detail)
		}
		return t.Flush()
	})
}

func newDataImportCommand(dir *string) *cobra.Command {
	trust := false
	var p printed
	cmd := &cobra.Command{
		Use:   "import NAME PATH",
		Short: "take a file that was downloaded by hand into the data folder",
		Long: `Copy a file of a dataset, or a folder that holds its files, into the data folder under the right name.
The copy is checked by its checksum, or, where none is known, by reading it with the dataset's other files; while some
that are needed are missing it stays unrecorded. The original is left alone. saot data info NAME says where to download
it.`,
		Example: `  saot data import ogbn-arxiv ~/Downloads/arxiv.zip
  saot data import flickr ~/Downloads/flickr         a folder of its four files
  saot data import cora-ml mine.npz --trust          a different file, if it can be read`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, entries, err := openEntries(*dir, args[:1])
			if err != nil {
				return err
			}
			all, err := store.Import(cmd.Context(), entries[0], args[1], trust)
			if end := cmd.Context().Err(); err != nil && end != nil {
				return interrupted{end, "interrupted: the same command imports the rest"}
			}
			if err != nil {
				return err
			}
			return writeFiles(cmd.OutOrStdout(), &p, store, all)
		},
	}
	cmd.Flags().BoolVar(&trust, "trust", false, "take a file that is not the published one if it can be read")
	return p.flag(cmd)
}

func newDataVerifyCommand(dir *string) *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "read the files that are there and check them; exit status 1 if one is wrong",
		Long: `Read every file of the named datasets, or of all, and say what it is: published (the publisher's
bytes), known copy, recorded (what came at the first fetch or import), unrecorded (nothing to compare with), wrong,
missing.`,
		Example: "  saot data verify\n  saot data verify cora-ml coauthor-cs",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, entries, err := openEntries(*dir, args)
			if err != nil {
				return err
			}
			if *dir != "" && !exists(*dir) {
				return fmt.Errorf("the data folder %s does not exist: name another with --data", *dir)
			}
			all, unread := store.Verify(cmd.Context(), entries)
			if err := cmd.Context().Err(); err != nil {
				return interrupted{err, "interrupted while files were checked"}
			}
			if unread != nil && len(all) == 0 {
				return unread
			}
			if err := writeFiles(cmd.OutOrStdout(), &p, store, all); err != nil {
				return err
			}
			return errors.Join(unread, wrong(all))
		},
	}
	return p.flag(cmd)
}

func wrong(all []datasets.FileStatus) error {
	var names []string
	for _, s := range all {
		if s.State == datasets.Wrong {
			names = append(names, s.File)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("wrong files: %s: move them away and run saot data get, or take them as they are with saot "+
		"data import NAME FILE --trust", strings.Join(names, ", "))
}

// transfer is the progress bar of downloads, on a terminal only.
type transfer struct {
	out  io.Writer // nil where nothing is shown
	bar  *progressbar.ProgressBar
	file string
	max  int64
}

func newTransfer(out io.Writer) *transfer {
	if isTerminal(out) {
		return &transfer{out: out}
	}
	return &transfer{}
}

func (t *transfer) follow(file string, done, total int64) {
	if t.out == nil {
		return
	}
	if t.bar == nil || t.file != file || t.max != total {
		t.stop()
		t.file, t.max = file, total
		t.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(t.out), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(24), progressbar.OptionSetDescription(file), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetSpinnerChangeInterval(0)) // else one of unknown length draws on after stop
	}
	_ = t.bar.Set64(done) // a picture that cannot be drawn does not matter
}

func (t *transfer) stop() {
	if t.bar != nil {
		_ = t.bar.Clear()
		t.bar = nil
	}
}
