package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// settleMethod records the method's settings: SAOT's and its controls', or those of a method that SAOT is compared with.
func (o *runOptions) settleMethod(flags *pflag.FlagSet, r *record) error {
	if !r.Method.Compared() {
		if len(o.set) > 0 || flags.Changed("preset") {
			return usagef("--set and --preset are for the methods that SAOT is compared with, not for %s: its settings are flags", r.Method)
		}
		r.Learner = defaultsFor(r.Dataset)
		if err := overlay(flags, &r.Learner); err != nil {
			return usageError{err}
		}
		r.Learner = r.Method.Settings(r.Learner)
		return nil
	}
	r.Preset = o.preset.String()
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
	data, err := json.Marshal(s)
	r.Compared = data
	return err
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

// run takes a method through a stream.
type runner func(ctx context.Context, stream *datasets.Stream, opt continual.Options) (*continual.Result, error)

// runner makes the learner of the settings.
func (r *record) runner(e *engine.Engine, stream *datasets.Stream) (runner, error) {
	features, sizes := stream.Tasks[0].Graph.Features.Cols, saot.SizesOf(stream)
	if !r.Method.Compared() {
		l, err := baseline.New(r.Method, e, r.Learner, features, sizes, r.Seed)
		return runnerOf(l), err
	}
	s := r.Method.Defaults(r.Dataset, baseline.PaperPreset)
	if err := json.Unmarshal(r.Compared, s); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", r.Method, err)
	}
	b := baseline.Build{Engine: e, Settings: s, Seed: r.Seed,
		Stream: baseline.Stream{Dataset: r.Dataset, Features: features, Classes: stream.NumClasses, Sizes: sizes}}
	if !r.Method.Supervised() {
		l, err := baseline.NewCompared(r.Method, b)
		return runnerOf(l), err
	}
	l, err := baseline.NewSupervised(r.Method, b)
	return func(ctx context.Context, st *datasets.Stream, opt continual.Options) (*continual.Result, error) {
		return continual.RunSupervised(ctx, st, l, opt)
	}, err
}

func runnerOf(l continual.Learner) runner {
	return func(ctx context.Context, stream *datasets.Stream, opt continual.Options) (*continual.Result, error) {
		return continual.Run(ctx, stream, l, opt)
	}
}
