package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// outcome is what a run comes to, whatever happens to it on the way.
type outcome struct {
	scores []continual.Score
	losses [][]continual.Term // the first and the last of each task
	lines  int                // of metrics.jsonl
	files  []string
}

// outcomeOf reads the folder of a finished run.
func outcomeOf(dir string) (*outcome, error) {
	r, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
	if err != nil {
		return nil, err
	}
	o := &outcome{scores: r.Scores}
	for _, task := range r.Tasks {
		o.losses = append(o.losses, task.FirstLoss, task.LastLoss)
	}
	metrics, err := os.Open(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = metrics.Close() }() // only read
	for lines := bufio.NewScanner(metrics); lines.Scan(); o.lines++ {
		if !json.Valid(lines.Bytes()) {
			return nil, fmt.Errorf("%s: line %d is broken: %.80s", metrics.Name(), o.lines+1, lines.Text())
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "events.out.tfevents") || name == "log.txt" || name == "run.lock" {
			continue // one for each process; of a sweep; a lock that no process holds any more
		}
		o.files = append(o.files, name)
	}
	return o, nil
}

// is compares the run in a folder with one that was left alone.
func (o *outcome) is(dir string) error {
	got, err := outcomeOf(dir)
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(o.scores, got.scores):
		return fmt.Errorf("%s: the scores differ", dir)
	case !reflect.DeepEqual(o.losses, got.losses):
		return fmt.Errorf("%s: the losses differ", dir)
	case o.lines != got.lines:
		return fmt.Errorf("%s: metrics.jsonl has %d lines, want %d", dir, got.lines, o.lines)
	case !slices.Equal(o.files, got.files):
		return fmt.Errorf("%s: the files are %v, want %v", dir, got.files, o.files)
	}
	return nil
}
