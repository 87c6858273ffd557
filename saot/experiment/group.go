package experiment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/leaves"
	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Group is the finished runs that differ in nothing but the seed: a row of a table, a line of a figure.
type Group struct {
	Dataset string
	Method  string
	Label   string // the method, and the settings by which it differs from the method's other groups on the dataset

	// Settings has the leaves of the results' config by path, without seed and probes. The method's own settings have
	// the names that --set accepts: epsilon → 0.2. From the results themselves it has dataset, method, data (content of
	// the graph, or checksum), split (hash, or "seed" after JoinBySeed), synthetic, engine (name), version (of the
	// program), direction and, where embeddings were probed, probe_rows.
	Settings map[string]string

	Runs  map[uint64]*continual.Result // by seed
	Paths map[uint64]string            // Stored.Path of the results, by seed

	own    map[string]bool // names in Settings that are the method's own
	drawn  []string        // seeds of the stream that are each run's own: see JoinBySeed
	byName bool            // the dataset is one of the catalog, not a file of one's own with such a name
	opened string          // the name or path that opened the dataset
}

// Seeds returns the seeds of the runs, ascending.
func (g *Group) Seeds() []uint64 { return slices.Sorted(maps.Keys(g.Runs)) }

// SeedList writes the seeds, three or more in a row as 0–4.
func (g *Group) SeedList() string { return seedList(g.Seeds()) }

// Own reports whether a name in Settings is one of the method's own settings, rather than the run's.
func (g *Group) Own(name string) bool { return g.own[name] }

// Changed returns the method's own settings that are not the defaults of the runs' preset, by the names in Settings;
// false if the runs were made by something else than this package.
func (g *Group) Changed() (map[string]string, bool) {
	var s Settings
	if json.Unmarshal(g.First().Config, &s) != nil || s.External {
		return nil, false
	}
	d, err := method.Lookup(s.Method)
	if err != nil {
		return nil, false
	}
	return s.differing(d.Defaults(datasets.RecipeOf(s.Dataset), s.Preset)), true
}

// SplitFile reports whether the runs took their split from a file. No Spec describes such runs.
func (g *Group) SplitFile() bool { return g.Settings["split_hash"] != "" }

// First returns the run with the lowest seed.
func (g *Group) First() *continual.Result { return g.Runs[g.Seeds()[0]] }

// Info identifies the data of the runs.
func (g *Group) Info() continual.DatasetInfo { return g.First().Dataset }

// Collect reads every result at the paths, which are as for continual.ReadResults, and groups the runs by dataset, then
// in the order of method.All, then by settings, numbers by size. Order and names of the paths change nothing.
//
// It returns an error if a file cannot be read, if its AP and AF do not follow from its matrices, if two files hold the
// same run with different numbers, and if there is no result at all.
func Collect(paths []string) ([]*Group, error) {
	found, err := continual.ReadResults(paths...)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	byKey := map[string]*Group{}
	for _, s := range found {
		if err := s.Result.Check(); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", s.Path, err)
		}
		if err := addRun(byKey, s.Result, s.Path); err != nil {
			return nil, err
		}
	}
	if len(byKey) == 0 {
		return nil, fmt.Errorf("experiment: there is no %s under %s: name folders of finished runs or packed results",
			continual.ResultFile, strings.Join(paths, ", "))
	}
	groups := slices.Collect(maps.Values(byKey))
	sortGroups(groups)
	labelGroups(groups)
	return groups, nil
}

