package course

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func decoded[T any](t *testing.T, data []byte) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &value))
	return value
}

// withoutFolds cuts the folds called Solution. It does not use the expressions of the package.
func withoutFolds(source string) (rest string, solutions []string) {
	for {
		before, after, ok := strings.Cut(source, "<details><summary>Solution</summary>")
		if !ok {
			return strings.TrimSpace(source), solutions
		}
		solution, after, _ := strings.Cut(after, "</details>")
		source, solutions = before+strings.TrimSpace(after), append(solutions, solution)
	}
}

// handedOut is what a copy of a notebook should be, and the solutions that it should not have. It requires a task and a
// check for each.
func handedOut(t *testing.T, path string) (whole map[string]any, solutions []string) {
	t.Helper()
	data := content(t, path)
	whole = decoded[map[string]any](t, data)
	tasks, checks := 0, 0
	for i, c := range decoded[notebook](t, data).Cells {
		fields := whole["cells"].([]any)[i].(map[string]any)
		rest, cut := withoutFolds(string(c.Source))
		if len(cut) > 0 {
			solutions = append(solutions, cut...)
			lines := []any{}
			for line := range strings.SplitAfterSeq(rest, "\n") {
				lines = append(lines, line)
			}
			fields["source"] = lines
		}
		if c.has("exercise") || c.has("check") {
			fields["outputs"], fields["execution_count"] = []any{}, nil
		}
		if c.has("exercise") {
			tasks++
			require.Contains(t, string(c.Source), "kit.TODO", "%s, cell %d", path, i)
		}
		if c.has("check") {
			checks++
			require.Contains(t, string(c.Source), "kit.Grade(", "%s, cell %d", path, i)
		}
	}
	require.Equal(t, []int{len(solutions), len(solutions)}, []int{tasks, checks}, path)
	require.Equal(t, strings.HasSuffix(path, "live_explorer.ipynb"), tasks == 0, path)
	return whole, solutions
}

// A copy is its notebook, field by field, but for solutions and for outputs of exercises and checks. So it has every
// task and check, and is as valid as the notebook.
func TestStudentCopiesLackSolutionsAlone(t *testing.T) {
	paths, err := all("..")
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "new", "class")
	copies, err := Student("..", out)
	require.NoError(t, err)
	require.Len(t, copies, len(paths))
	for i, path := range paths {
		require.Equal(t, filepath.Join(out, filepath.Base(path)), copies[i])
		data := content(t, copies[i])
		want, solutions := handedOut(t, path)
		require.Equal(t, want, decoded[map[string]any](t, data), path)
		shown := ""
		for _, c := range decoded[notebook](t, data).Cells {
			shown += string(c.Source) + "\n"
		}
		require.NotContains(t, shown, "Solution<", path)
		for _, solution := range solutions {
			_, program, _ := strings.Cut(solution, "```go\n")
			program, _, _ = strings.Cut(program, "```")
			require.NotEmpty(t, program, path)
			require.Equal(t, program, Solution("<details><summary>Solution</summary>"+solution+"</details>"))
			_, body, _ := strings.Cut(program, "{")
			require.NotContains(t, shown, body, path)
		}
		if len(solutions) == 0 {
			require.Equal(t, string(content(t, path)), string(data), "nothing to change")
		}
	}
}

const (
	task = `{"cell_type": "code", "metadata": {"tags": ["exercise"]}, "outputs": [{"a": 1}], "source": "f()"}`
	fold = `{"cell_type": "markdown", "source": ["<details>\n", "<summary>Solution 1</summary>\n", "g</details>\n"]}`
)

// folder returns a folder with a notebook of these cells.
func folder(t *testing.T, cells string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.ipynb"), []byte(`{"cells": [`+cells+`]}`), 0o600))
	return dir
}

// A cell that holds nothing but a solution goes. Text around one stays, and so does code that names one.
func TestStudentCopyOfACell(t *testing.T) {
	code := `{"cell_type": "code", "source": "// <details><summary>Solution</summary> a < b </details>"}`
	around := `{"cell_type": "markdown", "source": "A.\n\n<details><summary>Solution</summary>g</details>\n\nB.\nC."}`
	out := t.TempDir()
	copies, err := Student(folder(t, task+","+fold+","+code+","+task+","+around), out)
	require.NoError(t, err)
	var n notebook
	data := content(t, copies[0])
	require.NoError(t, json.Unmarshal(data, &n))
	require.Len(t, n.Cells, 4)
	require.Empty(t, n.Cells[0].Outputs)
	require.Contains(t, string(data), "// <details><summary>Solution</summary> a < b </details>")
	require.Equal(t, Text("A.\n\nB.\nC."), n.Cells[3].Source)
}

// Nothing is written where a solution may be in sight, or where another file would be lost.
func TestStudentErrors(t *testing.T) {
	empty := t.TempDir()
	_, err := Student(empty, empty)
	require.ErrorContains(t, err, "no notebooks in "+empty)
	for cells, want := range map[string]string{
		task + "," + task + "," + fold: "cell 0 is an exercise without a folded solution",
		fold + "," + task:              "cell 1 is an exercise without a folded solution",
		"{":                            "invalid character",
		"1":                            "cell 0: ",
	} {
		from := folder(t, cells)
		_, err := Student(from, empty)
		require.ErrorContains(t, err, filepath.Join(from, "a.ipynb")+": ")
		require.ErrorContains(t, err, want)
	}
	from := folder(t, task+","+fold)
	first, err := os.ReadFile(filepath.Join(from, "a.ipynb"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(from, "0.ipynb"), first, 0o600))

	out := t.TempDir()
	mine, other := filepath.Join(out, "a.ipynb"), filepath.Join(out, "notes.txt")
	for _, path := range []string{mine, other} {
		require.NoError(t, os.WriteFile(path, []byte("my work"), 0o600))
	}
	_, err = Student(from, out)
	require.ErrorContains(t, err, mine+" is there with other content")
	require.NoFileExists(t, filepath.Join(out, "0.ipynb"))
	require.Equal(t, "my work", string(content(t, mine)))
	require.NoError(t, os.Remove(mine))
	for range 2 { // the second time the copies are there
		copies, err := Student(from, out)
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(out, "0.ipynb"), mine}, copies)
	}
	require.Equal(t, "my work", string(content(t, other)))
	_, err = Student(from, other)
	require.ErrorContains(t, err, other)
	_, err = Student(from, from)
	require.ErrorContains(t, err, "0.ipynb is there with other content")
}
