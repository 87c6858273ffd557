// Package method is the registry of methods: what SAOT, its ablations, the controls and the methods of the comparison
// are called, how they are set, and how a learner of each is made. Commands, specs, tables and estimates read it; none
// of them names a method.
//
// A method registers its Definition from its own file. Import saot/method/all to have every method of this module. It
// imports datasets, continual, encoder and engine.
package method

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/near"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Kind is what a method is in a comparison. The kinds are in the order of tables.
type Kind int

// The kinds.
const (
	Ours           Kind = iota // SAOT and its variants
	Control                    // takes no training step: what every figure is read against
	SelfSupervised             // learns without labels and is scored by probes
	Supervised                 // learns from labels and is its own classifier
)

var kinds = enum.Of[Kind]("kind", "ours", "control", "self-supervised", "supervised")

// String returns "ours", "control", "self-supervised" or "supervised".
func (k Kind) String() string { return kinds.Name(k) }

// Settings are a method's own: a pointer to a struct. The JSON names of its fields are the names of the settings in
// flags, specs and results, and the tag help is a line about each. A tag range is the interval of a number, or of each
// number of a list: range:"[0,1)" takes 0 and not 1, range:"[1,)" has no upper end.
type Settings interface {
	// Validate lists every field out of range. It may leave the tags to Definition.Validate.
	Validate() error
}

// Change gives a setting another value: Path is the setting's name in files, such as "encoder.hidden", Value its new
// value, and Line the line of the file that asks for it, 0 without one.
type Change = fields.Change

// Value is the new value of a Change: Text for a scalar, List for a list.
type Value = fields.Value

// Field is a setting as it stands: Path is its name in files, Help and Range are its tags, and Value is its
// reflect.Value. Text returns the value as a Change writes it.
type Field = fields.Field

// Fault is the error of a Change that is not possible: Change, and Err with the reason.
type Fault = fields.Fault

// Preset chooses among the defaults of a method.
type Preset int

// The presets.
const (
	Default Preset = iota // what we recommend: Paper's, except where docs/methods.md says otherwise
	Paper                 // the constants of the method's paper or reference code
	Fast                  // for a first look, not for a table: fewer steps; Default for SAOT, its variants and controls
)

var presets = enum.Of[Preset]("preset", "default", "paper", "fast")

// String returns "default", "paper" or "fast".
func (p Preset) String() string                   { return presets.Name(p) }
func (p Preset) MarshalText() ([]byte, error)     { return presets.Marshal(p) }
func (p *Preset) UnmarshalText(text []byte) error { return presets.Unmarshal(p, text) }

// Stream is what a learner must know of the stream to come.
type Stream struct {
	Features int            // feature columns
	Classes  int            // of all tasks
	Sizes    []encoder.Size // of the tasks' graphs
}

// StreamOf describes a stream. It panics if the stream has no tasks; NewStream never returns such a stream.
func StreamOf(s *datasets.Stream) Stream {
	out := Stream{Features: s.Tasks[0].Graph.Features.Cols, Classes: s.NumClasses}
	for i := range s.Tasks {
		out.Sizes = append(out.Sizes, encoder.SizeOf(s.Tasks[i].Graph))
	}
	return out
}

// Build is what a learner is made of.
type Build struct {
	Engine   *engine.Engine
	Stream   Stream
	Settings Settings // as Defaults returns them, with changes
	Seed     uint64   // of all that is random in the learner
}

// Definition is a method.
type Definition struct {
	Name    string // in flags, specs and results
	Paper   string // in the tables of SAOT's paper; "" where the paper does not have it
	Summary string // one line of help
	Kind    Kind
	Order   int // place among the methods of its kind in tables

	// Defaults returns new settings for a dataset with a recipe.
	Defaults func(recipe datasets.Recipe, p Preset) Settings
	// Reads names the settings that the method reads, where others share their type. Nil is all of them.
	Reads []string
	// Fix sets the fields that make a variant what it is, after all other changes. It may be nil.
	Fix func(s Settings)
	// New makes a learner. It is called through New of this package, which checks the Build.
	New func(b Build) (continual.Method, error)
	// Load says how much work a task is, for estimates. Where it is nil, the settings hidden, out, epochs, whole_graph
	// and batch say it.
	Load func(s Settings) Load
	// Splits says that sampled steps can be split over several devices: the learner's inputs hold an engine.Split.
	Splits bool
	// Featureless says that the method also runs on graphs whose nodes have no features.
	Featureless bool
}

// Fields returns the settings that the method reads. Others of the same type may be set too, and do nothing.
func (d *Definition) Fields(s Settings) []Field {
	all := fields.All(s)
	if d.Reads == nil {
		return all
	}
	return slices.DeleteFunc(all, func(f Field) bool { return !slices.Contains(d.Reads, f.Path) })
}

