package course

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/saot-go/saot/internal/file"
)

var (
	// folded is the solution of an exercise in a Markdown cell, whose other parts stay.
	folded  = regexp.MustCompile(`(?s)<details>\s*<summary>Solution.*?</details>\s*`)
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
)

// Solution returns the Go of the folded solution in a Markdown cell, "" for none.
func Solution(source string) string {
	found := goBlock.FindStringSubmatch(folded.FindString(source))
	if found == nil {
		return ""
	}
	return found[1]
}

// Student writes copies of the notebooks in a folder into the folder out: without the solutions of exercises, and
// without outputs of the cells with the tags "exercise" and "check". All else stays as it is. It returns the paths of
// the copies.
//
// It returns an error, and writes nothing, if there are no notebooks, one cannot be read, an exercise has no folded
// solution (it may be in sight), or a file of that name is there with other content, such as a student's work.
func Student(notebooks, out string) ([]string, error) {
	paths, err := all(notebooks)
	if err != nil {
		return nil, err
	}
	copies := make([][]byte, len(paths))
	to := make([]string, len(paths))
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("course: %w", err)
		}
		if copies[i], err = unsolved(data); err != nil {
			return nil, fmt.Errorf("course: %s: %w", path, err)
		}
		to[i] = filepath.Join(out, filepath.Base(path))
		if err := free(to[i], copies[i]); err != nil {
			return nil, fmt.Errorf("course: %w", err)
		}
	}
	for i, path := range to {
		if err := file.Write(path, copies[i]); err != nil {
			return nil, fmt.Errorf("course: %w", err)
		}
	}
	return to, nil
}

// free returns an error if the file is there with other content.
func free(path string, data []byte) error {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !bytes.Equal(old, data) {
		err = fmt.Errorf("%s is there with other content: move it, or name another folder", path)
	}
	return err
}

// unsolved returns a notebook without solutions. Cells that have nothing to do with an exercise stay as they are
// written.
func unsolved(data []byte) ([]byte, error) {
	var n map[string]json.RawMessage
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, err
	}
	var cells []json.RawMessage
	if err := json.Unmarshal(n["cells"], &cells); err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	kept := []json.RawMessage{}
	exercise := -1 // the one whose solution is still to come
	for i, raw := range cells {
		var c cell
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if c.has("exercise") {
			if exercise >= 0 {
				break
			}
			exercise = i
		}
		if c.Kind == "markdown" && folded.MatchString(string(c.Source)) {
			exercise = -1
		}
		changed, err := c.unsolved(raw)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if changed != nil {
			kept = append(kept, changed)
		}
	}
	if exercise >= 0 {
		return nil, fmt.Errorf("cell %d is an exercise without a folded solution", exercise)
	}
	var err error
	if n["cells"], err = asJupyter(kept); err != nil {
		return nil, err
	}
	return asJupyter(n)
}

// unsolved returns a cell, given as it is written too, without a solution, and without outputs if it belongs to an
// exercise; nil if nothing else is in it.
func (c *cell) unsolved(raw json.RawMessage) (json.RawMessage, error) {
	changes := map[string]any{}
	switch {
	case c.Kind == "code" && (c.has("exercise") || c.has("check")):
		changes["outputs"], changes["execution_count"] = []any{}, nil
	case c.Kind == "markdown" && folded.MatchString(string(c.Source)):
		rest := strings.TrimSpace(folded.ReplaceAllString(string(c.Source), ""))
		if rest == "" {
			return nil, nil
		}
		changes["source"] = strings.SplitAfter(rest, "\n")
	default:
		return raw, nil
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(raw, &fields)
	for name, value := range changes {
		if err == nil {
			fields[name], err = asJupyter(value)
		}
	}
	if err != nil {
		return nil, err
	}
	return asJupyter(fields)
}

// asJupyter returns a value as Jupyter writes it: indented by a space, with keys in order, and < and > as they are.
func asJupyter(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(value)
	return out.Bytes(), err
}
