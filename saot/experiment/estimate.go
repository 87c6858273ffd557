package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Estimate is what a run is expected to take. Both figures are 0 where nothing is known of its dataset.
type Estimate struct {
	Seconds float64
	Bytes   int64  // largest resident set
	Basis   string // what the figures come from

	training float64 // the share of Seconds that is training, where a model says it
}

// Estimates says what each run of the sweep is expected to take: what those of its folder that are like it have taken,
// or what a model says where there is none. Where the runs of its method differ from it in more than epochs, they take
// more or less in the proportion of the model.
func (s *Sweep) Estimates() []Estimate {
	e := &estimator{finished: map[string][]*past{}, shapes: map[string]*shape{}}
	runs := s.all
	if runs == nil {
		runs = s.Runs
	}
	for i := range runs {
		r := &runs[i]
		if done, err := continual.ReadResult(filepath.Join(s.folderOf(r), continual.ResultFile)); err == nil {
			key := r.alike()
			e.finished[key] = append(e.finished[key], &past{run: r, result: done, settings: r.otherThanEpochs()})
		}
	}
	all := make([]Estimate, len(s.Runs))
	for i := range s.Runs {
		all[i] = e.estimate(&s.Runs[i])
	}
	return all
}

type estimator struct {
	finished map[string][]*past // by alike
	shapes   map[string]*shape
}

// past is a finished run.
type past struct {
	run      *Run
	result   *continual.Result
	settings string    // otherThanEpochs
	model    *Estimate // nil until it is asked for
}

// alike is the same for runs of a method that are evaluated in the same way on the same tasks.
func (r *Run) alike() string {
	return fmt.Sprint(r.Dataset, " ", r.Method, " ", r.Probes, " ", r.ProbeRows, " ", r.Cut())
}

// otherThanEpochs is the same for runs of a method that are alike and have the same settings except for the epochs.
func (r *Run) otherThanEpochs() string {
	var b strings.Builder
	for _, f := range fields.All(r.Of) {
		if !strings.HasSuffix(f.Path, "epochs") {
			fmt.Fprintf(&b, "%s=%s\n", f.Path, f.Text())
		}
	}
	return b.String()
}

// load is the work of a task; none where the method is of another version.
func (r *Run) load() method.Load {
	d, err := method.Lookup(r.Method)
	if err != nil {
		return method.Load{}
	}
	return d.LoadOf(r.Of)
}

// effort is the number of epochs, or 1 where a method has none.
func (r *Run) effort() float64 { return float64(max(1, r.load().Epochs)) }

func (e *estimator) estimate(r *Run) Estimate {
	model, like := e.model(r), e.finished[r.alike()]
	if len(like) == 0 {
		return model
	}
	settings := r.otherThanEpochs()
	other := func(p *past) bool { return p.settings != settings }
	if same := slices.DeleteFunc(slices.Clone(like), other); len(same) > 0 {
		like = same
	}
	est := Estimate{Basis: fmt.Sprintf("%d finished runs like it", len(like))}
	for _, p := range like {
		if p.model == nil {
			of := e.model(p.run)
			p.model = &of
		}
		training, size := r.effort()/p.run.effort(), 1.0
		if p.model.training > 0 {
			training, size = model.training/p.model.training, float64(model.Bytes)/float64(p.model.Bytes)
		}
		est.Seconds += (p.result.Seconds + p.result.TrainingSeconds()*(training-1)) / float64(len(like))
		if peak := p.result.PeakBytes; peak > 0 {
			est.Bytes = max(est.Bytes, int64(float64(peak)*size))
		} else { // not measured on that system
			est.Bytes = max(est.Bytes, model.Bytes)
		}
	}
	return est
}

// model is what the model says, whatever other runs took.
func (e *estimator) model(r *Run) Estimate {
	key := fmt.Sprint(r.Dataset, r.Features, r.Direction, r.Cut(), r.Split)
	if e.shapes[key] == nil {
		e.shapes[key] = shapeOf(r)
	}
	return e.shapes[key].estimate(r)
}

