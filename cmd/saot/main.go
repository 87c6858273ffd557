// Command saot runs self-supervised continual graph learning with optimal transport: "saot run" takes a method through
// a stream of graph tasks, "saot sweep" does the many runs of a spec, "saot table", "saot figures" and "saot report"
// show the results, "saot data" fetches and describes the graphs, and "saot engines" lists the compute engines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/near"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all" // every method
)

// Exit statuses.
const (
	exitFailure     = 1
	exitUsage       = 2   // a flag or an argument is wrong
	exitInterrupted = 130 // as shells report a process ended by Ctrl-C
)

func main() {
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command and returns the exit status. An error is one line on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	err = asGroupError(err)
	status := exitStatus(ctx, err)
	if err != nil {
		line := "saot: " + oneLine(err)
		if status == exitUsage {
			line += "; see " + helpOn(err, cmd)
		}
		_, _ = fmt.Fprintln(stderr, paintFor(stderr).red(line))
	}
	return status
}

// Groups of commands, in the order of help.
const (
	runGroup    = "run"
	resultGroup = "result"
	knownGroup  = "known"
	learnGroup  = "learn"
	otherGroup  = "other"
)

func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := group("saot", "self-supervised continual graph learning with optimal transport",
		`SAOT learns one encoder from a stream of graphs without labels, by comparing optimal transport plans, and
measures what the encoder remembers.`)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.Example = `  saot demo                                    a run of a few seconds, and a page that plays it
  saot data get cora-ml                        fetch a graph
  saot run --dataset cora-ml                   train and score, into a folder under runs
  saot sweep quick/table2                      the runs of a table; --dry-run: what they take
  saot table runs/quick-table2                 the table
  saot methods                                 what else can be run`
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{runGroup, "Do runs:", []*cobra.Command{newRunCommand(), newScoreCommand(), newSweepCommand(),
			newStatusCommand(), newAuditCommand()}},
		{resultGroup, "Read results:", []*cobra.Command{newShowCommand(), newTableCommand(), newOverviewCommand(),
			newCompareCommand(), newFiguresCommand(), newReportCommand(), newTuneCommand(), newEmbedCommand(),
			newPackCommand(), newUnpackCommand(), newExportCommand()}},
		{knownGroup, "What there is:", []*cobra.Command{newMethodsCommand(), newDataCommand(), newEnginesCommand()}},
		{learnGroup, "See and learn:", []*cobra.Command{newDemoCommand(), newPlayCommand(), newSiteCommand(),
			newNotebooksCommand()}},
		{otherGroup, "This program:", []*cobra.Command{newVersionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetCompletionCommandGroupID(otherGroup)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetHelpCommandGroupID(otherGroup)
	settleBuiltIn(root)
	cobra.EnableCommandSorting = false
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Version = versionOf(debug.ReadBuildInfo())
	root.SetVersionTemplate("saot {{.Version}}\n")
	root.SetHelpFunc(showHelp)
	root.SetFlagErrorFunc(flagError)
	markUsage(root)
	addCompletions(root)
	return root
}

// group is a command that only holds others, and shows its help.
func group(use, short, long string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(children...)
	return cmd
}

// noCommand is an error if there are arguments: they are meant as a command that there is not.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), near.Hint(args[0], names))
}

// settleBuiltIn describes cobra's own commands, and makes them fail on a name that they do not know, where cobra prints
// a help.
func settleBuiltIn(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Short = "write the script by which a shell completes commands"
			c.Args, c.RunE = noCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Short = "show the help of a command"
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = noCommand(found, rest)
				}
				return err
			}
		}
	}
}

// exclusive is cobra's error about flags that exclude one another.
var exclusive = regexp.MustCompile(`^if any flags in the group .*; \[(.+)\] were all set$`)

// asGroupError makes it a usage error in words.
func asGroupError(err error) error {
	if err == nil {
		return nil
	}
	if m := exclusive.FindStringSubmatch(err.Error()); m != nil {
		return usagef("choose one of --%s", strings.Join(strings.Fields(m[1]), ", --"))
	}
	return err
}

// usageError is an error in what was typed rather than in what it led to.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// lookUp is a usage error about which another command says more than help.
type lookUp struct {
	usageError
	command string
}

func (e lookUp) Unwrap() error { return e.usageError }

// helpOn is the command that says more about a usage error of cmd.
func helpOn(err error, cmd *cobra.Command) string {
	if at, ok := errors.AsType[lookUp](err); ok {
		return at.command
	}
	return cmd.CommandPath() + " --help"
}

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func exitStatus(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailure
}

// packagePrefix is what errors of our packages begin with. It says nothing to a user, to whom all is saot.
var packagePrefix = regexp.MustCompile(`^((saot|datasets|graph|fetch|continual|record|experiment|metrics|report|` +
	`mlflow|rank|file|engine|playground|method|baseline|control|install|plotting|course|viewer|transport|symbolic|` +
	`drift|encoder|licenses|view|replay|train|sweep): )+`)

// innerPrefix is the same inside a message, without package names that are also words of messages.
var innerPrefix = regexp.MustCompile(`: ((datasets|continual|experiment|baseline|engine|metrics|mlflow): )+`)

