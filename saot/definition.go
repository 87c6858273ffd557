package saot

import (
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// ConfigFor returns the settings of a preset for datasets of a recipe. On the generated stream, the widths, M and the
// buffer are smaller than in DefaultConfig. The paper preset has what the paper states for its four streams (§5.3,
// §5.6): encoder, buffer, α and β. All other settings keep their defaults.
func ConfigFor(recipe datasets.Recipe, p method.Preset) Config {
	c := DefaultConfig()
	if recipe == datasets.RecipeSynthetic {
		c.Encoder.Hidden, c.Encoder.Out = 256, 128
		c.Points = 80
		c.Buffer = 50
	}
	if p != method.Paper {
		return c
	}
	switch recipe {
	case datasets.RecipeCoraFull:
		c.Beta = 0.6
	case datasets.RecipeArxiv, datasets.RecipeArxivStandIn, datasets.RecipeProducts:
		c.Buffer = 800
	case datasets.RecipeReddit:
		c.Encoder = encoder.DefaultGAT()
		c.Buffer, c.Alpha, c.Beta = 800, 0, 0.5
	}
	return c
}

func init() {
	for order, d := range []method.Definition{
		variant(func(*Config) {}, "saot", "SAOT", "self-supervised continual graph learning by optimal transport"),
		ignoring(variant(func(c *Config) { c.Distillation = DistillNone },
			"saot-no-distill", "w/o Cross-task Distill.", "saot without a teacher (Table 4)"), "beta"),
		variant(func(c *Config) { c.Distillation = DistillCosine },
			"saot-cosine", "w/ Cosine", "saot with cosine distillation of each node instead of plans (Table 4)"),
		variant(func(c *Config) { c.Distillation = DistillMSE },
			"saot-mse", "w/ MSE", "saot with squared-error distillation of each node instead of plans (Table 4)"),
		ignoring(variant(func(c *Config) { c.Objective = BarlowTwins },
			"saot-barlow", "w/o Optimal Transport", "Graph Barlow Twins with saot's replay (Table 4)"),
			"point_choice", "feature_cost", "divergence", "scaling", "alpha", "centered", "distillation", "beta"),
		ignoring(structured(variant(func(c *Config) {
			if c.Encoder.Kind == encoder.GAT {
				c.Encoder = encoder.DefaultConfig()
			}
			c.Encoder.Kind, c.Encoder.Layers, c.Encoder.Heads = encoder.Linear, 0, 0
			c.FeatureCost, c.Centered, c.Distillation = PropagatedFeatures, true, DistillNone
		}, "saot-l", "",
			"saot with a linear encoder, costs of propagated features, a centered structure loss (not in the paper)")),
			"encoder.hidden", "encoder.layers", "encoder.heads", "encoder.momentum", "beta"),
	} {
		d.Order = order
		method.Register(d)
	}
}

func variant(fix func(c *Config), name, paper, summary string) method.Definition {
	return method.Definition{Name: name, Paper: paper, Summary: summary, Kind: method.Ours, Splits: true,
		Defaults: func(recipe datasets.Recipe, p method.Preset) method.Settings {
			c := ConfigFor(recipe, p)
			fix(&c)
			return &c
		},
		Fix:  func(s method.Settings) { fix(s.(*Config)) },
		Load: func(s method.Settings) method.Load { return s.(*Config).load() },
		New: func(b method.Build) (continual.Method, error) {
			c := *b.Settings.(*Config)
			fix(&c)
			return New(b.Engine, c, b.Stream.Features, b.Stream.Sizes, b.Seed)
		},
	}
}

// load is the work of a task. A linear encoder has no hidden layer. The layers of a GAT count with all heads.
func (c *Config) load() method.Load {
	l := method.Load{Epochs: c.Epochs, Hidden: c.Encoder.Hidden, Out: c.Encoder.Out, WholeGraph: c.Encoder.WholeGraph,
		Batch: c.Points, Halved: c.DistillBuffered, Spread: c.Encoder.Spread(), Replayed: c.Buffer,
		Width: c.Encoder.Out}
	if c.Encoder.Kind == encoder.Linear {
		l.Hidden = l.Out
	}
	if c.Encoder.Kind == encoder.GAT {
		l.Hidden, l.Out = c.Encoder.GATWidths()
	}
	return l
}

// structured keeps the structure loss on by default, which the paper leaves out on Reddit.
func structured(d method.Definition) method.Definition {
	defaults := d.Defaults
	d.Defaults = func(recipe datasets.Recipe, p method.Preset) method.Settings {
		c := defaults(recipe, p).(*Config)
		c.Alpha = DefaultConfig().Alpha
		return c
	}
	return d
}

// ignoring names the settings that a variant does not read. The variant accepts them too, so that one spec entry runs
// all variants. saot-barlow reads the settings of its plans too, because a recording shows plans.
func ignoring(d method.Definition, unread ...string) method.Definition {
	for _, f := range fields.All(&Config{}) {
		if !slices.Contains(unread, f.Path) {
			d.Reads = append(d.Reads, f.Path)
		}
	}
	return d
}
