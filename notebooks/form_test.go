package notebooks_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/notebooks/course"
)

// opening are the first lines of code in each notebook.
const opening = `%noautoget
%goflags -ldflags=-s
!*rm -f go.work && go work init . "$GONB_DIR/.."`

// most are the limits of a cell, in lines, and of a picture, in pixels of a page.
const (
	mostLines = 15
	mostWidth = 960
)

// form returns what a notebook lacks of the form that package kit describes.
func (n *notebook) form() (lacks []string) {
	say := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	if _, ok := course.ReadFacts(string(n.Cells[0].Source)); !ok {
		say("the first cell has no title, paragraph and table of level, time and prerequisites")
	}
	predict, explain, summary := 0, 0, 0
	for i, c := range n.Cells {
		source := string(c.Source)
		if c.Kind == "code" {
			if lines := strings.Count(strings.TrimSpace(source), "\n") + 1; lines > mostLines {
				say("cell %d has %d lines", i, lines)
			}
			for _, o := range c.Outputs {
				if width := o.width(); width > mostWidth {
					say("the picture of cell %d is %d pixels wide", i, width)
				}
			}
			continue
		}
		predict += len(regexp.MustCompile(`(?m)^\*\*Predict\.\*\* `).FindAllString(source, -1))
		explain += len(regexp.MustCompile(`(?m)^(<details><summary>)?\*{0,2}Explain\.`).FindAllString(source, -1))
		if _, list, ok := strings.Cut(source, "## Summary\n"); ok {
			list, _, _ = strings.Cut(list, "\n## ")
			summary = len(regexp.MustCompile(`(?m)^[1-9]\. `).FindAllString(list, -1))
		}
	}
	if predict < 2 || explain < predict {
		say("%d questions to predict, %d explanations: want two or more of each", predict, explain)
	}
	if summary != 5 {
		say("the summary has %d lines, want 5", summary)
	}
	if _, checks := solved(n.Cells); len(checks) < 2 || len(checks) != n.tagged("exercise") {
		say("%d exercises, %d with a check and a solution: want two or more", n.tagged("exercise"), len(checks))
	}
	return lacks
}

func (n *notebook) tagged(tag string) (count int) {
	for _, c := range n.Cells {
		if c.has(tag) {
			count++
		}
	}
	return count
}

// solved returns the cells with the solutions put in: after each solution, its Go as a cell, and the exercise's check
// once more. Added are the indices of those checks; the cell before each is the solution.
func solved(cells []cell) (all []cell, added []int) {
	var check *cell
	for _, c := range cells {
		all = append(all, c)
		if c.has("check") {
			check = &c
		}
		solution := course.Solution(string(c.Source))
		if c.Kind != "markdown" || solution == "" || check == nil {
			continue
		}
		put := cell{Kind: "code", Source: text(solution), ID: fmt.Sprint(c.ID, "-solution")}
		again := cell{Kind: "code", Source: check.Source, ID: check.ID + "-again"}
		all = append(all, put, again)
		added = append(added, len(all)-1)
		check = nil
	}
	return all, added
}

// withoutSolutions removes what solved added.
func withoutSolutions(cells []cell, added []int) (rest []cell) {
	for i, c := range cells {
		if !slices.Contains(added, i) && !slices.Contains(added, i+1) {
			rest = append(rest, c)
		}
	}
	return rest
}

func TestForm(t *testing.T) {
	for _, path := range all(t) {
		n := read(t, path)
		first := slices.IndexFunc(n.Cells, func(c cell) bool { return c.Kind == "code" })
		require.Equal(t, opening, string(n.Cells[first].Source), path)
		if path != live {
			require.Empty(t, n.form(), path)
		}
	}
}

func TestFormFindsFaults(t *testing.T) {
	markdown := func(source string) cell { return cell{Kind: "markdown", Source: text(source)} }
	code := func(source string, tags ...string) cell {
		c := cell{Kind: "code", Source: text(source)}
		c.Metadata.Tags = tags
		return c
	}
	exercise := []cell{code("func f() {}", "exercise"), code("f()", "check"),
		markdown("<details><summary>Solution</summary>\n\n```go\nfunc f() { g() }\n```\n</details>")}
	whole := slices.Concat([]cell{
		markdown("# A\n\nB.\n\n| level | time to read | prerequisites |\n|---|---|---|\n" +
			"| advanced | 9 minutes | none |"),
		markdown("**Predict.** A?"), markdown("**Explain.** A."), markdown("**Predict.** B?\n\n**Explain.** B."),
	}, exercise, exercise, []cell{markdown("## Summary\n\n1. a\n2. b\n3. c\n4. d\n5. e\n\n## Reading\n\n1. f")})
	require.Empty(t, (&notebook{Cells: whole}).form())

	put, added := solved(whole)
	require.Equal(t, []int{8, 13}, added)
	require.Equal(t, "func f() { g() }\n", string(put[7].Source))
	require.Equal(t, "f()", string(put[8].Source))
	require.Equal(t, whole, withoutSolutions(put, added))

	for want, change := range map[string]func(cells []cell){
		"the first cell has no title": func(c []cell) { c[0].Source = "# A" },
		"cell 4 has 16 lines":         func(c []cell) { c[4].Source = text(strings.Repeat("x\n", 16)) },
		"1 questions to predict":      func(c []cell) { c[1].Source = "" },
		"the summary has 0 lines":     func(c []cell) { c[10].Source = "" },
		"2 exercises, 1 with a check": func(c []cell) { c[9].Source = "no solution" },
		"is 961 pixels wide": func(c []cell) {
			o := output{Data: map[string]text{"image/png": ""}}
			o.Metadata.PNG.Width = 961
			c[4].Outputs = []output{o}
		},
	} {
		cells := slices.Clone(whole)
		change(cells)
		require.Contains(t, strings.Join((&notebook{Cells: cells}).form(), "\n"), want)
	}
}
