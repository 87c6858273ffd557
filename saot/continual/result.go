package continual

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/engine"
)

// ResultSchema is the version of the Result's JSON form.
const ResultSchema = 1

// Result is the record of one run, from which every table and figure is made.
type Result struct {
	Schema   int             `json:"schema"`
	Method   string          `json:"method"`
	External bool            `json:"external,omitempty"` // the method is another program's: see External
	Dataset  DatasetInfo     `json:"dataset"`
	Config   json.RawMessage `json:"config"` // the method's configuration, complete
	Seed     uint64          `json:"seed"`
	Engine   engine.Info     `json:"engine"`
	Versions Versions        `json:"versions"`
	Earlier  []Versions      `json:"earlier_versions,omitempty"` // of other programs that made tasks before a resume
	Machine  Machine         `json:"machine,omitzero"`           // that ended the run; early results have none
	Started  time.Time       `json:"started"`
	Finished time.Time       `json:"finished"`
	Seconds  float64         `json:"seconds"`         // spent working, interruptions left out
	Resumed  int             `json:"resumed"`         // times that it was resumed and then finished a task, or the run
	Compiled int             `json:"compiled_graphs"` // graphs compiled by the last stretch of the run

	PeakBytes int64 `json:"peak_bytes,omitempty"` // bytes of the largest resident set; 0 if unknown or External

	ProbeRows   int          `json:"probe_rows,omitempty"` // bound of the train nodes of probes; 0 is none
	Scores      []Score      `json:"scores"`
	Tasks       []TaskReport `json:"tasks"`
	Evaluations []Evaluation `json:"evaluations"`
}

// DatasetInfo identifies the data of a run.
type DatasetInfo struct {
	Name      string   `json:"name"`
	Checksum  string   `json:"checksum"`
	Content   string   `json:"content,omitempty"` // datasets.Dataset.Content; early results have none
	SplitHash string   `json:"split_hash"`
	Synthetic bool     `json:"synthetic"`
	Tasks     int      `json:"tasks"`
	Classes   int      `json:"classes"`
	Notes     []string `json:"notes,omitempty"`

	Options datasets.StreamOptions `json:"options,omitzero"` // how the stream was cut; early results have none
}

// SameData reports whether two runs saw the same graph. Contents decide where both are known, else checksums.
func (d DatasetInfo) SameData(o DatasetInfo) bool {
	if a, b := d.content(), o.content(); a != "" && b != "" {
		return a == b
	}
	return d.Checksum == o.Checksum
}

// describes reports whether two descriptions are of one dataset. A run may have been resumed from another file of the
// same graph, of which other things are noted. Older programs record no content.
func (d DatasetInfo) describes(o DatasetInfo) bool {
	if !d.SameData(o) {
		return false
	}
	if d.Checksum != o.Checksum {
		d.Checksum, d.Notes = o.Checksum, o.Notes
	}
	d.Content = o.Content
	return reflect.DeepEqual(d, o)
}

// Data identifies the graph: its content where that is known, else the checksum of its file.
func (d DatasetInfo) Data() string { return cmp.Or(d.content(), d.Checksum) }

func (d DatasetInfo) content() string { return cmp.Or(d.Content, datasets.KnownContent(d.Checksum)) }

// Score is the performance matrix of one setting under one probe.
type Score struct {
	Setting Setting `json:"setting"`
	Probe   Probe   `json:"probe"`
	AP      float64 `json:"ap"` // Matrix.AveragePerformance
	AF      float64 `json:"af"` // Matrix.AverageForgetting
	Matrix  Matrix  `json:"matrix"`
	Fits    [][]Fit `json:"fits"` // fits of each row: of one head in class-il, of one head per seen task in task-il
}