// Change makes every possible change of the method's settings, in the order of the settings. Of two changes of one
// setting, the later one applies. Its error joins a *Fault for each other change: there is no setting of that name (the
// error lists the method's settings), the value does not fit, or a variant fixes the setting.
func (d *Definition) Change(s Settings, changes ...Change) error {
	err := fields.Apply(s, changes)
	if d.Fix == nil {
		return err
	}
	wanted := texts(s)
	d.Fix(s)
	faults := []error{err}
	fixed := texts(s)
	for _, c := range changes {
		if want, is := wanted[c.Path], fixed[c.Path]; want != is {
			faults = append(faults, &Fault{Change: c,
				Err: fmt.Errorf("setting %s cannot be %q: it is %s in %s", c.Path, want, is, d.Name)})
		}
	}
	return errors.Join(faults...)
}

func texts(s Settings) map[string]string {
	all := map[string]string{}
	for _, f := range fields.All(s) {
		all[f.Path] = f.Text()
	}
	return all
}

// Validate lists every field out of range: what the settings say themselves, else what is outside a range tag.
func (d *Definition) Validate(s Settings) error {
	if err := s.Validate(); err != nil {
		return err
	}
	return check.In(d.Name).AllRanges(s).Err()
}

// Set changes a setting by name, such as "encoder.hidden", from text, such as "64" or "[10,10]". Settings that are set
// one at a time depend on their order: "encoder.kind" can give all of the encoder other defaults, and comes first.
// Change takes several at once, in any order.
func (d *Definition) Set(s Settings, name, text string) error {
	return d.Change(s, Change{Path: name, Value: Value{Text: text}})
}

// Probed reports whether linear probes of its embeddings score the method. Others are scored by a classifier of their
// own.
func (d *Definition) Probed() bool { return d.Kind != Supervised }

// Probes returns what scores the method by default.
func (d *Definition) Probes() []continual.Probe {
	if d.Probed() {
		return continual.Probes()
	}
	return []continual.Probe{continual.ProbeHead}
}

// Trains reports whether the method takes training steps.
func (d *Definition) Trains() bool { return d.Kind != Control }

// Load is how much work a task is.
type Load struct {
	Epochs      int
	Hidden, Out int   // widths of the layers; both 0: no step is taken; one 0: 512 for Hidden, 256 for Out
	WholeGraph  int   // the largest graph, in nodes, that a step or an encoder takes whole; 0 is no limit
	Batch       int   // nodes of a step on a larger one; 0 is 256
	Halved      bool  // half of Batch is replayed nodes (all, if fewer), and an epoch covers the others
	Steps       int   // of an epoch on a larger one; 0 is as many as take each node once
	Spread      int   // nodes of such a step's hidden layers, for each of Batch; 0 is 11, two layers of 10 neighbors
	Replayed    int   // nodes of each past task in a step, at most
	Width       int   // columns of the embeddings that probes read; 0 is Out; AllColumns is those of the features
	Encoded     bool  // without a step, an encoder embeds the task
	Factored    bool  // without a step, the propagated features of the task are factored
	Bytes       int64 // what the method takes of memory beyond that of its layers' widths

	// Of a method that condenses: the random encoders drawn for a task, their width, the steps taken for each, and the
	// most nodes that one embeds at once. Its other steps are on the few nodes that it keeps, and Hidden and Out are 1.
	Encoders, EncoderWidth, EncoderSteps, EncoderNodes int

	// Of a method that keeps its network after each task: the most networks it keeps, the most past tasks that a step
	// takes, the nodes of each of these, and the epochs that take them. ColumnWeights are the weights of a network for
	// each feature column, OtherWeights the rest.
	Snapshots, PastTasks, PastNodes, PastEpochs int
	ColumnWeights, OtherWeights                 int
}

// AllColumns is the Width of embeddings that have a column for each feature.
const AllColumns = -1

// LoadOf returns the load of a task by the settings.
func (d *Definition) LoadOf(s Settings) Load {
	if d.Load != nil {
		return d.Load(s)
	}
	var l Load
	for _, f := range fields.All(s) {
		for name, to := range map[string]*int{"epochs": &l.Epochs, "hidden": &l.Hidden, "out": &l.Out,
			"whole_graph": &l.WholeGraph, "batch": &l.Batch} {
			if n, ok := f.Value.Interface().(int); ok && f.Path == name {
				*to = n
			}
		}
	}
	return l
}

var registry struct {
	sync.Mutex
	list []Definition
}

// Register adds a method. It is for init functions, as with the drivers of database/sql and the formats of image: a
// program has the methods of the packages that it imports, and no other package has a list of them. Like those it
// panics if the definition is incomplete or its name is taken, which no input can cause.
func Register(d Definition) {
	if d.Name == "" || d.Summary == "" || d.Defaults == nil || d.New == nil {
		panic(fmt.Sprintf("method: the definition of %q lacks a name, a summary, defaults or a constructor", d.Name))
	}
	t := reflect.TypeOf(d.Defaults("", Default))
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("method: Defaults of %q returns a %v, want a pointer to a struct", d.Name, t))
	}
	registry.Lock()
	defer registry.Unlock()
	taken := func(o Definition) bool { return o.Name == d.Name || d.Paper != "" && o.Paper == d.Paper }
	if slices.ContainsFunc(registry.list, taken) || groups[d.Name] != nil {
		panic(fmt.Sprintf("method: the name %q or %q is taken", d.Name, d.Paper))
	}
	registry.list = append(registry.list, d)
}

