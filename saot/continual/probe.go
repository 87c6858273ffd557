package continual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/engine"
)

// evaluator fits the probes of a run. Both settings are one problem to it: a weight matrix W [width+1, columns], its
// last row the bias, in which every train sample may reach only the columns of its head. The heads of task-il are then
// independent blocks of columns, fitted side by side.
//
// Rows and columns are padded to one of a few shapes for the whole run, and each probe compiles a graph for each, see
// shapesOf.
type evaluator struct {
	engine *engine.Engine
	tasks  []datasets.Task
	seed   uint64

	gramRows  int // rows that a call of gram multiplies
	logitRows int // rows that are multiplied at once to classify them; tests lower it
	pathNodes int // valid nodes from which a path of class-il may end; tests lower it

	paperShapes, convergedShapes func() []shape // shapesOf's, once

	adamw     *engine.Func // a block of epochs of the paper probe
	adamwPair *engine.Func // the same for one head of two classes
	objective *engine.Func // value and gradient of the converged probe
	gram      *engine.Func // part of its curvature
}

// newEvaluator makes the evaluator of a stream. If the engine is nil, only embeddings without columns can be probed.
func newEvaluator(e *engine.Engine, tasks []datasets.Task, seed uint64) (*evaluator, error) {
	ev := &evaluator{engine: e, tasks: tasks, seed: seed, pathNodes: pathNodes, logitRows: 4096}
	ev.paperShapes = sync.OnceValue(func() []shape { return ev.shapesOf(ProbePaper) })
	ev.convergedShapes = sync.OnceValue(func() []shape { return ev.shapesOf(ProbeConverged) })
	for j := range tasks {
		ev.gramRows = min(ev.gramRows+len(tasks[j].Split.Train), curvedRows)
	}
	if e == nil {
		return ev, nil
	}
	var err1, err2, err3, err4 error
	ev.adamw, err1 = e.Func("probe-paper", buildAdamW)
	ev.adamwPair, err2 = e.Func("probe-paper-pair", buildAdamWPair)
	ev.objective, err3 = e.Func("probe-converged", buildLogistic)
	ev.gram, err4 = e.Func("probe-gram", buildGram)
	return ev, errors.Join(err1, err2, err3, err4)
}

type shape struct {
	train, held, columns int
}

// vectorWidth is what wider heads are padded to a multiple of: as many numbers of the probe's type as a vector register
// holds.
func vectorWidth(p Probe) int {
	if p == ProbePaper {
		return 16 // float32
	}
	return 8 // float64
}

// shapeOf returns the size of tasks first … end−1, the columns padded.
func (ev *evaluator) shapeOf(p Probe, first, end int) shape {
	var s shape
	for j := first; j < end; j++ {
		split := &ev.tasks[j].Split
		s.train += len(split.Train)
		s.held += len(split.Valid) + len(split.Test)
		s.columns += len(ev.tasks[j].Classes)
	}
	s.columns = paddedColumns(s.columns, vectorWidth(p))
	return s
}

// paddedColumns returns the next power of two, or, of more columns than a vector holds, the next multiple of its width.
// A product with 16 columns takes two thirds of the time of one with 14.
func paddedColumns(columns, width int) int {
	if columns > width {
		return (columns + width - 1) / width * width
	}
	power := 1
	for power < columns {
		power *= 2
	}
	return power
}

// The most shapes of a probe, and the number of train rows whose fit takes as long as a graph takes to compile,
// measured on XLA and two cores. A graph of the paper probe compiles in 0.1 s; a row takes 0.36 ms in class-il, for
// some 2,500 epochs, and 0.08 ms in a pair. A graph of the converged probe compiles in 0.3 s; a row takes 0.12 ms.
const (
	classShapes, taskShapes  = 8, 4
	paperRows, paperPairRows = 280, 1_250
	convergedRows            = 2_500
)

