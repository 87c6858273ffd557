package explorer

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
)

// narrow is the width of curves and bars, in points, with which two pictures stand side by side on a page.
const narrow = 200

// half is the width of a whole picture, in points, with which two stand side by side on a page.
const half = 345

// painter makes the parts of a picture. Each part's key is what it depends on.
type painter struct {
	Choice
	task   datasets.Task
	nodes  []int32
	labels []int32 // of the nodes
	sweep  int
}

func (x *Explorer) painter() *painter {
	p := &painter{Choice: x.choice, task: x.stream.Tasks[x.choice.Task], sweep: x.now.Sweep}
	p.nodes = nodesOf(p.task, x.choice)
	for _, v := range p.nodes {
		p.labels = append(p.labels, p.task.Labels[v])
	}
	return p
}

// parts returns the pictures of one method, or of two side by side, and of the difference of their plans.
func (p *painter) parts(one, other side, difference nb.Part) []nb.Part {
	names := [2]string{one.name, other.name}
	lines := [][]nb.Part{{p.graph(), difference}, {one.plan, other.plan}}
	if one.remembers() && other.remembers() {
		lines = append(lines, pair("teacher", names, one.teacher, other.teacher),
			pair("buffer", names, one.buffer, other.buffer))
	} else { // one line is enough
		lines = append(lines, []nb.Part{one.teacher, one.buffer}, []nb.Part{other.teacher, other.buffer})
	}
	lines = append(lines, []nb.Part{one.embedding, other.embedding}, pair("losses", names, one.losses, other.losses),
		pair("performance matrix", names, one.matrix, other.matrix))
	return flat(lines, other.name != "")
}

// pair is a line of the same part of two methods. If only one of them has it, the other's place says so.
func pair(what string, names [2]string, left, right nb.Part) []nb.Part {
	switch {
	case names[1] == "" || (left.Draw == nil) == (right.Draw == nil):
	case left.Draw == nil:
		left = lacking(what, names[0], right)
	default:
		right = lacking(what, names[1], left)
	}
	return []nb.Part{left, right}
}

// lacking is the place of a part that a method does not have, as large as the other method's.
func lacking(what, name string, there nb.Part) nb.Part {
	text := fmt.Sprintf("%s: no %s", name, what)
	return nb.Part{Name: text, Key: text + " " + there.Key, Draw: func() (plotting.Figure, error) {
		figure, err := there.Draw()
		return figure.Blank(text), err
	}}
}

// flat lists the parts of lines. Where lines are kept, the first part that is shown starts each.
func flat(lines [][]nb.Part, keep bool) (all []nb.Part) {
	for _, line := range lines {
		starts := keep && len(all) > 0
		for _, part := range line {
			if part.Draw != nil {
				part.Break, starts = starts, false
			}
			all = append(all, part)
		}
	}
	return all
}

// side are the parts of one method.
type side struct {
	name                                             string // of the method; "" if there is none
	plan, teacher, embedding, losses, matrix, buffer nb.Part
}

// remembers reports whether the method has a teacher or a buffer to show.
func (s *side) remembers() bool { return s.teacher.Draw != nil || s.buffer.Draw != nil }

func (p *painter) of(s *scene) side {
	return side{s.run.name(), p.plan(s), p.teacher(s), p.embedding(s), p.losses(s), p.matrix(s), p.buffer(s)}
}

// failed is a method whose run has ended with an error, which stands in the place of its plan.
func (p *painter) failed(name string, err error) side {
	text, there := fmt.Sprintf("%s: %v", name, err), p.graph()
	return side{name: name, plan: nb.Part{Name: text, Key: text, Draw: func() (plotting.Figure, error) {
		figure, err := there.Draw()
		return figure.Blank(text), err
	}}}
}

// part names a part, also in its key. More is what it depends on apart from the dataset.
func (p *painter) part(what string, draw func() (plotting.Figure, error), more ...any) nb.Part {
	return nb.Part{Name: what, Key: fmt.Sprint(what, " ", p.Dataset, more), Draw: draw}
}

