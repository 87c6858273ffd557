package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Embeddings are the settings of a method of another program: the files that it left.
type Embeddings struct {
	// Checksum is the SHA-256 of what sha256sum prints for 1.npy, 2.npy, …. Two runs with the same checksum get the
	// same scores.
	Checksum string `json:"checksum"`
}

// Validate returns nil: NewLearner compares the checksum with the files.
func (e *Embeddings) Validate() error { return nil }

// ExternalSettings returns the settings under which "saot score" scores the embeddings of another program's method.
func ExternalSettings(dataset, name string) Settings {
	s := Settings{Dataset: dataset, Method: name, External: true, Of: &Embeddings{}, Probes: continual.Probes(),
		ProbeRows: DefaultProbeRows}
	s.SetCut(datasets.DefaultStreamOptions())
	return s
}

// Definition returns that of the method, also where it is another program's.
func (s *Settings) Definition() (*method.Definition, error) {
	if !s.External {
		return method.Lookup(s.Method)
	}
	return &method.Definition{Name: s.Method, Kind: method.SelfSupervised, Summary: "a method of another program",
		Defaults: func(datasets.Recipe, method.Preset) method.Settings { return &Embeddings{} }}, nil
}

// checksumOf identifies the embeddings of another program that a result is of; "" where it is of none.
func checksumOf(r *continual.Result) string {
	var s Settings
	if !r.External || json.Unmarshal(r.Config, &s) != nil || !s.External {
		return ""
	}
	return s.Of.(*Embeddings).Checksum
}

// longestName is that of another program's method, in bytes.
const longestName = 100

// checkName finds a name that another method has, or that a table or the name of a file would not show as it is.
func (s *Settings) checkName() error {
	taken := slices.ContainsFunc(method.Names(), func(n string) bool { return strings.EqualFold(n, s.Method) })
	switch name := s.Method; {
	case !s.External:
		return nil
	case taken:
		return fmt.Errorf("experiment: the name %s is taken, by a method of saot: choose another one", name)
	case name == "" || name != strings.TrimSpace(name):
		return fmt.Errorf("experiment: the name %q is empty, or begins or ends with a space: choose another one", name)
	case strings.Trim(name, ".") == "" || len(name) > longestName || !utf8.ValidString(name) ||
		strings.ContainsAny(name, `<>:"/\|?*`) || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}):
		return fmt.Errorf("experiment: the name %q cannot be part of a file's name, or is longer than %d bytes: "+
			"choose another one", name, longestName)
	}
	return nil
}

// embeddingFiles are the files of another program's method: after task k it left k.npy, a row for each node of the
// dataset.
type embeddingFiles struct {
	folder string
	stream *datasets.Stream
	sums   []string // of the files, once they were checked
	cols   int      // of the first
}

// newExternal checks all files before the first is scored, and notes their checksum in the settings.
func (r *Run) newExternal(stream *datasets.Stream) (continual.Method, error) {
	f := &embeddingFiles{folder: r.Embeddings, stream: stream}
	if err := f.checkNames(); err != nil {
		return nil, err
	}
	list := sha256.New()
	for k := range stream.Tasks {
		z, err := f.read(k + 1)
		if err != nil {
			return nil, err
		}
		f.sums, f.cols = append(f.sums, z.Checksum), z.Cols
		_, _ = fmt.Fprintf(list, "%s  %d.npy\n", z.Checksum, k+1) // a hash takes all
	}
	of, sum := r.Of.(*Embeddings), hex.EncodeToString(list.Sum(nil))
	if of.Checksum != "" && of.Checksum != sum {
		return nil, fmt.Errorf("experiment: the files in %s have changed since the run began (checksum %.12s then, "+
			"%.12s now): restore them, or score the new ones in an empty folder", f.folder, of.Checksum, sum)
	}
	of.Checksum = sum
	return continual.External(f.embeddings), nil
}

// checkNames wants a file for each task and none for another: those would be of another stream.
func (f *embeddingFiles) checkNames() error {
	entries, err := os.ReadDir(f.folder)
	if err != nil {
		return fmt.Errorf("experiment: embeddings: %w: the folder must be there and hold 1.npy, 2.npy, …", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	n := len(f.stream.Tasks)
	want := fmt.Sprintf("the stream has %d tasks, and each wants a file, 1.npy to %[1]d.npy", n)
	for k := range n {
		if name := fmt.Sprintf("%d.npy", k+1); !slices.Contains(names, name) {
			return fmt.Errorf("experiment: %s is missing: %s", filepath.Join(f.folder, name), want)
		}
	}
	for _, name := range names {
		number, isNPY := strings.CutSuffix(name, ".npy")
		k, err := strconv.Atoi(number)
		isNumber := err == nil || errors.Is(err, strconv.ErrRange)
		if isNPY && isNumber && (k < 1 || k > n || strconv.Itoa(k) != number) {
			return fmt.Errorf("experiment: %s is of no task: %s", filepath.Join(f.folder, name), want)
		}
	}
	return nil
}

// read reads the file of a task, from 1, and checks the rows of the tasks seen by then.
func (f *embeddingFiles) read(seen int) (*datasets.Embeddings, error) {
	path := filepath.Join(f.folder, fmt.Sprintf("%d.npy", seen))
	z, err := datasets.ReadEmbeddings(path, f.stream.Nodes)
	if err != nil {
		return nil, err
	}
	if f.cols > 0 && z.Cols != f.cols {
		return nil, fmt.Errorf("experiment: %s: %d columns, want the %d of 1.npy", path, z.Cols, f.cols)
	}
	for j := range seen {
		for _, node := range f.stream.Tasks[j].Nodes {
			for c, v := range z.Row(node) {
				if v-v != 0 { // NaN for infinities and NaN
					return nil, fmt.Errorf("experiment: %s: row %d, a node of task %d, has %v in column %d (counted "+
						"from 0): replace what is not finite in float32", path, node, j+1, v, c)
				}
			}
		}
	}
	return z, nil
}

// embeddings is a continual.External.
func (f *embeddingFiles) embeddings(ctx context.Context, seen int) ([]*continual.Embedding, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	z, err := f.read(seen)
	if err != nil {
		return nil, err
	}
	if z.Checksum != f.sums[seen-1] {
		return nil, fmt.Errorf("experiment: %s has changed since the run began: score it again in an empty folder",
			filepath.Join(f.folder, fmt.Sprintf("%d.npy", seen)))
	}
	all := make([]*continual.Embedding, seen)
	for j := range all {
		nodes := f.stream.Tasks[j].Nodes
		all[j] = &continual.Embedding{Rows: len(nodes), Cols: z.Cols, Data: make([]float32, 0, len(nodes)*z.Cols)}
		for _, node := range nodes {
			all[j].Data = append(all[j].Data, z.Row(node)...)
		}
	}
	return all, nil
}
