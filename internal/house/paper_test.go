package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every link of docs/paper.md leads to a file, and the file has the name that the link has.
func TestPaperPageLeadsSomewhere(t *testing.T) {
	page, err := os.ReadFile("../../docs/paper.md")
	require.NoError(t, err)
	page = regexp.MustCompile(`!\[[^]]*\]\([^)]*\)`).ReplaceAll(page, nil) // pictures
	links := regexp.MustCompile("\\[`([^`]+)`\\]\\(([^)#]+)(?:#[^)]*)?\\)").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(links), 30)
	require.Len(t, regexp.MustCompile(`\]\(`).FindAll(page, -1), len(links), "links that are not of code")
	for _, link := range links {
		name, path := link[1], filepath.Join("../../docs", link[2])
		text, err := os.ReadFile(path)
		require.NoError(t, err, name)
		if !strings.HasSuffix(path, ".go") {
			require.Contains(t, path, filepath.Base(name))
			continue
		}
		declared := `(?m)^(func (\([^)]*\) )?|type |const |var |\t)` + name + `\b`
		require.Regexp(t, regexp.MustCompile(declared), string(text), "%s in %s", name, link[2])
	}
}

// Every setting that the page names as a switch is one of SAOT's.
func TestPaperPageNamesSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/paper.md")
	require.NoError(t, err)
	method, err := os.ReadFile("../../saot/config.go")
	require.NoError(t, err)
	encoder, err := os.ReadFile("../../saot/encoder/config.go")
	require.NoError(t, err)
	_, unsaid, _ := strings.Cut(string(page), "## What the paper leaves unsaid")
	unsaid, _, _ = strings.Cut(unsaid, "\n## ")
	named := 0
	for _, row := range strings.Split(unsaid, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 6 {
			continue
		}
		for _, name := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(cells[4], -1) {
			config, field := method, name[1]
			if of, ok := strings.CutPrefix(field, "encoder."); ok {
				config, field = encoder, of
			}
			require.Contains(t, string(config), `json:"`+field+`"`)
			named++
		}
	}
	require.Greater(t, named, 12)
}
