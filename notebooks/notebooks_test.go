// Package notebooks_test checks that the notebooks run without a screen and print what is committed.
package notebooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/notebooks/course"
	"github.com/saot-go/saot/notebooks/kit"
	"github.com/saot-go/saot/saot/engine"

	// The cells call these packages: without the imports a cached pass would survive their changes.
	_ "github.com/saot-go/saot/saot"
)

// leastPictures is how many pictures each notebook must show, or as many as are committed, if those are more.
const leastPictures = 3

// live is the notebook for a browser. Executed without one it shows a single picture.
const live = "live_explorer.ipynb"

// executionTime is the limit for a run of a notebook on two idle processors; on busy ones it may take slack times as
// long.
const (
	executionTime = 2 * time.Minute
	slack         = 8
)

// notebook is the part of the .ipynb format, version 4, that the tests read.
type notebook struct {
	Cells    []cell          `json:"cells"`
	Metadata json.RawMessage `json:"metadata"`
	Format   int             `json:"nbformat"`
	Minor    int             `json:"nbformat_minor"`
}

type text = course.Text

type cell struct {
	ID       string `json:"id"`
	Kind     string `json:"cell_type"`
	Source   text   `json:"source"`
	Metadata struct {
		Tags []string `json:"tags,omitempty"`
	} `json:"metadata"`
	ExecutionCount *int     `json:"execution_count"`
	Outputs        []output `json:"outputs"`
}

func (c cell) has(tag string) bool { return slices.Contains(c.Metadata.Tags, tag) }

