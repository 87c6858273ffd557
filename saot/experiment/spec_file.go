package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/near"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/method"
)

type specFile struct {
	About string  `json:"about"`
	Runs  []entry `json:"runs"`
	bad   faults
}

// UnmarshalYAML reads what it can, and keeps the rest as faults.
func (s *specFile) UnmarshalYAML(node ast.Node) error {
	m, ok := node.(ast.MapNode)
	if !ok {
		s.bad.add(lineOf(node), errors.New("want fields (list entries under runs:), not a list or a value"))
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		switch _, one := it.Value().(ast.MapNode); {
		case one && it.Key().GetToken().Value == "runs":
			s.bad.add(lineOf(it.Value()), errors.New("runs is one entry, want a list: begin the entry with a dash"))
			return nil
		case it.Key().GetToken().Value == "schema": // the first field of what a run writes
			s.bad.add(lineOf(it.Key()), errors.New("this is the result of a run, not a spec: "+
				"saot table and saot show read its folder"))
			return nil
		}
	}
	if s.emptyEntries(m) {
		return nil
	}
	type plain specFile
	err := yaml.NodeToValue(node, (*plain)(s))
	s.bad.addUnknown(m, *s, "list entries under runs:")
	return err
}

// emptyEntries adds the entries that hold nothing, and reports whether there are any.
func (s *specFile) emptyEntries(m ast.MapNode) bool {
	for it := m.MapRange(); it.Next(); {
		runs, ok := it.Value().(ast.ArrayNode)
		if !ok || it.Key().GetToken().Value != "runs" {
			continue
		}
		for entries := runs.ArrayRange(); entries.Next(); {
			if node, empty := entries.Value().(*ast.NullNode); empty {
				s.bad.add(lineOf(node), errors.New("an entry that holds nothing: give it datasets, methods and seeds"))
			}
		}
	}
	return len(s.bad) > 0
}

// Bounds of a spec. The parser keeps with each entry the keys that lead to it, so its memory grows with the square of
// the depth.
const (
	maxSpec  = 1 << 20 // bytes
	maxDepth = 32      // of lists and mappings within one another
	maxKey   = 100     // bytes
)

// bounded returns an error if a spec is too long or too deep to parse, or has a key longer than maxKey, a control
// character, tags, anchors or aliases. Parts of a spec are parsed alone, and know nothing of an anchor in another.
// Levels that begin on a line of their own do not count: each takes more indentation, so the length bounds them.
func bounded(data []byte) error {
	if len(data) > maxSpec {
		return fmt.Errorf("a spec is larger than %d bytes", maxSpec)
	}
	line, brackets, dashes, before := 0, 0, 0, 0 // before: the length of the token before
	for _, t := range lexer.Tokenize(string(data)) {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			dashes++
		case token.TagType, token.AnchorType, token.AliasType, token.MergeKeyType:
			return &faultAt{line: line, text: fmt.Sprintf("%q: a spec has no tags, anchors or aliases: "+
				"write the value itself", t.Value)}
		case token.MappingValueType:
			if before > maxKey {
				return &faultAt{line: line, text: fmt.Sprintf("a key is longer than %d bytes", maxKey)}
			}
		}
		before = len(t.Value)
		if untrusted.Commands(t.Value) {
			return &faultAt{line: line, text: "a control character: terminals take some as commands"}
		}
		if brackets+dashes > maxDepth {
			return &faultAt{line: line, text: fmt.Sprintf("lists and mappings are nested more than %d deep",
				maxDepth)}
		}
	}
	return nil
}

// parseSpecFile reads the one document of a spec.
func parseSpecFile(data []byte) (s specFile, err error) {
	if err := bounded(data); err != nil {
		return s, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // the mark that some editors put before UTF-8
	in := yaml.NewDecoder(bytes.NewReader(data))
	if err := in.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return s, err
	}
	var more document
	switch err := in.Decode(&more); {
	case err != nil && !errors.Is(err, io.EOF):
		return s, err
	case more.line > 0:
		s.bad.add(more.line, errors.New("a spec is one document, and here is a second: put its entries under the "+
			"runs: of the first, or make it a file of its own"))
	}
	return s, nil
}