// Fit is how one head was fitted. The fields that a probe does not use are 0.
type Fit struct {
	Epochs     int     `json:"epochs,omitempty"`     // paper: epochs trained
	BestEpoch  int     `json:"best_epoch,omitempty"` // paper: epoch of the check that was kept
	Strength   float64 `json:"strength,omitempty"`   // converged: λ that was chosen
	Iterations int     `json:"iterations,omitempty"` // converged: L-BFGS iterations at λ
	Gradient   float64 `json:"gradient,omitempty"`   // converged: largest entry of the gradient at the solution for λ
	Valid      float64 `json:"valid,omitempty"`      // converged and head: mean accuracy on valid nodes, in percent
	NoValid    bool    `json:"no_valid,omitempty"`   // head: there are no valid nodes
}

// ValidAP returns the average performance on the valid nodes after the last task, by which settings may be chosen: the
// mean over the heads with valid nodes. It returns false if the probe does not keep valid apart from test, if the
// embeddings have no columns, or if the result is of an early program, which did not record it: then no head has a
// figure above 0 after any task.
func (s *Score) ValidAP() (float64, bool) {
	if s.Probe == ProbePaper {
		return 0, false
	}
	recorded, sum, heads := false, 0.0, 0
	for i, row := range s.Fits {
		for _, head := range row {
			recorded = recorded || head.Valid > 0
			if i == len(s.Fits)-1 && !head.NoValid {
				sum += head.Valid
				heads++
			}
		}
	}
	return sum / float64(max(1, heads)), recorded && heads > 0
}

// The paper probe stopped early if the head that it kept is of epoch earlyEpoch or an earlier one, and its mean
// accuracy is more than earlyMargin percentage points below that of the converged probe.
const (
	earlyEpoch  = 3 * paperInterval
	earlyMargin = 10
)

// EarlyStops returns the rows of class-il, counted from 0, in which the paper probe's rule gave up before its head had
// learned. Heads on small embeddings learn the sizes of classes first, which may take longer than the rule's patience.
// The converged probe of the same run tells; without both probes there are no rows.
func (r *Result) EarlyStops() (rows []int) {
	paper, ok1 := r.Score(ClassIL, ProbePaper)
	converged, ok2 := r.Score(ClassIL, ProbeConverged)
	if !ok1 || !ok2 {
		return nil
	}
	for i := range min(len(paper.Matrix), len(paper.Fits), len(converged.Matrix)) {
		for _, fit := range paper.Fits[i] {
			if 0 < fit.BestEpoch && fit.BestEpoch <= earlyEpoch &&
				mean(paper.Matrix[i]) < mean(converged.Matrix[i])-earlyMargin {
				rows = append(rows, i)
			}
		}
	}
	return rows
}

// Evaluation is the cost of one evaluation.
type Evaluation struct {
	Task         int           `json:"task"`
	EmbedSeconds float64       `json:"embed_seconds"`
	Probes       []ProbeTiming `json:"probes"`
	// Structure is of the embeddings; nil for supervised methods, where there is nothing to measure, and in early
	// results.
	Structure *Structure `json:"structure,omitempty"`
}

// ProbeTiming is the wall time of one row. The two settings of the paper probe are fitted side by side: their times
// overlap.
type ProbeTiming struct {
	Setting Setting `json:"setting"`
	Probe   Probe   `json:"probe"`
	Seconds float64 `json:"seconds"`
}

// Probes lists the probes that the result has scores of, each once, in the order of the scores.
func (r *Result) Probes() (probes []Probe) {
	for i := range r.Scores {
		if !slices.Contains(probes, r.Scores[i].Probe) {
			probes = append(probes, r.Scores[i].Probe)
		}
	}
	return probes
}

// TrainingSeconds returns the time of training on all tasks.
func (r *Result) TrainingSeconds() (sum float64) {
	for i := range r.Tasks {
		sum += r.Tasks[i].Seconds
	}
	return sum
}

// SecondsPerTask returns the mean time of training on a task.
func (r *Result) SecondsPerTask() float64 { return r.TrainingSeconds() / float64(max(1, len(r.Tasks))) }

