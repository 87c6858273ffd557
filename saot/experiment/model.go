package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// shape is what a model of time and memory knows of a stream.
type shape struct {
	err     error
	fault   bool // err is a fault of the spec: the data cannot be cut as it says
	tasks   []extent
	columns int   // of the features
	edges   int64 // of its largest task, each in both directions
	bytes   int64 // of its arrays
	missing bool  // the files are not there: the figures are those of the catalog
}

// extent is the size of a task.
type extent struct {
	nodes, train, classes int
	entries               int64 // of the features that are not 0
}

func shapeOf(r *Run) *shape {
	stream, err := r.OpenStream()
	switch {
	case err == nil:
		return shapeOfStream(stream)
	case errors.Is(err, fs.ErrNotExist):
		if s := published(r); s != nil {
			return s
		}
	}
	_, fault := errors.AsType[*check.Fault](err)
	return &shape{err: check.InFiles(err, datasets.StreamOptions{}), fault: fault}
}

// published is the shape of a dataset that is not there yet, by the figures of the catalog, or nil where those are not
// known. Its classes are of equal size, and six nodes of ten are for training. Features are dense up to a thousand
// columns. More are taken for words, of which a node has a hundred.
func published(r *Run) *shape {
	e, err := datasets.Lookup(r.Dataset)
	perTask := cmp.Or(r.Stream.ClassesPerTask, datasets.DefaultStreamOptions().ClassesPerTask)
	if err != nil || perTask < 1 || e.True.Classes < perTask {
		return nil
	}
	whole := e.True.Classes / perTask
	tasks, n, filled := r.Stream.Kept(whole), perTask*int(e.True.Nodes)/e.True.Classes, int(e.True.Columns)
	perNode := 4 * filled
	if filled > 1000 {
		filled, perNode = 100, 8*100 // each entry has a column and a value
	}
	each := extent{nodes: n, train: 6 * n / 10, classes: perTask, entries: int64(n * filled)}
	s := &shape{tasks: slices.Repeat([]extent{each}, tasks), columns: int(e.True.Columns), missing: true}
	edges := e.True.Edges // undirected: the adjacency holds both directions
	if edges == 0 {
		edges = e.True.Entries
	}
	s.edges = 2 * edges / int64(whole)
	s.bytes = int64(tasks*n*perNode) + 8*edges // 4 bytes for each direction
	return s
}

func shapeOfStream(stream *datasets.Stream) *shape {
	s := &shape{}
	for _, t := range stream.Tasks {
		f := &t.Graph.Features
		s.tasks = append(s.tasks, extent{nodes: len(t.Labels), train: len(t.Split.Train), classes: len(t.Classes),
			entries: int64(len(f.Dense) + len(f.Values))})
		s.columns = t.Graph.Features.Cols
		s.edges = max(s.edges, int64(len(t.Graph.Adjacency.Neighbors)))
		s.bytes += bytesOf(t.Graph)
	}
	return s
}

// Fits returns an error if a run on a stream is estimated to take more than twice a machine's memory, in bytes; 0 means
// unknown. The estimate errs on the large side. It applies to engines that compute in the machine's memory.
func (r *Run) Fits(stream *datasets.Stream, machine int64) error {
	if r.External { // its files say what they take when they are read
		return nil
	}
	if est := shapeOfStream(stream).estimate(r); machine > 0 && est.Bytes/2 > machine && !memory.Unbounded() {
		return fmt.Errorf("the run is estimated to take %.4g GB, and the machine has %.1f GB of memory: lower "+
			"hidden, out or whole_graph (encoder.hidden and so on in SAOT's own methods), of trace also replay and "+
			"encoders, or set the environment variable %s=1 to try it",
			float64(est.Bytes)/1e9, float64(machine)/1e9, memory.UnboundedVariable)
	}
	return nil
}

func bytesOf(g *graph.Graph) int64 {
	f := &g.Features
	return 4*int64(len(g.Adjacency.Neighbors)+len(f.Dense)+len(f.Columns)+len(f.Values)) +
		8*int64(len(g.Adjacency.Offsets)+len(f.Offsets))
}

