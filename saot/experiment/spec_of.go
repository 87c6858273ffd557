package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// SpecOf writes a Spec of the groups' runs, every setting of each spelled out, so that "saot sweep" does them again. It
// returns an error if a group's runs were made by something else than this package, or took their split from a file: a
// Spec cannot name one.
func SpecOf(about string, groups []*Group) ([]byte, error) {
	var entries []yaml.MapSlice
	for _, g := range groups {
		var s Settings
		if err := json.Unmarshal(g.First().Config, &s); err != nil {
			return nil, fmt.Errorf("experiment: %s: field config: %w", g.path(), err)
		}
		for _, r := range g.Runs { // a run of each probe may stand in one group
			for _, p := range r.Probes() {
				if p != continual.ProbeHead && !slices.Contains(s.Probes, p) {
					s.Probes = append(s.Probes, p)
				}
			}
		}
		entry, err := s.entry(g.Seeds(), g.drawn)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: field config: %w", g.path(), err)
		}
		entries = append(entries, entry)
	}
	data, err := yaml.Marshal(yaml.MapSlice{{Key: "about", Value: about}, {Key: "runs", Value: entries}})
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return data, nil
}

// entry is the inverse of reading a Spec. The seeds of the stream that drawn names are those of the runs.
func (s *Settings) entry(seeds []uint64, drawn []string) (yaml.MapSlice, error) {
	e := yaml.MapSlice{{Key: "datasets", Value: []string{s.Dataset}}, {Key: "methods", Value: []string{s.Method}},
		{Key: "seeds", Value: seeds}}
	add := func(key string, value any) { e = append(e, yaml.MapItem{Key: key, Value: value}) }
	if err := s.checkSpec(); err != nil {
		return nil, err
	}
	d, err := method.Lookup(s.Method)
	if err != nil {
		return nil, err
	}
	if d.Probed() {
		var probes []string
		for _, p := range s.Probes {
			probes = append(probes, p.String())
		}
		add("probes", probes)
		add("probe_rows", s.ProbeRows)
	}
	add("features", s.Features.String())
	if s.Direction != datasets.Undirected {
		add("direction", s.Direction.String())
	}
	cut := s.Cut()
	stream := leavesOf(&cut)
	if reflect.DeepEqual(s.Stream, datasets.StreamOptions{}) {
		stream = yaml.MapSlice{{Key: splitSeed, Value: s.SplitSeed}}
	}
	setBySeed(stream, drawn)
	add("stream", stream)
	if s.Preset != method.Default {
		add("preset", s.Preset.String())
	}
	add("set", leavesOf(s.Of))
	return e, nil
}

// leavesOf lists the fields of the struct that target points to, as a spec's set and stream take them.
func leavesOf(target any) (all yaml.MapSlice) {
	for _, f := range fields.All(target) {
		value := f.Value.Interface()
		if named, ok := value.(fmt.Stringer); ok {
			value = named.String()
		}
		all = append(all, yaml.MapItem{Key: f.Path, Value: value})
	}
	return all
}
