package continual

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// One row of the last step of a stream of the synthetic default's size: 4 tasks, about 560 nodes, width 256. The classes
// overlap, so that the paper probe runs for thousands of epochs.
func BenchmarkProbe(b *testing.B) {
	s := toyStream(4, 256, func(class int) int { return 40 + class*37%7*10 }, 5)
	var embed []*Embedding
	for j := range s.Tasks {
		x := &s.Tasks[j].Graph.Features
		embed = append(embed, &Embedding{Rows: x.Rows, Cols: x.Cols, Data: x.Dense})
	}
	for _, name := range []string{"go", "onnx"} {
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