type output struct {
	Kind     string          `json:"output_type"` // stream, display_data, execute_result or error
	Name     string          `json:"name"`        // stdout or stderr, of a stream
	Text     text            `json:"text"`        // of a stream
	Data     map[string]text `json:"data"`        // by MIME type
	Metadata struct {
		PNG struct {
			Width int `json:"width"` // in pixels of the page
		} `json:"image/png"`
		Alt string `json:"alt"` // of a picture
	} `json:"metadata"`
	Error     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// styled finds the widths that a fragment of a page gives its pictures.
var styled = regexp.MustCompile(`width:(\d+)px`)

// width is the greatest width of an output's pictures in pixels of the page, 0 for none.
func (o output) width() (widest int) {
	if _, ok := o.Data["image/png"]; ok {
		widest = o.Metadata.PNG.Width
	}
	for _, found := range styled.FindAllStringSubmatch(string(o.Data["text/html"]), -1) {
		if width, err := strconv.Atoi(found[1]); err == nil {
			widest = max(widest, width)
		}
	}
	return widest
}

// printed returns what a cell wrote to a stream.
func (c cell) printed(name string) string {
	var all strings.Builder
	for _, o := range c.Outputs {
		if o.Kind == "stream" && o.Name == name {
			all.WriteString(string(o.Text))
		}
	}
	return all.String()
}

// pictures counts the cell's pictures, and returns an error for a PNG that cannot be read or has no alternative text.
func (c cell) pictures() (int, error) {
	count := 0
	for _, o := range c.Outputs {
		if encoded, ok := o.Data["image/png"]; ok {
			if _, err := encoded.PNG(); err != nil {
				return 0, fmt.Errorf("a picture cannot be read: %w", err)
			}
			if o.Metadata.Alt == "" {
				return 0, errors.New("a picture has no text for readers who don't see it: give it a title")
			}
			count++
		}
	}
	return count, nil
}

// pictures counts the notebook's pictures.
func (n *notebook) pictures() (int, error) {
	count := 0
	for i, c := range n.Cells {
		shown, err := c.pictures()
		if err != nil {
			return 0, fmt.Errorf("cell %d: %w", i, err)
		}
		count += shown
	}
	return count, nil
}

// check returns an error for an executed notebook with a failure. A shell line that fails does not fail its cell: it
// only prints its exit status on stderr.
func (n *notebook) check(leastPictures int) error {
	for i, c := range n.Cells {
		if c.Kind != "code" {
			continue
		}
		if c.ExecutionCount == nil {
			return fmt.Errorf("cell %d has not been executed", i)
		}
		for _, o := range c.Outputs {
			if o.Kind == "error" {
				return fmt.Errorf("cell %d failed: %s\n%s\nstderr:\n%s",
					i, o.Error, strings.Join(o.Traceback, "\n"), c.printed("stderr"))
			}
		}
		if stderr := c.printed("stderr"); strings.Contains(stderr, "exit status") {
			return fmt.Errorf("cell %d: a shell line failed:\n%s", i, stderr)
		}
	}
	pictures, err := n.pictures()
	if err != nil {
		return err
	}
	if pictures < leastPictures {
		return fmt.Errorf("%d pictures, want at least %d", pictures, leastPictures)
	}
	return nil
}

func read(t *testing.T, path string) *notebook {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	n := new(notebook)
	require.NoError(t, json.Unmarshal(data, n), path)
	require.NotEmpty(t, n.Cells, path)
	return n
}

func all(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.ipynb")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// least returns how many pictures a notebook must show.
func least(path string) int {
	if path == live {
		return 1
	}
	return leastPictures
}

func TestCommittedOutputs(t *testing.T) {
	for _, path := range all(t) {
		require.NoError(t, read(t, path).check(least(path)), path)
	}
}

// dot is a PNG of one black pixel, in base64.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

func TestCheckFindsFailures(t *testing.T) {
	executed := func(output string) string {
		return `{"cell_type": "code", "execution_count": 1, "outputs": [{` + output + `}]}`
	}
	for want, cells := range map[string]string{
		"cell 0 has not been executed": `{"cell_type": "code", "execution_count": null, "outputs": []}`,
		"cell 0 failed: boom":          executed(`"output_type": "error", "evalue": "boom", "traceback": ["at"]`),
		"cell 1: a shell line failed": `{"cell_type": "markdown", "source": []}, ` +
			executed(`"output_type": "stream", "name": "stderr", "text": ["exit ", "status 1"]`),
		"cell 0: a picture cannot be": executed(
			`"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}`),
		"0 pictures, want at least 2": executed(
			`"output_type": "stream", "name": "stdout", "text": "exit status 1"`),
		"cell 0: a picture cannot be rea": executed(
			`"output_type": "display_data", "data": {"image/png": "%"}`),
		"cell 0: a picture has no text": executed(
			`"output_type": "display_data", "data": {"image/png": "` + dot + `"}`),
		"1 pictures, want at least 2": executed(
			`"output_type": "display_data", "data": {"image/png": "` + dot + `"}, "metadata": {"alt": "a dot"}`),
	} {
		n := new(notebook)
		require.NoError(t, json.Unmarshal([]byte(`{"cells": [`+cells+`]}`), n))
		require.ErrorContains(t, n.check(2), want)
	}
}

// atOnce is how many notebooks run at the same time: each is a kernel that compiles and computes on all processors.
const atOnce = 2

func TestNotebooksRun(t *testing.T) {
	if testing.Short() {
		t.Skip("executing notebooks takes minutes: skipped with -short")
	}
	jupyter := findJupyter(t)
	env := append(kernel(t), "CGO_ENABLED=0") // XLA alone needs cgo: without it Go links a cell by itself, and sooner
	turns := make(chan struct{}, atOnce)
	for _, path := range all(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			committed := read(t, path)
			pictures, err := committed.pictures()
			require.NoError(t, err)
			with, checks := solved(committed.Cells)
			programs, at := joined(with)
			executed := execute(t, jupyter, env, write(t, "solved-"+path, committed, programs))
			require.Len(t, executed.Cells, len(programs))
			executed.Cells = separated(with, executed.Cells, at)
			for _, i := range checks {
				require.Contains(t, executed.Cells[i].printed("stdout"), ": passed.", "the solution above cell %d", i)
				require.NotContains(t, executed.Cells[i].printed("stdout"), "✗")
			}
			executed.Cells = withoutSolutions(executed.Cells, checks)
			require.NoError(t, executed.check(max(pictures, least(path))))
			requireSameOutputs(t, committed, executed)
		})
	}
}

