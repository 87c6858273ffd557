package kit

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/janpfeifer/gonb/gonbui"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/playground/viewer"
	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
	"github.com/saot-go/saot/saot/continual/record"
)

// repository names a file of the repository around the notebooks.
func repository(path ...string) string {
	return filepath.Join(append([]string{cmp.Or(os.Getenv("GONB_DIR"), ".."), ".."}, path...)...)
}

// Schematic displays the schematic of the method, docs/schematic.svg.
func Schematic() {
	gonbui.DisplayHTML(string(Must(os.ReadFile(repository("docs", "schematic.svg")))))
	gonbui.Sync()
}

// Recording reads the recording in a run folder.
func Recording(dir string) *record.Recording { return Must(record.Read(dir)) }

// ShowRecordings displays the recordings of one or two run folders in the viewer, which works without a kernel.
func ShowRecordings(dirs ...string) {
	var runs []viewer.Run
	for _, dir := range dirs {
		r := Recording(dir)
		runs = append(runs, viewer.Run{Name: viewer.Name(r), Recording: r})
	}
	element := Must(viewer.Element(runs...))
	note := nb.UntrustedNote("The recording below does not show")
	gonbui.DisplayHTML(note + "\n" + string(element) + "<script>" + string(viewer.Script()) + "</script>")
	gonbui.Sync()
}

// Recorded returns a loss term or another figure of a recorded run over the steps that have frames, counted through all
// tasks.
func Recorded(r *record.Recording, name string) plotting.Series {
	series := plotting.Series{Name: name}
	before := 0 // steps of earlier tasks
	for _, t := range r.Tasks {
		names := slices.Concat(t.Terms, t.Figures)
		i := slices.Index(names, name)
		for _, f := range t.Frames {
			if i < 0 || len(f.Terms) < len(t.Terms) { // before the first step
				continue
			}
			series.X = append(series.X, float64(before+f.Step))
			series.Y = append(series.Y, float64(slices.Concat(f.Terms, f.Figures)[i]))
		}
		if n := len(t.Frames); n > 0 {
			before += t.Frames[n-1].Step
		}
	}
	return series
}

// RecordedPlan unpacks a recorded plan of a task [n, n], nodes sorted by class, the same ones on both sides.
func RecordedPlan(t record.Task, p *record.Plan) *mat.Dense {
	n := len(t.Nodes)
	plan := mat.NewDense(n, n, Must(p.Values.Values(n*n)))
	order := byClass(t)
	return Build(n, n, func(i, j int) float64 { return plan.At(order[i], order[j]) })
}

// RecordedClasses are the classes of a task's watched nodes, 0 and 1, sorted as in RecordedPlan.
func RecordedClasses(t record.Task) []int {
	classes := make([]int, len(t.Nodes))
	for i, place := range byClass(t) {
		if t.Classes[place] != slices.Min(t.Classes) {
			classes[i] = 1
		}
	}
	return classes
}

func byClass(t record.Task) []int {
	order := make([]int, len(t.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Classes[a], t.Classes[b]) })
	return order
}
