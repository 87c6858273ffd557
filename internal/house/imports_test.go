// Package house holds the rules of the house that no single package can hold: which rooms may import which.
package house

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/saot-go/saot/"

// arrows lists, for each package, the packages of this module that its code may import. Packages under internal are
// open to all, except that those that are built on GoMLX stay where it is allowed. A package that wants to import
// upwards is two packages. Every arrow is used: one that is free to take would let a package grow unseen.
var arrows = map[string][]string{
	"datasets/graph":          {},
	"datasets/fetch":          {},
	"datasets":                {"datasets/fetch", "datasets/graph"},
	"saot/engine":             {},
	"saot/transport/plain":    {},
	"saot/transport":          {"datasets/graph"},
	"saot/transport/symbolic": {"saot/transport"},
	"saot/drift":              {},
	"saot/view":               {"datasets/graph"},
	"saot/replay":             {"datasets/graph"},
	"saot/encoder":            {"datasets/graph", "saot/engine"},
	"saot/continual": {"datasets", "datasets/graph", "saot/continual/record", "saot/drift", "saot/engine",
		"saot/transport"},
	"saot/continual/record": {},
	"playground":            {},
	"playground/solver":     {"saot/transport"},
	"playground/viewer":     {"saot/continual/record"},
	"saot/train":            {"datasets/graph", "saot/continual", "saot/encoder", "saot/engine", "saot/view"},
	"saot/method":           {"datasets", "saot/continual", "saot/encoder", "saot/engine"},
}

// trainee lists what every room with trained methods imports; each adds the parts that its methods need.
var trainee = []string{"datasets", "datasets/graph", "saot/continual", "saot/encoder", "saot/method", "saot/train"}

func allowed() map[string][]string {
	all := map[string][]string{}
	for room, may := range arrows {
		all[room] = may
	}
	with := func(parts ...string) []string { return append(parts, trainee...) }
	all["saot"] = with("saot/engine", "saot/replay", "saot/transport", "saot/transport/symbolic", "saot/view")
	all["saot/baseline"] = with("saot/engine", "saot/view")
	// Controls take SAOT's encoder and buffer.
	all["saot/control"] = with("saot", "saot/replay")
	all["saot/method/all"] = []string{"saot", "saot/baseline", "saot/control"}
	all["saot/experiment/rank"] = []string{}
	all["saot/experiment"] = []string{"datasets", "datasets/graph", "saot/continual", "saot/engine",
		"saot/experiment/rank", "saot/method"}
	all["saot/experiment/metrics"] = []string{"saot/continual"}
	all["saot/experiment/mlflow"] = []string{"saot/continual", "saot/experiment/metrics"}
	all["plotting"] = []string{"saot/continual"}
	all["plotting/nb"] = []string{"plotting"}
	all["saot/experiment/report"] = []string{"playground/viewer", "plotting", "saot/continual",
		"saot/continual/record", "saot/experiment", "saot/method"}
	all["playground/training"] = []string{"datasets", "saot/continual", "saot/continual/record", "saot/experiment",
		"saot/method", "saot/method/all"}
	all["saot/engine/enginetest"] = []string{"saot/engine"}
	all["datasets/graph/graphtest"] = []string{"datasets/graph"}
	all["saot/encoder/encodertest"] = []string{"datasets/graph", "datasets/graph/graphtest"}
	all["saot/engine/install"] = []string{"datasets/fetch", "saot/engine"}
	return all
}

// backends are the modules that compute. Package engine alone knows them.
var backends = []string{"github.com/gomlx/go-xla", "github.com/gomlx/compute/gobackend"}

// A web page loads package transport: GoMLX would make it several times as large.
func TestTransportDoesWithoutGoMLX(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"saot/transport").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), module+"datasets/graph", "go list found the dependencies")
	require.NotContains(t, string(out), "gomlx")
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestArrowsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	require.NoError(t, err)
	rules, seen, used := allowed(), 0, map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		room, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || strings.HasPrefix(room, "cmd/") || strings.HasPrefix(room, "notebooks") ||
			strings.HasPrefix(room, "bench/") || strings.HasPrefix(room, "playground/wasm/") {
			continue // everything is open to these
		}
		seen++
		may, known := rules[room]
		internal := strings.HasPrefix(room, "internal/")
		require.True(t, known || internal, "package %s has no line in the list of arrows: add one", room)
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module)
			if ours && !strings.HasPrefix(to, "internal/") {
				require.False(t, internal && to != "datasets/graph",
					"%s must not import %s: internal packages import no room but the graph type", room, to)
				require.True(t, internal || slices.Contains(may, to), "%s must not import %s", room, to)
				used[room+" → "+to] = true
			}
			isBackend := slices.ContainsFunc(backends, func(b string) bool { return strings.HasPrefix(path, b) })
			require.False(t, isBackend && room != "saot/engine" && room != "saot/engine/install",
				"%s imports the backend %s: only saot/engine and its installer may", room, path)
		}
	}
	require.Greater(t, seen, 15, "go list found the rooms")
	for room, may := range rules {
		for _, to := range may {
			require.True(t, used[room+" → "+to], "%s does not import %s: take the arrow out of the list", room, to)
		}
	}
}