// oneLine puts the lines of an error, which are its parts, into one, and replaces control characters.
func oneLine(err error) string {
	parts := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range parts {
		part := innerPrefix.ReplaceAllString(packagePrefix.ReplaceAllString(parts[i], ""), ": ")
		parts[i] = untrusted.Plain(part)
	}
	return strings.Join(parts, "; ")
}

func newMethodsCommand() *cobra.Command {
	dataset, preset := "", method.Default
	var p printed
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "list what saot run --method takes, or one method's settings",
		Long: `Without a name: every method, its kind, how it is scored (by probes of its embeddings, or, where it
trains on labels, by its own classifier) and what it is. With the name of a method: its settings and their defaults
for a dataset, as saot run --set changes them. The flag of a setting is its name with dashes, --encoder-hidden for
encoder.hidden; where saot run has another flag of that name, the list names the setting's.`,
		Example: `  saot methods
  saot methods gbt
  saot methods cat --dataset ogbn-arxiv --preset fast`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if f := cmd.Flags(); f.Changed("dataset") || f.Changed("preset") {
					return usagef("--dataset and --preset are for the settings of a method: name one")
				}
				return p.print(cmd.OutOrStdout(), methodsAsJSON(), listMethods)
			}
			d, err := method.Lookup(args[0])
			if err != nil {
				return usageError{err}
			}
			if dataset != "" && !datasets.IsPath(dataset) {
				if _, err := datasets.Lookup(dataset); err != nil {
					return usageError{err}
				}
			}
			s := d.Defaults(datasets.RecipeOf(dataset), preset)
			return p.print(cmd.OutOrStdout(), settingsAsJSON(d, s), func(out io.Writer) error {
				return showMethod(out, d, s)
			})
		},
	}
	cmd.Flags().StringVar(&dataset, "dataset", "", "dataset whose defaults are shown; default: those of no dataset")
	cmd.Flags().Var(text{&preset}, "preset", "default, paper or fast")
	return p.flag(cmd)
}

func listMethods(out io.Writer) error {
	t := newTable(out, 0)
	t.say("method\tkind\tscored by\twhat it is")
	for _, m := range methodsAsJSON() {
		t.say("%s\t%s\t%s\t%s", m.Name, m.Kind, m.ScoredBy, m.Summary)
	}
	return t.Flush()
}

type methodJSON struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	ScoredBy string        `json:"scored_by"`
	Summary  string        `json:"summary"`
	Settings []settingJSON `json:"settings,omitempty"`
}

type settingJSON struct {
	Name    string `json:"name"`
	Flag    string `json:"flag"` // of saot run
	Default any    `json:"default"`
	Help    string `json:"help"`
}

func methodsAsJSON() (all []methodJSON) {
	for _, d := range method.All() {
		all = append(all, methodAsJSON(&d))
	}
	return all
}

func methodAsJSON(d *method.Definition) methodJSON {
	by := "probes"
	if !d.Probed() {
		by = continual.ProbeHead.Label()
	}
	return methodJSON{Name: d.Name, Kind: d.Kind.String(), ScoredBy: by, Summary: d.Summary}
}

func settingsAsJSON(d *method.Definition, s method.Settings) methodJSON {
	m := methodAsJSON(d)
	run := newRunCommand().Flags()
	for _, f := range d.Fields(s) {
		flag := "--" + settingFlag(run, f.Path)
		m.Settings = append(m.Settings, settingJSON{f.Path, flag, f.Value.Interface(), f.Help})
	}
	return m
}

func showMethod(out io.Writer, d *method.Definition, s method.Settings) error {
	t := newTable(out, 0)
	t.say("%s: %s\n", d.Name, d.Summary)
	settings := d.Fields(s)
	if len(settings) == 0 {
		t.say("It has no settings.")
		return t.Flush()
	}
	t.say("setting\tdefault\twhat it is")
	run := newRunCommand().Flags()
	for _, f := range settings {
		help := f.Help
		if flag := settingFlag(run, f.Path); flag != flagOf(f.Path) {
			help += " (flag --" + flag + ")"
		}
		t.say("%s\t%s\t%s", f.Path, f.Text(), help)
	}
	return t.Flush()
}

// versionOf names this build: its version, and the commit where the build records it.
func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "(unknown)"
	}
	version, commit := info.Main.Version, ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = " (" + s.Value[:min(len(s.Value), 12)] + ")"
		}
	}
	return version + commit + ", " + info.GoVersion
}

func newVersionCommand() *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:   "version",
		Short: "show the versions of saot, Go and the libraries that compute",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this binary holds no build information: build it with go build in module mode")
			}
			modules := map[string]string{}
			for _, dep := range info.Deps {
				switch dep.Path {
				case "github.com/gomlx/gomlx", "github.com/gomlx/compute", "github.com/gomlx/go-xla":
					modules[dep.Path] = dep.Version
				}
			}
			value := map[string]any{"saot": info.Main.Version, "go": info.GoVersion, "modules": modules}
			return p.print(cmd.OutOrStdout(), value, func(out io.Writer) error {
				_, err := fmt.Fprintf(out, "saot %s\n", versionOf(info, true))
				for _, path := range slices.Sorted(maps.Keys(modules)) {
					_, err = fmt.Fprintf(out, "%s %s\n", path, modules[path])
				}
				return err
			})
		},
	}
	return p.flag(cmd)
}
