package training

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
)

// small is a run of a second.
func small(method string) Request {
	return Request{Dataset: "synthetic,nodes=120,classes=4,degree=3,words=12,vocabulary=64", Method: method, Seed: 3,
		Set: [][2]string{{"epochs", "3"}, {"points", "24"}, {"encoder.hidden", "16"}, {"encoder.out", "8"},
			{"buffer", "12"}, {"epsilon", "0.25"}},
		Record: 1, Probes: []string{"converged"}}
}

// A run leaves a folder that is read as one of the command line, and tells everything that the folder's recording
// holds.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var told []Message
	require.NoError(t, Run(context.Background(), dir, small("saot"), func(m Message) { told = append(told, m) }))

	require.Equal(t, "start", told[0].Kind)
	recorded, err := record.Read(dir)
	require.NoError(t, err)
	require.Equal(t, recorded.Head, *told[0].Head)
	var frames, scores int
	for _, m := range told {
		_, err := m.JSON()
		require.NoError(t, err)
		switch m.Kind {
		case "frame":
			task := recorded.Tasks[m.Task.Task]
			require.Equal(t, task.Nodes, m.Task.Nodes)
			require.Contains(t, texts(t, task.Frames), texts(t, []record.Frame{*m.Frame})[0])
			frames++
		case "scores":
			require.Len(t, m.Scores, len(recorded.Tasks[m.Index].Scores))
			for k, score := range m.Scores {
				for j, accuracy := range score.Accuracy {
					require.InDelta(t, float64(recorded.Tasks[m.Index].Scores[k].Accuracy[j]), float64(accuracy), 1e-4)
				}
			}
			scores++
		}
	}
	require.Equal(t, len(recorded.Tasks[0].Frames)+len(recorded.Tasks[1].Frames), frames)
	require.Equal(t, 2, scores)
	last := told[len(told)-1]
	require.Equal(t, "result", last.Kind)
	saved, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
	require.NoError(t, err)
	require.Equal(t, saved.Scores, last.Result.Scores)

	again, err := experiment.ReadRun(dir)
	require.NoError(t, err)
	asked, err := small("saot").Settings()
	require.NoError(t, err)
	require.Equal(t, asked.Hash(), again.Hash(), "config.json holds what was asked for")
}

// texts returns frames as the recording has them, numbers of 32 bits.
func texts(t *testing.T, frames []record.Frame) (all []string) {
	for _, f := range frames {
		text, err := json.Marshal(&f)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	return all
}

// A run that is stopped between two tasks is taken up there, and ends as one that was not stopped.
func TestRunContinues(t *testing.T) {
	whole, cut := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	var want, got *continual.Result
	require.NoError(t, Run(context.Background(), whole, small("saot"), func(m Message) { want = m.Result }))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := Run(ctx, cut, small("saot"), func(m Message) {
		if m.Kind == "step" && m.Index == 1 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	done := -1
	require.NoError(t, Run(context.Background(), cut, small("saot"), func(m Message) {
		if m.Kind == "start" {
			done = m.Done
		}
		got = m.Result
	}))
	require.Equal(t, 1, done)
	require.Equal(t, want.Scores, got.Scores)

	other := small("saot")
	other.Seed = 4
	require.ErrorContains(t, Run(context.Background(), cut, other, func(Message) {}), "a run with different settings")
}

func TestSettings(t *testing.T) {
	q := small("propagated-hellinger") // which has no epochs
	r, err := q.Settings()
	require.NoError(t, err)
	require.Equal(t, "go", r.Engine)

	q.Set = append(q.Set, [2]string{"no-such-setting", "1"})
	_, err = q.Settings()
	require.NoError(t, err)
	q = small("saot")
	q.Set = append(q.Set, [2]string{"encoder.kind", "gat"}) // after encoder.out
	r, err = q.Settings()
	require.NoError(t, err)
	require.Equal(t, 8, r.Of.(*saot.Config).Encoder.Out)
	q = small("saot")
	q.Set = append(q.Set, [2]string{"epsilon", "-1"})
	_, err = q.Settings()
	require.ErrorContains(t, err, "psilon is -1")
	for want, wrong := range map[string]func(q *Request){
		`words is "none", want a number`:  func(q *Request) { q.Dataset = "synthetic,words=none" },
		`unknown method "no-such-method"`: func(q *Request) { q.Method = "no-such-method" },
		`unknown probe "no-such-probe"`:   func(q *Request) { q.Probes = []string{"no-such-probe"} },
		"record is 0, want 1 or more":     func(q *Request) { q.Record = 0 },
	} {
		q := small("saot")
		wrong(&q)
		err := Run(context.Background(), filepath.Join(t.TempDir(), "run"), q, func(Message) {})
		require.ErrorContains(t, err, "training: ")
		require.ErrorContains(t, err, want)
	}
}
