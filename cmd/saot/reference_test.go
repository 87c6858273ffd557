package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/saot/method"
)

const referenceFolder = "../../docs/reference"

// docs/reference is made from the code: go generate ./cmd/saot writes it.
func TestReference(t *testing.T) {
	home := fixture.Cache(t)
	require.NotContains(t, commandReference(), home, "no default is of this machine")
	for name, text := range map[string]string{"commands.md": commandReference(), "settings.md": settingReference()} {
		path := filepath.Join(referenceFolder, name)
		assert.NoError(t, golden.SameText(path, text, *update), "go generate ./cmd/saot writes it")
	}
}

// commandReference is a page of all commands and their flags.
func commandReference() string {
	var b strings.Builder
	b.WriteString(`# Commands

` + "`saot COMMAND --help`" + ` prints the same. ` + "`saot completion --help`" + ` says how a shell completes commands, datasets,
methods, engines and settings. The environment variable ` + "`SAOT_DATA`" + ` names the folder of the datasets' files
(else saot/data in your cache), ` + "`NO_COLOR`" + ` turns colors off. Exit statuses: 0 all is well, 1 something failed, 2 a flag or an argument is wrong, 130 interrupted
by a signal ([reliability](../reliability.md#exit-statuses)).

With ` + "`--json`" + ` a command prints its numbers and tables for programs. Field names stay the same; new fields may appear.

`)
	root := newRootCommand(io.Discard, io.Discard)
	for _, g := range commandGroups(root) {
		fmt.Fprintf(&b, "**%s**", g.title)
		for _, c := range g.commands {
			if c.Name() != "help" && c.Name() != "completion" { // cobra's own, without sections here
				fmt.Fprintf(&b, " [%s](#%s)", c.Name(), anchor(c))
			}
		}
		b.WriteString("\n\n")
	}
	walk(root, func(c *cobra.Command) {
		if c == root || c.Name() == "help" {
			return
		}
		fmt.Fprintf(&b, "## %s\n\n", c.CommandPath())
		about := c.Long
		if about == "" {
			about = upperFirst(c.Short) + "."
		}
		fmt.Fprintf(&b, "%s\n\n", markdownOf(about))
		if len(c.Commands()) == 0 {
			fmt.Fprintf(&b, "    %s\n\n", c.UseLine())
		}
		if c.HasExample() {
			b.WriteString("Examples:\n\n")
			for line := range strings.Lines(strings.TrimRight(c.Example, "\n") + "\n") {
				b.WriteString("  " + line)
			}
			b.WriteString("\n")
		}
		sections, _ := flagSections(c, true)
		for _, s := range sections {
			if s.title == "Help" {
				continue
			}
			writeFlags(&b, s)
		}
	})
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func anchor(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// markdownOf is a command's long help with its indented lists as code, and its paragraphs on one line each.
func markdownOf(long string) string {
	var out []string
	inList := false
	for line := range strings.SplitSeq(reflow(long, 1<<20), "\n") {
		listed := strings.HasPrefix(line, " ")
		if listed != inList && line != "" {
			out = append(out, "")
		}
		if listed {
			line = "    " + strings.TrimPrefix(line, "  ")
		} else {
			line = strings.ReplaceAll(line, "<", "&lt;")
		}
		inList = listed
		out = append(out, line)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), "\n\n\n", "\n\n")
}

func writeFlags(b *strings.Builder, s flagSection) {
	rows := 0
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if rows++; rows == 1 {
			fmt.Fprintf(b, "| %s | default | |\n|---|---|---|\n", s.title)
		}
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := strings.Trim(f.DefValue, "[]")
		if f.Name == "data" { // of the environment
			value = ""
		}
		if value != "" && value != "0" && value != "false" || f.Name == "seed" {
			value = "`" + value + "`"
		} else {
			value = ""
		}
		fmt.Fprintf(b, "| %s` | %s | %s |\n", name, value, cellText(f.Usage))
	})
	if rows > 0 {
		b.WriteString("\n")
	}
}

func cellText(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ").Replace(s)
}

