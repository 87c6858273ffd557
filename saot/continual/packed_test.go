package continual

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// strangeName has signs that JSON escapes, and not those that Windows refuses in a name.
func strangeName() string {
	if runtime.GOOS == "windows" {
		return "c&é-s2"
	}
	return "c&<é>-s2"
}

// stored makes a tree of three results, one of them two folders deep.
func stored(t *testing.T) string {
	dir := t.TempDir()
	for i, folder := range []string{"b-s1", "a-s0", "more/" + strangeName()} {
		r := &Result{Schema: ResultSchema, Method: "toy", Seed: uint64(i), Config: []byte(`{"epochs": 5, "w": 1e-3}`),
			Engine: engine.Info{Name: "go", Version: "1"}, Versions: Versions{Go: "go1", Module: "v1", Commit: "c0ffee",
				Dirty: true},
			Scores: []Score{{Setting: ClassIL, Probe: ProbeConverged, AP: 1.0 / 3,
				Matrix: Matrix{{100}, {1.0 / 3, 2e-7}}}}}
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
		require.NoError(t, r.WriteFile(filepath.Join(dir, folder, ResultFile)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a-s0", "notes.json"), []byte("{"), 0o600))
	return dir
}

func results(t *testing.T, paths ...string) map[string]*Result {
	found, err := ReadResults(paths...)
	require.NoError(t, err)
	byFolder := map[string]*Result{}
	for _, s := range found {
		var config bytes.Buffer // its layout is that of the file
		require.NoError(t, json.Compact(&config, s.Result.Config))
		s.Result.Config = config.Bytes()
		byFolder[s.Folder] = s.Result
	}
	require.Len(t, byFolder, len(found))
	return byFolder
}

func TestPackedRoundTrip(t *testing.T) {
	dir, packed := stored(t), filepath.Join(t.TempDir(), "deep", "x"+PackedExt)
	n, err := PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	want := results(t, dir)
	require.Len(t, want, 3)
	require.Equal(t, want, results(t, packed))

	beside, err := ReadResults(filepath.Dir(filepath.Dir(packed)))
	require.NoError(t, err)
	require.Len(t, beside, 3)
	require.Equal(t, filepath.Join(packed, "a-s0"), beside[0].Path)
	require.Equal(t, "deep/a-s0", beside[0].Folder)

	out := filepath.Join(t.TempDir(), "new")
	n, kept, err := UnpackResults(packed, out)
	require.NoError(t, err)
	require.Equal(t, []int{3, 0}, []int{n, kept})
	for folder := range want {
		before, err := os.ReadFile(filepath.Join(dir, folder, ResultFile))
		require.NoError(t, err)
		after, err := os.ReadFile(filepath.Join(out, folder, ResultFile))
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "bytes of %s", folder)
	}

	again := filepath.Join(t.TempDir(), "y"+PackedExt)
	_, err = PackResults(t.Context(), again, out)
	require.NoError(t, err)
	one, err := os.ReadFile(packed)
	require.NoError(t, err)
	two, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, one, two, "equal results make equal files")
	_, err = PackResults(t.Context(), again, packed)
	require.NoError(t, err)
	require.Equal(t, want, results(t, again), "packed results are packed again")
}

// A result keeps its letters where Go's JSON would write others.
func TestPackKeepsLetters(t *testing.T) {
	dir, packed, out := t.TempDir(), filepath.Join(t.TempDir(), "x"+PackedExt), t.TempDir()
	want := "{\n  \"schema\": 1,\n  \"config\": {\n    \"x\": \"a<b>&é\"\n  }\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, ResultFile), []byte(want), 0o600))
	_, err := PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
	_, _, err = UnpackResults(packed, out)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(out, ResultFile))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func TestUnpackKeepsWhatIsThere(t *testing.T) {
	dir, packed, out := stored(t), filepath.Join(t.TempDir(), "x"+PackedExt), t.TempDir()
	_, err := PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
	same := filepath.Join(out, "a-s0", ResultFile)
	data, err := os.ReadFile(filepath.Join(dir, "a-s0", ResultFile))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(same), 0o755))
	require.NoError(t, os.WriteFile(same, bytes.ReplaceAll(data, []byte("\n"), nil), 0o600))
	other := filepath.Join(out, "more", strangeName(), ResultFile)
	require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o755))
	for _, content := range []string{"{}", "", "no result"} {
		require.NoError(t, os.WriteFile(other, []byte(content), 0o600))
		n, kept, err := UnpackResults(packed, out)
		require.ErrorContains(t, err, other+" holds a different result")
		require.Zero(t, n+kept)
		require.NoFileExists(t, filepath.Join(out, "b-s1", ResultFile), "nothing is written")
	}
	require.NoError(t, os.Remove(other))
	n, kept, err := UnpackResults(packed, out)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{n, kept})
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	dir, packed, outside, out := stored(t), filepath.Join(t.TempDir(), "x"+PackedExt), t.TempDir(), t.TempDir()
	_, err := PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
	if err := os.Symlink(outside, filepath.Join(out, "more")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	_, _, err = UnpackResults(packed, out)
	require.ErrorContains(t, err, "escapes")
	require.Empty(t, filesIn(t, outside))

	line := `{"path":%q,"result":{"schema":1}}` + "\n"
	for _, name := range []string{"", "..", "../x", "a/../../x", "/tmp/x", "a//b", "a/", "./a", "a/../b", "a\x00"} {
		writeLines(t, packed, fmt.Sprintf(line, name))
		target := filepath.Join(out, "deep")
		_, _, err := UnpackResults(packed, target)
		require.ErrorContains(t, err, packed+", line 1: ", name)
		require.NoDirExists(t, target)
		_, err = ReadResults(packed)
		require.ErrorContains(t, err, packed+", line 1: ", name)
	}
}