// shapesOf returns the padded shapes of a probe: those of single tasks, then the others, ascending. Each shape of
// class-il is that of some number of tasks, chosen so that padding and compiling cost the least in all. The heads of
// task-il are fitted alone, so that no row pays for the columns of other heads, in shapes chosen alike. Unless every
// task has two classes, the paper probe has only two shapes, half of the stream and the whole: heads of more than two
// classes all take thousands of epochs, and waste the least side by side.
func (ev *evaluator) shapesOf(p Probe) []shape {
	tasks := len(ev.tasks)
	if p == ProbePaper && !ev.pairs() {
		return []shape{ev.shapeOf(p, 0, (tasks+1)/2), ev.shapeOf(p, 0, tasks)}
	}
	classPrice, taskPrice := paperRows, paperPairRows
	if p == ProbeConverged {
		classPrice, taskPrice = convergedRows, convergedRows
	}
	classPrice, taskPrice = classPrice*ev.engine.ShapePrice(), taskPrice*ev.engine.ShapePrice()
	shapes := ev.taskShapes(p, taskPrice)
	rows := make([]int, tasks) // of class-il after each task
	for k := range rows {
		rows[k] = ev.shapeOf(p, 0, k+1).train
	}
	for _, budget := range engine.Budgets(rows, classShapes, classPrice) {
		k := len(rows) - 1
		for rows[k] > budget {
			k--
		}
		shapes = append(shapes, ev.shapeOf(p, 0, k+1))
	}
	return shapes
}

// shapes returns what shapesOf does. The slice is shared.
func (ev *evaluator) shapes(p Probe) []shape {
	if p == ProbePaper {
		return ev.paperShapes()
	}
	return ev.convergedShapes()
}

// taskShapes returns shapes for single tasks, of which each is fitted again after every later one.
func (ev *evaluator) taskShapes(p Probe, price int) (shapes []shape) {
	var rows []int
	for j := range ev.tasks {
		rows = append(rows, slices.Repeat([]int{ev.shapeOf(p, j, j+1).train}, len(ev.tasks)-j)...)
	}
	for _, budget := range engine.Budgets(rows, taskShapes, price) {
		var s shape
		for j := range ev.tasks {
			if one := ev.shapeOf(p, j, j+1); one.train <= budget {
				s = shape{budget, max(s.held, one.held), max(s.columns, one.columns)}
			}
		}
		shapes = append(shapes, s)
	}
	return shapes
}

func (ev *evaluator) pairs() bool {
	return !slices.ContainsFunc(ev.tasks, func(t datasets.Task) bool { return len(t.Classes) != 2 })
}

func (ev *evaluator) padded(p Probe, d *design) shape {
	shapes, own := ev.shapes(p), ev.shapeOf(p, d.origin.first, d.origin.first+d.seen)
	for _, sh := range shapes {
		if own.fits(sh) {
			return sh
		}
	}
	return shapes[len(shapes)-1] // of the whole stream
}

func (s shape) fits(in shape) bool {
	return s.train <= in.train && s.held <= in.held && s.columns <= in.columns
}

// groups cuts the seen tasks into runs [first, end) whose heads are fitted together: in task-il as many as fit into the
// first shape, one at least.
func (ev *evaluator) groups(p Probe, s Setting, seen int) [][2]int {
	if s == ClassIL {
		return [][2]int{{0, seen}}
	}
	var groups [][2]int
	room := ev.shapes(p)[0]
	for first, end := 0, 1; first < seen; end++ {
		if end == seen || !ev.shapeOf(p, first, end+1).fits(room) {
			groups = append(groups, [2]int{first, end})
			first = end
		}
	}
	return groups
}

// fit returns one row of a performance matrix in percent, and how its heads were fitted.
func (ev *evaluator) fit(ctx context.Context, p Probe, s Setting, embed []*Embedding) ([]float64, []Fit, error) {
	groups := ev.groups(p, s, len(embed))
	rows, fits := make([][]float64, len(groups)), make([][]Fit, len(groups))
	err := parallel.Each(len(groups), func(i int) error {
		first, end := groups[i][0], groups[i][1]
		d, err := newDesign(ev.tasks[first:end], embed[first:end], origin{step: len(embed), first: first})
		if err == nil {
			rows[i], fits[i], err = ev.fitDesign(ctx, p, s, d)
		}
		return err
	})
	return slices.Concat(rows...), slices.Concat(fits...), err
}

