package plotting_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
)

const (
	galleryPage  = "../docs/gallery.md"
	galleryLines = 10      // of code for each picture
	galleryBytes = 600_000 // of all pictures
)

// shown is an example with its picture.
type shown struct {
	function, picture, code string
	calls                   []string // exported functions of plotting
}

// TestGallery holds that docs/gallery.md shows every plotting function by an example. The examples' own test compares
// the pictures with what the code draws.
func TestGallery(t *testing.T) {
	functions := drawingFunctions(t)
	examples := galleryExamples(t)
	size := 0
	var drawn []string
	for _, e := range examples {
		drawn = append(drawn, e.calls...)
		require.LessOrEqual(t, strings.Count(e.code, "\n"), galleryLines, "%s: shorten the example", e.function)
		info, err := os.Stat(filepath.Join(pictures, e.picture))
		require.NoError(t, err, "go generate ./plotting draws it")
		size += int(info.Size())
	}
	for name := range functions {
		require.Contains(t, drawn, name, "no example in the gallery calls %s", name)
	}
	require.Less(t, size, galleryBytes)
	require.NoError(t, golden.SameText(galleryPage, galleryText(examples, functions), *update),
		"go generate ./plotting writes it")
}

// drawing is an exported function that returns a Figure.
type drawing struct{ summary, file string }

// drawingFunctions returns them by name. The summary is the first sentence of the doc.
func drawingFunctions(t *testing.T) map[string]drawing {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	all := map[string]drawing{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "Figure" {
				all[f.Name.Name] = drawing{new(doc.Package).Synopsis(f.Doc.Text()), path}
			}
		}
	}
	require.Greater(t, len(all), 20)
	return all
}

// galleryExamples returns the examples that compare a picture, by function.
func galleryExamples(t *testing.T) (all []shown) {
	t.Helper()
	for _, path := range []string{"example_test.go", "example_map_test.go"} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		require.NoError(t, err)
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			body := string(source[set.Position(f.Body.Lbrace).Offset+1 : set.Position(f.Body.Rbrace).Offset])
			if e, ok := newShown(t, f.Name.Name, body); ok {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b shown) int { return strings.Compare(a.function, b.function) })
	return all
}

var (
	comparison = regexp.MustCompile(`(?m)^\tcompare\("([a-z0-9-]+)", (.*), err\)\n`)
	called     = regexp.MustCompile(`plotting\.([A-Z]\w*)\(`)
)

func newShown(t *testing.T, name, body string) (e shown, ok bool) {
	t.Helper()
	match := comparison.FindStringSubmatch(body)
	if match == nil {
		return e, false
	}
	e.function, e.picture = strings.TrimPrefix(name, "Example"), match[1]+".png"
	code := comparison.ReplaceAllString(body, "")
	if match[2] != "f" { // such as f.WithTitle("…")
		code = comparison.ReplaceAllString(body, "\tf = "+match[2]+"\n")
	}
	code, _, _ = strings.Cut(code, "\t// Output:")
	formatted, err := format.Source([]byte(strings.ReplaceAll("\n"+strings.Trim(code, "\n"), "\n\t", "\n")))
	require.NoError(t, err, name)
	e.code = strings.TrimSpace(string(bytes.TrimSpace(formatted))) + "\n"
	for _, c := range called.FindAllStringSubmatch(e.code, -1) {
		e.calls = append(e.calls, c[1])
	}
	return e, true
}

func galleryText(examples []shown, functions map[string]drawing) string {
	var b strings.Builder
	b.WriteString(`# Gallery

Every function of package plotting that draws, with the code of its picture. The code is that of the package's tested
examples. Data that several of them share come from helpers in
[example_test.go](../plotting/example_test.go) and [example_map_test.go](../plotting/example_map_test.go): clouds of
points, plans, runs. Their figures are invented.

This page is made by ` + "`go generate ./plotting`" + `. ` + "`go doc ./plotting`" + ` says how
to write mathematics, to fix limits across frames, and to share a color scale.

`)
	for _, e := range examples {
		name, variant, _ := strings.Cut(e.function, "_")
		title := name
		if variant != "" {
			title += ": " + variant
		}
		fmt.Fprintf(&b, "## %s\n\n", title)
		if variant == "" {
			fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(functions[name].summary, "_", "\\_"))
		} else {
			fmt.Fprintf(&b, "%s with other options.\n", name)
		}
		fmt.Fprintf(&b, "[Source](../plotting/%s)\n\n", functions[name].file)
		fmt.Fprintf(&b, "<img src=\"gallery/%s\" alt=\"%s\" width=\"420\">\n\n", e.picture, title)
		fmt.Fprintf(&b, "```go\n%s```\n\n", e.code)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
