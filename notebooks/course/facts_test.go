package course

import (
	"cmp"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
)

// first returns a first cell with a table and what follows it.
func first(minutes, needs, rest string) string {
	return fmt.Sprintf("# A\n\nB.\n\n| level | time to read | prerequisites |\n|---|---|---|\n"+
		"| advanced | %s minutes | %s |%s", minutes, needs, rest)
}

func TestReadFacts(t *testing.T) {
	for source, want := range map[string]Facts{
		first("9", "none; time helps", ""):                                  {"advanced", 9, "none; time helps", ""},
		first("60", "notebooks 01 and 03", "\n\nC."):                        {"advanced", 60, "01 and 03", ""},
		first("9", "[04 A, b](04_a.ipynb), [05 B](05_b.ipynb), primes", ""): {"advanced", 9, "04, 05, primes", ""},
		first("9", "notebook 01, with its dual", "\n\nAfter it you can read Eq. 7 and\ntell."): {
			"advanced", 9, "01, with its dual", ""},
		first("9", "none", "\n\nAfter it you can read Eq. 7 and tell **A** from $\\varepsilon$. Eq. 8 is D."): {
			"advanced", 9, "none", "After it you can read Eq. 7 and tell A from ε."},
		first("9", "none", "\n\nAfter it you can count.\n\nD."): {"advanced", 9, "none", "After it you can count."},
	} {
		facts, ok := ReadFacts(source)
		require.True(t, ok, source)
		require.Equal(t, want, facts, source)
	}
	for _, source := range []string{"", "# A\n\nB.", first("some", "none", ""), first("9", "", ""),
		strings.Replace(first("9", "none", ""), "advanced", "hard", 1),
		strings.Replace(first("9", "none", ""), "# A\n\n", "", 1)} {
		_, ok := ReadFacts(source)
		require.False(t, ok, source)
	}
}

// pagesOf returns the pages of the notebooks, without their bodies.
func pagesOf(t *testing.T) (pages []Page) {
	t.Helper()
	paths, err := all("..")
	require.NoError(t, err)
	for _, path := range paths {
		p, err := readPage(path)
		require.NoError(t, err)
		pages = append(pages, p)
	}
	return pages
}

// row is a line of the notebooks' table: a link to a notebook, three facts, the rest.
var row = regexp.MustCompile(`(?m)^(\| \[[^\]]+\]\((\w+)\.ipynb\) \|)([^|\n]*\|[^|\n]*\|[^|\n]*\|)(.*)$`)

// The table of the notebooks has a line for each, with the facts of its first cell.
func TestTableHasTheFactsOfTheNotebooks(t *testing.T) {
	const name = "../README.md"
	committed, err := os.ReadFile(name)
	require.NoError(t, err)
	text := string(committed)
	rows := row.FindAllStringSubmatch(text, -1)
	pages := pagesOf(t)
	require.Len(t, rows, len(pages))
	for i, p := range pages {
		require.Equal(t, p.Name, rows[i][2], "the lines are in the order of the names")
		facts := cmp.Or(p.Facts, &Facts{Level: "–", Needs: "–"})
		minutes := "–"
		if facts.Minutes > 0 {
			minutes = strconv.Itoa(facts.Minutes)
		}
		cells := fmt.Sprintf(" %s | %s | %s |", facts.Level, minutes, facts.Needs)
		text = strings.Replace(text, rows[i][0], rows[i][1]+cells+rows[i][4], 1)
	}
	require.NoError(t, golden.SameText(name, text, *update), "go generate ./notebooks/course writes it")
}

// The index has the facts of each notebook.
func TestIndexHasTheFactsOfTheNotebooks(t *testing.T) {
	dir := t.TempDir()
	pages := pagesOf(t)
	require.NoError(t, write(Options{Out: dir}, pages))
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	articles := strings.Split(string(index), "<article>")[1:]
	require.Len(t, articles, len(pages))
	goals := 0
	for i, p := range pages {
		if p.Facts == nil {
			require.Equal(t, "live_explorer", p.Name)
			require.NotContains(t, articles[i], "minutes to read")
			continue
		}
		_, shown, _ := strings.Cut(html.UnescapeString(articles[i]), `alt="">`)
		require.Contains(t, shown,
			fmt.Sprintf("<p>%s · %d minutes to read · needs: %s</p>", p.Facts.Level, p.Facts.Minutes, p.Facts.Needs))
		if p.Facts.Goal != "" {
			goals++
			require.Contains(t, shown, " "+p.Facts.Goal+"</p>")
		}
	}
	require.GreaterOrEqual(t, goals, 3)
}