func (ev *evaluator) fitDesign(ctx context.Context, p Probe, s Setting, d *design) ([]float64, []Fit, error) {
	switch {
	case d.width == 0:
		return d.majority(s, p), make([]Fit, len(d.heads(s))), nil
	case ev.engine == nil:
		return nil, nil, errors.New("the probe needs Options.Engine")
	case p == ProbePaper:
		return ev.fitPaper(ctx, s, d)
	case p == ProbeConverged:
		return ev.fitConverged(ctx, s, d)
	}
	return nil, nil, fmt.Errorf("unknown probe %v", p)
}

// float is the number type of a probe: float32 for paper, float64 for converged.
type float interface {
	float32 | float64
	gotype.Supported
}

// inputs are the padded inputs that both probes share. Padding rows have weight 0, padding columns are closed.
type inputs[T float] struct {
	x      []T // [train, width+1], the last column 1
	target []T // [train, columns], one-hot
	closed []T // [train, columns], 0 where the sample's head has the column, else a large negative number
	weight []T // [train, 1]
}

// ClosedLogit is added to the logits of columns outside a head: it takes a class out of a softmax. Its exponential is 0
// in float32 and in float64.
const ClosedLogit = -1e9

// newInputs lays a design out for the engine; embed writes a sample's embedding into a row of x.
func newInputs[T float](d *design, s Setting, sh shape, embed func(dst []T, s sample)) *inputs[T] {
	in := &inputs[T]{x: rowsOf(d.train, sh.train, d.width, embed), target: make([]T, sh.train*sh.columns),
		closed: make([]T, sh.train*sh.columns), weight: make([]T, sh.train)}
	for i, sample := range d.train {
		in.target[i*sh.columns+sample.column] = 1
		in.weight[i] = T(d.weight(s, sample.task))
		first, end := d.layout.columns(s, sample.task, d.seen)
		for c := range sh.columns {
			if c < first || c >= end {
				in.closed[i*sh.columns+c] = ClosedLogit
			}
		}
	}
	return in
}

// rowsOf returns the embeddings of samples, width columns, and a column of ones, padded: [rows, width+1].
func rowsOf[T float](samples []sample, rows, width int, embed func(dst []T, s sample)) []T {
	x := make([]T, rows*(width+1))
	for i, sample := range samples {
		row := x[i*(width+1) : (i+1)*(width+1)]
		embed(row[:width], sample)
		row[width] = 1
	}
	return x
}

func tensorOf[T float](data []T, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(data, dims...)
}

// leastRows is the least that a class keeps when train nodes are thinned. A class with fewer keeps all of them.
const leastRows = 10

// thinned returns the tasks with about that many train nodes in all, if they have more: each class in each task keeps
// its share, since the imbalance is part of what is measured, and at least leastRows (all, if it has fewer). Which
// nodes stay does not depend on the run's seed.
func thinned(tasks []datasets.Task, rows int) []datasets.Task {
	all := 0
	for i := range tasks {
		all += len(tasks[i].Split.Train)
	}
	if rows == 0 || all <= rows {
		return tasks
	}
	share := float64(rows) / float64(all)
	out := slices.Clone(tasks)
	for i := range out {
		out[i].Split.Train = thinnedTask(&tasks[i], share)
	}
	return out
}

func thinnedTask(t *datasets.Task, share float64) (kept []int32) {
	byClass := map[int32][]int32{}
	for _, node := range t.Split.Train {
		if node >= 0 && int(node) < len(t.Labels) { // whatever is wrong with the split, newDesign says
			byClass[t.Labels[node]] = append(byClass[t.Labels[node]], node)
		}
	}
	for _, class := range t.Classes {
		nodes := byClass[class]
		keep := min(len(nodes), max(leastRows, int(math.Round(share*float64(len(nodes))))))
		for _, at := range seed.Stream(1, "probe rows", class).Perm(len(nodes))[:keep] {
			kept = append(kept, nodes[at])
		}
	}
	slices.Sort(kept)
	return kept
}
