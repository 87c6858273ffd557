package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// lastLine keeps the last line that is written to it, and tells of each that ends.
type lastLine struct {
	tell  func(line string)
	part  []byte
	last  string
	crash string // the first line of Go's report of a crash, which is long
}

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
	l.last = text
	if strings.HasPrefix(text, "fatal error: ") || strings.HasPrefix(text, "panic: ") {
		l.crash = cmp.Or(l.crash, text)
	}
	return text
}

// reason says in a line why a process failed. A process that another one killed had no last word: the last line of its
// log is about something else.
func (l *lastLine) reason(err error) string {
	l.keep(l.part) // a last word may lack an end of line
	var exit *exec.ExitError
	switch {
	case l.crash != "":
		return l.crash
	case errors.As(err, &exit) && !exit.Exited():
		return fmt.Sprintf("the process was ended (%v), as a system does that runs out of memory: saot sweep "+
			"--retry-failed continues the run at its last finished task", err)
	case l.last == "":
		return err.Error()
	}
	return l.last
}