// All returns every method in the order of tables: by kind, place and name.
func All() []Definition {
	registry.Lock()
	defer registry.Unlock()
	return slices.SortedFunc(slices.Values(registry.list), func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Order, b.Order), strings.Compare(a.Name, b.Name))
	})
}

// Names returns the names of All.
func Names() (names []string) {
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// ErrUnknown marks a name that no method has.
var ErrUnknown = errors.New("unknown method")

// Lookup returns the method of a name. Its error wraps ErrUnknown and lists the names. In a program without methods, it
// names the missing import.
func Lookup(name string) (*Definition, error) {
	for _, d := range All() {
		if d.Name == name {
			return &d, nil
		}
	}
	names := Names()
	if len(names) == 0 {
		return nil, fmt.Errorf("%w %q: the program has no methods: import _ %q", ErrUnknown, name,
			"github.com/saot-go/saot/saot/method/all")
	}
	return nil, fmt.Errorf("%w %q%s: choose one of %s", ErrUnknown, name, near.Hint(name, names),
		strings.Join(names, ", "))
}

// groups tell which methods a group holds.
var groups = map[string]func(d Definition) bool{
	"all":             func(Definition) bool { return true },
	"paper":           func(d Definition) bool { return d.Paper != "" },
	"ours":            func(d Definition) bool { return d.Kind == Ours },
	"controls":        func(d Definition) bool { return d.Kind == Control },
	"self-supervised": func(d Definition) bool { return d.Kind == SelfSupervised },
	"supervised":      func(d Definition) bool { return d.Kind == Supervised },
}

// Groups returns the names that Group takes.
func Groups() []string {
	return []string{"ours", "controls", "self-supervised", "supervised", "paper", "all"}
}

// Group returns the methods of a group, in the order of tables. Its error lists the groups.
func Group(name string) ([]Definition, error) {
	holds, ok := groups[name]
	if !ok {
		return nil, fmt.Errorf("unknown group %q%s: choose one of %s", name, near.Hint(name, Groups()),
			strings.Join(Groups(), ", "))
	}
	return slices.DeleteFunc(All(), func(d Definition) bool { return !holds(d) }), nil
}

// checkDevices returns an error if several devices would have nothing to do.
func (b Build) checkDevices(d *Definition) error {
	devices := 1
	if b.Engine != nil {
		devices = b.Engine.Devices()
	}
	if devices == 1 {
		return nil
	}
	if !d.Splits {
		return fmt.Errorf("%s trains on one device: drop --devices", d.Name)
	}
	load := d.LoadOf(b.Settings)
	most, replayed := 0, 0
	for _, s := range b.Stream.Sizes {
		most = max(most, s.Nodes+replayed)
		replayed += min(s.Nodes, load.Replayed)
	}
	if load.WholeGraph == 0 || most <= load.WholeGraph {
		return fmt.Errorf("%s has no work for %d devices: they share sampled steps. Set %s (%d) "+
			"below the largest task's %d nodes or drop --devices", d.Name, devices, wholeGraph(b.Settings),
			load.WholeGraph, most)
	}
	return nil
}

// wholeGraph names the setting that bounds the graphs that a step takes whole.
func wholeGraph(s Settings) string {
	for _, f := range fields.All(s) {
		if strings.HasSuffix("."+f.Path, ".whole_graph") {
			return f.Path
		}
	}
	return "whole_graph"
}

// New makes a learner of a method. It returns an error if there is no such method, if the settings are another method's
// or out of range, if the nodes have no features and the method needs them, if the engine has several devices and none
// but one would work, and those of the method's own constructor.
func New(name string, b Build) (continual.Method, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if want := reflect.TypeOf(d.Defaults("", Paper)); reflect.TypeOf(b.Settings) != want {
		return nil, fmt.Errorf("%s: the settings are a %T, want a %v: take those of the method's Defaults", name,
			b.Settings, want)
	}
	if b.Stream.Features < 1 && !d.Featureless {
		return nil,
			fmt.Errorf("%s needs node features and the graphs have none: use a method that needs no features, or a "+
				"dataset that has them", name)
	}
	if err := d.Validate(b.Settings); err != nil {
		return nil, err
	}
	if err := b.checkDevices(d); err != nil {
		return nil, err
	}
	m, err := d.New(b)
	if err != nil {
		return nil, err // m may be a nil pointer of a learner's type
	}
	return m, nil
}
