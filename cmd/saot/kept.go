package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

// keptOptions says where the data of a finished run are, and what computes on them.
type keptOptions struct{ data, split, engine string }

func (o *keptOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", "", "folder of the datasets' files; default: the run's, or $SAOT_DATA if they moved")
	f.StringVar(&o.split, "split", "", "file that the split is read from; default: the run's")
	f.StringVar(&o.engine, "engine", "", "engine to compute on, as saot engines names it; default: the run's")
}

// read returns a finished run, as the flags change it, and its result.
func (o *keptOptions) read(dir string) (*experiment.Run, *continual.Result, error) {
	result, err := finishedRun(dir)
	if err != nil {
		return nil, nil, err
	}
	if !exists(filepath.Join(dir, experiment.ConfigFile)) {
		return nil, nil, fmt.Errorf("%s has no %s, as unpacked results have none: name the folder of a run that "+
			"saot run or saot sweep made with --keep-model", dir, experiment.ConfigFile)
	}
	r, err := experiment.ReadRun(dir)
	if err != nil {
		return nil, nil, err
	}
	r.Data, r.Split = cmp.Or(o.data, r.Data), cmp.Or(o.split, r.Split)
	r.Engine = cmp.Or(r.Engine, result.Engine.Name) // a run may have taken the fastest, which is not named
	if o.engine != "" {
		r.Engine = o.engine
	} else if err := refusePlugin(dir, r.Engine); err != nil {
		return nil, nil, err
	}
	return r, result, nil
}

// mistyped reports whether an error comes from --engine.
func (o *keptOptions) mistyped(err error) bool {
	return errors.Is(err, engine.ErrUnknown) && o.engine != ""
}

// locate is open, which finds data that have moved unless --data says where they are.
func locate[T any](o *keptOptions, open opener[T]) opener[T] {
	if o.data == "" {
		return asRecorded(open)
	}
	return open
}

// newKept opens the engine of a run and makes a learner for what the run kept. It takes no step that could be split.
func newKept(r *experiment.Run, s *stream) (*engine.Engine, continual.Method, error) {
	e, err := engine.Open(r.Engine)
	if err != nil {
		return nil, nil, err
	}
	if err = fits(r, s, e); err == nil {
		var l continual.Method
		if l, err = r.NewLearner(e, s); err == nil {
			return e, l, nil
		}
	}
	e.Close()
	return nil, nil, fmt.Errorf("load what the run kept: %w", err)
}
