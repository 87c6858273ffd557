package experiment

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
)

// Format is how tables are written.
type Format int

// The formats.
const (
	Markdown Format = iota // best **bold**, second <u>underlined</u>
	CSV                    // raw figures at full precision, a row for each method, setting and probe
	LaTeX                  // table* environments for booktabs and graphicx
	HTML                   // a fragment with classes
	JSON                   // raw figures at full precision, a table an object
)

var formatNames = enum.Of[Format]("format", "md", "csv", "latex", "html", "json")

// String returns the name by which UnmarshalText knows the format.
func (f Format) String() string                   { return formatNames.Name(f) }
func (f Format) MarshalText() ([]byte, error)     { return formatNames.Marshal(f) }
func (f *Format) UnmarshalText(text []byte) error { return formatNames.Unmarshal(f, text) }

// Write writes tables one after the other, and, except for CSV and JSON, how to read them. It returns the writer's
// error, or one that lists the formats if f is none.
func (f Format) Write(out io.Writer, tables []*Table) error {
	var text string
	switch f {
	case Markdown:
		text = markdown(tables)
	case CSV:
		return writeCSV(out, tables)
	case LaTeX:
		text = latex(tables)
	case HTML:
		text = htmlFragment(tables)
	case JSON:
		return writeTablesJSON(out, tables)
	default:
		_, err := formatNames.Parse(f.String())
		return fmt.Errorf("experiment: %w", err)
	}
	_, err := io.WriteString(out, text)
	return err
}

// style is how a format of text marks a cell: escape makes a text safe, the others are patterns around it.
type style struct {
	escape                    func(string) string
	best, second, worse, note string
}

func (t *Table) styled(row *Row, column int, s style) string {
	text, cell := s.escape(t.text(row, column)), &row.Cells[column]
	switch cell.Rank {
	case Best:
		text = fmt.Sprintf(s.best, text)
	case Second:
		text = fmt.Sprintf(s.second, text)
	}
	if cell.Worse {
		text += s.worse
	}
	if len(cell.Notes) > 0 {
		text += fmt.Sprintf(s.note, letters(cell.Notes))
	}
	return text
}

// footMark returns the mark of a note in a pattern, or nothing for a note to the whole table, to which no cell refers.
func (t *Table) footMark(note int, pattern string) string {
	refers := func(c Cell) bool { return slices.Contains(c.Notes, note) }
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.ContainsFunc(r.Cells, refers) }) {
		return fmt.Sprintf(pattern, letter(note))
	}
	return ""
}

type span struct {
	Text    string
	Columns int
}

func (t *Table) spans() (out []span) {
	for _, c := range t.Columns {
		if n := len(out); n > 0 && c.Group != "" && out[n-1].Text == c.Group {
			out[n-1].Columns++
		} else {
			out = append(out, span{c.Group, 1})
		}
	}
	return out
}

// withSeeds reports whether the table has rows of runs, whose number and seeds are shown; the paper's have none, and
// across datasets each column has its own.
func (t *Table) withSeeds() bool {
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return len(c.Seeds) > 0 }) {
		return false
	}
	for i := range t.Rows {
		if len(t.Rows[i].Seeds) > 0 {
			return true
		}
	}
	return false
}

func csvHeader() []string {
	return []string{"dataset", "method", "row", "setting", "probe", "n", "seeds",
		"ap_mean", "ap_std", "ap_p", "af_mean", "af_std", "af_p",
		"published_ap", "published_ap_std", "published_af", "published_af_std", "seconds_per_task", "peak_gb"}
}

// csvLine is a row of the CSV form: a row of a table in one setting, under one probe.
type csvLine struct {
	dataset string
	setting continual.Setting
	probe   string // "" where all figures are the paper's
}

