package continual

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// One row of the last step of a stream of the synthetic default's size: 4 tasks, about 560 nodes, width 256. The
// classes overlap, so that the paper probe runs for thousands of epochs.
func BenchmarkProbe(b *testing.B) {
	s := toyStream(4, 256, func(class int) int { return 40 + class*37%7*10 }, 5)
	var embed []*Embedding
	for j := range s.Tasks {
		x := &s.Tasks[j].Graph.Features
		embed = append(embed, &Embedding{Rows: x.Rows, Cols: x.Cols, Data: x.Dense})
	}
	for _, name := range []string{"go", "xla:cpu"} {
		e, err := engine.Open(name)
		if err != nil {
			b.Logf("engine %s is not present: %v", name, err)
			continue
		}
		ev, err := newEvaluator(e, s.Tasks, 1)
		require.NoError(b, err)
		for _, p := range Probes() {
			for _, setting := range Settings() {
				b.Run(name+"/"+p.String()+"/"+setting.String(), func(b *testing.B) {
					for b.Loop() {
						_, _, err := ev.fit(context.Background(), p, setting, embed)
						require.NoError(b, err)
					}
				})
			}
		}
		e.Close()
	}
}

// The heads of a long stream's last step in task-il, fitted alone as they are, and all side by side, where every row
// pays for the columns of all heads and every head takes the iterations of the slowest.
func BenchmarkTaskHeads(b *testing.B) {
	s := toyStream(18, 256, func(int) int { return 280 }, 5)
	var embed []*Embedding
	for j := range s.Tasks {
		x := &s.Tasks[j].Graph.Features
		embed = append(embed, &Embedding{Rows: x.Rows, Cols: x.Cols, Data: x.Dense})
	}
	e, err := engine.Open("xla:cpu")
	if err != nil {
		b.Skipf("XLA is not present: %v", err)
	}
	defer e.Close()
	ev, err := newEvaluator(e, s.Tasks, 1)
	require.NoError(b, err)
	for _, p := range Probes() {
		b.Run(p.String()+"/alone", func(b *testing.B) {
			for b.Loop() {
				_, _, err := ev.fit(context.Background(), p, TaskIL, embed)
				require.NoError(b, err)
			}
		})
		b.Run(p.String()+"/together", func(b *testing.B) {
			d, err := newDesign(s.Tasks, embed, origin{step: 18})
			require.NoError(b, err)
			for b.Loop() {
				_, _, err := ev.fitDesign(context.Background(), p, TaskIL, d)
				require.NoError(b, err)
			}
		})
	}
}
