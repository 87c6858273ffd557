package saot

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// sampling makes every task of the tiny stream too large to be taken whole.
func sampling(c *Config) { c.Encoder.WholeGraph, c.Encoder.SampleFanOut = 10, []int{4, 4} }

func TestSampledTrainingRepeatsAndDiffersFromWhole(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		first := trained(t, e, 1, sampling)
		require.Equal(t, first, trained(t, e, 1, sampling))
		require.NotEqual(t, first, trained(t, e, 2, sampling))
		require.NotEqual(t, first, trained(t, e, 1, func(*Config) {}))
	})
}

// A run on two devices, with tasks of which one is taken whole, has the losses of one device.
func TestSampledTrainingOnTwoDevices(t *testing.T) {
	steps := func(devices int) (losses []float64) {
		e, err := engine.OpenDevices("xla:cpu", devices)
		if err != nil {
			t.Skipf("no XLA: %v", err)
		}
		defer e.Close()
		require.Equal(t, devices, e.Devices())
		c := tinyConfig()
		sampling(&c)
		c.Encoder.WholeGraph = tinyStream(t).Tasks[0].Graph.NumNodes() // with replay, the second task has more
		for _, s := range learn(t, newTiny(t, e, c, 1), 0, 2) {
			for _, term := range s.Terms {
				losses = append(losses, term.Value)
			}
		}
		return losses
	}
	requireClose(t, steps(1), steps(2), 1e-4)
}

// An epoch aligns about as many nodes as the graph has, in steps of M.
func TestSampledReport(t *testing.T) {
	c := tinyConfig()
	sampling(&c)
	l := newTiny(t, enginetest.Go(t), c, 1)
	g := tinyStream(t).Tasks[0].Graph
	var seen []continual.Step
	report, err := l.Learn(context.Background(), 0, g, func(s continual.Step) { seen = append(seen, s) })
	require.NoError(t, err)
	want := c.Epochs * (g.NumNodes() / c.Points)
	require.Equal(t, want, report.Steps)
	require.Equal(t, c.Epochs, report.Epochs)
	require.Len(t, seen, want)
	require.Equal(t, want, seen[want-1].Done)
	require.Less(t, seen[want-1].Terms[0].Value, seen[0].Terms[0].Value, "the loss should fall")
}

// Save after a task, load into another learner, learn on: the same bits.
func TestSampledResume(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		c := tinyConfig()
		sampling(&c)
		requireContinues(t, e, c)
	})
}

func TestPatches(t *testing.T) {
	a := &tinyStream(t).Tasks[0].Graph.Adjacency
	p := newPatches(a, a.NumNodes(), rand.New(rand.NewPCG(1, 1)))
	seen, joined := map[int32]bool{}, 0
	for range 30 {
		points := p.next(20)
		require.Len(t, points, 20)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(points))), 20, "a node stands twice")
		for _, v := range points {
			seen[v] = true
		}
		joined += len(a.Induced(points).Neighbors) / 2
	}
	require.Len(t, seen, a.NumNodes(), "every node gets its turn")
	random, rng := 0, rand.New(rand.NewPCG(2, 2))
	for range 30 {
		random += len(a.Induced(samplePoints(a.NumNodes(), 20, rng)).Neighbors) / 2
	}
	require.Greater(t, joined, random, "patches have more edges than nodes at random")
	require.Len(t, p.next(a.NumNodes()), a.NumNodes())
}
