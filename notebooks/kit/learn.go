package kit

import (
	"context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// LongStream returns a generated stream of twelve small tasks of two classes.
func LongStream() *datasets.Stream {
	dataset := Must(datasets.Open("synthetic,nodes=1000,classes=24,degree=5,imbalance=1.5", "", datasets.Options{}))
	return Must(datasets.NewStream(dataset, datasets.DefaultStreamOptions()))
}

// Learner makes a learner of a self-supervised method or a control by its name, with its fast settings for generated
// streams. Changes are written name=value, as for the flag --set of saot run.
func Learner(name string, s *datasets.Stream, changes ...string) continual.Learner {
	d := Must(method.Lookup(name))
	settings := d.Defaults(datasets.RecipeSynthetic, method.Fast)
	var all []fields.Change
	for _, change := range changes {
		path, value, _ := strings.Cut(change, "=")
		all = append(all, fields.Change{Path: path, Value: fields.Value{Text: value}})
	}
	Check(d.Change(settings, all...))
	return Must(NewLearner(name, Engine(), s, settings, 1))
}

// NewLearner makes a learner of a self-supervised method or a control with the given settings.
func NewLearner(name string, e *engine.Engine, s *datasets.Stream, settings method.Settings,
	seed uint64) (continual.Learner, error) {
	build := method.Build{Engine: e, Stream: method.StreamOf(s), Settings: settings, Seed: seed}
	made, err := method.New(name, build)
	if err != nil {
		return nil, err
	}
	learner, ok := made.(continual.Learner)
	if !ok {
		return nil, fmt.Errorf("%s makes no embeddings", name)
	}
	return learner, nil
}

// EmbeddingOf returns the embeddings of a graph [nodes, width], its rows scaled to length 1.
func EmbeddingOf(l continual.Learner, g *graph.Graph) *mat.Dense {
	z := Must(l.Embed(context.Background(), g))
	return Unit(RowsOf(z.Data, z.Cols, All(g)))
}

// LearnAll trains a learner on all tasks. After each it keeps the embeddings of the tasks so far, which Embeddings
// reads.
func LearnAll(name string, l continual.Learner, s *datasets.Stream) {
	for i := range s.Tasks {
		Must(l.Learn(context.Background(), i, s.Tasks[i].Graph, nil))
		for j := range s.Tasks[:i+1] {
			Keep(fmt.Sprintf("%s-%d-%d", name, i+1, j+1), EmbeddingOf(l, s.Tasks[j].Graph))
		}
	}
}

// Embeddings returns what LearnAll kept: the embeddings of tasks 1, 2, …, k after task k was learned.
func Embeddings(name string, k int) (z []*mat.Dense) {
	for j := range k {
		z = append(z, Kept(fmt.Sprintf("%s-%d-%d", name, k, j+1)))
	}
	return z
}

// ClassMeans is the simplest probe: the mean embedding of the train nodes of each class, of length 1.
type ClassMeans map[int32][]float64

// FitMeans fits class means to the train nodes of some tasks with embeddings z, one matrix for each task.
func FitMeans(tasks []datasets.Task, z []*mat.Dense) ClassMeans {
	means := ClassMeans{}
	for i, t := range tasks {
		for _, node := range t.Split.Train {
			row := z[i].RawRowView(int(node))
			if means[t.Labels[node]] == nil {
				means[t.Labels[node]] = make([]float64, len(row))
			}
			floats.Add(means[t.Labels[node]], row)
		}
	}
	for _, mean := range means {
		if length := floats.Norm(mean, 2); length > 0 {
			floats.Scale(1/length, mean)
		}
	}
	return means
}

// Accuracy is the share of a task's test nodes, in percent, that the nearest mean gives their class. Nearest is by the
// largest product, which is the cosine where rows have length 1.
func (m ClassMeans) Accuracy(t datasets.Task, z *mat.Dense) float64 {
	hits := 0
	for _, node := range t.Split.Test {
		row := z.RawRowView(int(node))
		own, right := m[t.Labels[node]], true
		for class, mean := range m {
			right = right && (class == t.Labels[node] || floats.Dot(row, mean) < floats.Dot(row, own))
		}
		if right {
			hits++
		}
	}
	return 100 * float64(hits) / float64(len(t.Split.Test))
}
