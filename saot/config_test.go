package saot

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fields/fieldstest"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/transport"
)

func TestDefaultConfigIsValid(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
}

func TestValidateListsEveryBadField(t *testing.T) {
	bad := Config{
		Encoder: encoder.Config{Hidden: -1}, LearningRate: math.NaN(), Epochs: 0, EdgeDrop: 1, FeatureMask: -0.1,
		Points: 1, Epsilon: -1, Sweeps: 0, Sigma: 1.5, GromovOuter: 0, GromovSweeps: -3, StructureUnit: 9,
		Objective: 7, Divergence: 7, Scaling: 7, Alpha: math.Inf(1), Distillation: -1, Beta: math.NaN(),
		Buffer: -2, FanOut: []int{1, 0},
	}
	err := bad.Validate()
	for _, field := range []string{
		"hidden", "out is", "momentum", "learning_rate", "epochs", "edge_drop", "feature_mask", "points", "epsilon",
		"sweeps",
		"sigma", "gromov_outer", "gromov_sweeps", "structure_unit", "objective", "divergence", "scaling", "alpha",
		"distillation",
		"beta", "buffer", "fan_out[1]",
	} {
		require.ErrorContains(t, err, field)
	}
	require.NotContains(t, err.Error(), "fan_out[0]")
}

func TestConfigSurvivesJSON(t *testing.T) {
	varied := DefaultConfig()
	varied.Objective, varied.Divergence, varied.Scaling, varied.Distillation = BarlowTwins, Frobenius, Literal,
		DistillMSE
	varied.StructureUnit, varied.FanOut = transport.PaperNormalization, []int{5}
	for _, want := range []Config{DefaultConfig(), varied} {
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var got Config
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
	}
	text, err := json.Marshal(varied)
	require.NoError(t, err)
	for _, name := range []string{`"barlow-twins"`, `"frobenius"`, `"literal"`, `"mse"`, `"paper"`} {
		require.Contains(t, string(text), name)
	}
}

func TestUnknownEnumListsTheChoices(t *testing.T) {
	for text, choices := range map[string]string{
		`{"objective": "x"}`:    "transport, barlow-twins",
		`{"divergence": "x"}`:   "kl, frobenius",
		`{"scaling": "x"}`:      "balanced, literal",
		`{"distillation": "x"}`: "plan, none, cosine, mse",
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), new(Config)), choices)
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`{"structure_unit": "x"}`), new(Config)), "max")
}

// What makes each variant holds in its defaults, and whatever else the settings are, such as those of Reddit's GAT.
func TestVariantsAreWhatTheySay(t *testing.T) {
	type made struct {
		Objective    Objective
		Distillation Distillation
		Encoder      encoder.Kind
		FeatureCost  FeatureCost
		Centered     bool
	}
	of := func(s method.Settings) made {
		c := s.(*Config)
		return made{c.Objective, c.Distillation, c.Encoder.Kind, c.FeatureCost, c.Centered}
	}
	want := map[string]made{
		"saot":            {},
		"saot-no-distill": {Distillation: DistillNone},
		"saot-cosine":     {Distillation: DistillCosine},
		"saot-mse":        {Distillation: DistillMSE},
		"saot-barlow":     {Objective: BarlowTwins},
		"saot-l":          {Transport, DistillNone, encoder.Linear, PropagatedFeatures, true},
	}
	variants, err := method.Group("ours")
	require.NoError(t, err)
	require.Len(t, variants, len(want))
	for _, d := range variants {
		require.Contains(t, want, d.Name)
		require.Equal(t, want[d.Name], of(d.Defaults(datasets.NoRecipe, method.Default)), d.Name)
		gat := ConfigFor(datasets.RecipeReddit, method.Paper)
		fixed := want[d.Name]
		if d.Name != "saot-l" {
			fixed.Encoder = encoder.GAT
		}
		require.Equal(t, fixed, of(d.Defaults(datasets.RecipeReddit, method.Paper)), d.Name)
		d.Fix(&gat)
		require.Equal(t, fixed, of(&gat), d.Name)
		require.NoError(t, gat.Validate(), d.Name)
	}
}

// vary gives a setting the k-th choice of its name, or as the first choice another value, and reports whether there is
// one.
func vary(v reflect.Value, k int) bool {
	if v.Kind() == reflect.Int && v.Type() != reflect.TypeFor[int]() {
		before := v.Int()
		v.SetInt(int64(k))
		return before != int64(k)
	}
	if k == 0 {
		fieldstest.Change(v)
	}
	return k == 0
}

// A variant says which settings it does not read: other values of these change no embedding, and some of those that it
// does read matter to sampled steps alone.
func TestVariantsReadWhatTheySay(t *testing.T) {
	e := enginetest.Go(t)
	fixed := []string{"encoder.layers", "encoder.heads"} // where the encoder is no GAT
	for name, unread := range map[string]int{"saot-no-distill": 1, "saot-barlow": 8, "saot-l": 5} {
		d, err := method.Lookup(name)
		require.NoError(t, err)
		left := 0
		others := func(c *Config) {
			left = 0
			for _, f := range fields.All(c) {
				if slices.Contains(d.Reads, f.Path) {
					continue
				}
				if left++; !slices.Contains(fixed, f.Path) {
					fieldstest.Change(f.Value)
				}
			}
		}
		whole := func(*Config) {}
		for _, base := range []func(*Config){whole, sampling} {
			with := func(more func(*Config)) []float32 {
				return trained(t, e, 1, func(c *Config) { base(c); more(c); d.Fix(c) })
			}
			want := with(whole)
			require.Equal(t, want, with(others), name)
			require.Equal(t, unread, left, name)
		}
	}
	barlow := func(more func(*Config)) []float32 {
		return trained(t, e, 1, func(c *Config) { sampling(c); c.Objective = BarlowTwins; more(c) })
	}
	base := barlow(func(*Config) {})
	require.NotEqual(t, base, barlow(func(c *Config) { c.Points = 10 }))
	require.NotEqual(t, base, barlow(func(c *Config) { c.DistillBuffered = true }))
}
