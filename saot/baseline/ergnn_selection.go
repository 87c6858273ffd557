package baseline

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/continual"
)

// NodeSelection says which train nodes ER-GNN keeps.
type NodeSelection int

// The paper's selections that need no gradient.
const (
	CoverageMaximization NodeSelection = iota // those with the fewest nodes of other classes near by
	MeanFeature                               // those nearest to the mean of their class
)

var selectionNames = enum.Of[NodeSelection]("selection", "cm", "mf")

// String returns "cm" or "mf".
func (s NodeSelection) String() string                   { return selectionNames.Name(s) }
func (s NodeSelection) MarshalText() ([]byte, error)     { return selectionNames.Marshal(s) }
func (s *NodeSelection) UnmarshalText(text []byte) error { return selectionNames.Unmarshal(s, text) }

// experience is what is kept of a task: the features of some train nodes, and the columns of their classes.
type experience struct {
	Features   graph.Features
	Columns    []int32
	First, End int // the task's own columns
}

// rows returns the nodes kept as rows of a graph in which they begin at an offset; see trainRows.
func (x *experience) rows(offset, seen int, s continual.Setting) []labeled {
	t := continual.Labeled{Columns: x.Columns, First: x.First, End: x.End, Train: consecutive(len(x.Columns))}
	return trainRows(&t, offset, seen, s)
}

func (l *ergnn) choose(t *continual.Labeled, rng *rand.Rand) experience {
	classes := trainByClass(t)
	x := experience{First: t.First, End: t.End}
	var all []int32
	for c := range classes {
		for _, node := range l.pick(&t.Graph.Features, classes, c, rng) {
			all, x.Columns = append(all, node), append(x.Columns, t.Columns[node])
		}
	}
	x.Features = t.Graph.Features.Select(all)
	return x
}

// coverageSample, CGLB's, is the largest number of nodes of a class that coverage maximization looks at. If the budget
// is larger, it looks at as many candidates as the budget.
const coverageSample = 1000

// pick returns the budget of nodes of class c, given the train nodes of the task's classes.
func (l *ergnn) pick(f *graph.Features, classes [][]int32, c int, rng *rand.Rand) []int32 {
	if l.Selection == MeanFeature {
		return lowestNodes(classes[c], distancesToMean(f, classes[c]), l.Budget)
	}
	candidates := sampleNodes(classes[c], max(coverageSample, l.Budget), rng)
	var others []int32
	for k, nodes := range classes {
		if k != c {
			others = append(others, sampleNodes(nodes, coverageSample, rng)...)
		}
	}
	return lowestNodes(candidates, countsNear(f, candidates, others, l.Distance), l.Budget)
}

func sampleNodes(nodes []int32, n int, rng *rand.Rand) []int32 {
	if len(nodes) <= n {
		return nodes
	}
	chosen := rng.Perm(len(nodes))[:n]
	slices.Sort(chosen)
	out := make([]int32, n)
	for i, k := range chosen {
		out[i] = nodes[k]
	}
	return out
}

// lowestNodes returns the n nodes of the lowest scores; equals keep their order.
func lowestNodes(nodes []int32, score []float64, n int) []int32 {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[a], score[b]) })
	var out []int32
	for _, i := range order[:min(n, len(order))] {
		out = append(out, nodes[i])
	}
	return out
}

// countsNear returns how many of the others lie closer to each candidate than d, by their features.
// O(candidates·others·F) time, or their stored entries' where features are sparse.
func countsNear(f *graph.Features, candidates, others []int32, d float64) []float64 {
	squares := make([]float64, len(others))
	for k, o := range others {
		squares[k] = featureSquare(f, o)
	}
	counts, row := make([]float64, len(candidates)), make([]float32, f.Cols)
	for i, c := range candidates {
		f.CopyRow(int(c), row)
		own := featureSquare(f, c)
		for k, o := range others {
			if own+squares[k]-2*featureDot(f, o, row) < d*d {
				counts[i]++
			}
		}
	}
	return counts
}

// distancesToMean returns ‖x_i − x̄‖² − ‖x̄‖² of nodes, x̄ their mean feature.
func distancesToMean(f *graph.Features, nodes []int32) []float64 {
	mean, row := make([]float32, f.Cols), make([]float32, f.Cols)
	for _, node := range nodes {
		f.CopyRow(int(node), row)
		for k, v := range row {
			mean[k] += v / float32(len(nodes))
		}
	}
	out := make([]float64, len(nodes))
	for i, node := range nodes {
		out[i] = featureSquare(f, node) - 2*featureDot(f, node, mean)
	}
	return out
}

func featureDot(f *graph.Features, node int32, vector []float32) (sum float64) {
	cols, vals := f.Row(int(node))
	if cols == nil {
		for k, v := range vals {
			sum += float64(v) * float64(vector[k])
		}
		return sum
	}
	for k, c := range cols {
		sum += float64(vals[k]) * float64(vector[c])
	}
	return sum
}

func featureSquare(f *graph.Features, node int32) (sum float64) {
	_, vals := f.Row(int(node))
	for _, v := range vals {
		sum += float64(v) * float64(v)
	}
	return sum
}