func writeLines(t *testing.T, name string, lines ...string) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, line := range lines {
		_, err := w.Write([]byte(line))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
}

func TestDamagedPackedFile(t *testing.T) {
	dir, packed := stored(t), filepath.Join(t.TempDir(), "x"+PackedExt)
	_, err := PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
	good, err := os.ReadFile(packed)
	require.NoError(t, err)
	for size := range good { // wherever it is cut
		require.NoError(t, os.WriteFile(packed, good[:size], 0o600))
		_, err := ReadResults(packed)
		require.ErrorContains(t, err, packed, "cut at %d", size)
		require.NotContains(t, err.Error(), "not a packed result:", "a cut line is no other file's")
	}
	damaged := bytes.Clone(good)
	damaged[len(damaged)-6] ^= 1 // the checksum
	require.NoError(t, os.WriteFile(packed, damaged, 0o600))
	_, err = ReadResults(packed)
	require.ErrorContains(t, err, packed+", line 4: the file is damaged: gzip: invalid checksum")

	first, second := `{"path":"a","result":{"schema":1}}`+"\n", `{"path":"b","result":{"schema":1}}`+"\n"
	scores := `1,"scores":[{"setting":"class-il","probe":"head","matrix":[[1,2]]}]`
	for want, line := range map[string]string{
		"line 2: not a packed result":                  "{\n",
		`line 2: field path: "a" does not come after`:  first,
		"line 2: b: schema 7 is not supported":         strings.Replace(second, "1", "7", 1),
		"line 2: b: the content is not a result file":  `{"path":"b"}` + "\n",
		"line 2: b: field scores: row 0 of the class-": strings.Replace(second, "1", scores, 1),
		"line 2: the line is longer than 32 MiB":       strings.Repeat(" ", maxLine) + second,
	} {
		writeLines(t, packed, first, line, strings.Replace(second, "b", "c", 1))
		_, err := ReadResults(packed)
		require.ErrorContains(t, err, want)
	}
	writeLines(t, packed, first, second)
	found, err := ReadResults(packed)
	require.NoError(t, err)
	require.Len(t, found, 2)
}

// A small file does not unpack to gigabytes.
func TestPackedBomb(t *testing.T) {
	t.Setenv("SAOT_UNBOUNDED", "")
	packed, out := filepath.Join(t.TempDir(), "x"+PackedExt), filepath.Join(t.TempDir(), "out")
	space := strings.Repeat(" ", 16<<20)
	var lines []string
	for _, folder := range []string{"a", "b", "c", "d", "e"} {
		lines = append(lines, fmt.Sprintf(`{"path":%q,%s"result":{"schema":1}}`+"\n", folder, space))
	}
	writeLines(t, packed, lines...)
	_, err := ReadResults(packed)
	require.ErrorContains(t, err, packed+", line 5: ")
	require.ErrorContains(t, err, "as a bomb does")
	_, _, err = UnpackResults(packed, out)
	require.ErrorContains(t, err, "SAOT_UNBOUNDED=1")
	require.NoDirExists(t, out)
}

