package continual

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// toyStream makes a stream without edges, of two classes a task: class c has size(c) nodes around a random center,
// split 60/20/20 per class. A larger spread makes the classes overlap more.
func toyStream(tasks, width int, size func(class int) int, spread float64) *datasets.Stream {
	return toyStreamOf(2, tasks, width, size, spread)
}

// toyStreamOf is toyStream with a number of classes in each task.
func toyStreamOf(classes, tasks, width int, size func(class int) int, spread float64) *datasets.Stream {
	rng := seed.Stream(1, "toy")
	s := &datasets.Stream{Dataset: "toy", Checksum: "toy-sum", SplitHash: "toy-split", Synthetic: true,
		NumClasses: classes * tasks}
	for t := range tasks {
		task := datasets.Task{Index: t, Graph: &graph.Graph{}}
		for c := range classes {
			task.Classes = append(task.Classes, int32(t*classes+c))
		}
		x := &task.Graph.Features
		x.Cols = width
		for _, class := range task.Classes {
			center := make([]float64, width)
			for k := range center {
				center[k] = rng.NormFloat64()
			}
			n := size(int(class))
			for i := range n {
				node := int32(len(task.Labels))
				task.Labels, task.Nodes = append(task.Labels, class), append(task.Nodes, node)
				for k := range center {
					x.Dense = append(x.Dense, float32(center[k]+spread*rng.NormFloat64()))
				}
				switch {
				case i < n*3/5:
					task.Split.Train = append(task.Split.Train, node)
				case i < n*4/5:
					task.Split.Valid = append(task.Split.Valid, node)
				default:
					task.Split.Test = append(task.Split.Test, node)
				}
			}
		}
		x.Rows = len(task.Labels)
		task.Graph.Adjacency.Offsets = make([]int64, x.Rows+1)
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// toyLearner embeds a node as its features plus a drift that grows with every step taken, so that its state matters.
type toyLearner struct {
	steps    int
	width    int // of the embedding; 0 makes it constant
	failAt   int // task whose Learn is canceled half-way, if cancel is set
	cancel   context.CancelFunc
	nanTerm  string // a term that becomes NaN at task 1
	nanEmbed bool
	seconds  float64        // reported of every task
	seen     []*graph.Graph // graphs given to Learn
	embedded [][]float32    // every embedding returned
}

func (l *toyLearner) Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error) {
	l.seen = append(l.seen, g)
	if l.seconds < 0 { // it claims what cannot be, and takes some time
		time.Sleep(time.Millisecond)
	}
	for epoch := range 5 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.steps++
		terms := []Term{{"total", 1 / float64(l.steps)}}
		if l.nanTerm != "" && task == 1 && epoch == 2 {
			terms = append(terms, Term{l.nanTerm, math.NaN()})
		}
		observe(Step{Task: task, Done: epoch + 1, Steps: 5, Terms: terms})
		if l.cancel != nil && task == l.failAt && epoch == 3 {
			l.cancel()
		}
	}
	return &TaskReport{Task: task, Nodes: g.NumNodes(), Epochs: 5, Seconds: l.seconds,
		Diagnostics: map[string]float64{"steps": float64(l.steps)}}, nil
}

func (l *toyLearner) Embed(_ context.Context, g *graph.Graph) (*Embedding, error) {
	e := &Embedding{Rows: g.NumNodes(), Cols: l.width, Data: make([]float32, g.NumNodes()*l.width)}
	for i := range e.Rows {
		for k := range e.Cols {
			drift := math.Sin(float64(l.steps * (k + 1)))
			e.Data[i*e.Cols+k] = g.Features.Dense[i*g.Features.Cols+k] * float32(1+drift)
		}
	}
	if l.nanEmbed && l.steps > 5 {
		e.Data[e.Cols+1] = float32(math.Inf(1))
	}
	l.embedded = append(l.embedded, e.Data)
	return e, nil
}

func (l *toyLearner) Save(w io.Writer) error {
	return binary.Write(w, binary.LittleEndian, int64(l.steps))
}

func (l *toyLearner) Load(r io.Reader) error {
	var steps int64
	if err := binary.Read(r, binary.LittleEndian, &steps); err != nil {
		return err
	}
	l.steps = int(steps)
	if n, err := io.Copy(io.Discard, r); err != nil || n > 0 {
		return errors.Join(err, fmt.Errorf("%d bytes too many", n))
	}
	return nil
}
