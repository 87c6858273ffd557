package datasets

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/fixture"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cora_ml.npz"), tiny().zip(), 0o600))
	ds, err := Open("cora-ml", dir, Options{})
	require.NoError(t, err)
	require.Equal(t, "cora-ml", ds.Name)
	require.InDelta(t, 1, ds.Graph.Features.Values[2], 1e-6, "L2 is the default")

	ds, err = Open("cora-ml", dir, Options{TopologyOnly: true})
	require.NoError(t, err)
	require.Equal(t, "cora-ml-topology", ds.Name)
	require.Equal(t, 0, ds.Graph.Features.Cols)

	ds, err = Open(filepath.Join(dir, "cora_ml.npz"), "", Options{})
	require.NoError(t, err)
	require.Equal(t, "cora_ml", ds.Name)

	ds, err = Open("synthetic,nodes=200,classes=4", "", Options{})
	require.NoError(t, err)
	require.Equal(t, 200, ds.Graph.NumNodes())
}

func TestOpenErrors(t *testing.T) {
	dir := fixture.Cache(t)
	data, err := DefaultDir()
	require.NoError(t, err)
	_, err = Open("corra", dir, Options{})
	require.ErrorContains(t, err, `unknown dataset "corra" (did you mean "cora"?): choose synthetic, cora-full, cora, ogbn-arxiv`)
	_, err = Open("uai", "", Options{})
	require.ErrorContains(t, err, "uai.npz, and the data folder "+data+
		" does not exist: fetch it with saot data get uai; or set the environment variable SAOT_DATA or --data")
	_, err = Open("arxiv-topology", filepath.Join(dir, "none"), Options{})
	require.ErrorContains(t, err, "and the data folder "+filepath.Join(dir, "none")+" does not exist")
	_, err = Open("cora-ml", dir, Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "cora_ml.npz, which is not in the folder "+dir)
	require.ErrorContains(t, err, "saot data get cora-ml")
	require.ErrorContains(t, err, "SAOT_DATA or --data")
	_, err = Open("synthetic", "", Options{Normalization: 9})
	require.ErrorContains(t, err, "normalization")
}

// The catalog is sound: names, files and checksums are well formed and unique, figures are there and agree.
func TestCatalog(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, e := range Catalog() {
		require.Regexp(t, `^[a-z0-9-]+$`, e.Name)
		require.False(t, names[e.Name], "%s comes twice", e.Name)
		names[e.Name] = true
		require.NotEmpty(t, e.Title, e.Name)
		require.NotEmpty(t, e.License, e.Name)
		require.NotContains(t, e.Layout.String(), "(", e.Name)
		if e.Layout == LayoutGenerated {
			require.Empty(t, e.Files)
			continue
		}
		require.NotEmpty(t, e.Citation, e.Name)
		require.Positive(t, e.True.Nodes, e.Name)
		require.True(t, e.True.Edges > 0 || e.True.Entries > 0, e.Name)
		require.GreaterOrEqual(t, e.True.Classes/2, e.True.Tasks, e.Name)
		for _, f := range e.Files {
			require.True(t, fs.ValidPath(f.Name), f.Name)
			require.False(t, files[f.Name] && e.StandIn == "", "%s comes twice", f.Name)
			files[f.Name] = true
			require.Regexp(t, `^([0-9a-f]{64})?$`, f.SHA256)
			require.Regexp(t, `^([0-9a-f]{40})?$`, f.GitBlob)
			require.NotEqual(t, 1, len(f.URLs), "%s has no mirror", f.Name)
			for i, raw := range f.URLs {
				u, err := url.Parse(raw)
				require.NoError(t, err)
				require.Contains(t, []string{"http", "https"}, u.Scheme)
				require.True(t, u.Scheme == "https" || i > 0 && f.pinned(),
					"%s: plain http is for pinned files, as a last resort", raw)
			}
		}
	}
	_, err := Lookup("reddit")
	require.NoError(t, err)
}

// The copies in the data folder are those that the catalog knows, and hold what it says of them.
func TestCatalogKnowsRealFiles(t *testing.T) {
	for _, name := range []string{"cora-ml", "coauthor-cs", "amazon-computers", "uai"} {
		t.Run(name, func(t *testing.T) {
			e, err := Lookup(name)
			require.NoError(t, err)
			s := Store{Dir: filepath.Dir(realFile(t, e.Files[0].Name))}
			require.Equal(t, KnownCopy, s.verify(t, e).State)
			whole, err := Open(name, s.Dir, Options{})
			require.NoError(t, err)
			require.Equal(t, KnownContent(whole.Checksum), whole.Content)
			ds, err := Open(name, s.Dir, Options{TopologyOnly: true})
			require.NoError(t, err)
			require.NotEqual(t, whole.Content, ds.Content)
			require.Equal(t, []int64{e.True.Nodes, e.True.Edges, int64(e.True.Classes)},
				[]int64{int64(ds.Graph.NumNodes()), int64(ds.Graph.Adjacency.NumEdges()), int64(ds.NumClasses)})
		})
	}
	for _, name := range []string{"corafull-topology", "arxiv-topology"} {
		t.Run(name, func(t *testing.T) {
			ds, err := Open(name, os.Getenv("SAOT_DATA"), Options{})
			if errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is not in SAOT_DATA", name)
			}
			require.NoError(t, err)
			require.NotEmpty(t, ds.Content)
			require.Equal(t, KnownContent(ds.Checksum), ds.Content)
		})
	}
	arxiv, err := Lookup("ogbn-arxiv")
	require.NoError(t, err)
	s := Store{Dir: os.Getenv("SAOT_DATA")}
	if files, _ := s.Present(arxiv); files == 0 {
		realFile(t, "ogbn_arxiv/raw/edge.csv.gz")
	}
	ds, err := Open("ogbn-arxiv", s.Dir, Options{TopologyOnly: true})
	require.NoError(t, err)
	require.Equal(t, "ogbn-arxiv-topology", ds.Name)
	require.EqualValues(t, arxiv.True.Edges, ds.Graph.Adjacency.NumEdges())
}

func TestOGBLabelErrors(t *testing.T) {
	write := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		path := filepath.Join(t.TempDir(), "node-label.csv.gz")
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	ds, err := loadOGBLabels(write("2\n0\r\n1\n1"))
	require.NoError(t, err)
	require.Equal(t, []int32{2, 0, 1, 1}, ds.Labels)
	require.Equal(t, 3, ds.NumClasses)

	for text, want := range map[string]string{
		"0\nnan\n": `line 2 is "nan"`, "0\n-1\n": `line 2 is "-1"`, "": "no labels", "0\n7\n": "class id 7 in 2 lines",
		"0\n2\n": "class id 2 in 2 lines", "1\n\n0\n": `line 2 is ""`,
	} {
		_, err := loadOGBLabels(write(text))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "node-label.csv.gz")
	}
	path := write("0\n1\n0\n1\n")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-5], 0o600))
	_, err = loadOGBLabels(path)
	require.ErrorContains(t, err, "unexpected EOF")
	require.NoError(t, os.WriteFile(path, []byte("0\n1\n"), 0o600))
	_, err = loadOGBLabels(path)
	require.ErrorContains(t, err, "not a gzip file")
	_, err = loadOGBLabels("absent.csv.gz")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
