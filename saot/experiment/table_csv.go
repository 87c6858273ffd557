package experiment

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// csvHeader names the columns of the CSV form.
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
		*place[col.Measure] = row.Cells[c]
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
