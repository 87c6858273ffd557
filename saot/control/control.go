// Package control has the controls, with which every figure is compared: methods that take no training step and see no
// label. They range from class frequencies alone, through raw and propagated features, to SAOT's encoder before
// training. It imports package saot, whose settings, encoder and buffer they share, and packages on which methods are
// built.
package control

import (
	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// define returns a control that reads some of SAOT's settings. It takes all of them, so that one spec entry runs both.
// All controls are defined this way, except propagated-hellinger, which has its own settings.
func define(order int, name, summary string, reads []string, fresh func(b method.Build, c *saot.Config) (
	continual.Method, error)) method.Definition {
	return method.Definition{Name: name, Summary: "control: " + summary, Kind: method.Control, Order: order,
		Defaults: func(recipe datasets.Recipe, p method.Preset) method.Settings {
			c := saot.ConfigFor(recipe, p)
			return &c
		},
		Reads: append([]string{}, reads...), // not nil, which is all of them
		Load:  func(s method.Settings) method.Load { return method.Load{Width: s.(*saot.Config).Encoder.Out} },
		New:   func(b method.Build) (continual.Method, error) { return fresh(b, b.Settings.(*saot.Config)) },
	}
}

// loading gives a control another load than that of embeddings as wide as SAOT's, which take no time.
func loading(d method.Definition, load func(c *saot.Config) method.Load) method.Definition {
	d.Load = func(s method.Settings) method.Load { return load(s.(*saot.Config)) }
	return d
}

// asWide is the load of embeddings that have a column for each feature.
func asWide(*saot.Config) method.Load { return method.Load{Width: method.AllColumns} }
