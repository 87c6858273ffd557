// Command torture kills saot, again and again, and checks that nothing is lost. It does small runs, sweeps and imports.
// It kills their processes at random moments by random signals, starts several in one folder, takes their disk space
// away and damages their checkpoints. It lets each run end and compares it with one that was left alone: scores and
// losses to the last bit, metrics.jsonl by its number of lines, files by name. An imported file must have the bytes of
// its source.
//
//	go build -o saot ./cmd/saot
//	go run ./bench/torture -saot ./saot -engine go -for 1h
//
// With -counts it adds what each round did to a file, so that the kills of several calls are counted together.
//
// It continues until the time is up, the rounds are done or it gets a signal, and prints how many processes it killed.
// At the first difference it stops with exit status 1 and leaves the folder as it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.saot, "saot", "", "the program to torture")
	flag.StringVar(&o.engine, "engine", "go", "what it computes on")
	flag.DurationVar(&o.time, "for", 0, "how long; 0 is until a signal comes")
	flag.IntVar(&o.rounds, "rounds", 0, "how many rounds; 0 is no bound")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of what is drawn")
	flag.StringVar(&o.disk, "disk", "", "folder on a small file system of its own, which is filled up; default: none")
	flag.StringVar(&o.dir, "dir", "",
		"where a folder for the work is made, which is removed if all is well; default that of temporary files")
	flag.StringVar(&o.only, "only", "", "kinds of rounds to do, with commas between; default all in turn")
	flag.StringVar(&o.counts, "counts", "", "JSON file to which each round adds its counts; default: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

type options struct {
	saot, engine, disk, dir, only, counts string
	time                                  time.Duration
	rounds                                int
	seed                                  uint64
}

// run does rounds until it is told to stop, and prints what came of them.
func run(ctx context.Context, o options, out *os.File) (err error) {
	if o.saot == "" {
		return fmt.Errorf("name the program with -saot: go build -o saot ./cmd/saot makes it")
	}
	if o.saot, err = filepath.Abs(o.saot); err != nil {
		return err
	}
	if o.dir != "" {
		err = os.MkdirAll(o.dir, 0o755)
	}
	if err == nil { // a folder of its own, which may be removed
		o.dir, err = os.MkdirTemp(o.dir, "saot-torture-*")
	}
	if err != nil {
		return err
	}
	if o.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.time)
		defer cancel()
	}
	t := &torturer{options: o, rng: rand.New(rand.NewPCG(o.seed, 0)), count: map[string]int{}}
	kinds, err := t.kinds()
	if err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	sum := tally{Engine: o.engine, Counts: map[string]int{}}
	if sum.Program, err = programOf(o.saot); err != nil {
		return err
	}
	for n := 0; ctx.Err() == nil && (o.rounds == 0 || n < o.rounds); n++ {
		one, err := t.do(n, kinds[n%len(kinds)])
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			break // Ctrl-C ended the round's processes too: it tells nothing
		}
		one.Engine, one.Program = sum.Engine, sum.Program
		sum.add(one)
		if o.counts != "" {
			err = errors.Join(err, keep(o.counts, one))
		}
		if err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(out, &sum)
	return errors.Join(os.RemoveAll(t.round), os.RemoveAll(o.dir)) // a round that was broken off may be on another disk
}

// do is one round, and what it did.
func (t *torturer) do(n int, kind kind) (tally, error) {
	t.round = filepath.Join(t.dir, fmt.Sprintf("round-%d-%s", n, kind.name))
	t.count = map[string]int{"rounds of " + kind.name: 1}
	one := tally{Rounds: 1, Counts: t.count}
	start := time.Now()
	t.started = nil
	err := kind.do()
	if err == nil {
		err = t.crashed()
	}
	one.Seconds = time.Since(start).Seconds()
	if err != nil {
		one.Differences = 1
		return one, fmt.Errorf("round %d (%s), seed %d: %w; see %s", n, kind.name, t.seed, err, t.round)
	}
	return one, os.RemoveAll(t.round)
}

// torturer does the rounds.
type torturer struct {
	options
	rng   *rand.Rand
	count map[string]int // of the current round
	round string         // its folder

	started []*process // in the round

	want      *outcome            // of a run that was left alone
	swept     map[string]*outcome // of the runs of a sweep, by name
	took      time.Duration       // of a run
	spec      string              // of the sweep
	importing imported
}

type kind struct {
	name string
	do   func() error
}

// kinds returns the kinds of rounds that are done.
func (t *torturer) kinds() ([]kind, error) {
	all := []kind{{"kills", t.kills}, {"runs together", t.together}, {"sweeps", t.sweeps}, {"imports", t.imports},
		{"small files", t.smallFiles}, {"damage", t.damage}}
	if t.disk != "" {
		all = append(all, kind{"full disks", t.fullDisk})
	}
	if t.only == "" {
		return all, nil
	}
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	var chosen []kind
	for name := range strings.SplitSeq(t.only, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("-only %s: choose from %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
