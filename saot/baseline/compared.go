package baseline

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Settings are those of a method that SAOT is compared with: a pointer to a struct whose JSON names are the settings' names.
type Settings interface {
	// Validate lists every field out of range.
	Validate() error
}

// Preset chooses among the defaults of a method.
type Preset int

// The presets.
const (
	PaperPreset Preset = iota // the constants of the method's paper or reference code, for the stream at hand
	FastPreset                // fewer steps: for a first look, not for a table
)

var presets = enum.Of[Preset]("preset", "paper", "fast")

// String returns "paper" or "fast".
func (p Preset) String() string                   { return presets.Name(p) }
func (p Preset) MarshalText() ([]byte, error)     { return presets.Marshal(p) }
func (p *Preset) UnmarshalText(text []byte) error { return presets.Unmarshal(p, text) }

// Stream is what a learner must know of the stream to come.
type Stream struct {
	Dataset  string         // its name, for defaults that depend on it
	Features int            // feature columns
	Classes  int            // of all tasks
	Sizes    []encoder.Size // of the tasks' graphs; see saot.SizesOf
}

// Build is what a method's learner is made of.
type Build struct {
	Engine   *engine.Engine
	Stream   Stream
	Settings Settings // as Method.Defaults returns them, with changes
	Seed     uint64   // of all that is random in it
}

// definition is a compared method: its defaults, and its learner of one of two kinds.
type definition struct {
	defaults   func(dataset string, p Preset) Settings
	learner    func(b Build) (continual.Learner, error)
	supervised func(b Build) (continual.Supervised, error)
}

// compared lists the methods that SAOT is compared with; each is defined in a file of its own.
func compared() map[Method]definition {
	return map[Method]definition{
		GAE:      {defaults: gaeDefaults, learner: newGAE},
		DGI:      {defaults: dgiDefaults, learner: newDGI},
		GBT:      {defaults: gbtDefaults, learner: newGBT},
		GCNClu:   {defaults: cluDefaults, learner: newClu},
		GCNPar:   {defaults: parDefaults, learner: newPar},
		GCNComp:  {defaults: compDefaults, learner: newComp},
		RieGrace: {defaults: rieGraceDefaults, learner: newRieGrace},
		TRACE:    {defaults: traceDefaults, learner: newTRACE},
		Joint:    {defaults: jointDefaults, supervised: newJoint},
		TWP:      {defaults: twpDefaults, supervised: newTWP},
		ERGNN:    {defaults: ergnnDefaults, supervised: newERGNN},
		CaT:      {defaults: catDefaults, supervised: newCaT},
		TACO:     {defaults: tacoDefaults, supervised: newTACO},
		PUMA:     {defaults: pumaDefaults, supervised: newPUMA},
	}
}

// Compared reports whether SAOT is compared with the method, which then has settings of its own.
func (m Method) Compared() bool { _, ok := compared()[m]; return ok }

// Supervised reports whether the method trains on labels: its learner is then NewSupervised's.
func (m Method) Supervised() bool { return compared()[m].supervised != nil }

// Defaults returns the settings of a compared method for a dataset, to be changed and handed to NewCompared or NewSupervised; nil for
// other methods.
func (m Method) Defaults(dataset string, p Preset) Settings {
	d, ok := compared()[m]
	if !ok {
		return nil
	}
	return d.defaults(dataset, p)
}

// NewCompared returns the learner of a self-supervised method that SAOT is compared with. It returns an error that lists the
// settings out of range, or says that the method is none of these.
func NewCompared(m Method, b Build) (continual.Learner, error) {
	d := compared()[m]
	if d.learner == nil {
		return nil, fmt.Errorf("baseline: %v is not a self-supervised method that SAOT is compared with", m)
	}
	if err := b.check(m); err != nil {
		return nil, err
	}
	return d.learner(b)
}

// NewSupervised returns the learner of a supervised method. It returns an error that lists the settings out of range, or says
// that the method is none of these.
func NewSupervised(m Method, b Build) (continual.Supervised, error) {
	d := compared()[m]
	if d.supervised == nil {
		return nil, fmt.Errorf("baseline: %v is not a supervised method", m)
	}
	if err := b.check(m); err != nil {
		return nil, err
	}
	return d.supervised(b)
}

func (b Build) check(m Method) error {
	if b.Settings == nil {
		return fmt.Errorf("baseline: %v needs settings: take those of its Defaults", m)
	}
	if b.Stream.Features < 1 {
		return fmt.Errorf("baseline: %v needs node features and the graphs have none", m)
	}
	return b.Settings.Validate()
}

// Set changes a setting by its JSON name, from text such as "0.01" or "[10,10]". Its error lists the names.
func Set(s Settings, name, text string) error {
	value := json.RawMessage(text)
	if !json.Valid(value) {
		value, _ = json.Marshal(text) // a word
	}
	if err := fields.Set(s, name, value); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}

// ranges collects the settings out of range.
type ranges struct {
	method string
	bad    []error
}

// check notes a setting unless it is well.
func (r *ranges) check(ok bool, name string, value any, want string) {
	if !ok {
		r.bad = append(r.bad, fmt.Errorf("baseline: %s: %s is %v, want %s", r.method, name, value, want))
	}
}

// common checks what nearly all methods have.
func (r *ranges) common(learningRate float64, epochs int) {
	r.check(learningRate > 0 && learningRate < 1, "learning_rate", learningRate, "a value in (0, 1), such as 0.001")
	r.check(epochs >= 1, "epochs", epochs, "1 or more")
}

func (r *ranges) err() error { return errors.Join(r.bad...) }
