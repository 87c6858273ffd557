package experiment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// What is chosen on some data is run on the same data: the spec of a choice has all that is not the default, except for
// the share of the tasks.
func TestChoicesKeepConditions(t *testing.T) {
	s, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	d, err := method.Lookup("saot")
	require.NoError(t, err)
	require.Empty(t, s.conditions(d, nil))
	cut := datasets.DefaultStreamOptions()
	cut.First = 0.34
	s.SetCut(cut)
	require.Empty(t, s.conditions(d, nil))

	require.Equal(t, []string{"stream: {split_seed: seed}"}, s.conditions(d, []string{splitSeed}))

	cut.SplitSeed, cut.ClassesPerTask, cut.Order, cut.Classes = 7, 3, datasets.OrderGiven, []int32{4, 2, 0, 1, 3, 5}
	s.SetCut(cut)
	s.Features, s.Direction, s.ProbeRows = graph.Raw, datasets.Directed, 500
	text := "runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [0]\n  " + strings.Join(s.conditions(d, nil), "\n  ")
	spec, err := ParseSpec("chosen.yaml", []byte(text))
	require.NoError(t, err, text)
	require.Len(t, spec.Runs, 1)
	got := spec.Runs[0].Settings
	cut.First = 0
	require.Equal(t, cut, got.Cut())
	require.Equal(t, graph.Raw, got.Features)
	require.Equal(t, datasets.Directed, got.Direction)
	require.Equal(t, 500, got.ProbeRows)
}

// A choice names the dataset as its runs did: the stream of a generated graph or of a file has a name of its own.
func TestChoicesNameTheDataset(t *testing.T) {
	for _, dataset := range []string{"synthetic", "/data/mine.npz"} {
		s, err := DefaultSettings(dataset, "saot", method.Default)
		require.NoError(t, err)
		config, err := json.Marshal(&s)
		require.NoError(t, err)
		g := &Group{Runs: map[uint64]*continual.Result{0: {Method: "saot", Config: config,
			Dataset: continual.DatasetInfo{Name: "mine"}}}}
		c := Choice{Method: "saot", Points: []Point{{Seeds: []uint64{0}, Settings: map[string]string{"epochs": "3"}}}}
		require.NoError(t, c.describe(g))
		var out strings.Builder
		require.NoError(t, WriteChoices(&out, []Choice{c}, nil))
		spec, err := ParseSpec("chosen.yaml", []byte(out.String()))
		require.NoError(t, err, out.String())
		require.Equal(t, dataset, spec.Runs[0].Dataset)
	}
}

func TestChoiceTable(t *testing.T) {
	point := func(epochs string, valid float64) Point {
		return Point{Settings: map[string]string{"epochs": epochs, "rate": "0.1"}, Valid: valid, Seconds: 40}
	}
	choices := []Choice{
		{Dataset: "uai", Method: "saot",
			Points: []Point{point("3", 92.25), point("9", 91.3), point("1", 91.08), point("2", 80)}},
		{Dataset: "cora-ml", Method: "saot", Points: []Point{point("3", 94), point("9", 93), point("1", 90)}},
		{Dataset: "uai", Method: "gae", Points: []Point{point("9", 88), point("3", 87)}},
	}
	var out strings.Builder
	require.NoError(t, WriteChoiceTable(&out, choices))
	require.Equal(t, `| uai | chosen | valid | median | worst | cost |
|---|---|---|---|---|---|
| saot | epochs 3, rate 0.1 | 92.2 | 91.2 | 80.0 | 2m40s |
| gae | epochs 9, rate 0.1 | 88.0 | 87.5 | 87.0 | 1m20s |

| cora-ml | chosen | valid | median | worst | cost |
|---|---|---|---|---|---|
| saot | epochs 3, rate 0.1 | 94.0 | 93.0 | 90.0 | 2m0s |

`, out.String())
}

