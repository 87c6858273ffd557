package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

type stream = datasets.Stream

type logMode int

const (
	logProgress logMode = iota // a progress bar on a terminal, and a line that names the engine
	logText                    // slog's text lines
	logJSON                    // slog's JSON lines
)

var logModes = enum.Of[logMode]("log", "progress", "text", "json")

func (m logMode) String() string                   { return logModes.Name(m) }
func (m *logMode) UnmarshalText(text []byte) error { return logModes.Unmarshal(m, text) }

type show struct {
	out      io.Writer
	terminal bool
	log      *slog.Logger
	steps    int // of the bar for a task's training
	bar      *progressbar.ProgressBar
	reached  int    // by the bar
	line     string // of the bar: the last training step
}

func newShow(out io.Writer, mode logMode, r *experiment.Run) (*show, error) {
	s := &show{out: out}
	d, err := r.Definition()
	if err != nil {
		return nil, err
	}
	if d.Trains() && !r.External {
		s.steps = 100 // a percent each: how many steps a task takes is the learner's affair
	}
	switch mode {
	case logText:
		s.log = slog.New(slog.NewTextHandler(out, nil))
	case logJSON:
		s.log = slog.New(slog.NewJSONHandler(out, nil))
	default:
		s.terminal, s.log = isTerminal(out), slog.New(warnings{s})
	}
	return s, nil
}

// warnings is a handler that prints only warnings, as commands do: "warning: message, name value".
type warnings struct{ show *show }

func (w warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler           { return w }
func (w warnings) WithGroup(string) slog.Handler                { return w }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(", %s %v", a.Key, a.Value)
		return true
	})
	w.show.stop()
	w.show.say("warning: %s\n", text)
	return nil
}

// start says what computes and what was repaired or dropped in the data.
func (s *show) start(st *stream, info engine.Info) {
	if s.log.Enabled(nil, slog.LevelInfo) { //nolint:staticcheck // no context is needed to ask
		s.log.Info("engine", "name", info.Name, "version", info.Version, "device", info.Device, "reason", info.Reason)
		for _, note := range st.Notes {
			s.log.Info("dataset", "name", st.Dataset, "note", note)
		}
		return
	}
	s.say("engine: %s\n", info)
	if !s.terminal {
		return
	}
	s.say("dataset: %s, %d tasks, %d classes\n", st.Dataset, len(st.Tasks), st.NumClasses)
	for _, note := range st.Notes {
		s.say("dataset: %s\n", note)
	}
	s.bar = newBar(s.out, len(st.Tasks)*(s.steps+1))
}

// isTerminal reports whether what is written can be written over.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && takesEscapes(f)
}

// patience is how long a command may take to begin before it says why.
const patience = 3 * time.Second

// waiting says on a terminal what a command waits for, unless the function that it returns is called before long.
func waiting(out io.Writer, what string) (done func()) {
	if !isTerminal(out) {
		return func() {}
	}
	say := time.AfterFunc(patience, func() { _, _ = fmt.Fprintf(out, "%s …\n", what) })
	return func() { say.Stop() }
}

func newBar(out io.Writer, parts int) *progressbar.ProgressBar {
	return progressbar.NewOptions(parts, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(16),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetRenderBlankState(true))
}

// observe moves the progress bar. A task counts for its training steps and one more, its evaluation.
func (s *show) observe(event continual.Event) {
	if s.bar == nil {
		return
	}
	switch e := event.(type) {
	case continual.Resumed:
		s.at(e.Done*(s.steps+1), fmt.Sprintf("%d of %d tasks were done", e.Done, e.Tasks))
	case continual.StepEvent:
		s.line = stepLine(e)
		s.at(e.Task*(s.steps+1)+s.steps*e.Done/e.Steps, s.line)
	case continual.EvaluationStarted:
		s.at((e.Task+1)*(s.steps+1)-1, fmt.Sprintf("task %d/%d: scoring %d tasks", e.Task+1, e.Tasks, e.Task+1))
	case continual.EvaluationFinished:
		s.at((e.Task+1)*(s.steps+1), s.line)
	}
}

// stepLine is, for example, "task 2/9 step 12/30, marginal error 2e-08, total 0.412 matching 0.2".
func stepLine(e continual.StepEvent) string {
	line := fmt.Sprintf("task %d/%d step %d/%d, marginal error %.0e,",
		e.Task+1, e.Tasks, e.Done, e.Steps, e.MarginalError)
	for _, t := range e.Terms {
		line += fmt.Sprintf(" %s %.3g", t.Name, t.Value)
	}
	return line
}

// barWidth is the room that the progress bar takes before its description.
const barWidth = 45

func clip(line string, out io.Writer) string {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			letters := []rune(line)
			line = string(letters[:min(len(letters), max(0, width-barWidth))])
		}
	}
	return line
}

func (s *show) at(step int, line string) {
	s.bar.Describe(clip(line, s.out))
	s.reached = max(s.reached, step) // a method of several passes counts the steps of each
	_ = s.bar.Set(s.reached)         // a picture that cannot be drawn does not matter
}

func (s *show) stop() {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
}

func (s *show) result(r *continual.Result, dir string) {
	for _, score := range r.Scores {
		s.log.Info("result", "setting", score.Setting, "probe", score.Probe, "ap", score.AP, "af", score.AF)
	}
	s.log.Info("finished", "seconds", r.Seconds, "dir", dir)
}

// warn tells of what went wrong without an effect on the result.
func (s *show) warn(err error) { s.log.Warn(err.Error()) }

func (s *show) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }
