package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// tally counts what was done to one program on one engine.
type tally struct {
	Program     string         `json:"program"`
	Engine      string         `json:"engine"`
	Rounds      int            `json:"rounds"`
	Differences int            `json:"differences"` // rounds at whose end something was lost
	Seconds     float64        `json:"seconds"`
	Counts      map[string]int `json:"counts"`
}

func (t *tally) add(other tally) {
	t.Rounds += other.Rounds
	t.Differences += other.Differences
	t.Seconds += other.Seconds
	for name, n := range other.Counts {
		t.Counts[name] += n
	}
}

func (t *tally) String() string {
	var names []string
	for name := range t.Counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", t.Counts[name], name)
	}
	return fmt.Sprintf("%d rounds in %v on engine %s, nothing lost: %s", t.Rounds,
		time.Duration(t.Seconds*float64(time.Second)).Round(time.Second), t.Engine, strings.Join(names, ", "))
}

// programOf names a program by its commit or, where its tree was changed or it has none, by its content.
func programOf(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if commit := set["vcs.revision"]; commit != "" && set["vcs.modified"] == "false" {
		return "commit " + commit[:min(12, len(commit))], nil
	}
	sum, err := file.SHA256(path)
	return "SHA-256 " + sum[:min(12, len(sum))], err
}

// keep adds a round to the tally of its program and engine in a file. Several processes may do so.
func keep(path string, one tally) (err error) {
	lock, err := file.Acquire(context.Background(), path)
	if err != nil {
		return err
	}
	defer lock.Release()
	var all []tally
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(content, &all); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	i := slices.IndexFunc(all, func(t tally) bool { return t.Program == one.Program && t.Engine == one.Engine })
	if i < 0 {
		i = len(all)
		all = append(all, tally{Program: one.Program, Engine: one.Engine, Counts: map[string]int{}})
	}
	all[i].add(one)
	if content, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return file.Write(path, append(content, '\n'))
}