func addRun(byKey map[string]*Group, r *continual.Result, path string) error {
	g := &Group{Dataset: r.Dataset.Name, Method: r.Method, Settings: map[string]string{}, own: map[string]bool{},
		Runs: map[uint64]*continual.Result{}, Paths: map[uint64]string{}}
	if err := g.leaves(r.Config); err != nil {
		return fmt.Errorf("experiment: %s: field config: %w", path, err)
	}
	g.byName = g.Settings["dataset"] == r.Dataset.Name
	g.opened = cmp.Or(g.Settings["dataset"], r.Dataset.Name) // another program need not record it
	if g.opened == (datasets.SyntheticOptions{}).Name() {
		g.opened = "synthetic"
	}
	delete(g.Settings, "seed")
	delete(g.Settings, "probes") // what they found stands in columns of its own
	maps.Copy(g.Settings, map[string]string{"dataset": r.Dataset.Name, "method": r.Method, "data": r.Dataset.Data(),
		"split": r.Dataset.SplitHash, "synthetic": strconv.FormatBool(r.Dataset.Synthetic), "engine": r.Engine.Name,
		"version": versionOf(r)})
	if g.Settings["direction"] == "" {
		g.Settings["direction"] = datasets.Undirected.String() // results do not name the default
	}
	delete(g.Settings, "probe_rows")
	if slices.ContainsFunc(r.Scores, func(s continual.Score) bool { return s.Probe != continual.ProbeHead }) {
		g.Settings["probe_rows"] = strconv.Itoa(r.ProbeRows)
	}
	key := g.key()
	if known, ok := byKey[key]; ok {
		g = known
	}
	byKey[key] = g
	if before, ok := g.Runs[r.Seed]; ok {
		both, same := merged(before, r)
		if !same {
			of := "numbers"
			if r.External {
				of = "numbers or embeddings"
			}
			return fmt.Errorf("experiment: %s and %s are the same run (seed %d) with different %s: move one away",
				g.Paths[r.Seed], path, r.Seed, of)
		}
		// Of one run in its folder and in a pack, the folder has more: recordings, losses by step.
		order, isFolder := before.Started.Compare(r.Started), filepath.Base(g.Paths[r.Seed]) == continual.ResultFile
		if order < 0 || order == 0 && isFolder {
			path = g.Paths[r.Seed]
		}
		r = both
	}
	g.Runs[r.Seed], g.Paths[r.Seed] = r, path
	return nil
}

// versionOf names the programs that made a run.
func versionOf(r *continual.Result) string {
	var names []string
	for _, v := range append(slices.Clone(r.Earlier), r.Versions) {
		name := strings.TrimSpace(v.Module + " " + v.Commit)
		if v.Dirty {
			name += " with changes"
		}
		if len(v.Build) >= 12 {
			name += " build " + v.Build[:12]
		}
		names = append(names, name)
	}
	return strings.Join(names, ", then ")
}

// merged returns the earlier of two runs of the same settings with the scores that the other has besides, such as those
// of another probe. They are not the same where a score of both differs, or the embeddings of another program.
func merged(a, b *continual.Result) (both *continual.Result, same bool) {
	if checksumOf(a) != checksumOf(b) {
		return nil, false
	}
	if b.Started.Before(a.Started) {
		a, b = b, a
	}
	out := *a
	out.Scores = slices.Clone(a.Scores)
	for _, score := range b.Scores {
		have, known := a.Score(score.Setting, score.Probe)
		if !known {
			out.Scores = append(out.Scores, score)
		} else if !reflect.DeepEqual(*have, score) {
			return nil, false
		}
	}
	return &out, true
}

// leaves adds the leaves of a result's config: what it records, be it of another version, and the defaults of settings
// that are newer, by which it ran.
func (g *Group) leaves(config json.RawMessage) error {
	var s Settings
	if json.Unmarshal(config, &s) != nil { // made by something else
		return flatten(g.Settings, "", config)
	}
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(config, &recorded); err != nil {
		return err
	}
	complete, err := json.Marshal(s.Of)
	if err != nil {
		return err
	}
	if own := continual.CurrentNames(recorded["settings"]); len(own) > 0 && own[0] == '{' {
		err = errors.Join(err, flatten(g.Settings, "", own))
	}
	delete(recorded, "settings")
	err = errors.Join(err, flatten(g.Settings, "", complete))
	for name := range g.Settings {
		g.own[name] = true
	}
	for name, value := range recorded {
		err = errors.Join(err, flatten(g.Settings, name+".", value))
	}
	g.Settings["preset"] = s.Preset.String() // results name it where it matters alone
	if s.External {
		delete(g.Settings, "checksum") // each seed has its own
		delete(g.Settings, "features") // says nothing of what the other program read
		clear(g.own)
	}
	return err
}

// flatten adds the leaves of a JSON document as path → text.
func flatten(into map[string]string, prefix string, document json.RawMessage) error {
	all, err := leaves.Of(document)
	for _, l := range all {
		into[strings.TrimSuffix(prefix+l.Path, ".")] = l.Text
	}
	return err
}

// Comparable returns an error if groups of a dataset cannot share a table or figure: their numbers would differ by more
// than method and settings.
func Comparable(groups []*Group) error {
	first := map[string]*Group{} // by dataset and condition
	for _, name := range []string{"synthetic", "data", "split", "features", "direction", "engine", "version",
		"probe_rows"} {
		for _, g := range groups {
			value, ok := g.condition(name)
			if !ok || value == mixed {
				continue
			}
			key := g.Dataset + "\n" + name
			before, seen := first[key]
			if !seen {
				first[key] = g
				continue
			}
			if was, _ := before.condition(name); was != value {
				return fmt.Errorf("experiment: %s and %s cannot share a table of %s: %s is %s in the first and "+
					"%s in the second: make a table of each with %s and %s%s, or name only the folders of one",
					before.path(), g.path(), g.Dataset, name, orNone(was), orNone(value),
					before.only(name), g.only(name), mixing[name])
			}
		}
	}
	return nil
}

