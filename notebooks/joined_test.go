package notebooks_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// special finds lines that are for GoNB, not for Go. A %% starts the lines that run.
var special = regexp.MustCompile(`(?m)^[%!].*$`)

// declares reports whether a cell only declares something, and shows nothing.
func (c cell) declares() bool {
	source := string(c.Source)
	return len(c.Outputs) == 0 && !special.MatchString(source) && !strings.Contains(source, "func main()")
}

// runs reports whether a cell is Go that runs, with nothing for GoNB but the line that says so.
func (c cell) runs() bool {
	return slices.Equal([]string{"%%"}, special.FindAllString(string(c.Source), -1))
}

// joined returns the programs of a notebook: GoNB builds and links one for each cell, even for one that only declares
// something, so a cell that declares is joined to the next that runs. At is the program of each cell, -1 for a text.
func joined(cells []cell) (programs []cell, at []int) {
	open := false
	for _, c := range cells {
		if c.Kind != "code" {
			at = append(at, -1)
			continue
		}
		if open && (c.declares() || c.runs()) {
			programs[len(programs)-1].Source += "\n\n" + c.Source
		} else {
			programs = append(programs, c)
		}
		at = append(at, len(programs)-1)
		open = c.declares()
	}
	return programs, at
}

// separated gives the cells the outputs of their programs. A program's last cell is the one that runs.
func separated(cells, programs []cell, at []int) []cell {
	last := map[int]int{}
	for i, program := range at {
		last[program] = i
	}
	all := make([]cell, len(cells))
	for i, c := range cells {
		all[i] = c
		if c.Kind != "code" {
			continue
		}
		executed := programs[at[i]]
		all[i].ExecutionCount, all[i].Outputs = executed.ExecutionCount, nil
		if last[at[i]] == i {
			all[i].Outputs = executed.Outputs
		}
	}
	return all
}

func TestJoinedCells(t *testing.T) {
	code := func(source string) cell { return cell{Kind: "code", Source: text(source)} }
	shown := code("func noisy() {}")
	shown.Outputs = []output{{Kind: "stream", Name: "stdout", Text: "x"}}
	cells := []cell{
		code("%noautoget\n!ls"), code("import \"fmt\""), {Kind: "markdown", Source: "A text."}, code("func f() {}"),
		code("func g() {}\n%%\nf()"), code("%%\nf()"), shown, code("func g() {}"), code("func main() { g() }"),
		code("func h() {}"), code("%%\n!ls"),
	}
	programs, at := joined(cells)
	require.Equal(t, []int{0, 1, -1, 1, 1, 2, 3, 4, 5, 6, 7}, at)
	require.Equal(t, "import \"fmt\"\n\nfunc f() {}\n\nfunc g() {}\n%%\nf()", string(programs[1].Source))
	for i := range programs {
		programs[i].ExecutionCount = &i
		programs[i].Outputs = []output{{Text: text(fmt.Sprint(i))}}
	}
	all := separated(cells, programs, at)
	require.Len(t, all, len(cells))
	for i, want := range []string{"0", "", "", "", "1", "2", "3", "4", "5", "6", "7"} {
		if want == "" {
			require.Empty(t, all[i].Outputs, "cell %d", i)
			continue
		}
		require.Equal(t, []output{{Text: text(want)}}, all[i].Outputs, "cell %d", i)
	}
	require.Equal(t, 1, *all[3].ExecutionCount)
	require.Nil(t, all[2].ExecutionCount)
	require.Equal(t, cells[4].Source, all[4].Source)
}

// missing is how the type checker calls what no cell declares. What a package lacks is the kernel's to find.
var missing = regexp.MustCompile(`^undefined: \w+$|has no field or method|missing method`)

// undeclared returns what cells use and neither they nor a cell above declare: joined cells would hide that.
func undeclared(cells []cell) (faults []string) {
	var above []ast.Decl
	fset := token.NewFileSet()
	for i, c := range cells {
		if c.Kind != "code" {
			continue
		}
		source := "package cells\n" + string(c.Source)
		if started := strings.Replace(source, "\n%%\n", "\nfunc main() {\n", 1); started != source {
			source = started + "\n}"
		}
		file, err := parser.ParseFile(fset, "", special.ReplaceAllString(source, ""), parser.SkipObjectResolution)
		if err != nil {
			faults = append(faults, fmt.Sprintf("cell %d: %v", i, err))
			continue
		}
		config := types.Config{Importer: unread{}, Error: func(err error) {
			var found types.Error
			if errors.As(err, &found) && file.FileStart <= found.Pos && missing.MatchString(found.Msg) {
				faults = append(faults, fmt.Sprintf("cell %d: %s", i, found.Msg))
			}
		}}
		own := file.Decls
		file.Decls = append(slices.Clone(above), own...)
		slices.SortStableFunc(file.Decls, func(a, b ast.Decl) int { return imports(b) - imports(a) })
		_, _ = config.Check("cells", fset, []*ast.File{file}, nil) // the importer makes it fail
		above = append(above, own...)
	}
	return faults
}

// imports is 1 for a declaration of imports, else 0.
func imports(d ast.Decl) int {
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
		return 1
	}
	return 0
}

// unread imports packages by their names alone.
type unread struct{}

// version is a last element of a path that is no package's name.
var version = regexp.MustCompile(`^v\d+$`)

func (unread) Import(from string) (*types.Package, error) {
	name := path.Base(from)
	if version.MatchString(name) {
		name = path.Base(path.Dir(from))
	}
	p := types.NewPackage(from, name)
	p.MarkComplete()
	return p, nil
}

func TestCellsUseWhatStandsAbove(t *testing.T) {
	for _, path := range all(t) {
		require.Empty(t, undeclared(read(t, path).Cells), path)
	}
	code := func(source string) cell { return cell{Kind: "code", Source: text(source)} }
	require.Equal(t, []string{"cell 2: undefined: g", "cell 3: x(1).m undefined (type x has no field or method m)",
		"cell 3: undefined: h"}, undeclared([]cell{
		code("%noautoget"), code("import \"math/rand/v2\""), code("func f() { g(rand.Int()) }"),
		code("type x int\n%%\nf()\nx(1).m(h)"), code("func g(int) {}"), code("func (x) m() {}"), code("func h() {}"),
		code("%%\nx(1).m()"),
	}))
	require.Contains(t, undeclared([]cell{code("func {")})[0], "cell 0: ")
}