// The model's constants. Those of seconds are fitted to the times in results, of runs on two cores, two at a time and
// next to other jobs. Those of bytes are chosen so that the peaks of nearly all of these runs lie below. go run
// ./bench/estimate says how far off both are.
const (
	taskSeconds     = 1.4     // a task that is trained on: its graphs are compiled
	stepSeconds     = 0.018   // a training step
	nodeSeconds     = 1.6e-5  // a node of the batch in a step, at hidden 512 and out 256
	entrySeconds    = 1.3e-7  // an entry of its features that is not 0, at hidden 512
	sampleSeconds   = 1.6e-5  // a node of a sample whose hidden layer is computed, at hidden 512 and out 256
	compileSeconds  = 0.9     // a network of a past task in a step that is compiled
	pastSeconds     = 0.028   // the same network in a step
	drawnSeconds    = 1.07e-8 // a weight of a random encoder: drawn, and multiplied by what is condensed
	innerSeconds    = 1.4e-9  // the same weight in a further step
	embeddedSeconds = 1.9e-9  // an entry of the embeddings by a random encoder
	factoredSeconds = 6e-7    // an entry, zeros too, of a task's propagated features that are factored

	baseBytes       = 650e6   // the program and its engine
	taskBytes       = 12e6    // a task: its compiled graphs
	pastBytes       = 150e6   // a network of a past task in a step: what it adds to that step's graphs
	encoderCopies   = 6       // of the weights of a random encoder
	nodeBytes       = 250_000 // a node of the largest batch: activations, gradients and their copies, at those widths
	edgeBytes       = 512     // an edge of a graph taken whole: sums of 16 neighbors, in a few products at once
	hostBytes       = 24      // an entry of what a method without an encoder makes of a task
	embeddedBytes   = 4       // an entry of the embeddings, which are held until the probes have scored all tasks
	probeBytes      = 80      // an entry of the embeddings that a probe is fitted to: copies, and a share of the scores
	heldBytes       = 8       // an entry of the embeddings of nodes that are not for training: copies
	datasetCopies   = 2.5     // the arrays, those of the tasks, and what is made of them
	defaultWidths   = 512 * 256
	defaultWidthSum = 512 + 256
)

// probeSeconds are what an evaluation by a probe takes: a constant, and for each entry of the train nodes' embeddings a
// time and a time per class.
var probeSeconds = map[continual.Probe]struct{ once, entry, class float64 }{
	continual.ProbePaper:     {0.23, 1.8e-6, 7.4e-7},
	continual.ProbeConverged: {0.39, 6.5e-7, 2.7e-8},
}

func (s *shape) estimate(r *Run) Estimate {
	if s.err != nil {
		est := Estimate{Basis: s.err.Error()}
		if s.fault {
			est.Err = s.err
		}
		return est
	}
	load, est := r.load(), Estimate{Basis: "model"}
	if s.missing {
		est.Basis = "model of the published size; the files are missing"
	}
	_, sum := widthsOf(load)
	if sum == 0 {
		sum = defaultWidthSum / 4 // of what embeds without a step
	}
	var most batch // of what a step has in memory
	replayed, stored := 0, 0
	for i, t := range s.tasks {
		stored = max(stored, min(t.nodes, load.PastNodes))
		b := batch{extent: t, replayed: replayed, past: pastTasks(load, i), stored: stored}
		replayed += min(t.nodes, load.Replayed)
		est.training += s.training(r, load, &b)
		most.taken, most.edges = max(most.taken, b.taken), max(most.edges, b.edges)
		most.past, most.host = max(most.past, b.past), max(most.host, b.host)
	}
	probing, held := s.probing(r, s.width(load))
	est.Seconds = est.training + probing
	est.Bytes = int64(min(math.MaxInt64/2, baseBytes+taskBytes*float64(len(s.tasks))+datasetCopies*float64(s.bytes)+
		(nodeBytes*float64(most.taken)+edgeBytes*float64(most.edges))*sum/defaultWidthSum+pastBytes*float64(most.past)+
		most.host+held+float64(load.Bytes)+s.encoderBytes(load, most.taken)+
		s.columnBytes(load)+layerBytes(load)+s.snapshotBytes(load)))
	if engine.IsDouble(r.Engine) {
		est.Seconds, est.training = doubleTimes*est.Seconds, doubleTimes*est.training
		est.Bytes *= doubleTimes
	}
	return est
}

// doubleTimes is how many times as long a run takes in float64, and as much memory (docs/howto/reproduce.md).
const doubleTimes = 2

// probing is what the probes take to score embeddings of a width, and the memory of these. A method's own classifier
// has none.
func (s *shape) probing(r *Run, width float64) (seconds, bytes float64) {
	rows, nodes, classes := 0, 0, 0
	for _, t := range s.tasks {
		rows, nodes, classes = rows+t.train, nodes+t.nodes, classes+t.classes
		probed := rows
		if r.ProbeRows > 0 {
			probed = min(rows, r.ProbeRows)
		}
		for _, p := range r.Probes {
			if c, fitted := probeSeconds[p]; fitted {
				seconds += c.once + float64(probed)*width*(c.entry+c.class*float64(classes))
				bytes = width * float64(embeddedBytes*nodes+probeBytes*probed+heldBytes*(nodes-rows))
			}
		}
	}
	return seconds, bytes
}

// batch is what steps on a task take.
type batch struct {
	extent
	replayed     int     // nodes of past tasks
	past, stored int     // tasks whose networks a step takes, and the nodes of each
	taken        int     // nodes in the engine's memory
	edges        int64   // the same
	host         float64 // bytes outside of it
}

