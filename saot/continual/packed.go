package continual

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/memory"
)

// PackedExt ends the names of packed results. Such a file is the compressed JSON lines of many results: one
// {"path": run folder, "result": content of its result.json} a line, in ascending order of the paths.
const PackedExt = ".jsonl.gz"

// Bounds in bytes. The largest line of packed results so far is a hundredth of maxLine. The result of a run of a
// thousand tasks takes a quarter of maxResult.
const (
	maxLine   = 32 << 20
	maxResult = 1 << 30
)

// Stored is a result and where it was read.
type Stored struct {
	Path   string // the result's file, or the packed file and the run folder in it
	Folder string // the run folder below the path that was named, with slashes; "." for that path itself
	Result *Result
}

// ReadResults returns all results at the paths, in order of Stored.Path. A path is a result.json, a packed file, or a
// folder, which is searched for both. It returns an error if a file is damaged, and no results where there are none.
func ReadResults(paths ...string) ([]Stored, error) {
	return ReadResultsContext(context.Background(), paths...)
}

// ReadResultsContext is ReadResults until the context is over.
func ReadResultsContext(ctx context.Context, paths ...string) ([]Stored, error) {
	var all []Stored
	err := eachResult(paths, "", func(s Stored, _ []byte) error {
		all = append(all, s)
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("continual: read results: %w", err)
	}
	slices.SortFunc(all, func(a, b Stored) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// PackResults writes the results at the paths, which are as for ReadResults, to one file, and returns how many there
// are. If that file is in a folder at the paths, it is skipped, so that results may be packed again. Equal results make
// equal files. If several equal results have the same run folder, one of them is written. PackResults writes nothing
// and returns an error if such results differ, if the file exists but does not hold packed results, if it holds a run
// that would be lost, or if ctx ends while it reads.
func PackResults(ctx context.Context, to string, paths ...string) (count int, err error) {
	var lines []packedLine
	at := map[string]int{} // the line of a folder
	var from []string      // where the result of a line was read
	runs := map[string]string{}
	err = eachResult(paths, to, func(s Stored, raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return err
		}
		if i, known := at[s.Folder]; known {
			if bytes.Equal(lines[i].Result, compact.Bytes()) { // such as of an older pack in the folder
				return nil
			}
			return fmt.Errorf("%s and %s both have run folder %s, with different results: move one away, or pack the "+
				"folder above both", from[i], s.Path, s.Folder)
		}
		if compact.Len()+len(s.Folder) > maxLine/2 {
			return fmt.Errorf("%s is too large to pack: %d MiB", s.Path, compact.Len()>>20)
		}
		at[s.Folder], runs[s.Folder], from = len(lines), s.Result.run(), append(from, s.Path)
		lines = append(lines, packedLine{s.Folder, compact.Bytes()})
		return nil
	})
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("there is no %s under %s", ResultFile, strings.Join(paths, ", "))
	}
	if err == nil {
		err = keeps(to, runs)
	}
	if err == nil {
		slices.SortFunc(lines, func(a, b packedLine) int { return cmp.Compare(a.Path, b.Path) })
		err = file.Replace(to, func(w io.Writer) error { return writePacked(w, lines) })
	}
	if err != nil {
		return 0, fmt.Errorf("continual: pack results: %w", err)
	}
	return len(lines), nil
}

// run tells runs of one folder apart: a run that was done again is the same.
func (r *Result) run() string {
	var config bytes.Buffer
	_ = json.Compact(&config, r.Config) // it was parsed
	return fmt.Sprintf("%s on %s, seed %d, %s", r.Method, r.Dataset.Name, r.Seed, config.Bytes())
}

// keeps returns an error if a file of packed results has a run that is not among runs, which are by folder. The packed
// result may be all that is left of such a run. The file need not exist.
func keeps(packed string, runs map[string]string) error {
	info, err := os.Stat(packed)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 { // writing says what is wrong with other things
		return nil
	}
	lost, first := 0, ""
	err = readPacked(packed, ".", func(s Stored, _ []byte) error {
		if runs[s.Folder] != s.Result.run() {
			lost, first = lost+1, cmp.Or(first, s.Path)
		}
		return nil
	})
	const advice = "name another file, or remove that one"
	switch {
	case err != nil:
		return fmt.Errorf("%w: it would be replaced: %s", err, advice)
	case lost > 0:
		return fmt.Errorf("%d runs would be lost, as no path to pack has them (first: %s): %s", lost, first, advice)
	}
	return nil
}

// UnpackResults writes each result of a packed file to its run folder below dir, in the form of WriteFile. It leaves
// results that are already there, and returns how many it wrote and how many it left. If one of the folders has a
// different result, UnpackResults writes nothing and returns an error.
func UnpackResults(packed, dir string) (written, kept int, err error) {
	written, kept, err = unpack(packed, dir)
	if err != nil {
		return written, kept, fmt.Errorf("continual: unpack results: %w", err)
	}
	return written, kept, nil
}

// unpack reads the file twice rather than keep what may be much.
func unpack(packed, dir string) (written, kept int, err error) {
	absent, kept, err := compare(packed, dir)
	if err != nil {
		return 0, 0, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, err
	}
	root, err := os.OpenRoot(dir) // no symbolic link leads out of it
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = root.Close() }()
	err = readPacked(packed, ".", func(s Stored, raw []byte) error {
		line := packedLine{s.Folder, raw}
		if !absent[line.Path] {
			return nil
		}
		if err := line.write(root, dir); err != nil {
			return err
		}
		written++
		return nil
	})
	return written, kept, err
}

