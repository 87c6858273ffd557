package continual

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// noting notes the order of the calls, and keeps the embeddings after each task.
type noting struct {
	Learner
	stream *datasets.Stream
	calls  []string
	left   [][]*Embedding
}

func (n *noting) Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error) {
	n.calls = append(n.calls, fmt.Sprint("learn ", task))
	n.left = append(n.left, nil)
	return n.Learner.Learn(ctx, task, g, observe)
}

func (n *noting) Embed(ctx context.Context, g *graph.Graph) (*Embedding, error) {
	for j := range n.stream.Tasks {
		if &n.stream.Tasks[j].Graph.Features.Dense[0] == &g.Features.Dense[0] {
			n.calls = append(n.calls, fmt.Sprint("embed ", j))
		}
	}
	z, err := n.Learner.Embed(ctx, g)
	last := len(n.left) - 1
	n.left[last] = append(n.left[last], z)
	return z, err
}

// Run calls a learner in the order that its contract has, and what is left of it is scored the same.
func TestExternal(t *testing.T) {
	stream, e := overlapping(), enginetest.Go(t)
	n := &noting{Learner: &toyLearner{width: 3}, stream: stream}
	opt := Options{Engine: e, Seed: 4}
	want, err := Run(t.Context(), stream, n, opt)
	require.NoError(t, err)
	require.Equal(t, []string{"learn 0", "embed 0", "learn 1", "embed 0", "embed 1", "learn 2", "embed 0", "embed 1",
		"embed 2"}, n.calls)

	var asked []int
	left := External(func(_ context.Context, seen int) ([]*Embedding, error) {
		asked = append(asked, seen)
		return n.left[seen-1], nil
	})
	opt.Dir, opt.Manifest = filepath.Join(t.TempDir(), "run"), manifest("{}")
	got, err := Run(t.Context(), stream, left, opt)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, asked)
	require.Equal(t, want.Scores, got.Scores)
	require.True(t, got.External && !want.External)
	require.Zero(t, got.TrainingSeconds()+float64(got.PeakBytes))
	if runtime.GOOS != "windows" { // whose clock may stand still for 15 ms
		require.Positive(t, want.TrainingSeconds())
	}
	require.Equal(t, []string{ResultFile}, filesIn(t, opt.Dir))
	report, err := AuditResult(opt.Dir)
	require.NoError(t, err)
	require.Equal(t, Consistent, report.Verdict())
	require.Equal(t, []string{noteExternal}, report.Notes)
}

func TestExternalRefuses(t *testing.T) {
	stream, e := overlapping(), enginetest.Go(t)
	failed := errors.New("no file")
	for want, returns := range map[string]External{
		"no file": func(context.Context, int) ([]*Embedding, error) { return nil, failed },
		"embeddings of 0 tasks, want those of the 1 seen": func(context.Context, int) ([]*Embedding, error) {
			return nil, nil
		},
		"task 1": func(context.Context, int) ([]*Embedding, error) {
			return []*Embedding{{Rows: 1, Cols: 1, Data: []float32{1}}}, nil
		},
	} {
		_, err := Run(t.Context(), stream, returns, Options{Engine: e})
		require.ErrorContains(t, err, want)
	}
	none := External(func(context.Context, int) ([]*Embedding, error) { return nil, failed })
	for _, opt := range []Options{{Keep: true}, {Record: 1}} {
		opt.Dir, opt.Manifest, opt.Engine = t.TempDir(), manifest("{}"), e
		_, err := Run(t.Context(), stream, none, opt)
		require.ErrorContains(t, err, "an External did it elsewhere")
	}
	_, err := Run(t.Context(), stream, none, Options{Engine: e, Probes: []Probe{ProbeHead}})
	require.ErrorContains(t, err, "belongs to supervised methods")
}
