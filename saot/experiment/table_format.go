package experiment

import (
	"fmt"
	"io"

	"github.com/saot-go/saot/internal/enum"
)

// Format is how tables are written.
type Format int

// The formats.
const (
	Markdown Format = iota // best **bold**, second <u>underlined</u>
	CSV                    // raw figures at full precision, a row a method × setting × probe
	LaTeX                  // table* environments for booktabs and graphicx
	HTML                   // a fragment with classes
)

var formatNames = enum.Of[Format]("format", "md", "csv", "latex", "html")

// String returns "md", "csv", "latex" or "html".
func (f Format) String() string { return formatNames.Name(f) }

// ParseFormat is the inverse of String; its error lists the formats.
func ParseFormat(text string) (Format, error) { return formatNames.Parse(text) }

func (f Format) MarshalText() ([]byte, error)     { return formatNames.Marshal(f) }
func (f *Format) UnmarshalText(text []byte) error { return formatNames.Unmarshal(f, text) }

// Write writes tables one after the other, and, but for CSV, how to read them. It returns the writer's error, or one
// that lists the formats if f is none.
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
	default:
		_, err := ParseFormat(f.String())
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

// styled writes a cell with its marks.
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

// span is a heading over neighbouring columns.
type span struct {
	Text    string
	Columns int
}

// spans returns the headings over the columns.
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

// withSeeds reports whether the table has rows of runs, whose number and seeds are shown; the paper's have none.
func (t *Table) withSeeds() bool {
	for i := range t.Rows {
		if len(t.Rows[i].Seeds) > 0 {
			return true
		}
	}
	return false
}
