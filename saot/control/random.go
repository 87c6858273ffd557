package control

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"math"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/replay"
)

// random is SAOT's encoder with its initial weights. Calibrated, BatchNorm's running statistics follow the tasks as
// they would in training, over the same graphs joined with replay, while the weights stay put.
type random struct {
	encoder   *encoder.Encoder
	calibrate bool
	seed      uint64
	buffer    replay.Buffer
}

func init() {
	method.Register(define(5, "random", "saot's encoder before training", newRandom))
	method.Register(define(6, "random-calibrated", "the same with BatchNorm's statistics of the tasks seen",
		newCalibrated))
}

func newCalibrated(b method.Build, c *saot.Config) (continual.Method, error) {
	m, err := newRandom(b, c)
	if err == nil {
		m.(*random).calibrate = true
	}
	return m, err
}

func newRandom(b method.Build, c *saot.Config) (continual.Method, error) {
	shape := c.Encoder
	// Every epoch of training moves the running statistics by the momentum towards those of the same batch. One pass
	// with this momentum takes them as far.
	shape.Momentum = 1 - math.Pow(1-shape.Momentum, float64(c.Epochs))
	enc, err := encoder.New(b.Engine, shape, b.Stream.Features, encoder.NewBuckets(b.Stream.Sizes),
		seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	return &random{encoder: enc, seed: b.Seed, buffer: replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}}, nil
}

// Learn calibrates, if it is to, and keeps a subgraph of the task.
func (r *random) Learn(ctx context.Context, task int, g *graph.Graph, _ func(continual.Step)) (*continual.TaskReport,
	error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	if r.calibrate {
		batched, err := r.buffer.Union(g)
		if err != nil {
			return nil, fmt.Errorf("control: task %d: join replay: %w", task+1, err)
		}
		if err := r.encoder.Calibrate(batched); err != nil {
			return nil, fmt.Errorf("control: task %d: %w", task+1, err)
		}
		r.buffer.Add(g, seed.Stream(r.seed, "replay", task))
		report.Nodes = batched.NumNodes()
	}
	return report, ctx.Err()
}

// Embed returns the encoder's embeddings.
func (r *random) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	rows, cols, data, err := r.encoder.Embed(ctx, g)
	if err != nil {
		return nil, err
	}
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, nil
}

// Save writes the encoder, whose running statistics may have moved, and the buffer.
func (r *random) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	if err := r.encoder.Save(out); err != nil {
		return err
	}
	if err := out.Encode(r.buffer.Subgraphs); err != nil {
		return fmt.Errorf("control: save replay buffer: %w", err)
	}
	return nil
}

// Load restores what Save wrote.
func (r *random) Load(from io.Reader) error {
	in := gob.NewDecoder(from)
	if err := r.encoder.Load(in); err != nil {
		return err
	}
	r.buffer.Subgraphs = nil
	if err := in.Decode(&r.buffer.Subgraphs); err != nil {
		return fmt.Errorf("control: load replay buffer: %w", err)
	}
	return nil
}