func TestReadResultsOfManyPlaces(t *testing.T) {
	dir := stored(t)
	found, err := ReadResults(dir, filepath.Join(dir, "more"), filepath.Join(dir, "a-s0", ResultFile))
	require.NoError(t, err)
	require.Len(t, found, 3, "each once")
	require.Equal(t, filepath.Join(dir, "a-s0", ResultFile), found[0].Path)
	found, err = ReadResults(filepath.Join(dir, "more"), filepath.Join(dir, "a-s0"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "a-s0", ResultFile), found[0].Path, "in order, however they are named")
	link := filepath.Join(t.TempDir(), "link")
	if os.Symlink(dir, link) == nil {
		require.Len(t, results(t, link), 3)
	}
	_, err = ReadResults(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadResults(filepath.Join(dir, "a-s0", "notes.json"))
	require.ErrorContains(t, err, "not a file of packed results")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a-s0", ResultFile), []byte("{"), 0o600))
	_, err = ReadResults(dir)
	require.ErrorContains(t, err, filepath.Join(dir, "a-s0", ResultFile)+": the content is not a result file")
}

// Names that become parts of file names lead nowhere else; those that datasets really have are read.
func TestNamesInResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), ResultFile)
	for _, name := range []string{"", "uai", "ogbn-arxiv-topology", "synthetic:400,degree=5.5", "my..graph (2)", "é"} {
		r := &Result{Schema: ResultSchema, Method: name, Dataset: DatasetInfo{Name: name}}
		require.NoError(t, r.WriteFile(path))
		_, err := ReadResult(path)
		require.NoError(t, err, name)
	}
	for _, name := range []string{"..", "../x", "/tmp/x", `..\x`, "a\nb", "a\x00", "\u0085"} {
		for field, r := range map[string]*Result{"field method": {Schema: ResultSchema, Method: name},
			"field dataset.name": {Schema: ResultSchema, Dataset: DatasetInfo{Name: name}}} {
			require.NoError(t, r.WriteFile(path))
			_, err := ReadResult(path)
			require.ErrorContains(t, err, path+": "+field)
		}
		s := smallStream()
		s.Dataset = name
		_, err := Run(t.Context(), s, &toyLearner{width: 3}, Options{Probes: []Probe{ProbeConverged}})
		require.ErrorContains(t, err, "field dataset.name", "before hours of work")
	}
}

// No text of a result, of a checkpoint or of a pack is a command to a terminal.
func TestControlCharacters(t *testing.T) {
	const red, refused = "\x1b[31m", "a text holds a control character"
	dir := t.TempDir()
	path := filepath.Join(dir, ResultFile)
	for _, r := range []*Result{{Engine: engine.Info{Name: red}}, {Config: []byte(`{"a": "\u001b[31m"}`)},
		{Dataset: DatasetInfo{Notes: []string{red}}}} {
		r.Schema = ResultSchema
		require.NoError(t, r.WriteFile(path))
		_, err := ReadResult(path)
		require.ErrorContains(t, err, path+": "+refused)
	}
	_, err := Run(t.Context(), smallStream(), &toyLearner{width: 3},
		Options{Dir: dir, Manifest: manifest(`{"a": "\u001b[31m"}`)})
	require.ErrorContains(t, err, refused, "before hours of work")
	head := header{Identity: Identity{Engine: red}}
	require.NoError(t, (&checkpoint{header: head}).write(filepath.Join(dir, CheckpointFile)))
	_, _, err = ReadIdentity(dir)
	require.ErrorContains(t, err, refused)
	packed := filepath.Join(dir, "all"+PackedExt)
	writeLines(t, packed, `{"path":"\u001b[31m","result":{"schema":1}}`+"\n")
	_, err = ReadResults(packed)
	require.ErrorContains(t, err, `field path: "\x1b[31m" is not a path`)
}

// The file that is written is no input of itself, unless it is named.
func TestPackAgain(t *testing.T) {
	dir := stored(t)
	packed := filepath.Join(dir, "more", "all"+PackedExt)
	for range 2 {
		n, err := PackResults(t.Context(), packed, dir)
		require.NoError(t, err)
		require.Equal(t, 3, n)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "a-s0")))
	n, err := PackResults(t.Context(), packed, packed)
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