// Notebooks that open an engine run on another one as well, with as many pictures. What they print may differ in the
// last digits, so it is not compared.
func TestNotebooksRunOnAnEngine(t *testing.T) {
	name := os.Getenv(kit.EngineEnv)
	if name == "" {
		t.Skipf("%s names no engine, such as xla:cpu", kit.EngineEnv)
	}
	e, err := engine.Open(name)
	if err != nil {
		t.Skipf("engine %s is not present: %v", name, err)
	}
	e.Close()
	jupyter := findJupyter(t)
	env := append(kernel(t), kit.EngineEnv+"="+name)
	for _, path := range all(t) {
		committed := read(t, path)
		opens := func(c cell) bool {
			source := string(c.Source)
			return strings.Contains(source, "kit.Engine()") || strings.Contains(source, "kit.Learner(")
		}
		if !slices.ContainsFunc(committed.Cells, opens) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			pictures, err := committed.pictures()
			require.NoError(t, err)
			programs, _ := joined(committed.Cells)
			changed := write(t, strings.ReplaceAll(name, ":", "-")+"-"+path, committed, programs)
			require.NoError(t, execute(t, jupyter, env, changed).check(pictures))
		})
	}
}

// write writes a notebook with other cells next to the others, so that GoNB finds the module, and returns its path. The
// path does not end as a notebook's: tests of other packages read those at the same time. The file goes with the test.
func write(t *testing.T, path string, n *notebook, cells []cell) string {
	t.Helper()
	list := make([]map[string]any, len(cells))
	for i, c := range cells {
		list[i] = map[string]any{"id": c.ID, "cell_type": c.Kind, "source": c.Source, "metadata": c.Metadata}
		if c.Kind == "code" {
			list[i]["outputs"], list[i]["execution_count"] = []output{}, nil
		}
	}
	data, err := json.Marshal(map[string]any{
		"cells": list, "metadata": n.Metadata, "nbformat": n.Format, "nbformat_minor": n.Minor})
	require.NoError(t, err)
	path += ".part"
	require.NoError(t, os.WriteFile(path, data, 0o600))
	t.Cleanup(func() { require.NoError(t, os.Remove(path)) })
	return path
}

// timing matches what differs between runs: a time, as Go or a notebook prints it, with the space before it.
var timing = regexp.MustCompile(`[ \t]*\b(\d+h)?(\d+m)?\d+(\.\d+)?\s?(ns|µs|us|ms|s|seconds|minutes)\b`)

func TestTiming(t *testing.T) {
	for text, want := range map[string]string{
		"3.2s":               "…",
		"took   12 ms, 1m3s": "took …,…",
		"plain 1.234567ms |": "plain… |",
		"3 sweeps, 0.5 mass": "3 sweeps, 0.5 mass",
		"ε = 0.2 of 12 runs": "ε = 0.2 of 12 runs",
	} {
		require.Equal(t, strings.ReplaceAll(want, " …", "…"), timing.ReplaceAllString(text, "…"))
	}
}

// requireSameOutputs requires the committed text, except times, where numbers are rounded as there, and the committed
// number of pictures in each cell.
func requireSameOutputs(t *testing.T, committed, executed *notebook) {
	t.Helper()
	require.Len(t, executed.Cells, len(committed.Cells))
	for i, c := range committed.Cells {
		stdout := func(c cell) string { return timing.ReplaceAllString(c.printed("stdout"), "…") }
		if golden.Exact() {
			require.Equal(t, stdout(c), stdout(executed.Cells[i]), "cell %d: execute the notebook again and commit it",
				i)
		}
		want, err := c.pictures()
		require.NoError(t, err)
		got, err := executed.Cells[i].pictures()
		require.NoError(t, err)
		require.Equal(t, want, got, "pictures of cell %d", i)
	}
}
