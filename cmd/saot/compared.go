package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/experiment"
)

// settleMethod records the method's settings: SAOT's and its controls', or those of a method that SAOT is compared with.
func (o *runOptions) settleMethod(flags *pflag.FlagSet, r *experiment.Run) error {
	if !r.Method.Compared() {
		if len(o.set) > 0 || flags.Changed("preset") {
			return usagef("--set and --preset are for the methods that SAOT is compared with, not for %s: its settings are flags", r.Method)
		}
		r.Learner = experiment.LearnerDefaults(r.Dataset)
		if err := overlay(flags, &r.Learner); err != nil {
			return usageError{err}
		}
		r.Learner = r.Method.Settings(r.Learner)
		return nil
	}
	s := r.Method.Defaults(r.Dataset, o.preset)
	if err := refuseConfigFlags(flags, r.Method); err != nil {
		return err
	}
	for _, pair := range o.set {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usagef("--set %s: write it as name=value", pair)
		}
		if err := baseline.Set(s, name, value); err != nil {
			return usageError{err}
		}
	}
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	return r.SetCompared(s, o.preset)
}

// refuseConfigFlags returns an error if a flag of SAOT's own settings was given beside another method.
func refuseConfigFlags(given *pflag.FlagSet, m baseline.Method) (err error) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	addConfigFlags(own, new(saot.Config))
	given.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && err == nil {
			err = usagef("--%s is a setting of saot: those of %s are changed by --set name=value", f.Name, m)
		}
	})
	return err
}