// A pack of another name in the folder holds what lies there already.
func TestPackNextToAnOlderPack(t *testing.T) {
	dir := stored(t)
	older, packed := filepath.Join(dir, "older"+PackedExt), filepath.Join(dir, "newer"+PackedExt)
	for _, to := range []string{older, packed} {
		n, err := PackResults(t.Context(), to, dir)
		require.NoError(t, err)
		require.Equal(t, 3, n)
	}
	a, err := os.ReadFile(older)
	require.NoError(t, err)
	b, err := os.ReadFile(packed)
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestPackRefuses(t *testing.T) {
	dir, packed := stored(t), filepath.Join(t.TempDir(), "x"+PackedExt)
	_, err := PackResults(t.Context(), packed, filepath.Join(dir, "a-s0"), filepath.Join(dir, "b-s1"))
	require.ErrorContains(t, err, "both have run folder ., with different results: move one away")
	_, err = PackResults(t.Context(), packed, t.TempDir())
	require.ErrorContains(t, err, "there is no result.json under ")
	require.NoFileExists(t, packed)
	n, err := PackResults(t.Context(), packed, filepath.Join(dir, "a-s0"))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Contains(t, results(t, packed), ".")

	before, err := os.ReadFile(packed)
	require.NoError(t, err)
	_, err = PackResults(t.Context(), packed, filepath.Join(dir, "b-s1"))
	require.ErrorContains(t, err, "1 runs would be lost, as no path to pack has them (first: "+packed+"): name another")
	_, err = PackResults(t.Context(), packed, dir)
	require.ErrorContains(t, err, "1 runs would be lost")
	changed := t.TempDir()
	r, err := ReadResult(filepath.Join(dir, "a-s0", ResultFile))
	require.NoError(t, err)
	r.Config = []byte(`{"epochs": 6}`)
	require.NoError(t, r.WriteFile(filepath.Join(changed, ResultFile)))
	_, err = PackResults(t.Context(), packed, changed)
	require.ErrorContains(t, err, "1 runs would be lost", "of other settings")
	r.Config = []byte(`"` + strings.Repeat("x", maxLine/2) + `"`)
	require.NoError(t, r.WriteFile(filepath.Join(changed, ResultFile)))
	_, err = PackResults(t.Context(), filepath.Join(changed, "x"+PackedExt), changed)
	require.ErrorContains(t, err, "is too large to pack: 16 MiB")
	after, err := os.ReadFile(packed)
	require.NoError(t, err)
	require.Equal(t, before, after)
	other := filepath.Join(dir, "a-s0", ResultFile)
	before, err = os.ReadFile(other)
	require.NoError(t, err)
	_, err = PackResults(t.Context(), other, dir)
	require.ErrorContains(t, err, other+" is not a file of packed results")
	after, err = os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, os.WriteFile(packed, nil, 0o600), "as mktemp makes it")
	_, err = PackResults(t.Context(), packed, dir)
	require.NoError(t, err)
}

func TestVersionsOfBuild(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "c0ffee"},
		{Key: "vcs.modified", Value: "true"}}
	deps := []*debug.Module{{Path: "github.com/gomlx/gomlx", Version: "v0.9"}}
	built := versionsOf(&debug.BuildInfo{Main: debug.Module{Path: "github.com/saot-go/saot", Version: "v1.2"},
		Deps: deps, Settings: vcs})
	require.Equal(t, Versions{Go: built.Go, Module: "v1.2", Commit: "c0ffee", Dirty: true, GoMLX: "v0.9"}, built)
	deps = append(deps, &debug.Module{Path: "github.com/saot-go/saot", Version: "v1.3"})
	used := versionsOf(&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v7"}, Deps: deps,
		Settings: vcs})
	require.Equal(t, Versions{Go: built.Go, Module: "v1.3", GoMLX: "v0.9"}, used,
		"the commit is of the module that uses this one")
	deps[1].Replace = &debug.Module{Path: "../saot"}
	used = versionsOf(&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v7"}, Deps: deps})
	require.Equal(t, "(devel)", used.Module, "a folder stands in for the version")
	require.Equal(t, Versions{Go: built.Go, Module: "unknown", GoMLX: "unknown"}, versionsOf(&debug.BuildInfo{}))

	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(program)), versions().Build, "no commit tells tests apart")
}

// A device or a pipe may have no end, and a file may be a hole of any size.
func TestEndlessFiles(t *testing.T) {
	for _, name := range []string{ResultFile, "all" + PackedExt, CheckpointFile} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.Symlink(os.DevNull, path); err != nil {
			t.Skip("no links on this system: ", err)
		}
		_, err := ReadResults(path)
		if name == CheckpointFile {
			_, _, err = ReadIdentity(dir)
		}
		require.ErrorContains(t, err, path+" is not a regular file")
	}
	path := filepath.Join(t.TempDir(), ResultFile)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, maxResult+1))
	_, err := ReadResult(path)
	require.ErrorContains(t, err, "is larger than")
	_, err = ReadResults(path)
	require.ErrorContains(t, err, "is larger than")
}