// comparableAcross is Comparable for tables and tests that join datasets: all runs must be of one program and engine.
func comparableAcross(groups []*Group) error {
	if err := Comparable(groups); err != nil {
		return err
	}
	for _, name := range []string{"engine", "version"} {
		for _, g := range groups {
			first := groups[0]
			was, _ := first.condition(name)
			if value, _ := g.condition(name); value != was && value != mixed && was != mixed {
				return fmt.Errorf("experiment: %s (%s) and %s (%s) cannot be joined: %s is %s in the first and %s in "+
					"the second: choose with %s or %s%s", first.path(), first.Dataset, g.path(), g.Dataset, name,
					orNone(was), orNone(value), first.only(name), g.only(name), mixing[name])
			}
		}
	}
	return nil
}

// mixing is the advice about what runs of one table may differ in.
var mixing = map[string]string{"engine": " (or let engines and versions differ with --mixed)",
	"version": " (or let versions and engines differ with --mixed)"}

// only is the flag, as a shell takes it, that chooses runs with the group's value of a setting.
func (g *Group) only(name string) string {
	return "--only " + shell.Typed(name+"="+short(g.Settings[name]))
}

// mixed is the engine and the version of groups that may differ in them.
const mixed = "mixed"

// Mixed returns the groups for tables that may mix engines and versions, and lists these, each with its number of runs.
// All seeds of a method with the same settings are one group, whichever programs ran them, unless several programs ran
// the same seed: their groups, with all their runs, then stay separate.
func Mixed(groups []*Group) (out []*Group, found []string) {
	count, byKey := map[string]int{}, map[string][]*Group{}
	for _, g := range groups {
		copied := *g
		copied.Settings = maps.Clone(g.Settings)
		copied.Settings["engine"], copied.Settings["version"] = mixed, mixed
		copied.Runs, copied.Paths = maps.Clone(g.Runs), maps.Clone(g.Paths)
		key := copied.key()
		i := slices.IndexFunc(byKey[key], func(o *Group) bool { return !o.shares(&copied) })
		if i < 0 {
			out, byKey[key] = append(out, &copied), append(byKey[key], &copied)
		} else {
			maps.Copy(byKey[key][i].Runs, copied.Runs)
			maps.Copy(byKey[key][i].Paths, copied.Paths)
		}
		for _, r := range g.Runs {
			count[r.Program()]++
		}
	}
	apart := map[*Group]string{} // labels of groups that differ in their programs alone
	for _, same := range byKey {
		for _, g := range same {
			if len(same) > 1 {
				apart[g] = g.Label
			}
		}
	}
	labelGroups(out)
	for g, label := range apart {
		g.Label = label
	}
	for _, program := range slices.Sorted(maps.Keys(count)) {
		found = append(found, fmt.Sprintf("%s (%d runs)", program, count[program]))
	}
	return out, found
}

// NotePrograms adds a footnote with the programs that Mixed has found to the last table, where they are several.
func NotePrograms(tables []*Table, found []string) {
	if len(tables) > 0 && len(found) > 1 {
		tables[len(tables)-1].note("All rows: the runs are of several programs: " + strings.Join(found, ", ") + ".")
	}
}

// shares reports whether both groups have a run of one seed.
func (g *Group) shares(other *Group) bool {
	return slices.ContainsFunc(g.Seeds(), func(seed uint64) bool { return other.Runs[seed] != nil })
}

// condition returns what the figures of one column must have in common; false where the group has nothing to do with
// it.
func (g *Group) condition(name string) (string, bool) {
	value, ok := g.Settings[name]
	if name != "probe_rows" { // whether another program scales features is up to it
		return value, name != "features" || !g.First().External
	}
	// A bound that no stream of the dataset reaches is none.
	rows, _ := strconv.ParseInt(value, 10, 64)
	if e, err := datasets.Lookup(g.opened); err == nil && e.True.Nodes > 0 && rows >= e.True.Nodes {
		value = "0"
	}
	return value, ok
}

func (g *Group) path() string { return g.Paths[g.Seeds()[0]] }

func orNone(value string) string {
	if value == "" {
		return "not recorded"
	}
	return short(value)
}

// short cuts a hash to the digits that tell it from others.
func short(value string) string {
	if len(value) == 64 && strings.Trim(value, "0123456789abcdef") == "" {
		return value[:12]
	}
	return value
}
