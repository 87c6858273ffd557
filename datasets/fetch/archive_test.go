package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// member is one entry of a test archive.
type member struct {
	name, content string
	link          string
}

func zipFile(t *testing.T, members ...member) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.link != "" {
			header.SetMode(fs.ModeSymlink | 0o777)
			m.content = m.link
		}
		w, err := z.CreateHeader(header)
		require.NoError(t, err)
		_, err = io.WriteString(w, m.content)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return save(t, "a.zip", b.Bytes())
}

func tarFile(t *testing.T, members ...member) string {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.content)), Typeflag: tar.TypeReg}
		if m.link != "" {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, m.link, 0
		}
		require.NoError(t, w.WriteHeader(header))
		_, err := io.WriteString(w, m.content[:header.Size])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, g.Close())
	return save(t, "a.tar.gz", b.Bytes())
}

func save(t *testing.T, name string, content []byte) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// archivers makes the same archive in both formats.
var archivers = map[string]func(*testing.T, ...member) string{"zip": zipFile, "tar": tarFile}

// files lists what lies below a folder.
func files(t *testing.T, dir string) []string {
	names := []string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

func TestExtract(t *testing.T) {
	for kind, make := range archivers {
		t.Run(kind, func(t *testing.T) {
			archive := make(t, member{name: "set/raw/a.csv", content: "1,2\n"}, member{name: "set/raw/b.csv", content: "3\n"},
				member{name: "set/notes.txt", content: "no"}, member{name: "away", link: "/etc/passwd"})
			dir := filepath.Join(t.TempDir(), "new")
			names, err := Extract(t.Context(), archive, dir, []string{"set/raw/*.csv"}, Limits{})
			require.NoError(t, err, "a link that nobody wants is passed over")
			require.Equal(t, []string{"set/raw/a.csv", "set/raw/b.csv"}, names)
			require.Equal(t, names, files(t, dir))
			got, err := os.ReadFile(filepath.Join(dir, "set", "raw", "a.csv"))
			require.NoError(t, err)
			require.Equal(t, "1,2\n", string(got))

			_, err = Extract(t.Context(), archive, t.TempDir(), []string{"set/raw/a.csv", "set/raw/c.csv"}, Limits{})
			require.ErrorContains(t, err, `no member matches "set/raw/c.csv"; there are set/raw/a.csv`)
			require.ErrorContains(t, err, archive)
			_, err = Extract(t.Context(), archive, t.TempDir(), []string{"["}, Limits{})
			require.ErrorContains(t, err, "pattern")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = Extract(ctx, archive, t.TempDir(), []string{"*"}, Limits{})
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	names, err := Extract(t.Context(), tarFile(t, member{name: "./a", content: "1"}), t.TempDir(), []string{"a"}, Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
}

func TestExtractRefuses(t *testing.T) {
	good := member{name: "good", content: "1"}
	for _, tc := range []struct {
		name string
		bad  member
		want error
	}{
		{"parent", member{name: "../evil", content: "x"}, ErrUnsafe},
		{"parent within", member{name: "a/../../evil", content: "x"}, ErrUnsafe},
		{"absolute", member{name: "/tmp/evil", content: "x"}, ErrUnsafe},
		{"backslash", member{name: `..\evil`, content: "x"}, ErrUnsafe},
		{"drive", member{name: `C:evil`, content: "x"}, ErrUnsafe},
		{"empty element", member{name: "a//evil", content: "x"}, ErrUnsafe},
		{"link", member{name: "link", link: "/etc/passwd"}, ErrUnsafe},
		{"twice", member{name: "good", content: "2"}, nil},
		{"entry too large", member{name: "large", content: string(noise(1, 40_000))}, ErrTooLarge},
		{"total too large", member{name: "large", content: string(noise(2, 29_999))}, ErrTooLarge},
		{"bomb", member{name: "bomb", content: string(make([]byte, 29_000))}, ErrTooLarge},
	} {
		for kind, make := range archivers {
			t.Run(tc.name+" "+kind, func(t *testing.T) {
				parent := t.TempDir()
				dir := filepath.Join(parent, "in")
				limits := Limits{EntryBytes: 30_000, TotalBytes: 29_999, Ratio: 10, Floor: 10_000}
				_, err := Extract(t.Context(), make(t, good, tc.bad), dir, []string{"*"}, limits)
				require.Error(t, err)
				if tc.want != nil {
					require.ErrorIs(t, err, tc.want)
				}
				require.Empty(t, files(t, parent), "nothing is left, the good member included")
			})
		}
	}
}

// Links that lie in the folder already lead nowhere either.
func TestExtractThroughLink(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "set")))
	_, err := Extract(t.Context(), zipFile(t, member{name: "set/a", content: "1"}), dir, []string{"set/a"}, Limits{})
	require.Error(t, err)
	require.Empty(t, files(t, outside))
}

// A bomb among the members that nobody wants is found in a tar, where these must be unpacked to get past them.
func TestUnwantedBomb(t *testing.T) {
	archive := tarFile(t, member{name: "bomb", content: string(make([]byte, 1<<20))}, member{name: "good", content: "1"})
	_, err := Extract(t.Context(), archive, t.TempDir(), []string{"good"}, Limits{Ratio: 100, Floor: 1000})
	require.ErrorIs(t, err, ErrTooLarge)
}

// The sizes in a zip's headers are lowered or raised: what counts is what is read.
func TestLyingHeaders(t *testing.T) {
	content := make([]byte, 300_000) // packs to some 300 bytes
	for name, lie := range map[string]struct {
		field int // offset in the central directory's entry: 20 packed, 24 unpacked size
		value uint32
	}{"small unpacked": {24, 10}, "large packed": {20, 1 << 30}, "large unpacked": {24, 1 << 31}} {
		t.Run(name, func(t *testing.T) {
			archive := zipFile(t, member{name: "bomb", content: string(content)})
			raw, err := os.ReadFile(archive)
			require.NoError(t, err)
			entry := bytes.Index(raw, []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(raw[entry+lie.field:], lie.value)
			require.NoError(t, os.WriteFile(archive, raw, 0o600))
			dir := t.TempDir()
			_, err = Extract(t.Context(), archive, dir, []string{"bomb"}, Limits{Ratio: 50, Floor: 1000})
			require.Error(t, err)
			require.Empty(t, files(t, dir))
			r, err := OpenMember(archive, "bomb", 1000)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				require.NoError(t, r.Close())
			}
			require.Error(t, err)
		})
	}
}

func TestOpenMember(t *testing.T) {
	archive := zipFile(t, member{name: "a/b.csv", content: "0,1\n"}, member{name: "link", link: "a/b.csv"})
	read := func(limit int64) (string, error) {
		r, err := OpenMember(archive, "a/b.csv", limit)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, r.Close())
		return string(got), err
	}
	got, err := read(4)
	require.NoError(t, err)
	require.Equal(t, "0,1\n", got)
	_, err = read(3)
	require.ErrorIs(t, err, ErrTooLarge)

	_, err = OpenMember(archive, "b.csv", 10)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "there are a/b.csv, link")
	_, err = OpenMember(archive, "link", 10)
	require.Error(t, err)
	_, err = OpenMember(save(t, "x.zip", []byte("PK no")), "a", 10)
	require.ErrorContains(t, err, "not a complete zip archive")
	_, err = OpenMember("absent.zip", "a", 10)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A damaged member fails its CRC.
func TestDamagedMember(t *testing.T) {
	archive := zipFile(t, member{name: "a", content: string(noise(3, 5000))})
	raw, err := os.ReadFile(archive)
	require.NoError(t, err)
	raw[2000] ^= 1
	require.NoError(t, os.WriteFile(archive, raw, 0o600))
	dir := t.TempDir()
	_, err = Extract(t.Context(), archive, dir, []string{"a"}, Limits{})
	require.Error(t, err)
	require.Empty(t, files(t, dir))
}
