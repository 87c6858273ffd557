package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWriteMakesTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b.txt")
	require.NoError(t, Write(path, []byte("one")))
	require.NoError(t, Write(path, []byte("two")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
}

// A writer that fails leaves the old content and no temporary file.
func TestReplaceKeepsTheOldContentOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	require.NoError(t, Write(path, []byte("old")))
	broken := errors.New("broken")
	err := Replace(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	require.ErrorIs(t, err, broken)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// Of two processes that create a file at once, the content of the first stays. Tidy knows what a killed one leaves.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "config.json")
	require.NoError(t, Create(path, []byte("one")))
	require.NoError(t, Create(path, []byte("two")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	_, err = written(path, func(io.Writer) error { return nil })
	require.NoError(t, err)
	require.NoError(t, Tidy(path))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.ErrorContains(t, Create(filepath.Join(path, "x"), nil), "write "+path)
}

// A link is replaced, and what it leads to stays.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	private, link := filepath.Join(dir, "private"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(private, []byte("private"), 0o600))
	if err := os.Symlink(private, link); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	require.NoError(t, Write(link, []byte("text")))
	for path, want := range map[string]string{private: "private", link: "text"} {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(private+"-new", link))
	require.NoError(t, Write(link, []byte("text")))
	require.NoFileExists(t, private+"-new")
}

func TestSHA256(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abc")
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
	sum, err := SHA256(path)
	require.NoError(t, err)
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", sum,
		"FIPS 180-4, appendix B.1")
	_, err = SHA256(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A new file has the permissions that the user's mask leaves, and one that is replaced keeps its own.
func TestPermissionsOfTheUser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no mask on Windows")
	}
	path := filepath.Join(t.TempDir(), "a")
	plain := filepath.Join(filepath.Dir(path), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	want, err := os.Stat(plain)
	require.NoError(t, err)
	require.NoError(t, Write(path, []byte("old")))
	got, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, want.Mode(), got.Mode())
	for _, mode := range []os.FileMode{0o600, 0o444} {
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, Write(path, []byte("new")))
		got, err = os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, got.Mode())
	}
}

// A file is replaced while somebody reads it; on Windows, once the reader closes it.
func TestWriteWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, Write(path, []byte("old")))
	reader, err := Open(path)
	require.NoError(t, err)
	closed := time.AfterFunc(100*time.Millisecond, func() { _ = reader.Close() })
	require.NoError(t, Write(path, []byte("new")))
	if closed.Stop() {
		require.NoError(t, reader.Close())
	}
	text, err := Read(path, 3)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
}

// A lock is seen without writing, and what a killed process left behind is none where the kernel keeps locks.
func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	held := func() bool {
		is, err := Held(path)
		require.NoError(t, err)
		return is
	}
	require.False(t, held())
	lock, err := Try(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path+".lock", 0o444))
	require.True(t, held())
	lock.Release()
	require.False(t, held())
	require.NoError(t, os.WriteFile(path+".lock", nil, 0o444))
	require.False(t, held())
	require.FileExists(t, path+".lock")
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	_, err := Read(path, 4)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	data, err := Read(path, 4)
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	_, err = Read(path, 3)
	require.ErrorContains(t, err, path+" is larger than 2.861e-06 MiB")
}

// Tidy removes only the temporary files that replacing a file makes.
func TestTidyLeavesOthers(t *testing.T) {
	dir := t.TempDir()
	half, mine := filepath.Join(dir, ".a.json-123"), filepath.Join(dir, ".a.json-mine")
	require.NoError(t, Write(half, nil))
	require.NoError(t, Write(mine, nil))
	require.NoError(t, Tidy(filepath.Join(dir, "a.json")))
	require.NoFileExists(t, half)
	require.FileExists(t, mine)
}

// However often a lock changes hands, it has one holder.
func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	var group sync.WaitGroup
	var holders, taken, shared atomic.Int32
	var failed atomic.Pointer[error]
	for range 8 {
		group.Go(func() {
			for range 2000 {
				lock, err := Try(path)
				if err != nil {
					failed.Store(&err)
				}
				if lock == nil {
					continue
				}
				taken.Add(1)
				if holders.Add(1) > 1 {
					shared.Add(1)
				}
				for range 20 {
					runtime.Gosched()
				}
				holders.Add(-1)
				lock.Release()
			}
		})
	}
	group.Wait()
	require.Nil(t, failed.Load())
	require.Zero(t, shared.Load())
	require.Positive(t, taken.Load())
}
