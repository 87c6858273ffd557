package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A round of each kind, on a fresh build.
func TestRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the command and kills its processes")
	}
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a process on windows")
	}
	binary := filepath.Join(t.TempDir(), "saot")
	text, err := exec.Command("go", "build", "-o", binary, "../../cmd/saot").CombinedOutput()
	require.NoError(t, err, string(text))
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	o := options{saot: binary, engine: "go", rounds: 6, seed: 1, dir: filepath.Join(t.TempDir(), "work"),
		counts: filepath.Join(t.TempDir(), "counts.json")}
	mine := filepath.Join(o.dir, "mine")
	require.NoError(t, os.Mkdir(o.dir, 0o755))
	require.NoError(t, os.WriteFile(mine, nil, 0o600))
	require.NoError(t, run(t.Context(), o, out))
	summary, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Contains(t, string(summary), "6 rounds in ")
	require.Contains(t, string(summary), "1 rounds of sweeps")
	left, err := os.ReadDir(o.dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "only what was not the command's")
	require.FileExists(t, mine)
	kept := readTallies(t, o.counts)
	require.Len(t, kept, 1)
	require.Equal(t, 6, kept[0].Rounds)
	require.Zero(t, kept[0].Differences)
	require.Equal(t, 1, kept[0].Counts["rounds of sweeps"])
	signals := 0
	for what, count := range kept[0].Counts {
		if strings.HasPrefix(what, "signals (") {
			signals += count
		}
	}
	require.Positive(t, signals)
	require.Positive(t, kept[0].Seconds)
}

func readTallies(t *testing.T, path string) (all []tally) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &all))
	return all
}

// Counts of several calls add up for a program on an engine, and are kept apart from those of others.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	one := tally{Program: "commit 1", Engine: "go", Rounds: 1, Seconds: 2,
		Counts: map[string]int{"signals (killed)": 3}}
	require.NoError(t, keep(path, one))
	other := one
	other.Engine = "xla:cpu"
	require.NoError(t, keep(path, other))
	other = one
	other.Program, other.Differences = "commit 2", 1
	require.NoError(t, keep(path, other))
	require.NoError(t, keep(path, one))
	all := readTallies(t, path)
	require.Len(t, all, 3)
	require.Equal(t, tally{Program: "commit 1", Engine: "go", Rounds: 2, Seconds: 4,
		Counts: map[string]int{"signals (killed)": 6}}, all[0])
	require.Equal(t, 1, all[2].Differences)
	require.NoError(t, os.WriteFile(path, []byte("[{"), 0o600))
	require.ErrorContains(t, keep(path, one), "counts.json: unexpected end")
}

// Two builds without a commit are two programs.
func TestProgramOf(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	name, err := programOf(self)
	require.NoError(t, err)
	require.Regexp(t, `^(commit|SHA-256) [0-9a-f]{12}$`, name)
	_, err = programOf("main_test.go")
	require.Error(t, err)
}

func TestKinds(t *testing.T) {
	sut := &torturer{options: options{only: "kills,imports"}}
	chosen, err := sut.kinds()
	require.NoError(t, err)
	require.Equal(t, []string{"kills", "imports"}, []string{chosen[0].name, chosen[1].name})
	sut.only = "kills,full disks"
	_, err = sut.kinds()
	require.ErrorContains(t, err, "-only full disks: choose from kills, runs together, ")
	sut.disk = t.TempDir()
	_, err = sut.kinds()
	require.NoError(t, err)
}

// A process that dies without a signal of ours fails its round; an error does not.
func TestCrashed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh on windows")
	}
	for status, crashed := range map[string]bool{"0": false, "1": false, "2": true} {
		for _, struck := range []bool{false, true} {
			sut := &torturer{options: options{saot: "sh", dir: t.TempDir()}}
			_, err := sut.do(0, kind{"", func() error {
				p, err := sut.start("-c", "echo said; exit "+status)
				if err == nil {
					p.struck = struck
				}
				return err
			}})
			if crashed && !struck {
				require.ErrorContains(t, err, "exit status 2: said")
			} else {
				require.NoError(t, err)
			}
		}
	}
}

// Most signals are those that a process cannot see.
func TestSignals(t *testing.T) {
	sut := &torturer{rng: rand.New(rand.NewPCG(1, 0))}
	drawn := map[syscall.Signal]int{}
	for range 1000 {
		drawn[sut.signal()]++
	}
	require.InDelta(t, 1000*killShare, drawn[syscall.SIGKILL], 50)
	require.Len(t, drawn, 1+len(signals))
}

// A run that is not what was left alone is found.
func TestOutcomeDiffers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("result.json", `{"schema": 1, "scores": [{"setting": "class-il", "probe": "converged", "ap": 1, "matrix": [[1]]}]}`)
	write("metrics.jsonl", "{}\n{}\n")
	want, err := outcomeOf(dir)
	require.NoError(t, err)
	require.NoError(t, want.is(dir))
	write("metrics.jsonl", "{}\n")
	require.ErrorContains(t, want.is(dir), "1 lines, want 2")
	write("metrics.jsonl", "{}\n{")
	require.ErrorContains(t, want.is(dir), "line 2 is broken")
	write("metrics.jsonl", "{}\n{}\n")
	write(".left-1", "")
	require.ErrorContains(t, want.is(dir), "the files are")
	write("result.json", `{"schema": 1, "scores": [{"setting": "class-il", "probe": "converged", "ap": 1, "matrix": [[2]]}]}`)
	require.ErrorContains(t, want.is(dir), "the scores differ")
}