func (p *painter) graph() nb.Part {
	return p.part(fmt.Sprintf("π_G of task %d", p.Task+1), func() (plotting.Figure, error) {
		plan, err := graphPlan(p.task, p.Choice)
		if err != nil {
			return plotting.Figure{}, err
		}
		return p.heatMap(plan, fmt.Sprintf("π_G of task %d", p.Task+1))
	}, p.Task, p.Epsilon, p.Sigma, p.Points)
}

func (p *painter) plan(s *scene) nb.Part {
	return p.part(s.run.name()+": π_Z", func() (plotting.Figure, error) {
		result, err := embeddingPlan(s.now.views, p.nodes, p.Epsilon, p.sweep)
		if err != nil {
			return plotting.Figure{}, err
		}
		title := s.run.name() + ": π_Z"
		if p.sweep > 0 {
			title += fmt.Sprintf(", sweep %d: columns off by %.2g", result.Report.Sweeps, result.Report.MarginalError)
		}
		return p.heatMap(result.Plan, title)
	}, s.run.settings, s.at, p.Epsilon, p.Points, p.sweep)
}

// teacher is the plan that the student is held to.
func (p *painter) teacher(s *scene) nb.Part {
	if s.teacher == nil {
		return nb.Part{}
	}
	return p.part(s.run.name()+": the teacher's plan", func() (plotting.Figure, error) {
		result, err := embeddingPlan(s.teacher.views, p.nodes, p.Epsilon, 0)
		if err != nil {
			return plotting.Figure{}, err
		}
		return p.heatMap(result.Plan, fmt.Sprintf("%s: teacher's plan, from epoch %d", s.run.name(), s.begun))
	}, s.run.settings, s.begun, p.Task, p.Epsilon, p.Points)
}

// difference is that of the two methods' π_Z.
func (p *painter) difference(left, right *scene) nb.Part {
	if left == nil || right == nil {
		return nb.Part{}
	}
	title := fmt.Sprintf("π_Z: %s − %s", left.run.name(), right.run.name())
	return p.part(title, func() (plotting.Figure, error) {
		var plans [2]*mat.Dense
		for i, s := range []*scene{left, right} {
			result, err := embeddingPlan(s.now.views, p.nodes, p.Epsilon, p.sweep)
			if err != nil {
				return plotting.Figure{}, err
			}
			plans[i] = result.Plan
		}
		n, m := plans[0].Dims()
		high := 2 / float64(n*m)
		return plotting.Difference(plans[1].RawMatrix().Data, plans[0].RawMatrix().Data, n, m, plotting.PlanOptions{
			Title: typeset(title), Label: "difference of mass", Low: -high, High: high,
			RowCuts: p.cuts(), ColCuts: p.cuts(), Side: planSide})
	}, left.run.settings, right.run.settings, left.at, p.Epsilon, p.Points, p.sweep)
}

// planSide is that of a plan's heat map in points: two plans stand side by side on a page.
const planSide = 210

