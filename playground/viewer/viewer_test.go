package viewer

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual/record"
)

func quantized(t *testing.T, x []float32) *record.Quantized {
	q, err := record.Quantize(x)
	require.NoError(t, err)
	return q
}

// invented returns a recording of three tasks of six frames each: eight nodes on a ring, in two classes that take
// turns. The plan puts a share of the mass on the diagonal that grows with the steps; with a seed of 1, twice that
// share.
func invented(t *testing.T, method string, seed uint64, plans bool) *record.Recording {
	const n, tasks = 8, 3
	r := &record.Recording{Head: record.Head{Format: record.Format, Version: record.Version, Method: method,
		Dataset: "ring", Seed: seed, Every: 2, Tasks: tasks}}
	planOf := func(share float64) *record.Plan {
		x := make([]float32, n*n)
		for i := range x {
			x[i] = float32((1 - share) / (n * n))
			if i%(n+1) == 0 {
				x[i] += float32(share / n)
			}
		}
		return &record.Plan{Values: *quantized(t, x), MarginalError: 1e-7}
	}
	for k := range tasks {
		task := record.Task{Format: record.Format, Version: record.Version, Task: k, Terms: []string{"total", "part"},
			Figures: []string{"gradient_matching", "entropy", "diagonal_mass", "cosine_matching_structure",
				"cosine_matching_distillation", "cosine_structure_distillation", "graph_marginal_error"}}
		for i := range int32(n) {
			task.Nodes, task.Classes = append(task.Nodes, 10+i), append(task.Classes, int32(2*k)+i%2)
			task.Edges = append(task.Edges, record.Edge{i, (i + 1) % n})
		}
		if plans {
			task.Views = [][]record.Edge{task.Edges[:6], task.Edges[2:]}
			task.Graph = planOf(0.9)
			if k > 0 {
				task.Teacher = planOf(0.2)
			}
		}
		for f := range 6 {
			step := 2 * f
			x := make([]float32, 2*n)
			for i := range n {
				angle := 2*math.Pi*float64(i)/n + 0.1*float64(f)
				x[2*i], x[2*i+1] = float32(math.Cos(angle)), float32(math.Sin(angle))
			}
			frame := record.Frame{Step: step, Points: quantized(t, x), Shares: []record.Number{0.6, 0.3}}
			if step > 0 {
				frame.Terms = []record.Number{record.Number(3 / float64(step)), 0.5}
				frame.Figures = []record.Number{0.01, 0.9, 0.4, -0.2, 0.3, 0.1, 1e-7}
			}
			if plans {
				frame.Plan = planOf(float64(f) / 10 * float64(1+seed%2))
			}
			task.Frames = append(task.Frames, frame)
		}
		accuracy := []record.Number{90, 80, 70}
		task.Scores = []record.Score{{Setting: "class-il", Probe: "paper", Accuracy: accuracy[:k+1]},
			{Setting: "task-il", Probe: "paper", Accuracy: accuracy[:k+1]}}
		r.Tasks = append(r.Tasks, task)
	}
	return r
}

func TestPageNeedsNothing(t *testing.T) {
	r := invented(t, "</script><b>saot", 0, true)
	page, err := Page(`a "page" & <more>`, Run{Name: Name(r), Recording: r})
	require.NoError(t, err)
	text := string(page)
	require.Contains(t, text, "<title>a &#34;page&#34; &amp; &lt;more&gt;</title>")
	require.Equal(t, 3, strings.Count(text, "</script>"), "what a run is called ends no script")
	require.NotContains(t, text, `src="`)
	require.NotContains(t, text, "@import")
	var out bytes.Buffer
	_, data, _ := strings.Cut(text, `json">`)
	data, _, _ = strings.Cut(data, "</script>")
	require.NoError(t, json.Compact(&out, []byte(data)))
}

func TestElementRefuses(t *testing.T) {
	r := invented(t, "saot", 0, true)
	run := Run{Name: "a", Recording: r}
	_, err := Element()
	require.ErrorContains(t, err, "0 runs: it shows one or two")
	_, err = Element(run, run, run)
	require.ErrorContains(t, err, "3 runs: it shows one or two")
	for i := range r.Tasks {
		r.Tasks[i].Frames = nil
	}
	_, err = Element(run)
	require.ErrorContains(t, err, "the recording of a has no frames yet")
}

// The bundle is small, says whose code it holds, and ends no script element that it stands in.
func TestBundle(t *testing.T) {
	bundle := string(Script())
	require.Less(t, len(bundle), 150_000)
	require.NotContains(t, bundle, "</script")
	require.NotContains(t, bundle, "<!--")
	require.Contains(t, bundle, "d3-force 3.0.0 (ISC)")
	require.Contains(t, bundle, "Permission to use, copy, modify")
}