// A split that comes from a file is known by its hash alone: no spec is written that would cut another.
func TestNoSpecOfASplitFile(t *testing.T) {
	s, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	s.SplitHash = "0123456789abcdef"
	config, err := json.Marshal(&s)
	require.NoError(t, err)
	byKey := map[string]*Group{}
	require.NoError(t, addRun(byKey, &continual.Result{Method: "saot", Config: config,
		Dataset: continual.DatasetInfo{Name: "uai"}}, "runs/a"))
	for _, g := range byKey {
		require.True(t, g.SplitFile())
		_, err = SpecOf("a test", []*Group{g})
		require.ErrorContains(t, err, "runs/a: field config: the split (hash 01234567) comes from a file")

		c := Choice{Dataset: "uai", Method: "saot", Points: []Point{{Seeds: []uint64{0}}}}
		require.NoError(t, c.describe(g))
		var out strings.Builder
		require.ErrorContains(t, WriteChoices(&out, []Choice{c}, nil), "saot on uai: the split (hash 01234567)")
		require.Empty(t, out.String())
	}
}

// A setting's figures are means over its seeds.
func TestPointIsTheMeanOverSeeds(t *testing.T) {
	g := &Group{Runs: map[uint64]*continual.Result{}, Paths: map[uint64]string{}}
	for seed, valid := range []float64{60, 90} {
		r := resultOf("saot", uint64(seed), 80, 0)
		for i := range r.Scores {
			r.Scores[i].Fits = [][]continual.Fit{{{Valid: 1}}, {{Valid: valid}}}
		}
		g.Runs[uint64(seed)] = r
	}
	p, err := g.point([]*Group{g})
	require.NoError(t, err)
	require.InDelta(t, 75, p.Valid, 1e-9)
	require.InDelta(t, 80, p.Test, 1e-9)
}

// Settings that ran with as many seeds, but with others, cannot be compared.
func TestChooseWantsTheSameSeeds(t *testing.T) {
	run := func(alpha int, seed uint64) *continual.Result {
		r := configured(resultOf("saot", seed, 80, 0), "settings", map[string]any{"alpha": alpha})
		for i := range r.Scores {
			r.Scores[i].Fits = slices.Repeat([][]continual.Fit{{{Valid: 70}}}, 9)
		}
		return r
	}
	groups := collected(t, run(0, 0), run(0, 1), run(1, 0), run(1, 2))
	_, err := Choose(groups)
	require.ErrorContains(t, err, "finish the sweep first")
}

// A choice is read back as the settings that ran, also where the kind of the encoder changes its other defaults.
func TestChoicesReadBack(t *testing.T) {
	for _, text := range []string{
		"set: {encoder.kind: gat, encoder.hidden: 512}\n  grid: {alpha: [0, 1]}",
		"set: {encoder.hidden: 512}\n  grid: {encoder.kind: [gcn, gat]}",
		"preset: paper\n  set: {encoder.kind: gcn}\n  grid: {alpha: [0, 1]}",
	} {
		for _, dataset := range []string{"uai", "reddit"} {
			ran, err := ParseSpec("x.yaml", fmt.Appendf(nil,
				"runs:\n- datasets: [%s]\n  methods: [saot]\n  seeds: [0]\n  %s", dataset, text))
			require.NoError(t, err)
			require.Len(t, ran.Runs, 2)
			var results []*continual.Result
			for i := range ran.Runs {
				config, err := json.Marshal(&ran.Runs[i].Settings)
				require.NoError(t, err)
				r := resultOf("saot", 0, 80, 0)
				r.Config, r.Dataset.Name = config, dataset
				for k := range r.Scores {
					r.Scores[k].Fits = slices.Repeat([][]continual.Fit{{{Valid: float64(70 + i)}}}, 9)
				}
				results = append(results, r)
			}
			choices, err := Choose(collected(t, results...))
			require.NoError(t, err)
			var out strings.Builder
			require.NoError(t, WriteChoices(&out, choices, nil))
			spec, err := ParseSpec("chosen.yaml", []byte(out.String()))
			require.NoError(t, err, out.String())
			require.Len(t, spec.Runs, 1)
			require.Equal(t, ran.Runs[1].Hash(), spec.Runs[0].Hash(), out.String())
		}
	}
}
