package notebooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/notebooks/course"
)

// A student's copy finds the repository from a folder directly in it: the setup of a notebook works, and checks wait
// for their exercises.
func TestStudentCopyRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("executing a notebook takes a minute: skipped with -short")
	}
	jupyter := findJupyter(t)
	env := append(kernel(t), "CGO_ENABLED=0")
	dir, err := os.MkdirTemp("..", "student-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	_, err = course.Student(".", dir)
	require.NoError(t, err)
	path := filepath.Join(dir, "02_line.ipynb")
	handedOut := read(t, path)
	var cells []cell
	for i, c := range handedOut.Cells {
		if i == 1 || c.declares() || c.has("check") {
			cells = append(cells, c)
		}
	}
	programs, _ := joined(cells)
	executed := execute(t, jupyter, env, write(t, path, handedOut, programs))
	require.Len(t, executed.Cells, 3, "the first cell, and a program for each check")
	require.NotContains(t, executed.Cells[0].printed("stderr"), "exit status")
	for i, c := range executed.Cells[1:] {
		require.Contains(t, c.printed("stdout"), fmt.Sprintf("Exercise %d: write the function above", i+1))
	}
}