// compare finds the run folders of a packed file that have no result below dir, and how many have the same one.
func compare(packed, dir string) (absent map[string]bool, kept int, err error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer func() { _ = root.Close() }() // only read
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	absent = map[string]bool{}
	err = readPacked(packed, ".", func(s Stored, raw []byte) error {
		line := packedLine{s.Folder, raw}
		switch same, err := line.isIn(root); {
		case errors.Is(err, fs.ErrNotExist):
			absent[line.Path] = true
		case err != nil:
			return err
		case !same:
			return fmt.Errorf("%s holds a different result: choose an empty folder", filepath.Join(dir, line.name()))
		default:
			kept++
		}
		return nil
	})
	return absent, kept, err
}

type packedLine struct {
	Path   string          `json:"path"` // run folder, relative, with slashes
	Result json.RawMessage `json:"result"`
}

// name is the path of the line's result below the folder to which it is unpacked.
func (l *packedLine) name() string { return filepath.Join(filepath.FromSlash(l.Path), ResultFile) }

// write makes the run folder and writes the result in the form of WriteFile.
func (l *packedLine) write(root *os.Root, dir string) error {
	if err := root.MkdirAll(filepath.FromSlash(l.Path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, l.Result, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	return file.Write(filepath.Join(dir, l.name()), b.Bytes())
}

// isIn reports whether the result lies in its run folder, in whatever layout. The root is nil where there is no folder.
func (l *packedLine) isIn(root *os.Root) (bool, error) {
	if root == nil {
		return false, fs.ErrNotExist
	}
	there, err := root.ReadFile(l.name())
	if err != nil {
		return false, err
	}
	var a, b bytes.Buffer
	if json.Compact(&a, there) != nil || json.Compact(&b, l.Result) != nil {
		return false, nil
	}
	return bytes.Equal(a.Bytes(), b.Bytes()), nil
}

// writePacked leaves name and time out of the gzip header, so that equal lines make equal files.
func writePacked(w io.Writer, lines []packedLine) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(compressed)
	encoder.SetEscapeHTML(false) // results keep every byte
	for _, line := range lines {
		if err := encoder.Encode(&line); err != nil {
			return err
		}
	}
	return compressed.Close()
}

// readPacked gives the results of a packed file to visit, with the bytes of each. Folders are given below base.
func readPacked(name, base string, visit func(Stored, []byte) error) error {
	f, err := file.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s is not a file of packed results: %w", name, err)
	}
	lines := bufio.NewScanner(memory.Inflated(content, info.Size()))
	lines.Buffer(nil, maxLine)
	before, number := "", 0
	for lines.Scan() {
		number++
		line, result, err := parseLine(lines.Bytes(), before)
		if cut := lines.Err(); err != nil && cut != nil {
			err = fmt.Errorf("the file is damaged: %w", cut)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", name, number, err)
		}
		before = line.Path
		stored := Stored{filepath.Join(name, filepath.FromSlash(line.Path)), path.Join(base, line.Path), result}
		if err := visit(stored, line.Result); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s, line %d: the line is longer than %d MiB", name, number+1, maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("%s, line %d: the file is damaged: %w", name, number+1, err)
	}
	return nil
}

