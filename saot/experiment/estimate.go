package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// Estimate is what a run is expected to take. Both figures are 0 where nothing is known of its dataset.
type Estimate struct {
	Seconds float64
	Bytes   int64  // largest resident set
	Basis   string // what the figures come from
	Err     error  // why the run cannot be done: the data cannot be cut as the spec says

	training float64 // the share of Seconds that is training, where a model says it
}

// Estimates is EstimatesOf all runs of the sweep.
func (s *Sweep) Estimates() []Estimate {
	var numbers []int
	for i := range s.Runs {
		numbers = append(numbers, i)
	}
	return s.EstimatesOf(numbers)
}

// EstimatesOf reads the data of numbered runs of the sweep and returns a list of all runs in which these have
// estimates. An estimate is what similar finished runs of the sweep took, scaled by a model, or what the model says if
// there are none. If the model knows nothing about the dataset, the training time is scaled by the epochs, and the
// memory is not scaled.
func (s *Sweep) EstimatesOf(numbers []int) []Estimate {
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
	for _, i := range numbers {
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

// alike is the same for runs of a method that are evaluated in the same way on the same tasks, in the same precision.
func (r *Run) alike() string {
	return fmt.Sprint(r.Dataset, " ", r.Method, " ", r.Probes, " ", r.ProbeRows, " ", r.Cut(), " ",
		engine.IsDouble(r.Engine))
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
	d, err := r.Definition()
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
