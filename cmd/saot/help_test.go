package main

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/method"
)

// walk calls each for every command that help lists.
func walk(cmd *cobra.Command, each func(*cobra.Command)) {
	each(cmd)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" { // cobra's own
			walk(c, each)
		}
	}
}

// No line of help is wider than its columns, with every flag or without; every command has a group and a short line.
func TestHelpFits(t *testing.T) {
	root := newRootCommand(io.Discard, io.Discard)
	walk(root, func(c *cobra.Command) {
		for _, all := range []bool{false, true} {
			for line := range strings.Lines(helpText(c, widest, paint{}, all)) {
				require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), widest, c.CommandPath()+": "+line)
			}
		}
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotContains(t, c.Short, "\n")
	})
	for _, c := range root.Commands() {
		require.NotEmpty(t, c.GroupID, "%s stands in no group", c.Name())
	}
	for line := range strings.Lines(helpText(root, 60, paint{}, false)) {
		if !strings.HasPrefix(line, "  saot ") { // examples are not broken
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 60, line)
		}
	}
}

// Help of a run shows ten flags; the rest stand in the sections that the settings have, none in a rest.
func TestHelpOfARun(t *testing.T) {
	short := told(t, "run", "--help")
	require.Contains(t, short,
		"saot run --help-all lists more flags: data, split, method and training, encoder, views, "+
			"transport,\nloss, memory, probes, output.")
	require.NotContains(t, short, "--epsilon")
	require.Equal(t, 12, strings.Count(short, "\n      --")+strings.Count(short, "\n  -h, --"), short)
	full := told(t, "run", "--help-all", "--epochs", "x")
	at := 0
	for _, title := range []string{"Data:", "Split:", "Method and training:", "Encoder:", "Views:", "Transport:",
		"Loss:", "Memory:", "Probes:", "Output:", "Help:"} {
		i := strings.Index(full, "\n"+title+"\n")
		require.Greater(t, i, at, "%s stands where it should", title)
		at = i
	}
	require.NotContains(t, full, "\nFlags:\n", "every flag has a section")
	visible := 0
	runs, _, err := newRootCommand(io.Discard, io.Discard).Find([]string{"run"})
	require.NoError(t, err)
	runs.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			visible++
			require.Contains(t, full, "--"+f.Name)
		}
	})
	require.Greater(t, visible, 50)
}

// With a method, help lists its flags, each in a section, with its defaults on the dataset and for the preset.
func TestHelpOfAMethod(t *testing.T) {
	for _, d := range method.All() {
		full := told(t, "run", "--method", d.Name, "--help-all")
		flags := newRunCommand().Flags()
		own := map[string]bool{}
		for _, field := range d.Fields(d.Defaults(datasets.RecipeSynthetic, method.Default)) {
			own[settingFlag(flags, field.Path)] = true
		}
		flags.VisitAll(func(f *pflag.Flag) {
			_, isSetting := f.Value.(*setting)
			listed := strings.Contains(full, "\n      --"+f.Name+" ")
			require.Equal(t, !isSetting || own[f.Name], listed, "%s: --%s", d.Name, f.Name)
		})
		require.NotContains(t, full, "\nFlags:\n", "every flag has a section")
	}
	full := told(t, "run", "--help-all", "--method", "gbt", "--preset", "fast")
	require.Regexp(t, `--decay float +weight decay of AdamW \(default 1e-05\)`, full)
	require.Regexp(t, `--epochs int +per task: .* \(default 30\)`, full)
	full = told(t, "run", "--help-all", "--dataset", "synthetic")
	require.Regexp(t, `--points int .*\(default 80\)`, full)
	full = told(t, "run", "--help-all", "--dataset", "synthetic:400")
	require.Regexp(t, `--points int .*\(default 256\)`, full)
	full = told(t, "run", "--help-all")
	require.Regexp(t, `(?s)--points int [^-]*; 80\s+for\s+the\s+dataset\s+synthetic\s+\(default\s+256\)`, full)
}

func TestReflow(t *testing.T) {
	text := "one two three\n\n  a   first of\n  bb  second of these words\nend"
	require.Equal(t, "one two three\n\n  a   first\n      of\n  bb  second\n      of\n      these\n      words\nend",
		reflow(text, 13))
}

