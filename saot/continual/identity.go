package continual

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/saot-go/saot/internal/leaves"
	"github.com/saot-go/saot/internal/untrusted"
)

// Manifest says which method runs and how; it is recorded in the Result.
type Manifest struct {
	Method string          `json:"method"`
	Config json.RawMessage `json:"config"` // JSON of the method's complete configuration
}

// Identity is what two stretches of one run must have in common.
type Identity struct {
	Manifest Manifest    `json:"manifest"`
	Dataset  DatasetInfo `json:"dataset"`
	Seed     uint64      `json:"seed"`
	Engine   string      `json:"engine"`
	Probes   []Probe     `json:"probes"`

	ProbeRows int `json:"probe_rows,omitempty"`
}

// check returns an error if a text of the identity holds a control character: no result with one can be read back.
func (id *Identity) check() error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return untrusted.CheckJSON(data)
}

func identityOf(r *Result) Identity {
	return Identity{Manifest: Manifest{Method: r.Method, Config: r.Config}, Dataset: r.Dataset,
		Seed: r.Seed, Engine: r.Engine.Name, ProbeRows: r.ProbeRows, Probes: r.Probes()}
}

// matches names the first field in which a run differs from the one that was interrupted.
func (id *Identity) matches(now *Identity) error {
	if text := id.difference(now); text != "" {
		return fmt.Errorf("cannot resume: %s: run with the former, or again in an empty folder", text)
	}
	return nil
}

// difference names the first field in which two runs differ, or up to three fields of their configurations. It is "" if
// the runs are the same.
func (id *Identity) difference(now *Identity) string {
	type field struct {
		name     string
		was, now any
	}
	fields := []field{
		{"method", id.Manifest.Method, now.Manifest.Method},
		{"dataset name", id.Dataset.Name, now.Dataset.Name},
		{"split hash", id.Dataset.SplitHash, now.Dataset.SplitHash},
		{"number of tasks", id.Dataset.Tasks, now.Dataset.Tasks},
		{"seed", id.Seed, now.Seed},
		{"engine", id.Engine, now.Engine},
		{"probes", fmt.Sprint(id.Probes), fmt.Sprint(now.Probes)},
		{"probe rows", fmt.Sprint(id.ProbeRows), fmt.Sprint(now.ProbeRows)},
	}
	if was, is := id.Dataset, now.Dataset; !was.SameData(is) {
		fields = slices.Insert(fields, 2, field{"dataset checksum", was.Checksum, is.Checksum})
	}
	for _, f := range fields {
		if f.was != f.now {
			return fmt.Sprintf("%s was %v and is now %v", f.name, f.was, f.now)
		}
	}
	return configDifference(CurrentNames(id.Manifest.Config), CurrentNames(now.Manifest.Config))
}

var renamed = strings.NewReplacer(`"centred":`, `"centered":`, `"distil_buffered":`, `"distill_buffered":`)

// CurrentNames replaces earlier names of settings by the current ones in a JSON document of a run or a result.
func CurrentNames(settings []byte) []byte { return []byte(renamed.Replace(string(settings))) }

// configDifference names the first three fields, in alphabetical order, in which two JSON configurations differ; ""
// where they are the same.
func configDifference(was, now json.RawMessage) string {
	if canonical(was) == canonical(now) {
		return ""
	}
	a, err1 := leaves.Of(was)
	b, err2 := leaves.Of(now)
	if err1 != nil || err2 != nil {
		return "the configuration differs"
	}
	type values struct{ was, now string }
	fields := map[string]values{}
	for _, l := range a {
		fields[l.Path] = values{cmp.Or(l.Text, `""`), "absent"}
	}
	for _, l := range b {
		was := cmp.Or(fields[l.Path].was, "absent")
		fields[l.Path] = values{was, cmp.Or(l.Text, `""`)}
	}
	var all []string
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if v := fields[path]; v.was != v.now {
			all = append(all, fmt.Sprintf("%s was %s and is now %s", path, v.was, v.now))
		}
	}
	if len(all) == 0 { // a number that was text, or an object without fields
		return "the configuration differs"
	}
	if len(all) > 3 {
		all = append(all[:3], fmt.Sprintf("and %d more", len(all)-3))
	}
	return strings.Join(all, ", ")
}

// canonical strips what two spellings of one JSON value differ in: space, the order of fields, escapes.
func canonical(j json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return "absent"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "absent"
	}
	return string(text)
}
