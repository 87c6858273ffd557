package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a saot at work.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	done   chan struct{}
	struck bool // by a signal
}

func (t *torturer) start(args ...string) (*process, error) {
	return t.launch(exec.Command(t.saot, args...))
}

// crashed returns an error if a process of the round ended by itself in another way than by success or an error.
func (t *torturer) crashed() error {
	for _, p := range t.started {
		if status := p.end(); !p.struck && status != 0 && status != 1 {
			return fmt.Errorf("%s: exit status %d: %s", p.cmd, status, p.said())
		}
	}
	return nil
}

// launch starts a process of the round, which fails if the process crashes without having been struck.
func (t *torturer) launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	t.started = append(t.started, p)
	go func() {
		_ = p.cmd.Wait() // the exit status tells
		close(p.done)
	}()
	return p, nil
}

// end waits for the process and returns its exit status.
func (p *process) end() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// said is the last line that the process wrote.
func (p *process) said() string {
	lines := strings.Split(strings.TrimSpace(p.output.String()), "\n")
	return lines[len(lines)-1]
}

// must runs saot, which is to succeed.
func (t *torturer) must(args ...string) error {
	p, err := t.start(args...)
	if err != nil {
		return err
	}
	if status := p.end(); status != 0 {
		return fmt.Errorf("saot %s: exit status %d: %s", strings.Join(args, " "), status, p.said())
	}
	return nil
}

// killShare is how many of all signals are SIGKILL, which a process cannot see.
const killShare = 0.7

// signals are the others that end a process.
var signals = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

func (t *torturer) signal() syscall.Signal {
	if t.rng.Float64() < killShare {
		return syscall.SIGKILL
	}
	return pick(t.rng, signals)
}

// strike sends a process a signal at a random moment within the given time, and waits for its end. It counts the
// signals that found the process alive.
func (t *torturer) strike(p *process, within time.Duration) {
	select {
	case <-p.done:
		t.count["ends before the signal"]++
		return
	case <-time.After(time.Duration(t.rng.Float64() * float64(within))):
	}
	s := t.signal()
	if p.cmd.Process.Signal(s) == nil {
		p.struck = true
		t.count[fmt.Sprintf("signals (%v)", s)]++
	}
	p.end()
}

// await returns when a file is there or the process has ended.
func (p *process) await(path string) {
	for !exists(path) {
		select {
		case <-p.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

// limited runs saot with a bound on the length of each file that it writes, in units of 512 bytes.
func (t *torturer) limited(units int, args ...string) (*process, error) {
	script := fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, units)
	return t.launch(exec.Command("sh", append([]string{"-c", script, t.saot}, args...)...))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
