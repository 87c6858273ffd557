package experiment

import (
	"fmt"
	"strings"
)

// markdown writes tables for GitHub's Markdown.
func markdown(tables []*Table) string {
	var b strings.Builder
	marks := style{escapeMarkdown, "**%s**", "<u>%s</u>", " †", " <sup>%s</sup>"}
	for _, t := range tables {
		fmt.Fprintf(&b, "### %s\n\n", escapeMarkdown(t.Title))
		t.markdownHead(&b)
		for i := range t.Rows {
			row := &t.Rows[i]
			fmt.Fprintf(&b, "| %s |", escapeMarkdown(row.Label))
			if t.withSeeds() {
				fmt.Fprintf(&b, " %d | %s |", len(row.Seeds), seedList(row.Seeds))
			}
			for c := range t.Columns {
				fmt.Fprintf(&b, " %s |", t.styled(row, c, marks))
			}
			b.WriteString("\n")
		}
		for i, note := range t.Notes {
			fmt.Fprintf(&b, "\n<sup>%s</sup> %s\n", letter(i), escapeMarkdown(note))
		}
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(legend(tables), " ") + "\n")
	return b.String()
}

// markdownHead writes the header; the first column under a heading bears it.
func (t *Table) markdownHead(b *strings.Builder) {
	head, rule := "| method |", "|---|"
	if t.withSeeds() {
		head, rule = head+" n | seeds |", rule+"---|---|"
	}
	before := ""
	for _, c := range t.Columns {
		title := c.Title
		if c.Group != "" && c.Group != before {
			title = c.Group + ": " + title
		}
		before = c.Group
		head, rule = head+" "+escapeMarkdown(title)+" |", rule+"---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
}

// escapeMarkdown keeps a text from being taken for marks, cells or tags.
func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "`", "\\`", "[", `\[`, "]", `\]`,
		"<", "&lt;", "&", "&amp;", "\n", " ", "\r", " ").Replace(text)
}
