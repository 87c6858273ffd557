package control

import (
	"context"
	"fmt"
	"math"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/replay"
	"github.com/saot-go/saot/saot/train"
)

// random is SAOT's encoder with its initial weights. If calibrate is set, BatchNorm's running statistics follow the
// tasks as in training, over the same graphs joined with replay. The weights do not change.
type random struct {
	method.State // the encoder, whose running statistics may have moved, and the buffer
	encoder      *encoder.Encoder
	calibrate    bool
	seed         uint64
	buffer       replay.Buffer
}

func init() {
	shape := []string{"encoder.kind", "encoder.hidden", "encoder.out", "encoder.layers", "encoder.heads",
		"encoder.whole_graph"}
	encoded := func(c *saot.Config) method.Load {
		return method.Load{Width: c.Encoder.Out, Encoded: true, WholeGraph: c.Encoder.WholeGraph}
	}
	method.Register(loading(define(6, "random", "saot's encoder before training", shape, newFixedRandom), encoded))
	calibrated := define(7, "random-calibrated", "the same with BatchNorm's statistics of the tasks seen",
		append(shape, "encoder.momentum", "encoder.sample_fan_out", "epochs", "buffer", "fan_out"), newCalibrated)
	method.Register(loading(calibrated, func(c *saot.Config) method.Load {
		l := encoded(c)
		l.Replayed = c.Buffer
		return l
	}))
}

func newFixedRandom(b method.Build, c *saot.Config) (continual.Method, error) {
	return newRandom("control: random", b, c, b.Stream.Sizes)
}

func newCalibrated(b method.Build, c *saot.Config) (continual.Method, error) {
	r, err := newRandom("control: random-calibrated", b, c, append(c.BatchedSizes(b.Stream.Sizes), b.Stream.Sizes...))
	if err != nil {
		return nil, err
	}
	r.calibrate = true
	return r, nil
}

func newRandom(name string, b method.Build, c *saot.Config, sizes []encoder.Size) (*random, error) {
	shape := c.Encoder
	// Each of the two views of an epoch moves the running statistics by the momentum toward those of its batch. One
	// pass with this momentum takes them as far. On sampled graphs training has more steps, and goes further.
	shape.Momentum = 1 - math.Pow(1-shape.Momentum, 2*float64(c.Epochs))
	enc, err := encoder.New(b.Engine, shape, b.Stream.Features, encoder.NewBuckets(b.Engine, 1, sizes),
		seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	r := &random{encoder: enc, seed: b.Seed, buffer: replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}}
	r.State = method.State{Name: name, Nets: []*encoder.Net{enc.Net}, Parts: []any{&r.buffer.Subgraphs}}
	return r, nil
}

func (r *random) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	if r.calibrate {
		batched, err := r.buffer.Union(g)
		if err != nil {
			return nil, r.Fault(task, fmt.Errorf("join replay: %w", err))
		}
		if err := r.encoder.Calibrate(batched); err != nil {
			return nil, r.Fault(task, err)
		}
		r.buffer.Add(g, seed.Stream(r.seed, "replay", task))
		report.Nodes = batched.NumNodes()
	}
	return report, ctx.Err()
}

func (r *random) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	return train.Embedded(ctx, r.encoder, g)
}