// settingReference is a page of the settings of every method.
func settingReference() string {
	var b strings.Builder
	b.WriteString(`# Settings of the methods

A setting is a flag of ` + "`saot run`" + ` and a name under ` + "`set:`" + ` in a spec of ` + "`saot sweep`" +
		`. The flag of ` + "`encoder.hidden`" + ` is
` + "`--encoder-hidden`" + `; ` + "`--set encoder.hidden=256`" + ` does the same. The flag of ` + "`out`" + ` is ` +
		"`--method-out`" + `, since ` + "`--out`" + ` is the run folder.
Defaults are those of no dataset in particular: ` +
		"`saot methods NAME --dataset DATASET`" + ` prints those of one, and
` + "`--preset paper`" +
		` those of the method's paper.

`)
	var same, controls []method.Definition
	ours := map[string]bool{} // rows of saot
	for _, d := range method.All() {
		if d.Name == "toy" { // of the tests
			continue
		}
		var rows strings.Builder
		for _, f := range d.Fields(d.Defaults(datasets.NoRecipe, method.Default)) {
			row := fmt.Sprintf("| `%s` | `%s` | %s |\n", f.Path, f.Text(), cellText(f.Help))
			if d.Name == "saot" {
				ours[row] = true
			}
			if d.Name != "saot-l" || !ours[row] {
				rows.WriteString(row)
			}
		}
		switch {
		case d.Kind == method.Ours && d.Name != "saot" && d.Name != "saot-l":
			same = append(same, d)
			continue
		case d.Kind == method.Control && d.Reads != nil: // of the settings of saot
			controls = append(controls, d)
			continue
		}
		about := upperFirst(d.Summary)
		if d.Kind == method.SelfSupervised || d.Kind == method.Supervised { // other summaries say it
			about += fmt.Sprintf(" (%s)", d.Kind)
		}
		fmt.Fprintf(&b, "## %s\n\n%s.\n\n", d.Name, about)
		if rows.Len() == 0 {
			b.WriteString("No settings.\n\n")
			continue
		}
		if d.Name == "saot-l" {
			fmt.Fprintf(&b, "It has the settings of [saot](#saot), without %s.\nThese defaults differ:\n\n",
				strings.Join(unread(d), ", "))
		}
		b.WriteString("| setting | default | |\n|---|---|---|\n" + rows.String() + "\n")
	}
	b.WriteString("## Ablations of saot\n\nThey have the settings of [saot](#saot), except for those that " +
		"define them. A spec may\nset what they do not read too. saot-barlow shows plans in recordings, and reads " +
		"what these depend on.\n\n" +
		listOf(same) +
		"\n## Controls\n\nAll but [propagated-hellinger](#propagated-hellinger), which has settings of its own, take " +
		"the settings of [saot](#saot), so that a\nspec can run them next to it. They read few of them.\n\n" +
		"| method | what it is | reads |\n|---|---|---|\n")
	for _, d := range controls {
		reads := "nothing"
		if len(d.Reads) > 0 {
			reads = "`" + strings.Join(d.Reads, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Name, cellText(d.Summary), reads)
	}
	return b.String()
}

// What presets and streams change in the settings of each method, which the page of settings does not show. go generate
// ./cmd/saot writes it. docs/paper.md has what the paper states of its four streams.
func TestPresets(t *testing.T) {
	require.NoError(t, golden.SameText("testdata/presets.txt", presets(), *update), "go generate ./cmd/saot writes it")
}

// presets lists, by the methods that share it, which settings are not those by default of no dataset in particular.
func presets() string {
	var methods sharing
	for _, d := range method.All() {
		if d.Name == "toy" { // of the tests
			continue
		}
		usual, list := fields.All(d.Defaults(datasets.NoRecipe, method.Default)), ""
		for _, preset := range []method.Preset{method.Default, method.Paper, method.Fast} {
			var streams sharing
			for _, recipe := range []datasets.Recipe{datasets.NoRecipe, datasets.RecipeSynthetic, datasets.RecipeCora,
				datasets.RecipeCoraFull, datasets.RecipeArxiv, datasets.RecipeArxivStandIn, datasets.RecipeReddit,
				datasets.RecipeProducts} {
				changed := ""
				for i, f := range fields.All(d.Defaults(recipe, preset)) {
					if f.Text() != usual[i].Text() {
						changed += fmt.Sprintf(" %s=%s", f.Path, f.Text())
					}
				}
				streams.add(changed, cmp.Or(string(recipe), "other"))
			}
			for _, changed := range streams.order {
				list += fmt.Sprintf("  %v, %s:%s\n", preset, strings.Join(streams.names[changed], " "),
					cmp.Or(changed, " -"))
			}
		}
		methods.add(list, d.Name)
	}
	text := ""
	for _, list := range methods.order {
		text += strings.Join(methods.names[list], " ") + "\n" + list
	}
	return text
}

// sharing keeps which names share a text, in the order of the texts.
type sharing struct {
	order []string
	names map[string][]string
}

func (s *sharing) add(text, name string) {
	if s.names == nil {
		s.names = map[string][]string{}
	}
	if s.names[text] == nil {
		s.order = append(s.order, text)
	}
	s.names[text] = append(s.names[text], name)
}

// listOf is a table of variants of SAOT.
func listOf(methods []method.Definition) string {
	rows := "| method | what it is | does not read |\n|---|---|---|\n"
	for _, d := range methods {
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", d.Name, cellText(d.Summary), strings.Join(unread(d), ", "))
	}
	return rows
}

// unread lists the settings that a method has and does not read.
func unread(d method.Definition) (names []string) {
	for _, f := range fields.All(d.Defaults(datasets.NoRecipe, method.Default)) {
		if d.Reads != nil && !slices.Contains(d.Reads, f.Path) {
			names = append(names, "`"+f.Path+"`")
		}
	}
	return names
}

// The README is read to its end: it is short, its Go compiles, and the run that it prints is one that could be: the
// matrix gives the AP and AF above it.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 120)

	var rows [][]float64
	for _, m := range regexp.MustCompile(`(?m)^ +after +\d+ ((?: +\d+\.\d)+)$`).FindAllStringSubmatch(string(text), -1) {
		var row []float64
		for _, word := range strings.Fields(m[1]) {
			var v float64
			_, err := fmt.Sscan(word, &v)
			require.NoError(t, err)
			row = append(row, v)
		}
		require.Len(t, row, len(rows)+1)
		rows = append(rows, row)
	}
	require.Len(t, rows, 7)
	ap, af := 0.0, 0.0
	for j, v := range rows[6] {
		ap += v / 7
		if j < 6 {
			af += (v - rows[j][j]) / 6
		}
	}
	found := regexp.MustCompile(`class-il +\S+ +\S+ +(\S+) +(\S+)\n`).FindStringSubmatch(string(text))
	require.NotNil(t, found)
	require.Equal(t, fmt.Sprintf("%.1f %+.1f", ap, af), found[1]+" "+found[2])

	results, err := os.ReadFile("../../docs/results.md")
	require.NoError(t, err)
	compared := 0
	for _, m := range regexp.MustCompile(`(?m)^\| \**([a-z-]+)\**(?: \(control\)|,[^|]*)? \|(.*)\|$`).FindAllStringSubmatch(string(text), -1) {
		row := regexp.MustCompile(`(?m)^\| ` + m[1] + ` (?:\(control\) )?\|(.*)\|[^|]*\|$`).FindStringSubmatch(string(results))
		if row == nil || m[1] == "method" {
			continue
		}
		compared++
		means := regexp.MustCompile(`\d+\.\d (?:± \d+\.\d|\(n = 1\)) ·`).FindAllString(strings.NewReplacer("*", "", "<u>", "", "</u>", "").Replace(row[1]), -1)
		want := []string{}
		for _, mean := range means {
			figure, one, _ := strings.Cut(strings.TrimSuffix(mean, " ·"), " ")
			if strings.HasPrefix(one, "(n") {
				figure += " †"
			}
			want = append(want, figure)
		}
		var got []string
		for cell := range strings.SplitSeq(m[2], "|") {
			got = append(got, strings.TrimSpace(cell))
		}
		require.Equal(t, want, got, "the row of %s in docs/results.md", m[1])
	}
	require.Equal(t, 6, compared, "rows that docs/results.md has")

	code := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, code)
	require.LessOrEqual(t, strings.Count(string(code[1]), "\n"), 7)
	if testing.Short() {
		t.Skip("-short: compiles the README's Go")
	}
	lines := strings.Split(strings.TrimSpace(string(code[1])), "\n")
	program := `package main

import (
	"context"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

func run(config saot.Config) (*continual.Result, error) {
	` + strings.Join(lines, "\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\t") + `
	return result, err
}

func main() { _, _ = run(saot.DefaultConfig()) }
`
	// In the module by an overlay alone, so that a test that is killed leaves nothing there.
	file, overlay := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	place, err := filepath.Abs("readme/main.go")
	require.NoError(t, err)
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{place: file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replaced, 0o600))
	out, err := exec.Command("go", "build", "-o", os.DevNull, "-overlay", overlay, "./readme").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, program)
}
