// Command torture kills saot, again and again, and checks that nothing is lost. It does small runs, sweeps and imports,
// kills their processes at random moments by random signals, starts two of them in one folder, takes their disk space
// away and damages their checkpoints, lets each come to its end, and compares it to the last bit with one that was left
// alone.
//
//	go build -o saot ./cmd/saot
//	go run ./bench/torture -saot ./saot -engine go -for 1h
//
// It continues until the time is up, the rounds are done or it gets a signal, and prints how many processes it killed.
// At the first difference it stops with exit status 1 and leaves the folder as it is.
package main

import (
	"context"
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
	flag.StringVar(&o.dir, "dir", "", "where the work is done; default a temporary folder, removed if all is well")
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
	saot, engine, disk, dir string
	time                    time.Duration
	rounds                  int
	seed                    uint64
}

// run does rounds until it is told to stop, and prints what came of them.
func run(ctx context.Context, o options, out *os.File) (err error) {
	if o.saot == "" {
		return fmt.Errorf("name the program with -saot: go build -o saot ./cmd/saot makes it")
	}
	if o.saot, err = filepath.Abs(o.saot); err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "saot-torture-*"); err != nil {
			return err
		}
	}
	if o.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.time)
		defer cancel()
	}
	t := &torturer{options: o, rng: rand.New(rand.NewPCG(o.seed, 0)), count: map[string]int{}}
	if err := t.prepare(); err != nil {
		return err
	}
	kinds := t.kinds()
	start := time.Now()
	n := 0
	for ; ctx.Err() == nil && (o.rounds == 0 || n < o.rounds); n++ {
		kind := kinds[n%len(kinds)]
		t.round = filepath.Join(o.dir, fmt.Sprintf("round-%d-%s", n, kind.name))
		if err := kind.do(); err != nil {
			return fmt.Errorf("round %d (%s), seed %d: %w; see %s", n, kind.name, o.seed, err, t.round)
		}
		t.count["rounds of "+kind.name]++
		if err := os.RemoveAll(t.round); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(out, "%d rounds in %v on engine %s, nothing lost: %s\n", n, time.Since(start).Round(time.Second),
		o.engine, t.summary())
	return os.RemoveAll(o.dir)
}

// torturer does the rounds.
type torturer struct {
	options
	rng   *rand.Rand
	count map[string]int
	round string // folder of the current round

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

func (t *torturer) kinds() []kind {
	all := []kind{{"kills", t.kills}, {"runs together", t.together}, {"sweeps", t.sweeps}, {"imports", t.imports},
		{"small files", t.smallFiles}, {"damage", t.damage}}
	if t.disk != "" {
		all = append(all, kind{"full disks", t.fullDisk})
	}
	return all
}

func (t *torturer) summary() string {
	var words []string
	for name, n := range t.count {
		words = append(words, fmt.Sprintf("%d %s", n, name))
	}
	slices.SortFunc(words, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return strings.Join(words, ", ")
}