// writeCSV writes all tables as one: figures in the shortest form that reads back as the same number, nothing where
// there is none; p values after Holm's correction; seeds with spaces between.
func writeCSV(out io.Writer, tables []*Table) error {
	w := csv.NewWriter(out)
	if err := w.Write(csvHeader()); err != nil {
		return err
	}
	for _, t := range tables {
		lines := t.csvLines()
		for i := range t.Rows {
			for _, line := range lines {
				if record := t.csvRecord(&t.Rows[i], line); record != nil {
					if err := w.Write(record); err != nil {
						return err
					}
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

// csvLines returns what a row of the table is split into: settings and probes, or, in a table of the paper, streams and
// settings.
func (t *Table) csvLines() (out []csvLine) {
	ours := slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Ours() })
	for _, c := range t.Columns {
		line := csvLine{dataset: c.Dataset, setting: c.Setting}
		if c.Ours() {
			line.probe = c.Probe.String()
		}
		if c.Measure <= AverageForgetting && c.Ours() == ours && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// csvRecord returns the fields of a line, nil if the row has no figure there.
func (t *Table) csvRecord(row *Row, line csvLine) []string {
	var ap, af, publishedAP, publishedAF, seconds, peak Cell
	for c, col := range t.Columns {
		place := map[Measure]*Cell{AveragePerformance: &ap, AverageForgetting: &af, SecondsPerTask: &seconds,
			PeakGigabytes: &peak}
		if col.Published {
			place = map[Measure]*Cell{AveragePerformance: &publishedAP, AverageForgetting: &publishedAF}
		}
		score := col.Measure <= AverageForgetting
		if score && (col.Dataset != line.dataset || col.Setting != line.setting || col.Ours() &&
			col.Probe.String() != line.probe) {
			continue
		}
		if to := place[col.Measure]; to != nil {
			*to = row.Cells[c]
		}
	}
	if ap.N == 0 && (line.probe != "" || publishedAP.N == 0) {
		return nil
	}
	seeds := make([]string, len(ap.Seeds))
	for i, s := range ap.Seeds {
		seeds[i] = strconv.FormatUint(s, 10)
	}
	n := ""
	if line.probe != "" {
		n = strconv.Itoa(ap.N)
	}
	return []string{line.dataset, row.Method, row.Label, line.setting.String(), line.probe, n, strings.Join(seeds, " "),
		raw(ap.Mean, ap.N > 0), raw(ap.Std, ap.HasStd), raw(ap.P, ap.Tested),
		raw(af.Mean, af.N > 0), raw(af.Std, af.HasStd), raw(af.P, af.Tested),
		raw(publishedAP.Mean, publishedAP.N > 0), raw(publishedAP.Std, publishedAP.HasStd),
		raw(publishedAF.Mean, publishedAF.N > 0), raw(publishedAF.Std, publishedAF.HasStd),
		raw(seconds.Mean, seconds.N > 0), raw(peak.Mean, peak.N > 0)}
}

func raw(v float64, known bool) string {
	if !known {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func markdown(tables []*Table) string {
	var b strings.Builder
	marks := style{untrusted.Markdown, "**%s**", "<u>%s</u>", " †", " <sup>%s</sup>"}
	for _, t := range tables {
		fmt.Fprintf(&b, "### %s\n\n", untrusted.Markdown(t.Title))
		t.markdownHead(&b)
		for i := range t.Rows {
			row := &t.Rows[i]
			fmt.Fprintf(&b, "| %s |", untrusted.Markdown(row.Label))
			if t.withSeeds() {
				fmt.Fprintf(&b, " %d | %s |", len(row.Seeds), seedList(row.Seeds))
			}
			for c := range t.Columns {
				fmt.Fprintf(&b, " %s |", t.styled(row, c, marks))
			}
			b.WriteString("\n")
		}
		for i, note := range t.Notes {
			fmt.Fprintf(&b, "\n%s%s\n", t.footMark(i, "<sup>%s</sup> "), untrusted.Markdown(note))
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
		title := c.heading()
		if c.Group != "" && c.Group != before {
			title = c.Group + ": " + title
		}
		before = c.Group
		head, rule = head+" "+untrusted.Markdown(title)+" |", rule+"---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
}

// htmlFragment writes tables for a page of HTML. Bold, underlined and raised text need no style sheet; the classes are
// for one: saot-scroll, a region around a table that may be wider than the page, which keys scroll; saot-table,
// saot-note and saot-legend, and best, second, worse and published of cells.
func htmlFragment(tables []*Table) string {
	var b strings.Builder
	for _, t := range tables {
		title := html.EscapeString(t.Title)
		fmt.Fprintf(&b, "<div class=\"saot-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n", title)
		fmt.Fprintf(&b, "<table class=\"saot-table\">\n<caption>%s</caption>\n", title)
		t.htmlHead(&b)
		b.WriteString("<tbody>\n")
		for i := range t.Rows {
			t.htmlRow(&b, &t.Rows[i])
		}
		b.WriteString("</tbody>\n</table>\n</div>\n")
		for i, note := range t.Notes {
			mark := t.footMark(i, "<sup>%s</sup> ")
			fmt.Fprintf(&b, "<p class=\"saot-note\">%s%s</p>\n", mark, html.EscapeString(note))
		}
	}
	fmt.Fprintf(&b, "<p class=\"saot-legend\">%s</p>\n", html.EscapeString(strings.Join(legend(tables), " ")))
	return b.String()
}

func (t *Table) htmlHead(b *strings.Builder) {
	b.WriteString("<thead>\n<tr><th rowspan=\"2\" scope=\"col\">method</th>")
	if t.withSeeds() {
		b.WriteString("<th rowspan=\"2\" scope=\"col\">n</th><th rowspan=\"2\" scope=\"col\">seeds</th>")
	}
	for _, s := range t.spans() {
		if s.Text == "" {
			fmt.Fprintf(b, "<td colspan=\"%d\"></td>", s.Columns)
			continue
		}
		fmt.Fprintf(b, "<th colspan=\"%d\" scope=\"colgroup\">%s</th>", s.Columns, html.EscapeString(s.Text))
	}
	b.WriteString("</tr>\n<tr>")
	for _, c := range t.Columns {
		fmt.Fprintf(b, "<th scope=\"col\">%s</th>", html.EscapeString(c.heading()))
	}
	b.WriteString("</tr>\n</thead>\n")
}

func (t *Table) htmlRow(b *strings.Builder, row *Row) {
	marks := style{html.EscapeString, "<strong>%s</strong>", "<u>%s</u>", " †", "<sup>%s</sup>"}
	fmt.Fprintf(b, "<tr><th scope=\"row\">%s</th>", html.EscapeString(row.Label))
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

// legend says how to read tables.
func legend(tables []*Table) []string {
	var ours, cost, published, tested, worse, places bool
	for _, t := range tables {
		for c := range t.Columns {
			ours = ours || t.Columns[c].Ours()
			places = places || t.Columns[c].Measure == MeanPlace
			cost = cost || t.Columns[c].Measure == SecondsPerTask || t.Columns[c].Measure == PeakGigabytes
			published = published || t.Columns[c].Published
			for r := range t.Rows {
				tested, worse = tested || t.Rows[r].Cells[c].Tested, worse || t.Rows[r].Cells[c].Worse
			}
		}
	}
	var out []string
	if ours {
		means := "Mean ± sample standard deviation (n − 1) over n seeds, percent"
		if cost {
			means += "; training time per task and the process's largest memory, means"
		}
		out = append(out, means+".",
			"Bold: the highest of a column; underlined: the next highest. All rows are ranked; equal printed values "+
				"are tied.")
	}
	if places {
		out = append(out, "After the dot: the place in the column; on the right: the mean place.")
	}
	switch {
	case worse:
		out = append(out, "†: below the highest row that has three seeds or more, in a two-sided paired t-test over "+
			"three common seeds or more, p < 0.05 after Holm's correction over the column. No † does not mean equal.")
	case tested:
		out = append(out, "No row is below the highest row that has three seeds or more, in a two-sided paired "+
			"t-test over three common seeds or more (p < 0.05 after Holm's correction over the column). "+
			"That does not mean equal.")
	}
	if published {
		out = append(out, "Published: what the paper prints, mean ± standard deviation over its five runs; "+
			"neither ranked nor tested, since its rows mix protocols.")
	}
	return out
}
