package experiment

import (
	"fmt"
	"html"
	"strings"
)

// htmlFragment writes tables for a page of HTML. Bold, underlined and raised text need no style sheet; the classes are
// for one: saot-table, saot-note and saot-legend, and best, second, worse and published of cells.
func htmlFragment(tables []*Table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "<table class=\"saot-table\">\n<caption>%s</caption>\n", html.EscapeString(t.Title))
		t.htmlHead(&b)
		b.WriteString("<tbody>\n")
		for i := range t.Rows {
			t.htmlRow(&b, &t.Rows[i])
		}
		b.WriteString("</tbody>\n</table>\n")
		for i, note := range t.Notes {
			fmt.Fprintf(&b, "<p class=\"saot-note\"><sup>%s</sup> %s</p>\n", letter(i), html.EscapeString(note))
		}
	}
	fmt.Fprintf(&b, "<p class=\"saot-legend\">%s</p>\n", html.EscapeString(strings.Join(legend(tables), " ")))
	return b.String()
}

// htmlHead writes the two lines of headings.
func (t *Table) htmlHead(b *strings.Builder) {
	b.WriteString("<thead>\n<tr><th rowspan=\"2\">method</th>")
	if t.withSeeds() {
		b.WriteString("<th rowspan=\"2\">n</th><th rowspan=\"2\">seeds</th>")
	}
	for _, s := range t.spans() {
		fmt.Fprintf(b, "<th colspan=\"%d\">%s</th>", s.Columns, html.EscapeString(s.Text))
	}
	b.WriteString("</tr>\n<tr>")
	for _, c := range t.Columns {
		fmt.Fprintf(b, "<th>%s</th>", html.EscapeString(c.Title))
	}
	b.WriteString("</tr>\n</thead>\n")
}

func (t *Table) htmlRow(b *strings.Builder, row *Row) {
	marks := style{html.EscapeString, "<strong>%s</strong>", "<u>%s</u>", " †", "<sup>%s</sup>"}
	fmt.Fprintf(b, "<tr><th>%s</th>", html.EscapeString(row.Label))
	if t.withSeeds() {
		fmt.Fprintf(b, "<td>%d</td><td>%s</td>", len(row.Seeds), seedList(row.Seeds))
	}
	for c := range t.Columns {
		class := []string{[]string{"", "best", "second"}[row.Cells[c].Rank]}
		if row.Cells[c].Worse {
			class = append(class, "worse")
		}
		if t.Columns[c].Published {
			class = append(class, "published")
		}
		attribute := ""
		if words := strings.TrimSpace(strings.Join(class, " ")); words != "" {
			attribute = fmt.Sprintf(" class=%q", words)
		}
		fmt.Fprintf(b, "<td%s>%s</td>", attribute, t.styled(row, c, marks))
	}
	b.WriteString("</tr>\n")
}
