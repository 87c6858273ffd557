package experiment

import (
	"fmt"
	"strings"
)

func latex(tables []*Table) string {
	var b strings.Builder
	marks := style{escapeLaTeX, `\textbf{%s}`, `\underline{%s}`, `\textsuperscript{\textdagger}`,
		`\textsuperscript{%s}`}
	b.WriteString("% needs \\usepackage{booktabs} and \\usepackage{graphicx}\n")
	for _, t := range tables {
		lead := 1
		if t.withSeeds() {
			lead = 3
		}
		fmt.Fprintf(&b,
			"\\begin{table*}\n\\centering\n\\caption{%s}\n\\resizebox{\\textwidth}{!}{%%\n"+
				"\\begin{tabular}{l%s%s}\n\\toprule\n",
			escapeLaTeX(t.Title), strings.Repeat("r", lead-1), strings.Repeat("r", len(t.Columns)))
		t.latexHead(&b, lead)
		for i := range t.Rows {
			row := &t.Rows[i]
			b.WriteString(escapeLaTeX(row.Label))
			if lead > 1 {
				fmt.Fprintf(&b, " & %d & %s", len(row.Seeds), escapeLaTeX(seedList(row.Seeds)))
			}
			for c := range t.Columns {
				b.WriteString(" & " + t.styled(row, c, marks))
			}
			b.WriteString(" \\\\\n")
		}
		b.WriteString("\\bottomrule\n\\end{tabular}}\n")
		for i, note := range t.Notes {
			fmt.Fprintf(&b, "\\par\\footnotesize\\raggedright%s %s\n", t.footMark(i, `\textsuperscript{%s}`),
				escapeLaTeX(note))
		}
		fmt.Fprintf(&b, "\\par\\footnotesize\\raggedright %s\n\\end{table*}\n",
			escapeLaTeX(strings.Join(legend([]*Table{t}), " ")))
	}
	return b.String()
}

// latexHead writes the two lines of headings, after a number of first columns that have one line.
func (t *Table) latexHead(b *strings.Builder, lead int) {
	groups, rules := strings.Repeat(" &", lead-1), ""
	at := lead + 1
	for _, s := range t.spans() {
		if s.Text == "" {
			groups += " &"
		} else {
			groups += fmt.Sprintf(" & \\multicolumn{%d}{c}{%s}", s.Columns, escapeLaTeX(s.Text))
			rules += fmt.Sprintf(" \\cmidrule(lr){%d-%d}", at, at+s.Columns-1)
		}
		at += s.Columns
	}
	fmt.Fprintf(b, "%s \\\\\n%s\nmethod", strings.TrimSpace(groups), strings.TrimSpace(rules))
	if lead > 1 {
		b.WriteString(" & n & seeds")
	}
	for _, c := range t.Columns {
		b.WriteString(" & " + escapeLaTeX(c.heading()))
	}
	b.WriteString(" \\\\\n\\midrule\n")
}

// escapeLaTeX writes a text with LaTeX's special characters as themselves. [ and * are special after the end of a row.
func escapeLaTeX(text string) string {
	return strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`,
		"%", `\%`, "#", `\#`, "_", `\_`,
		"~", `\textasciitilde{}`, "^", `\textasciicircum{}`,
		"<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		"±", `$\pm$`, "−", "$-$", "×", `$\times$`, "†", `\textdagger{}`,
		"–", "--", "’", "'", "[", "{[}", "*", "{*}", "\n", " ", "\r", " ").Replace(text)
}
