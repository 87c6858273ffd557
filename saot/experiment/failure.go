package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// steadyLog writes a log and never fails. If it failed on a full disk, nobody would read the process's pipe, and the
// process would die.
type steadyLog struct {
	file *os.File
	err  error // the first one
}

func (l *steadyLog) Write(p []byte) (int, error) {
	_, err := l.file.Write(p)
	l.err = cmp.Or(l.err, err)
	return len(p), nil
}

// lack says in brackets why the log is not whole.
func (l *steadyLog) lack() string {
	if l.err == nil {
		return ""
	}
	return fmt.Sprintf(" (its log is not whole: %v)", l.err)
}

// lastLine keeps the last line that is written to it, and tells of each that ends.
type lastLine struct {
	tell  func(line string)
	part  []byte
	last  string
	fatal string // the line by which XLA says why it aborts, before a trace of its own
	crash string // the first line of Go's report of a crash, which is long
}

var (
	fatalLine  = regexp.MustCompile(`^F\d{4} `)     // as absl logs: F0000 00:00:00.000000 1 file.cc:1] Check failed
	signalLine = regexp.MustCompile(`^SIG[A-Z]+: `) // as Go reports a signal to code that is not Go's
)

const longestLine = 1 << 16 // bytes; of a longer line the end is kept

func (l *lastLine) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	for {
		line, rest, found := bytes.Cut(l.part, []byte("\n"))
		if !found {
			l.part = l.part[max(0, len(l.part)-longestLine):]
			return len(p), nil
		}
		l.part = rest
		if text := l.keep(line); text != "" {
			l.tell(text)
		}
	}
}

// keep takes a line up as the last, unless it is empty, and returns its text.
func (l *lastLine) keep(line []byte) string {
	text := strings.TrimSpace(string(line))
	if text == "" {
		return ""
	}
	switch before := cmp.Or(l.fatal, l.last); {
	case strings.HasPrefix(text, "fatal error: ") || strings.HasPrefix(text, "panic: "):
		l.crash = cmp.Or(l.crash, text)
	case signalLine.MatchString(text) && before != "":
		l.crash = cmp.Or(l.crash, text+", after: "+before)
	case signalLine.MatchString(text):
		l.crash = cmp.Or(l.crash, text)
	case fatalLine.MatchString(text):
		l.fatal = cmp.Or(l.fatal, text)
	}
	l.last = text
	return text
}

// reason says in a line why a process failed. A process that a signal ended had no last word: the last line of its log
// is about something else.
func (l *lastLine) reason(err error) string {
	l.keep(l.part) // a last word may lack an end of line
	signal := signalOf(err)
	switch {
	case l.crash != "":
		return l.crash
	case signal == syscall.SIGKILL:
		return fmt.Sprintf("the process was ended (%v), as happens when a system runs out of memory: saot sweep "+
			"--retry-failed continues the run after its last finished task", err)
	case signal > 0:
		return fmt.Sprintf("the process was ended by a signal (%v): see %s", signal, LogFile)
	case l.last == "":
		return err.Error()
	}
	return l.last
}

// signalOf is the signal that ended a process, or 0.
func signalOf(err error) syscall.Signal {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Exited() {
		return 0
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	return status.Signal()
}