type shape struct {
	err     error
	nodes   []int // of each task
	train   []int
	columns int   // of the features
	edges   int64 // of its largest task, each in both directions
	bytes   int64 // of its arrays
	missing bool  // the files are not there: the figures are those of the catalog
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
	return &shape{err: err}
}

// published is the shape of a dataset that is not there yet, by the figures of the catalog, or nil where those are not
// known. Its classes are of equal size, its features dense, and six nodes of ten are for training.
func published(r *Run) *shape {
	e, err := datasets.Lookup(r.Dataset)
	perTask := cmp.Or(r.Stream.ClassesPerTask, datasets.DefaultStreamOptions().ClassesPerTask)
	if err != nil || perTask < 1 || e.True.Classes < perTask {
		return nil
	}
	whole := e.True.Classes / perTask
	tasks, n := r.Stream.Kept(whole), perTask*int(e.True.Nodes)/e.True.Classes
	s := &shape{nodes: slices.Repeat([]int{n}, tasks), train: slices.Repeat([]int{6 * n / 10}, tasks),
		columns: int(e.True.Columns), missing: true}
	edges := e.True.Edges // undirected: the adjacency holds both directions
	if edges == 0 {
		edges = e.True.Entries
	}
	s.edges = 2 * edges / int64(whole)
	s.bytes = 4 * (int64(tasks*n*e.True.Columns) + 2*edges)
	return s
}

func shapeOfStream(stream *datasets.Stream) *shape {
	s := &shape{}
	for _, t := range stream.Tasks {
		s.nodes = append(s.nodes, len(t.Labels))
		s.train = append(s.train, len(t.Split.Train))
		s.columns = t.Graph.Features.Cols
		s.edges = max(s.edges, int64(len(t.Graph.Adjacency.Neighbors)))
		s.bytes += bytesOf(t.Graph)
	}
	return s
}