func parseLine(data []byte, before string) (*packedLine, *Result, error) {
	var line packedLine
	if err := json.Unmarshal(data, &line); err != nil {
		return nil, nil, fmt.Errorf("not a packed result: %w", err)
	}
	if !fs.ValidPath(line.Path) || !filepath.IsLocal(filepath.FromSlash(line.Path)) ||
		strings.ContainsFunc(line.Path, unicode.IsControl) {
		return nil, nil, fmt.Errorf("field path: %q is not a path below the folder of a sweep", line.Path)
	}
	if line.Path <= before {
		return nil, nil, fmt.Errorf("field path: %q does not come after %q", line.Path, before)
	}
	result, err := parseResult(line.Result)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", line.Path, err)
	}
	return &line, result, nil
}

// eachResult gives each result at the paths to visit once, with its bytes. It passes over a packed file in a folder
// that is the file except.
func eachResult(paths []string, except string, visit func(Stored, []byte) error) error {
	return eachFile(paths, except, func(name, below string) error {
		if filepath.Base(name) != ResultFile {
			return readPacked(name, below, visit)
		}
		data, err := file.Read(name, maxResult)
		if err != nil {
			return err
		}
		result, err := parseResult(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return visit(Stored{name, below, result}, data)
	})
}

// ResultFiles returns the files that ReadResults reads: each result.json and each packed file at the paths, once. It
// opens none.
func ResultFiles(paths ...string) (all []string, err error) {
	err = eachFile(paths, "", func(name, _ string) error {
		all = append(all, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("continual: find results: %w", err)
	}
	return all, nil
}

// eachFile calls visit once for each result.json and each packed file at the paths, with the file's folder below the
// path. In a folder at the paths, it skips the file that except names.
func eachFile(paths []string, except string, visit func(name, below string) error) error {
	seen := map[string]bool{}
	passed, _ := os.Stat(except) // nil where there is none
	for _, start := range paths {
		start = filepath.Clean(start)
		if info, err := os.Stat(start); err == nil && info.IsDir() {
			start += string(filepath.Separator) // follows a symbolic link
		}
		err := filepath.WalkDir(start, func(name string, d fs.DirEntry, err error) error {
			isResult := filepath.Base(name) == ResultFile
			isPacked := !isResult && (name == start || strings.HasSuffix(name, PackedExt))
			if err != nil || d.IsDir() || !isResult && !isPacked {
				return err
			}
			whole, err := filepath.Abs(name)
			if err != nil || seen[whole] {
				return err
			}
			seen[whole] = true
			below, err := filepath.Rel(start, filepath.Dir(name))
			if err != nil || name == start {
				below = "."
			}
			if info, err := os.Stat(name); err == nil && name != start && os.SameFile(info, passed) {
				return nil
			}
			if strings.ContainsFunc(below, unicode.IsControl) {
				return fmt.Errorf("the name of folder %q holds a control character", filepath.Dir(name))
			}
			return visit(name, filepath.ToSlash(below))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