// unreadable says where a spec cannot be parsed, and why.
func unreadable(name string, err error) error {
	var line int
	var why string
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
		line, why = at.GetToken().Position.Line, at.GetMessage()
		if strings.Contains(why, "\t") {
			why = "a tab: indent with spaces"
		}
	} else if at, ok := errors.AsType[*faultAt](err); ok {
		line, why = at.line, at.text
	} else {
		return fmt.Errorf("experiment: %s: %w", name, err)
	}
	return fmt.Errorf("experiment: %s:%d: %s", name, line, why)
}

// document is where a YAML document begins.
type document struct{ line int }

func (d *document) UnmarshalYAML(node ast.Node) error {
	d.line = lineOf(node)
	return nil
}

func lineOf(node ast.Node) int { return node.GetToken().Position.Line }

type entry struct {
	Datasets  list[string] `json:"datasets"`
	Methods   list[string] `json:"methods"`
	Seeds     list[uint64] `json:"seeds"`
	Preset    item[string] `json:"preset"`
	Probes    list[string] `json:"probes"`
	ProbeRows *item[int]   `json:"probe_rows"`
	Features  item[string] `json:"features"`
	Direction item[string] `json:"direction"`
	Stream    changes      `json:"stream"`
	Set       changes      `json:"set"`
	Grid      changes      `json:"grid"`
	line      int
	bad       faults
}

// UnmarshalYAML reads what it can, and keeps the rest as faults.
func (e *entry) UnmarshalYAML(node ast.Node) error {
	type plain entry
	if err := yaml.NodeToValue(node, (*plain)(e)); err != nil {
		return err
	}
	if m, ok := node.(ast.MapNode); ok {
		e.bad.addUnknown(m, *e, "settings of methods go under set:")
	}
	e.line = lineOf(node)
	return nil
}

// list is a list of items, or one item alone.
type list[T any] []item[T]

func (l *list[T]) UnmarshalYAML(node ast.Node) error {
	nodes := []ast.Node{node}
	if array, ok := node.(ast.ArrayNode); ok {
		nodes = nil
		for it := array.ArrayRange(); it.Next(); {
			nodes = append(nodes, it.Value())
		}
	}
	*l = make(list[T], len(nodes))
	for i, node := range nodes {
		if err := (*l)[i].UnmarshalYAML(node); err != nil {
			return err
		}
	}
	return nil
}

// item is a value with its line. One that cannot be read has an error.
type item[T any] struct {
	value T
	line  int
	err   error
}

func (i *item[T]) UnmarshalYAML(node ast.Node) error {
	i.line = lineOf(node)
	value := valueOf(node)
	if text, ok := any(&i.value).(*string); ok {
		if _, empty := node.(*ast.NullNode); empty || yaml.NodeToValue(node, text) != nil {
			*text = value.String() // what reads it says that it is no name
		}
	} else if err := fields.Set(&i.value, value); err != nil {
		i.err = fmt.Errorf("is %s, %w", value, err)
	}
	return nil
}

// changes are fields by name, with a value or a list of values, in the order of the file.
type changes []fields.Change

// UnmarshalYAML reads a mapping; a mapping within gives names with a point.
func (c *changes) UnmarshalYAML(node ast.Node) error { return c.add("", node) }

func (c *changes) add(prefix string, node ast.Node) error {
	m, ok := node.(ast.MapNode)
	if !ok {
		return fmt.Errorf("[%d] want fields with a value each, such as {epochs: 30}", lineOf(node))
	}
	for it := m.MapRange(); it.Next(); {
		name := prefix + it.Key().GetToken().Value
		if _, ok := it.Value().(ast.MapNode); ok {
			if err := c.add(name+".", it.Value()); err != nil {
				return err
			}
			continue
		}
		*c = append(*c, fields.Change{Path: name, Value: valueOf(it.Value()), Line: lineOf(it.Key())})
	}
	return nil
}

