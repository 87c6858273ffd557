package continual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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

// matches names the first field in which a run differs from the one that was interrupted.
func (id *Identity) matches(now *Identity) error {
	if text := id.difference(now); text != "" {
		return fmt.Errorf("cannot resume: %s: run with the former, or again in an empty folder", text)
	}
	return nil
}

// difference names the first field in which two runs differ; "" where they are the same.
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
	if field, differs := configDifference(id.Manifest.Config, now.Manifest.Config); differs {
		return field + " differs"
	}
	return ""
}

// configDifference names the first field, in alphabetical order, in which two JSON configurations differ.
func configDifference(was, now json.RawMessage) (string, bool) {
	if canonical(was) == canonical(now) {
		return "", false
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(now, &b) != nil {
		return "the configuration", true
	}
	for _, key := range slices.Sorted(maps.Keys(union(a, b))) {
		if x, y := canonical(a[key]), canonical(b[key]); x != y {
			return fmt.Sprintf("configuration field %q (%s, now %s)", key, x, y), true
		}
	}
	return "", false
}

func union(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	both := make(map[string]json.RawMessage, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
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