// training is the time of training on a task. It sets what a step has in memory.
func (s *shape) training(r *Run, load method.Load, b *batch) (seconds float64) {
	widths, sum := widthsOf(load)
	if sum == 0 {
		return s.untrained(load, b)
	}
	whole, steps, past := b.nodes+b.replayed, 1.0, b.past*b.stored
	perNode := nodeSeconds * widths / defaultWidths
	if load.WholeGraph > 0 && whole > load.WholeGraph {
		size := cmp.Or(load.Batch, 256)
		sampled := float64(min(whole, size*cmp.Or(load.Spread, 11)))
		steps = stepsOf(load, b.nodes, b.replayed, size)
		seconds = r.effort() * steps * (stepSeconds + sampleSeconds*sampled*widths/defaultWidths)
		b.taken = load.WholeGraph + past
	} else {
		entries := float64(b.entries) * float64(whole) / float64(max(1, b.nodes))
		seconds = r.effort() * (stepSeconds + perNode*float64(whole) +
			entrySeconds*entries*float64(cmp.Or(load.Hidden, 512))/512)
		b.taken, b.edges = whole+past, s.edges
	}
	seconds += taskSeconds + compileSeconds*float64(b.past)
	seconds += float64(load.PastEpochs) * steps * (pastSeconds*float64(b.past) + perNode*float64(past))
	seconds += float64(load.Encoders*load.EncoderWidth) * (embeddedSeconds*float64(b.nodes) +
		float64(s.columns)*(drawnSeconds+innerSeconds*float64(load.EncoderSteps)))
	return seconds
}

// untrained is training for a method that takes no step. A graph that is too large for the engine is embedded in parts.
func (s *shape) untrained(load method.Load, b *batch) (seconds float64) {
	if load.Encoded {
		whole := b.nodes + b.replayed
		b.taken = min(whole, cmp.Or(load.WholeGraph, whole))
		return 0
	}
	columns := s.width(load)
	if load.Factored {
		seconds = factoredSeconds * float64(b.nodes) * float64(s.columns)
		columns = max(columns, float64(s.columns))
	}
	b.host = hostBytes * float64(b.nodes) * columns
	return seconds
}

// stepsOf is how many steps an epoch takes on samples of a task's nodes and the replayed ones, each of a size.
func stepsOf(l method.Load, nodes, replayed, size int) float64 {
	all := nodes + replayed
	if l.Halved {
		all, size = nodes, size-min(size/2, replayed)
	}
	return cmp.Or(float64(l.Steps), math.Ceil(float64(all)/float64(size)))
}

// pastTasks returns how many tasks a step takes stored nodes of, after t others were learned: the current one and past
// ones. Every task counts as storing as many nodes as the one that stores most.
func pastTasks(l method.Load, t int) int {
	if t == 0 || l.PastTasks == 0 {
		return 0
	}
	return 1 + min(t, l.PastTasks)
}

// width is how many columns the embeddings have.
func (s *shape) width(l method.Load) float64 {
	if l.Width == method.AllColumns {
		return float64(s.columns)
	}
	return float64(cmp.Or(l.Width, l.Out, 256))
}

// columnBytes is the memory of the first layer's weights. Training also keeps their gradient and Adam's two moments. A
// small file may have billions of columns.
func (s *shape) columnBytes(l method.Load) float64 {
	if l.Hidden == 0 && l.Out == 0 {
		return 4 * 512 * float64(s.columns)
	}
	return 4 * 4 * float64(cmp.Or(l.Hidden, l.Out)) * float64(s.columns)
}

// encoderBytes is the memory of a random encoder's weights, and of what it embeds at once of some nodes. If it does not
// embed all of them at once, their propagated features are held.
func (s *shape) encoderBytes(l method.Load, nodes int) float64 {
	bytes := 4 * float64(l.EncoderWidth) * float64(encoderCopies*s.columns+3*min(nodes, l.EncoderNodes))
	if l.EncoderWidth > 0 && nodes > l.EncoderNodes {
		bytes += 4 * float64(s.columns) * float64(nodes)
	}
	return bytes
}

// layerBytes is the memory of the weights between two layers, with their gradient, Adam's two moments, and the copy of
// a teacher.
func layerBytes(l method.Load) float64 {
	product, _ := widthsOf(l)
	return 5 * 4 * product
}

// snapshotBytes is what the networks of past tasks take: those kept, and copies of those in a step.
func (s *shape) snapshotBytes(l method.Load) float64 {
	past := len(s.tasks) - 1
	weights := float64(l.ColumnWeights)*float64(s.columns) + float64(l.OtherWeights)
	return 4 * weights * float64(min(l.Snapshots, past)+min(l.PastTasks, past))
}

// widthsOf returns the product and the sum of the widths of a method's layers, 0 where it takes no step.
func widthsOf(l method.Load) (product, sum float64) {
	if l.Hidden == 0 && l.Out == 0 {
		return 0, 0
	}
	hidden, out := float64(cmp.Or(l.Hidden, 512)), float64(cmp.Or(l.Out, 256))
	return hidden * out, hidden + out
}