// Fits returns an error where a run on a stream is estimated to take more than twice a machine's memory, in bytes; 0 is
// not known. The estimate errs on the large side. It is of engines that compute in the machine's memory.
func (r *Run) Fits(stream *datasets.Stream, machine int64) error {
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

// The model's constants, fitted by eye to runs of SAOT on synthetic, cora-ml, uai, amazon-computers and
// corafull-topology, XLA on two cores: its times are right within a factor of three there, and its memory errs on the
// large side. What other methods take is found out by the first run of each.
const (
	stepSeconds      = 0.03    // a training step
	nodeSeconds      = 4e-5    // a node of the batch in a step, at hidden 512 and out 256
	sampleSeconds    = 1.6e-5  // a node of a sample whose hidden layer is computed, at those widths
	drawnSeconds     = 4.5e-9  // a weight of a random encoder: drawn, and multiplied by what is condensed
	innerSeconds     = 0.6e-9  // the same weight in a further step
	embeddedSeconds  = 8e-9    // an entry of the embeddings by a random encoder
	paperSeconds     = 1e-3    // a train node in an evaluation by the paper probe
	convergedSeconds = 4e-4    // a train node in an evaluation by the converged probe
	baseBytes        = 700e6   // the program, its engine and compiled graphs
	nodeBytes        = 250_000 // a node of the largest batch: activations, gradients and their copies, at those widths
	edgeBytes        = 512     // an edge of a graph taken whole: sums of 16 neighbors, in a few products at once
	probeBytes       = 10_000  // a train node that the converged probe copies, at width 256 and 48 classes
	datasetCopies    = 2.5     // the arrays, those of the tasks, and what is made of them
	defaultWidths    = 512 * 256
	defaultWidthSum  = 512 + 256
)

func (s *shape) estimate(r *Run) Estimate {
	if s.err != nil {
		return Estimate{Basis: s.err.Error()}
	}
	load, est := r.load(), Estimate{Basis: "model"}
	if s.missing {
		est.Basis = "model of the published size; the files are missing"
	}
	widths, sum := widthsOf(load)
	largest, rows, edges := 0, 0, int64(0)
	replayed, stored, probed, evaluation := 0, 0, 0, 0.0
	for t, n := range s.nodes {
		batch, steps := n+replayed, 1.0
		replayed += min(n, load.Replayed)
		stored = max(stored, min(n, load.PastNodes))
		past := pastNodes(load, t, stored)
		if load.WholeGraph > 0 && batch > load.WholeGraph {
			size := cmp.Or(load.Batch, 256)
			nodes := float64(min(batch, size*cmp.Or(load.Spread, 11)))
			steps = stepsOf(load, n, batch-n, size)
			est.training += r.effort() * steps * (stepSeconds + sampleSeconds*nodes*widths/defaultWidths)
			batch = load.WholeGraph
		} else {
			edges = s.edges
			est.training += r.effort() * (stepSeconds + nodeSeconds*float64(batch)*widths/defaultWidths)
		}
		est.training += float64(load.PastEpochs) * steps * nodeSeconds * float64(past) * widths / defaultWidths
		est.training += float64(load.Encoders*load.EncoderWidth) * (embeddedSeconds*float64(n) +
			float64(s.columns)*(drawnSeconds+innerSeconds*float64(load.EncoderSteps)))
		largest = max(largest, batch+past)
		rows += s.train[t]
		if probed = rows; r.ProbeRows > 0 {
			probed = min(rows, r.ProbeRows)
		}
		if slices.Contains(r.Probes, continual.ProbePaper) {
			evaluation += paperSeconds * float64(probed)
		}
		if slices.Contains(r.Probes, continual.ProbeConverged) {
			evaluation += convergedSeconds * float64(probed)
		}
	}
	est.Seconds = est.training + evaluation
	est.Bytes = int64(min(math.MaxInt64/2, baseBytes+datasetCopies*float64(s.bytes)+
		(nodeBytes*float64(largest)+edgeBytes*float64(edges))*sum/defaultWidthSum+probeBytes*float64(probed)+
		4*float64(load.EncoderWidth)*float64(2*s.columns+3*largest)+float64(load.Bytes)+
		s.columnBytes(load)+s.snapshotBytes(load)))
	return est
}

// stepsOf is how many steps an epoch takes on samples of a task's nodes and the replayed ones, each of a size.
func stepsOf(l method.Load, nodes, replayed, size int) float64 {
	all := nodes + replayed
	if l.Halved {
		all, size = nodes, size-min(size/2, replayed)
	}
	return cmp.Or(float64(l.Steps), math.Ceil(float64(all)/float64(size)))
}

// pastNodes is how many stored nodes a step takes on the task after t others: the current task's and those of each past
// task in the step. Every task counts with the most that one stores.
func pastNodes(l method.Load, t, stored int) int {
	if t == 0 {
		return 0
	}
	return stored * (1 + min(t, l.PastTasks))
}

// columnBytes is the memory of the first layer's weights. Training also keeps their gradient and Adam's two moments. A
// small file may have billions of columns.
func (s *shape) columnBytes(l method.Load) float64 {
	if l.Hidden == 0 && l.Out == 0 {
		return 4 * 512 * float64(s.columns)
	}
	return 4 * 4 * float64(cmp.Or(l.Hidden, l.Out)) * float64(s.columns)
}

// snapshotBytes is what the networks of past tasks take: those kept, and copies of those in a step.
func (s *shape) snapshotBytes(l method.Load) float64 {
	past := len(s.nodes) - 1
	weights := float64(l.ColumnWeights)*float64(s.columns) + float64(l.OtherWeights)
	return 4 * weights * float64(min(l.Snapshots, past)+min(l.PastTasks, past))
}

// widthsOf returns the product and the sum of the widths of a method's layers. A method that takes no step has none,
// and its rows of embeddings take some memory.
func widthsOf(l method.Load) (product, sum float64) {
	if l.Hidden == 0 && l.Out == 0 {
		return 0, defaultWidthSum / 4
	}
	hidden, out := float64(cmp.Or(l.Hidden, 512)), float64(cmp.Or(l.Out, 256))
	return hidden * out, hidden + out
}
