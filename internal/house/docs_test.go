package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// documents returns the paths of the documents that readers see, from the repository's root.
func documents(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "notebooks/*.md", "bench/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range found {
			path, err := filepath.Rel(root, path)
			require.NoError(t, err)
			paths = append(paths, filepath.ToSlash(path))
		}
	}
	require.Greater(t, len(paths), 20)
	return paths
}

func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

var (
	fence  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inline = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	head   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// Every link of every document leads to a file or folder of the repository and, in a document, to one of its headings.
func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, path := range documents(t) {
		prose := inline.ReplaceAllString(fence.ReplaceAllString(document(t, path), ""), "")
		for _, found := range link.FindAllStringSubmatch(prose, -1) {
			links++
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				require.Regexp(t, `^https://[\w.-]+/`, found[1], path)
				continue
			}
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			require.FileExists(t, existing(to), "%s links to %s", path, found[1])
			if anchor != "" {
				require.Contains(t, anchors(document(t, to)), anchor, "%s links to %s", path, found[1])
			}
		}
	}
	require.Greater(t, links, 200)
}

// existing returns the path, or that of a file in it where it is a folder.
func existing(path string) string {
	path = filepath.Join(root, path)
	if inside, err := filepath.Glob(filepath.Join(path, "*.*")); err == nil && len(inside) > 0 {
		return inside[0]
	}
	return path
}

// anchors returns the names that code hosts and MkDocs give to headings.
func anchors(text string) []string {
	var names []string
	for _, found := range head.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ', r == '-':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		names = append(names, name)
	}
	return names
}

// Whole programs in documents compile; pieces are Go.
func TestGoInDocuments(t *testing.T) {
	programs := 0
	for _, path := range documents(t) {
		for i, block := range fence.FindAllStringSubmatch(document(t, path), -1) {
			if block[1] != "go" || !strings.HasPrefix(block[2], "package main\n") {
				continue
			}
			programs++
			file := filepath.Join(t.TempDir(), fmt.Sprintf("block%d.go", i))
			require.NoError(t, os.WriteFile(file, []byte(block[2]), 0o600))
			out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput()
			require.NoError(t, err, "%s: %s", path, out)
			formatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).CombinedOutput()
			require.NoError(t, err)
			require.Empty(t, string(formatted), "%s: run gofmt on the program", path)
		}
	}
	require.GreaterOrEqual(t, programs, 2)
}

// The functions of a page are those of an example, which is run.
func TestFunctionsOfAnExample(t *testing.T) {
	example, functions := document(t, "saot/experiment/embed_test.go"), 0
	for _, block := range fence.FindAllStringSubmatch(document(t, "docs/howto/embed.md"), -1) {
		if block[1] == "go" {
			functions++
			require.True(t, strings.Contains(example, "\n"+block[2]+"\n"), "it has not this function:\n%s", block[2])
		}
	}
	require.Equal(t, 3, functions)
}

// The tests that documents name exist.
func TestNamedTestsExist(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			there[string(found[1])] = true
		}
		return err
	}))
	named := map[string]bool{}
	for _, page := range []string{"docs/peers.md", "docs/install.md", "docs/howto/notebooks.md", "docs/howto/gpu.md",
		"docs/reliability.md"} {
		for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(document(t, page), -1) {
			require.True(t, there[name], "%s names %s", page, name)
			named[name] = true
		}
	}
	require.Greater(t, len(named), 25)
}

// Making the site empties a folder, which must be one of its own.
func TestSiteSparesOtherFolders(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	out := t.TempDir()
	letter := filepath.Join(out, "letter.txt")
	require.NoError(t, os.WriteFile(letter, nil, 0o600))
	said, err := exec.CommandContext(t.Context(), bash, root+"/docs/site/build", filepath.ToSlash(out)).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "holds something other than an earlier site")
	require.FileExists(t, letter)
}

// The site is built where MkDocs is: without a warning, and with nothing from another host.
func TestSite(t *testing.T) {
	mkdocs := os.Getenv("SAOT_MKDOCS")
	if mkdocs == "" {
		mkdocs, _ = exec.LookPath("mkdocs")
	}
	if mkdocs == "" {
		t.Skip("no mkdocs on PATH and SAOT_MKDOCS is not set: the site is not built")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on PATH: the site is not built")
	}
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "bash", "docs/site/build", out)
	build.Dir, build.Env = root, append(os.Environ(), "SAOT_MKDOCS="+mkdocs)
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.FileExists(t, filepath.Join(out, "playground", "index.html"))
	if !strings.Contains(string(said), "the course is left out") {
		require.FileExists(t, filepath.Join(out, "course", "index.html"))
	}
	pages, err := filepath.Glob(filepath.Join(out, "*", "*.html"))
	require.NoError(t, err)
	top, err := filepath.Glob(filepath.Join(out, "*.html"))
	require.NoError(t, err)
	loaded := regexp.MustCompile(`<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//|<link[^>]*rel="?(?:stylesheet|preconnect)"?[^>]*//`)
	for _, page := range append(top, pages...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, loaded.FindString(string(text)), page)
	}
	require.Greater(t, len(top)+len(pages), 20)
	require.FileExists(t, filepath.Join(out, "search", "search_index.json"))
}