// cuts are the places where the class changes.
func (p *painter) cuts() (cuts []int) {
	for i := 1; i < len(p.labels); i++ {
		if p.labels[i] != p.labels[i-1] {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

// heatMap draws a plan; the title says how much of the mass stays within a class.
func (p *painter) heatMap(plan *mat.Dense, title string) (plotting.Figure, error) {
	n, m := plan.Dims()
	within := 0.0
	for i, a := range p.labels {
		for j, b := range p.labels {
			if a == b {
				within += plan.At(i, j)
			}
		}
	}
	return plotting.Plan(plan.RawMatrix().Data, n, m, plotting.PlanOptions{
		Title: fmt.Sprintf("%s\n%.0f %% within a class", typeset(title), 100*within),
		High:  4 / float64(n*m), RowCuts: p.cuts(), ColCuts: p.cuts(), Side: planSide})
}

// typeset sets the plans' names as mathematics.
func typeset(title string) string {
	return strings.NewReplacer("π_G", `$\pi_G$`, "π_Z", `$\pi_Z$`).Replace(title)
}

// embedding marks the nodes that the buffer keeps of the task.
func (p *painter) embedding(s *scene) nb.Part {
	return p.part(s.run.name()+": embeddings", func() (plotting.Figure, error) {
		var names []string
		for _, class := range p.task.Classes {
			names = append(names, fmt.Sprint(class))
		}
		classes := make([]int, len(p.task.Labels))
		for i, label := range p.task.Labels {
			classes[i] = p.place(label)
		}
		if kept := s.keptOf(p.Task); len(kept) > 0 {
			for _, class := range p.task.Classes {
				names = append(names, fmt.Sprintf("%d kept", class))
			}
			for _, v := range kept {
				classes[v] += len(p.task.Classes)
			}
		}
		z := s.now.whole
		wide := make([]float64, len(z.Data))
		for i, v := range z.Data {
			wide[i] = float64(v)
		}
		return plotting.Embedding(wide, z.Rows, z.Cols, plotting.EmbeddingOptions{
			Title:   fmt.Sprintf("%s: embeddings of task %d, by class", s.run.name(), p.Task+1),
			Classes: classes, Names: names, Side: 240})
	}, s.run.settings, s.at)
}

// place is the place of a class among those of the task.
func (p *painter) place(label int32) int { return max(0, slices.Index(p.task.Classes, label)) }

// keptOf are the nodes that the buffer holds of a task.
func (s *scene) keptOf(task int) []int32 {
	if task < len(s.now.kept) {
		return s.now.kept[task]
	}
	return nil
}

func (p *painter) losses(s *scene) nb.Part {
	if len(s.now.losses) == 0 {
		return nb.Part{}
	}
	return p.part(s.run.name()+": losses", func() (plotting.Figure, error) {
		return plotting.Curves(plotting.Positive(s.now.losses), plotting.CurveOptions{
			Title:  fmt.Sprintf("%s: %.4g of %d epochs", s.run.name(), s.now.clock, Epochs*len(s.run.stream.Tasks)),
			XLabel: "epoch", YLabel: "loss", LogY: true, Width: narrow})
	}, s.run.settings, s.at.epoch)
}

func (p *painter) matrix(s *scene) nb.Part {
	if len(s.now.matrix) == 0 {
		return nb.Part{}
	}
	return p.part(s.run.name()+": performance matrix", func() (plotting.Figure, error) {
		o := plotting.MatrixOptions{Title: s.run.name() + ": class-IL accuracy, %"}
		f, err := plotting.Matrix(s.now.matrix, o)
		if width, _ := f.Size(); err == nil && width > half {
			o.Width = half
			return plotting.Matrix(s.now.matrix, o)
		}
		return f, err
	}, s.run.settings, len(s.now.matrix))
}

// buffer counts the nodes in the buffer, by task and class, and names those of the task that is shown.
func (p *painter) buffer(s *scene) nb.Part {
	if len(s.now.kept) == 0 || len(s.now.kept[0]) == 0 {
		return nb.Part{}
	}
	return p.part(s.run.name()+": buffer", func() (plotting.Figure, error) {
		var labels []string
		series := []plotting.BarSeries{{Name: "first class"}, {Name: "second class"}}
		for t, nodes := range s.now.kept {
			labels = append(labels, fmt.Sprintf("task %d", t+1))
			task := s.run.stream.Tasks[t]
			for i := range series {
				series[i].Values = append(series[i].Values, 0)
			}
			for _, v := range nodes {
				for i := range series {
					if i < len(task.Classes) && task.Labels[v] == task.Classes[i] {
						series[i].Values[t]++
					}
				}
			}
		}
		return plotting.Bars(labels, series,
			plotting.BarOptions{YLabel: "nodes", Title: s.bufferTitle(p.Task), Width: narrow})
	}, s.run.settings, len(s.now.kept), p.Task)
}

// mostNamed is how many nodes a title names.
const mostNamed = 8

func (s *scene) bufferTitle(task int) string {
	title := s.run.name() + ": nodes in the buffer"
	kept := s.keptOf(task)
	if len(kept) == 0 {
		return title
	}
	names := strings.Trim(fmt.Sprint(kept[:min(len(kept), mostNamed)]), "[]")
	return title + fmt.Sprintf("\nof task %d: %s …", task+1, names)
}
