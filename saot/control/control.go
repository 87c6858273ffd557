// Package control holds what every figure is read against: methods that take no training step and see no label. They
// range from class frequencies alone over raw and propagated features to SAOT's encoder before training. It imports
// package saot, whose settings, encoder and buffer they share, and what methods rest on.
package control

import (
	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// define returns a control that reads some of SAOT's settings. It takes all of them, so that one spec entry runs both.
// All controls but propagated-hellinger, which has settings of its own, are so defined.
func define(order int, name, summary string, reads []string, fresh func(b method.Build, c *saot.Config) (
	continual.Method, error)) method.Definition {
	return method.Definition{Name: name, Summary: "control: " + summary, Kind: method.Control, Order: order,
		Defaults: func(recipe datasets.Recipe, p method.Preset) method.Settings {
			c := saot.ConfigFor(recipe, p)
			return &c
		},
		Reads: append([]string{}, reads...), // not nil, which is all of them
		Load:  noLoad,
		New:   func(b method.Build) (continual.Method, error) { return fresh(b, b.Settings.(*saot.Config)) },
	}
}

// noLoad is the load of what takes no training step.
func noLoad(method.Settings) method.Load { return method.Load{} }