// twice adds a fault for each setting that the entry gives more than once: the last value would apply silently.
func (e *entry) twice(bad *faults) {
	first := map[string]int{} // line by name
	for _, f := range slices.Concat(e.Set, e.Grid) {
		if line, known := first[f.Path]; known {
			bad.add(f.Line, fmt.Errorf("%s is already on line %d: give it once, under set or grid", f.Path, line))
			continue
		}
		first[f.Path] = f.Line
	}
}

func valueOf(node ast.Node) fields.Value {
	list, ok := node.(ast.ArrayNode)
	if text, folded := node.(*ast.LiteralNode); folded { // its token is the sign before it
		return fields.Value{Text: strings.TrimSuffix(text.Value.Value, "\n")}
	}
	if !ok {
		return fields.Value{Text: node.GetToken().Value}
	}
	v := fields.Value{List: []fields.Value{}}
	for it := list.ArrayRange(); it.Next(); {
		v.List = append(v.List, valueOf(it.Value()))
	}
	return v
}

// line returns the line of the last change of a field that err names, or the given line otherwise if there is none.
// rename translates the names in err.
func (c changes) line(err error, rename func(string) string, otherwise int) int {
	fault, ok := errors.AsType[*check.Fault](err)
	if !ok {
		return otherwise
	}
	for _, field := range fault.Fields {
		name, _, _ := strings.Cut(rename(field), "[") // fan_out[1]
		for _, change := range slices.Backward(c) {
			if change.Path == name || strings.HasSuffix(change.Path, "."+name) {
				return change.Line
			}
		}
	}
	return otherwise
}

// faults collects what is wrong with a spec.
type faults []faultAt

type faultAt struct {
	line int
	text string
	set  string // the setting and value that a method refuses, if it is such a fault
}

// Error returns what is wrong, without its line.
func (f *faultAt) Error() string { return f.text }

func (f *faults) add(line int, err error) {
	if err != nil {
		*f = append(*f, faultAt{line: line, text: strings.TrimPrefix(err.Error(), "experiment: ")})
	}
}

// addUnknown adds the keys of a mapping that the struct like has no field for.
// advice is for a key that is near to none.
func (f *faults) addUnknown(m ast.MapNode, like any, advice string) {
	known := fields.Names(like)
	for it := m.MapRange(); it.Next(); {
		if key := it.Key().GetToken().Value; !slices.Contains(known, key) {
			f.add(lineOf(it.Key()), fmt.Errorf("unknown field %q%s: choose one of %s", key,
				cmp.Or(near.Hint(key, known), " ("+advice+")"), strings.Join(known, ", ")))
		}
	}
}

// addSettings adds what is wrong with the settings of a method after the changes.
func (f *faults) addSettings(m item[*method.Definition], all changes, err error) {
	for _, err := range check.Each(err) {
		if change, ok := errors.AsType[*fields.Fault](err); ok {
			*f = append(*f, faultAt{change.Change.Line, fmt.Sprintf("%s: %v", m.value.Name, err),
				fmt.Sprint(change.Change.Path, change.Change.Value)})
			continue
		}
		f.add(all.line(err, strings.TrimSpace, m.line), err)
	}
}

// distinct keeps the first of equal faults. Of a setting that several methods refuse it keeps the first fault, and adds
// how many refuse it.
func (f faults) distinct() (kept faults) {
	seen, methods := map[faultAt]bool{}, map[faultAt]int{}
	for _, fault := range f {
		if seen[fault] {
			continue
		}
		seen[fault] = true
		of := faultAt{line: fault.line, set: fault.set}
		if methods[of]++; fault.set == "" || methods[of] == 1 {
			kept = append(kept, fault)
		}
	}
	for i, fault := range kept {
		if n := methods[faultAt{line: fault.line, set: fault.set}]; fault.set != "" && n > 1 {
			kept[i].text += fmt.Sprintf("; refused by %d methods in all", n)
		}
	}
	return kept
}

// in returns the faults of a file in the order of its lines.
func (f faults) in(file string) error {
	var all []error
	for _, fault := range slices.SortedStableFunc(slices.Values(f), func(a, b faultAt) int { return a.line - b.line }) {
		all = append(all, fmt.Errorf("experiment: %s:%d: %s", file, fault.line, fault.text))
	}
	return errors.Join(all...)
}