// Score returns the score of a setting under a probe, if the run has it.
func (r *Result) Score(s Setting, p Probe) (*Score, bool) {
	for i := range r.Scores {
		if r.Scores[i].Setting == s && r.Scores[i].Probe == p {
			return &r.Scores[i], true
		}
	}
	return nil, false
}

// WriteFile writes the result as JSON. The file is complete or not there.
func (r *Result) WriteFile(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("continual: result for %s: %w", path, err)
	}
	if err := file.Write(path, append(data, '\n')); err != nil {
		return fmt.Errorf("continual: %w", err)
	}
	return nil
}

// ReadResult reads what WriteFile wrote. It returns an error if the file is not a result of this schema.
func ReadResult(path string) (*Result, error) {
	data, err := file.Read(path, maxResult)
	if err != nil {
		return nil, fmt.Errorf("continual: read result: %w", err)
	}
	r, err := parseResult(data)
	if err != nil {
		return nil, fmt.Errorf("continual: %s: %w", path, err)
	}
	return r, nil
}

func parseResult(data []byte) (*Result, error) {
	var r Result
	err := json.Unmarshal(data, &r)
	if r.Schema != ResultSchema && (err == nil || r.Schema != 0) { // another schema may have other types
		return nil, fmt.Errorf("schema %d is not supported: this version reads schema %d", r.Schema, ResultSchema)
	}
	if err != nil {
		return nil, fmt.Errorf("the content is not a result file: %w", err)
	}
	for _, s := range r.Scores {
		if err := s.triangular(); err != nil {
			return nil, fmt.Errorf("field scores: %w", err)
		}
	}
	if err := checkNames(r.Dataset.Name, r.Method); err != nil {
		return nil, err
	}
	if err := untrusted.CheckJSON(data); err != nil {
		return nil, err
	}
	return &r, nil
}

// checkNames refuses names that would lead elsewhere as parts of the names of files, such as figures.
func checkNames(dataset, method string) error {
	bad := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }
	for _, field := range [][2]string{{"dataset.name", dataset}, {"method", method}} {
		if name := field[1]; name == ".." || strings.ContainsFunc(name, bad) {
			return fmt.Errorf("field %s: %q is a path or holds a control character", field[0], name)
		}
	}
	return nil
}

// CheckStream returns an error if a stream is not the one that the result is of: if its data or its split differ.
func (r *Result) CheckStream(s *datasets.Stream) error {
	was := identityOf(r)
	now := was
	now.Dataset = datasetInfo(s)
	if text := was.difference(&now); text != "" {
		return fmt.Errorf("continual: the result is not of this stream: %s", text)
	}
	return nil
}

func datasetInfo(s *datasets.Stream) DatasetInfo {
	return DatasetInfo{Name: s.Dataset, Checksum: s.Checksum, Content: s.Content, SplitHash: s.SplitHash,
		Synthetic: s.Synthetic, Tasks: len(s.Tasks), Classes: s.NumClasses, Notes: s.Notes, Options: s.Options}
}

// Matrix is the performance matrix of a run: M[i][j], j ≤ i, is the accuracy in percent on task j after task i was
// learned. Row i has i+1 entries.
type Matrix [][]float64

// AveragePerformance returns AP = mean over j of M[T−1][j] (SAOT, "Metrics"), in percent; 0 for an empty matrix.
func (m Matrix) AveragePerformance() float64 {
	if len(m) == 0 {
		return 0
	}
	return mean(m[len(m)-1])
}

// AverageForgetting returns AF = mean over j < T−1 of M[T−1][j] − M[j][j] (SAOT, "Metrics"), in percentage points:
// negative where earlier tasks got worse. It is 0 for fewer than two tasks.
func (m Matrix) AverageForgetting() float64 {
	n := len(m)
	if n < 2 {
		return 0
	}
	sum := 0.0
	for j := range n - 1 {
		sum += m[n-1][j] - m[j][j]
	}
	return sum / float64(n-1)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