func TestDidYouMean(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown command "rn" for "saot" (did you mean "run"?); see saot --help`:             {"rn"},
		`unknown command "gett" for "saot data" (did you mean "get"?); see saot data --help`: {"data", "gett"},
		`unknown flag: --datset (did you mean "--dataset"?); see saot run --help`:            {"run", "--datset", "uai"},
		`unknown flag: --epsilonn (did you mean "--epsilon"?); see saot run --help`:          {"run", "--epsilonn=1"},
		`unknown dataset "coraml" (did you mean "cora-ml"?): choose`:                         {"run", "--dataset", "coraml"},
		`unknown method "soat" (did you mean "saot"?): choose one of`:                        {"methods", "soat"},
		`there is no setting "epsilom" (did you mean "epsilon"?): choose`:                    {"run", "--set", "epsilom=1"},
		`unknown direction "direct" (did you mean "directed"?): choose one of`:               {"run", "--direction", "direct"},
		`unknown command "walk" for "saot"; see saot --help`:                                 {"walk"},
		`"xyz": choose one of saot`:                                                          {"methods", "xyz"},
		`want saot status PATH, got 0 arguments; see saot status --help`:                     {"status"},
		`want saot table PATH..., got 0 arguments; see saot table --help`:                    {"table"},
		`no spec of that name comes with the program (did you mean "quick/table2"?)`:         {"sweep", "quick/tabel2"},
		`unknown dataset "corra" (did you mean "cora"?): choose`:                             {"data", "info", "corra"},
		`encoder.hiden`: {"run", "--set", "encoder.hiden=3"},
	} {
		status, _, stderr := call(t, args...)
		require.Equal(t, exitUsage, status, stderr)
		require.True(t, strings.HasPrefix(stderr, "saot: "), stderr)
		require.Contains(t, stderr, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// An error has one prefix, whichever package it comes from.
func TestOnePrefix(t *testing.T) {
	status, _, stderr := call(t, "table", t.TempDir())
	require.Equal(t, exitFailure, status)
	require.NotRegexp(t, `^saot: [a-z]+: `, stderr)
	_, _, stderr = call(t, "run", "--epsilon", "-1")
	require.NotContains(t, stderr, "saot: saot")
}

func TestVersionFlag(t *testing.T) {
	stdout := told(t, "--version")
	require.Regexp(t, `^saot \S+.*, go1\.\d+`, stdout)
}

// Colors are for terminals, and for those who want them.
func TestPaint(t *testing.T) {
	require.Equal(t, "x", paint{}.bold("x"))
	require.Equal(t, "\x1b[1mx\x1b[0m", paint{on: true}.bold("x"))
	require.Equal(t, " 98.5", plain(paint{on: true}.heat(" 98.5", 0.98)))
	require.False(t, paintFor(&strings.Builder{}).on)
	require.Equal(t, "▁▅█ ", sparkline([]float64{0, 0.5, 1, math.NaN()}, 0, 1))
}

// The shell is told the datasets, methods, engines and settings that there are.
func TestCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"cora-ml\t":       {"run", "--dataset", "cora"},
		"riegrace\t":      {"run", "--method", ""},
		"\ngo\n":          {"run", "--engine", ""},
		"\ngo,float64\n":  {"run", "--engine", "g"},
		"epsilon=\t":      {"run", "--set", "e"},
		"decay=\t":        {"run", "--method", "gbt", "--set", ""},
		"divergence=kl\n": {"run", "--set", "divergence="},
		"frobenius\n":     {"run", "--divergence", ""},
		"rowsum\n":        {"run", "--features", ""},
		"quick/table2\n":  {"sweep", "quick/"},
		"uai\t":           {"data", "get", "u"},
		"latex\n":         {"table", "--format", ""},
		"gbt\t":           {"methods", "g"},
		"kubernetes\n":    {"sweep", "--launcher", ""},
	} {
		stdout := told(t, append([]string{"__complete"}, args...)...)
		require.Contains(t, "\n"+stdout, want, "%v", args)
	}
	stdout := told(t, "completion", "bash")
	require.Contains(t, stdout, "__start_saot")
}
