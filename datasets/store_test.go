package datasets

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fixture"
)

// shelf is a server with files that a test may change, and an entry of one npz file that it gives out.
type shelf struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

func (s *shelf) put(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

// newShelf returns a server that has tiny().zip() as /tiny.npz, its entry without any checksum, and an empty data
// folder.
func newShelf(t *testing.T) (*shelf, Entry, Store) {
	s := &shelf{files: map[string][]byte{"/tiny.npz": tiny().zip()}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ds, err := LayoutNPZ.load(save(t, tiny().zip()), Options{})
	require.NoError(t, err)
	e := Entry{Name: "tiny", Layout: LayoutNPZ, Files: []File{{Name: "tiny.npz",
		URLs: []string{server.URL + "/tiny.npz"}}},
		True: Stats{Nodes: int64(ds.Graph.NumNodes()), Classes: ds.NumClasses}}
	return s, e, Store{Dir: filepath.Join(t.TempDir(), "data")}
}

func save(t *testing.T, content []byte) string {
	path := filepath.Join(t.TempDir(), "by-hand.npz")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// left lists the data folder.
func (s Store) left(t *testing.T) []string {
	entries, err := os.ReadDir(s.Dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The first fetch is trusted and recorded; after that nothing else is.
func TestTrustOnFirstUse(t *testing.T) {
	shelf, e, s := newShelf(t)
	var seen []string
	s.Progress = func(file string, _, _ int64) { seen = append(seen, file) }
	got, err := s.Get(t.Context(), e)
	require.NoError(t, err)
	content := tiny().zip()
	require.Equal(t, []FileStatus{{Dataset: "tiny", File: "tiny.npz", State: Recorded, SHA256: sum(content),
		Bytes: int64(len(content))}}, got)
	require.Contains(t, seen, "tiny.npz")
	require.Equal(t, []string{recordsFile, "tiny.npz"}, s.left(t))
	records, err := s.records()
	require.NoError(t, err)
	require.Equal(t, fileRecord{SHA256: sum(content), Bytes: int64(len(content)), Source: e.Files[0].URLs[0]},
		records["tiny.npz"])
	require.Equal(t, Recorded, s.verify(t, e).State)
	_, err = s.open(e, Options{})
	require.NoError(t, err)

	changed := append(tiny().zip(), 0) // a zip may be followed by bytes: it still reads
	require.NoError(t, os.WriteFile(s.Path(e.Files[0]), changed, 0o600))
	status := s.verify(t, e)
	require.Equal(t, Wrong, status.State)
	_, fromOpen := s.open(e, Options{})
	_, fromGet := s.Get(t.Context(), e)
	for _, text := range []string{status.Detail, fromOpen.Error(), fromGet.Error()} {
		require.Contains(t, text, sum(content))
		require.Contains(t, text, sum(changed))
	}
	require.ErrorContains(t, fromGet, ": move it away and run saot data get tiny, or take it as it is with saot data "+
		"import tiny FILE --trust")

	require.NoError(t, os.Remove(s.Path(e.Files[0])))
	shelf.put("/tiny.npz", changed)
	_, err = s.Get(t.Context(), e)
	var wrong *fetch.ChecksumError
	require.ErrorAs(t, err, &wrong, "the publisher changed it")
	require.ErrorContains(t, err, "saot data import tiny FILE")
	require.Equal(t, []string{recordsFile}, s.left(t))
}

// verify returns the state of the entry's first file.
func (s Store) verify(t *testing.T, e Entry) FileStatus {
	all, err := s.Verify(t.Context(), []Entry{e})
	require.NoError(t, err)
	return all[0]
}

// A first fetch that brings another dataset or none is not recorded.
func TestFirstFetchIsRead(t *testing.T) {
	shelf, e, s := newShelf(t)
	shelf.put("/tiny.npz", []byte("Quota exceeded"))
	_, err := s.Get(t.Context(), e)
	require.ErrorContains(t, err, "npz")
	require.ErrorContains(t, err, "removed")
	require.Empty(t, s.left(t))
	shelf.put("/tiny.npz", tiny().zip())
	e.True.Nodes++
	_, err = s.Get(t.Context(), e)
	require.ErrorContains(t, err, "a different dataset")
	require.Empty(t, s.left(t))
}

// A file that lies in the folder already is read too before it is recorded, and stays where it is.
func TestFoundFileIsRead(t *testing.T) {
	_, e, s := newShelf(t)
	require.NoError(t, os.MkdirAll(s.Dir, 0o755))
	require.NoError(t, os.WriteFile(s.Path(e.Files[0]), tiny().zip(), 0o600))
	other := e
	other.True.Nodes++
	_, err := s.Get(t.Context(), other)
	require.ErrorContains(t, err, "a different dataset")
	require.NotContains(t, err.Error(), "mirror")
	require.Equal(t, []string{"tiny.npz"}, s.left(t))
	got, err := s.Get(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, Recorded, got[0].State)
	require.Equal(t, []string{recordsFile, "tiny.npz"}, s.left(t))
}

// A read that the user ends says nothing of the files.
func TestReadIsInterrupted(t *testing.T) {
	_, e, s := newShelf(t)
	path := s.Path(e.Files[0])
	require.NoError(t, os.MkdirAll(s.Dir, 0o755))
	require.NoError(t, os.WriteFile(path, []byte("of a mirror"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unknown := []FileStatus{{Dataset: e.Name, File: e.Files[0].Name, State: Unrecorded}}
	err := s.readable(ctx, e, unknown, map[string]string{e.Files[0].Name: "http://mirror"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, path+" was not read to its end")
	require.FileExists(t, path, "it may be good")
	err = s.readable(t.Context(), e, unknown, map[string]string{e.Files[0].Name: "http://mirror"})
	require.ErrorContains(t, err, "the fetched files were removed")
}

// A file that cannot be read does not hide what the others are.
func TestVerifyTellsOfAllFiles(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	e := Entry{Name: "own", Layout: LayoutCSV, Files: []File{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.Dir, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "c"), nil, 0o600))
	all, err := s.Verify(t.Context(), []Entry{e})
	require.ErrorContains(t, err, filepath.Join(s.Dir, "a"))
	require.ErrorContains(t, err, filepath.Join(s.Dir, "b"))
	require.Len(t, all, 1)
	require.Equal(t, Unrecorded, all[0].State)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Verify(ctx, []Entry{e})
	require.Equal(t, context.Canceled, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, recordsFile), []byte("{"), 0o600))
	_, err = s.Verify(t.Context(), []Entry{e})
	require.Equal(t, 1, strings.Count(err.Error(), "remove it"))
}

// Only files that no checksum vouches for are removed, and only if what they hold is wrong.
func TestGetKeepsGoodFiles(t *testing.T) {
	shelf, e, s := newShelf(t)
	url := strings.TrimSuffix(e.Files[0].URLs[0], "tiny.npz")
	e.Layout, e.Folder, e.Files = LayoutCSV, "own", nil
	for name, content := range tinyCSV() {
		shelf.put("/"+name, content)
		e.Files = append(e.Files, File{Name: "own/" + name, URLs: []string{url + name}})
		if name == "edges.csv" {
			e.Files[len(e.Files)-1].SHA256 = sum(content)
		}
	}
	shelf.put("/features.csv", []byte("Quota exceeded"))
	_, err := s.Get(t.Context(), e)
	require.ErrorContains(t, err, "the fetched files were removed")
	require.Equal(t, []string{"edges.csv"}, Store{Dir: filepath.Join(s.Dir, "own")}.left(t))

	reddit := Entry{Name: "small", Layout: LayoutReddit, True: e.True,
		Files: []File{{Name: "small.zip", URLs: []string{url + "small.zip"}}}}
	archive, err := os.ReadFile(tinyReddit().archive(t, "small.zip", zip.Deflate))
	require.NoError(t, err)
	shelf.put("/small.zip", archive)
	temporary := os.TempDir()
	for _, variable := range []string{"TMPDIR", "TMP"} {
		t.Setenv(variable, filepath.Join(s.Dir, "absent"))
	}
	_, err = s.Get(t.Context(), reddit)
	require.ErrorContains(t, err, "unpacking")
	require.NotContains(t, err.Error(), "mirror")
	require.Equal(t, Unrecorded, s.verify(t, reddit).State)
	for _, variable := range []string{"TMPDIR", "TMP"} {
		t.Setenv(variable, temporary)
	}
	got, err := s.Get(t.Context(), reddit)
	require.NoError(t, err)
	require.Equal(t, Recorded, got[0].State)

	lack := &budget{packed: 1 << 40, free: 1}
	require.False(t, wrongContent(fmt.Errorf("x: %w", lack.keep(2))))
}

func TestPinned(t *testing.T) {
	shelf, e, s := newShelf(t)
	content, other := tiny().zip(), append(tiny().zip(), 0)
	sums, err := fetch.SumFile(t.Context(), save(t, content))
	require.NoError(t, err)
	for name, f := range map[string]File{"SHA-256": {SHA256: sums.SHA256}, "git blob": {GitBlob: sums.GitBlob}} {
		t.Run(name, func(t *testing.T) {
			f.Name, f.URLs = "tiny.npz", e.Files[0].URLs
			e, s := e, Store{Dir: t.TempDir()}
			e.Files = []File{f}
			shelf.put("/tiny.npz", other)
			_, err := s.Get(t.Context(), e)
			require.ErrorContains(t, err, name)
			require.Empty(t, s.left(t))
			shelf.put("/tiny.npz", content)
			got, err := s.Get(t.Context(), e)
			require.NoError(t, err)
			require.Equal(t, Published, got[0].State)
			require.Equal(t, Published, s.verify(t, e).State)
			ds, err := s.open(e, Options{})
			require.NoError(t, err)
			require.NotContains(t, strings.Join(ds.Notes, " "), "published")

			require.NoError(t, os.Remove(filepath.Join(s.Dir, recordsFile)))
			require.NoError(t, os.WriteFile(s.Path(f), other, 0o600))
			status := s.verify(t, e)
			require.Equal(t, Wrong, status.State)
			require.Contains(t, status.Detail, "not the published file")
			ds, err = s.open(e, Options{})
			require.NoError(t, err, "a file of one's own under this name may be used")
			require.Contains(t, ds.Notes[len(ds.Notes)-1], "not the published file")
			e.Files[0].Copies = []Copy{{SHA256: sum(other), Origin: "somebody"}}
			status = s.verify(t, e)
			require.Equal(t, KnownCopy, status.State)
			require.Equal(t, "somebody", status.Detail)
			got, err = s.Get(t.Context(), e)
			require.NoError(t, err)
			require.Equal(t, KnownCopy, got[0].State, "what is there is kept")

			require.NoError(t, os.WriteFile(s.Path(f), content, 0o600))
			require.Equal(t, Published, s.verify(t, e).State, "whatever was recorded")
			_, err = s.open(e, Options{})
			require.NoError(t, err)
		})
	}
	require.NoDirExists(t, s.Dir)
}

// A folder that is read instead of the published archive has no checksum to compare. Its size is compared.
func TestFolderIsComparedBySize(t *testing.T) {
	_, e, s := newShelf(t)
	e.Layout, e.Folder, e.Files[0].SHA256 = LayoutOGB, "ogb", sum(nil)
	e.Files[0].Name, e.True = "ogb.zip", Stats{Nodes: 5, Classes: 2}
	for name, content := range tinyOGB() {
		path := filepath.Join(s.Dir, "ogb", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	ds, err := s.open(e, Options{})
	require.NoError(t, err)
	require.Contains(t, ds.Notes[len(ds.Notes)-1], "it is a different dataset")
}

// Where no sum is published, the size tells another dataset.
func TestUnpinnedIsComparedBySize(t *testing.T) {
	_, e, s := newShelf(t)
	e.Files[0].Copies = []Copy{{SHA256: sum(nil), Origin: "somebody"}}
	require.NoError(t, os.MkdirAll(s.Dir, 0o755))
	require.NoError(t, os.WriteFile(s.Path(e.Files[0]), tiny().zip(), 0o600))
	for _, classes := range []int{2, 3} {
		e.True.Classes = classes
		ds, err := s.open(e, Options{})
		require.NoError(t, err)
		require.Equal(t, classes != 2, strings.Contains(ds.Notes[len(ds.Notes)-1],
			"it has 4 nodes and 2 classes, tiny has 4 and 3: it is a different dataset"))
	}
}

func TestImport(t *testing.T) {
	_, e, s := newShelf(t)
	content := tiny().zip()
	path := save(t, content)
	require.NoError(t, os.MkdirAll(s.Dir, 0o755))
	require.NoError(t, os.WriteFile(s.Path(e.Files[0])+".part", []byte("of a broken download"), 0o600))
	got, err := s.Import(t.Context(), e, path, false)
	require.NoError(t, err)
	require.Equal(t, sum(content), got[0].SHA256)
	require.Equal(t, Recorded, got[0].State)
	require.Empty(t, got[0].Detail)
	require.FileExists(t, path)
	require.Equal(t, []string{recordsFile, "tiny.npz"}, s.left(t))
	require.Equal(t, Recorded, s.verify(t, e).State)

	for name, damage := range map[string]struct {
		content []byte
		message string
	}{"no archive": {[]byte("PK no"), "npz"}, "other graph": {nil, "a different dataset"}} {
		t.Run(name, func(t *testing.T) {
			e, path := e, path
			if damage.content != nil {
				path = save(t, damage.content)
			} else {
				e.True.Classes = 99
			}
			s := Store{Dir: t.TempDir()}
			_, err := s.Import(t.Context(), e, path, false)
			require.ErrorContains(t, err, damage.message)
			require.ErrorContains(t, err, "datasets: "+path, "the copy that was read is gone")
			require.NotContains(t, err.Error(), s.Dir)
			require.Empty(t, s.left(t))
		})
	}

	e.Files[0].SHA256 = sum(nil)
	s = Store{Dir: t.TempDir()}
	_, err = s.Import(t.Context(), e, path, false)
	for _, words := range []string{path, sum(nil), sum(content), "--trust"} {
		require.ErrorContains(t, err, words)
	}
	require.Empty(t, s.left(t))
	_, err = s.Import(t.Context(), e, path, true)
	require.NoError(t, err)
	require.Equal(t, Recorded, s.verify(t, e).State)
	_, err = s.Import(t.Context(), e, save(t, []byte("PK no")), true)
	require.ErrorContains(t, err, "npz", "trust is in a file that reads")

	_, err = s.Import(t.Context(), e, filepath.Join(s.Dir, "absent"), false)
	require.ErrorContains(t, err, "check the path")
	_, err = s.Import(t.Context(), Catalog()[0], path, false)
	require.ErrorContains(t, err, "generated")
}

// A dataset of several files is imported from its folder, or file by file under their names.
func TestImportSeveral(t *testing.T) {
	e := Entry{Name: "own", Layout: LayoutCSV, Folder: "own", True: Stats{Nodes: 2, Classes: 2},
		Files: []File{{Name: "own/edges.csv"}, {Name: "own/labels.csv"}, {Name: "own/features.csv"}}}
	from := t.TempDir()
	for name, text := range map[string]string{"edges.csv": "0,1\n", "labels.csv": "0\n1\n",
		"features.csv": "1,0\n0,1\n", "c": "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(text), 0o600))
	}
	s := Store{Dir: t.TempDir()}
	got, err := s.Import(t.Context(), e, from, false)
	require.NoError(t, err)
	require.Len(t, got, 3)
	files, folder := s.Present(e)
	require.Equal(t, 3, files)
	require.False(t, folder)
	ds, err := s.open(e, Options{})
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1}, ds.Labels)
	features := s.Path(e.Files[2]) // one of several that changes is noticed too, and named
	require.NoError(t, os.WriteFile(features, []byte("1,0\n0,2\n"), 0o600))
	_, err = s.open(e, Options{})
	require.ErrorContains(t, err, features+": it has changed")
	_, err = s.Import(t.Context(), e, filepath.Dir(features), false)
	require.NoError(t, err)
	_, err = s.open(e, Options{})
	require.NoError(t, err)

	s = Store{Dir: t.TempDir()}
	got, err = s.Import(t.Context(), e, filepath.Join(from, "labels.csv"), false)
	require.NoError(t, err)
	require.Equal(t, "own/labels.csv", got[0].File)
	require.Equal(t, Unrecorded, got[0].State, "it cannot be read alone")
	require.Equal(t, []string{"own"}, s.left(t))
	for k, name := range []string{"edges.csv", "features.csv"} {
		got, err = s.Import(t.Context(), e, filepath.Join(from, name), false)
		require.NoError(t, err)
		require.Equal(t, []State{Unrecorded, Recorded}[k], got[0].State, "with the others it can")
	}
	got, err = s.Get(t.Context(), e)
	require.NoError(t, err)
	for _, status := range got {
		require.Equal(t, Recorded, status.State, status.Detail)
	}
	own := filepath.Join(t.TempDir(), "features.csv")
	require.NoError(t, os.WriteFile(own, []byte("1,0\n"), 0o600))
	_, err = s.Import(t.Context(), e, own, false)
	require.ErrorContains(t, err, own+": 1 lines, want 2")
	require.NoError(t, os.Remove(s.Path(e.Files[0])))
	_, err = s.Import(t.Context(), e, own, false)
	require.NoError(t, err)
	all, err := s.Verify(t.Context(), []Entry{e})
	require.NoError(t, err)
	require.Equal(t, []State{Missing, Recorded, Unrecorded}, []State{all[0].State, all[1].State, all[2].State})
	_, err = s.Import(t.Context(), e, filepath.Join(from, "c"), false)
	require.ErrorContains(t, err, "import edges.csv, labels.csv")
	for name, text := range map[string]string{"edges.csv": "0,1\n", "labels.csv": "1\n0\n",
		"features.csv": "1,0\n0,1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "own", name), []byte(text), 0o600))
	}
	_, err = s.open(e, Options{})
	require.ErrorContains(t, err, "labels.csv: it has changed", "one without a record does not hide it")

	require.NoError(t, os.WriteFile(filepath.Join(from, "labels.csv"), []byte("0\n1\n0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(from, "features.csv"), []byte("1,0\n0,1\n1,1\n"), 0o600))
	_, err = s.Import(t.Context(), e, from, false)
	require.ErrorContains(t, err, "datasets: "+from+" has 3 nodes and 2 classes, own has 2 and 2")

	e.Layout = Layout(99)
	_, err = Store{Dir: t.TempDir()}.Import(t.Context(), e, from, true)
	require.ErrorContains(t, err, "the layout layout(99) is not read from files")
}

// A file that the reader can do without may be missing, and the others are read and recorded.
func TestImportWithoutOptionalFile(t *testing.T) {
	e := Entry{Name: "small", Layout: LayoutSAINT, Folder: "small", True: Stats{Nodes: 4, Classes: 2}}
	from := tinySAINT().folder(t, "small")
	require.NoError(t, os.Remove(filepath.Join(from, saintRoles)))
	for _, name := range []string{saintGraph, saintClasses, saintFeatures, saintRoles} {
		e.Files = append(e.Files, File{Name: "small/" + name, Optional: name == saintRoles})
	}
	s := Store{Dir: t.TempDir()}
	got, err := s.Import(t.Context(), e, from, false)
	require.NoError(t, err)
	for _, status := range got {
		require.Equal(t, Recorded, status.State, status.File)
	}
	require.True(t, s.Ready(e))
	require.NoError(t, os.WriteFile(filepath.Join(from, saintClasses), []byte("rubbish"), 0o600))
	_, err = s.Import(t.Context(), e, from, false)
	require.ErrorContains(t, err, saintClasses)
}

// An archive of another layout goes the same way: fetched, read, recorded, opened, and from its unpacked folder too.
func TestGetArchive(t *testing.T) {
	fixture.Cache(t)
	shelf, e, s := newShelf(t)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	folder := filepath.Join(t.TempDir(), "ogbn_toy")
	for name, text := range map[string]string{"edge": "0,1\n1,2\n", "node-label": "0\n1\n1\n",
		"node-feat": "1,2\n3,4\n5,6\n", "num-node-list": "3\n", "num-edge-list": "2\n"} {
		var packed bytes.Buffer
		g := gzip.NewWriter(&packed)
		_, err := g.Write([]byte(text))
		require.NoError(t, errors.Join(err, g.Close()))
		w, err := z.Create("toy/raw/" + name + ".csv.gz")
		require.NoError(t, err)
		_, err = w.Write(packed.Bytes())
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "raw"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "raw", name+".csv.gz"), packed.Bytes(), 0o600))
	}
	require.NoError(t, z.Close())
	shelf.put("/toy.zip", archive.Bytes())
	e.Name, e.Layout, e.Folder, e.True = "ogbn-toy", LayoutOGB, "ogbn_toy", Stats{Nodes: 3, Classes: 2}
	e.Files = []File{{Name: "toy.zip", URLs: []string{strings.Replace(e.Files[0].URLs[0], "tiny.npz", "toy.zip", 1)}}}
	_, err := s.Get(t.Context(), e)
	require.NoError(t, err)
	for _, store := range []Store{s, {Dir: filepath.Dir(folder)}} {
		ds, err := store.open(e, Options{Normalization: graph.Raw})
		require.NoError(t, err)
		require.Equal(t, "ogbn-toy", ds.Name)
		require.Equal(t, 2, ds.Graph.Adjacency.NumEdges())
	}
	require.NoError(t, os.WriteFile(s.Path(e.Files[0]), append(archive.Bytes(), 0), 0o600))
	_, err = s.open(e, Options{})
	require.Error(t, err, "it has changed")
}

func TestRecords(t *testing.T) {
	_, e, s := newShelf(t)
	require.NoError(t, os.MkdirAll(s.Dir, 0o755))
	for _, text := range []string{"{", `{"version": 2}`} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, recordsFile), []byte(text), 0o600))
		_, err := s.Get(t.Context(), e)
		require.ErrorContains(t, err, recordsFile)
		require.ErrorContains(t, err, "remove it")
	}
	require.NoError(t, os.Remove(filepath.Join(s.Dir, recordsFile)))
	var group sync.WaitGroup
	for i := range 8 { // none is lost
		group.Go(func() {
			f := File{Name: string(rune('a' + i))}
			require.NoError(t, s.record(t.Context(), f, FileStatus{SHA256: sum([]byte(f.Name))}, "test"))
		})
	}
	group.Wait()
	records, err := s.records()
	require.NoError(t, err)
	require.Len(t, records, 8)
	require.NotContains(t, s.left(t), recordsFile+".lock")
}

// The length of a file that is known beforehand bounds what a mirror may write.
func TestKnownSizeIsALimit(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		shelf, e, s := newShelf(t)
		content := tiny().zip()
		if recorded {
			_, err := s.Get(t.Context(), e)
			require.NoError(t, err)
			require.NoError(t, os.Remove(s.Path(e.Files[0])))
		} else {
			e.Files[0].SHA256, e.Files[0].Bytes = sum(content), int64(len(content))
		}
		var most int64
		s.Progress = func(_ string, done, _ int64) { most = max(most, done) }
		shelf.put("/tiny.npz", append(bytes.Clone(content), make([]byte, 4<<20)...))
		_, err := s.Get(t.Context(), e)
		require.ErrorContains(t, err, fmt.Sprintf("limit of %d", len(content)+1<<20))
		require.LessOrEqual(t, most, int64(len(content)+1<<20))

		shelf.put("/tiny.npz", content)
		_, err = s.Get(t.Context(), e)
		require.NoError(t, err)
	}
}
