package method

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/saot-go/saot/saot/continual"
)

var registry struct {
	sync.Mutex
	list []Definition
}

// Register adds a method. It is for init functions, as with the drivers of database/sql and the formats of image: a
// program has the methods of the packages that it imports, and no other package has a list of them. Like those it
// panics if the definition is incomplete or its name is taken, which no input can cause.
func Register(d Definition) {
	registry.Lock()
	defer registry.Unlock()
	if d.Name == "" || d.Summary == "" || d.Defaults == nil || d.New == nil {
		panic(fmt.Sprintf("method: the definition of %q lacks a name, a summary, defaults or a constructor", d.Name))
	}
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

// Lookup returns the method of a name. Its error lists the names.
func Lookup(name string) (*Definition, error) {
	for _, d := range All() {
		if d.Name == name {
			return &d, nil
		}
	}
	return nil, fmt.Errorf("unknown method %q: choose one of %s", name, strings.Join(Names(), ", "))
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
		return nil, fmt.Errorf("unknown group %q: choose one of %s", name, strings.Join(Groups(), ", "))
	}
	return slices.DeleteFunc(All(), func(d Definition) bool { return !holds(d) }), nil
}

// New makes a learner of a method. It returns an error if there is no such method, if the settings are another method's
// or out of range, if the nodes have no features and the method needs them, and those of the method's own constructor.
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
			fmt.Errorf("%s needs node features and the graphs have none: use a method without, or a dataset with "+
				"features", name)
	}
	if err := b.Settings.Validate(); err != nil {
		return nil, err
	}
	m, err := d.New(b)
	if err != nil {
		return nil, err // m may be a nil pointer of a learner's type
	}
	return m, nil
}
