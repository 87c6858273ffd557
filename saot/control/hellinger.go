package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// HellingerSettings are those of propagated-hellinger. The defaults are Out 256, Power 0.5, and both switches on.
type HellingerSettings struct {
	Out   int     `json:"out" range:"[1,)" help:"width of the embeddings"`
	Power float64 `json:"power" range:"(0,1]" help:"power of propagated features: 0.5 takes roots, 1 changes nothing"`
	IDF   bool    `json:"idf" help:"give rare words more weight: idf over the nodes of all tasks seen"`
	Unit  bool    `json:"unit" help:"rows have unit length"`
}

// Validate lists every field out of range.
func (s *HellingerSettings) Validate() error {
	return check.In("control: propagated-hellinger").Ranges(s).Err()
}

func init() {
	method.Register(method.Definition{Name: "propagated-hellinger", Kind: method.Control, Order: 5,
		Summary: "control: PCA of roots of idf-weighted propagated features of all tasks seen, without a buffer",
		Defaults: func(datasets.Recipe, method.Preset) method.Settings {
			return &HellingerSettings{Out: 256, Power: 0.5, IDF: true, Unit: true}
		},
		Load: func(s method.Settings) method.Load {
			return method.Load{Width: s.(*HellingerSettings).Out, Factored: true}
		},
		New: newHellinger})
}

// hellinger embeds nodes by PCA of rows r of all tasks seen,
//
//	q_ic = √(w_c·(Â²X)_ic),   r_i = q_i/‖q_i‖,   w_c = log(1 + N/max(1, n_c)).
//
// N is the number of nodes seen and n_c that of the nodes with word c. ‖r_i − r_j‖ is √2 times the Hellinger distance
// of the words' weighted frequencies around i and j. No node is stored: what is kept of the past is the PCA itself,
// which each task's rows update (incremental PCA: Ross, Lim, Lin and Yang 2008). The coordinates are turned at random,
// as those of principal are. A new task changes w. The axes and the mean of the past follow by the ratio of the new
// weights to the old ones, which leaves out that lengths change with them. If the first task has negative features,
// they are not frequencies, and the power is 1. See docs/beyond.md.
type hellinger struct {
	method.State
	HellingerSettings
	features int
	seed     uint64
	seen     frequencies
	turn     func() *mat.Dense // T, made once
}

// frequencies are what is kept of the tasks seen.
type frequencies struct {
	Signed    bool      // the first task has negative features
	Documents []float64 // [F]: nodes with a feature that is not 0
	Scale     []float64 // [F]: w^power, of the rows in Scatter
	Scatter   scatter
}

func newHellinger(b method.Build) (continual.Method, error) {
	h := &hellinger{HellingerSettings: *b.Settings.(*HellingerSettings), features: b.Stream.Features, seed: b.Seed}
	h.turn = sync.OnceValue(func() *mat.Dense { return rotation(h.Out, seed.Stream(h.seed, "turn")) })
	h.State = method.State{Name: "control: propagated-hellinger", Parts: []any{&h.seen}}
	return h, nil
}

// Learn adds the task's rows to the scatter. Diagnostics of the report: "components", how many axes there are,
// "variance", what all rows seen have along them in total, and "signed", 1 if the first task has negative features.
func (h *hellinger) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	if err := h.check(g); err != nil {
		return nil, h.Fault(task, err)
	}
	h.seen = h.seen.with(&g.Features)
	scale := h.scale(float64(g.NumNodes()))
	past := h.seen.Scatter
	if past.Count > 0 {
		past = past.stretched(scale, h.seen.Scale)
	}
	next := past.with(newExplicit(h.rows(g, scale)))
	axes, squares, err := leading(ctx, next, h.Out, seed.Stream(h.seed, "pca", task))
	if err != nil {
		return nil, h.Fault(task, err)
	}
	h.seen.Scale, h.seen.Scatter = scale, next.total(axes, squares)
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes(),
		Diagnostics: map[string]float64{"components": float64(len(squares)), "signed": 0,
			"variance": floats.Sum(squares) / math.Max(1, h.seen.Scatter.Count-1)}}
	if h.seen.Signed {
		report.Diagnostics["signed"] = 1
	}
	return report, nil
}

// Embed returns (R − 1·meanᵀ)·V·T for the rows R and a random rotation T, which is that of all tasks.
func (h *hellinger) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if h.seen.Scatter.Count == 0 {
		return nil, errors.New("control: propagated-hellinger has learned no task yet")
	}
	if err := h.check(g); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	rows := explicit{features: h.rows(g, h.seen.Scale), center: h.seen.Scatter.Mean}
	return embeddingOf(turned(rows.times(h.seen.Scatter.axes()), h.turn()), h.Out), nil
}

func (h *hellinger) check(g *graph.Graph) error {
	if g.Features.Cols != h.features {
		return fmt.Errorf("the graph has %d feature columns, the learner was made for %d", g.Features.Cols, h.features)
	}
	return nil
}

// with counts the documents of a task.
func (f frequencies) with(x *graph.Features) frequencies {
	first := f.Documents == nil
	if first {
		f.Documents = make([]float64, x.Cols)
	}
	f.Documents = slices.Clone(f.Documents)
	for i := range x.Rows {
		x.Each(i, func(c int, v float64) {
			f.Documents[c]++
			f.Signed = f.Signed || first && v < 0
		})
	}
	return f
}

// power is that of the features.
func (h *hellinger) power() float64 {
	if h.seen.Signed {
		return 1
	}
	return h.Power
}

// scale returns w^power [F], given the nodes of the task that is learned.
func (h *hellinger) scale(nodes float64) []float64 {
	scale := make([]float64, h.features)
	for c, documents := range h.seen.Documents {
		scale[c] = 1
		if h.IDF {
			scale[c] = math.Pow(math.Log1p((h.seen.Scatter.Count+nodes)/math.Max(1, documents)), h.power())
		}
	}
	return scale
}

// rows returns R [N, F], as sparse as Â²X. A negative entry keeps its sign, and a row of zeros stays one.
func (h *hellinger) rows(g *graph.Graph, scale []float64) *graph.Features {
	r, power := encoder.Propagated(g), h.power()
	for i := range r.Rows {
		columns, values := r.Row(i)
		square := 0.0
		for k, v := range values {
			c := k
			if columns != nil {
				c = int(columns[k])
			}
			q := math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v)) * scale[c]
			values[k] = float32(q)
			square += q * q
		}
		if h.Unit && square > 0 {
			for k := range values {
				values[k] *= float32(1 / math.Sqrt(square))
			}
		}
	}
	return r
}
