package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// widest is the number of columns that no line of help or of the terminal's pictures exceeds, however wide the
// terminal.
const widest = 100

// Annotations of flags.
const (
	sectionOf = "section" // title under which help lists the flag
	mainFlag  = "main"    // listed by --help, where other flags are left to --help-all
)

const helpAll = "help-all"

// section puts flags under a title in the help of a command.
func section(f *pflag.FlagSet, title string, names ...string) { annotate(f, sectionOf, title, names) }

// mainFlags chooses the flags that --help lists, and gives the command --help-all, which lists every flag.
func mainFlags(cmd *cobra.Command, names ...string) {
	annotate(cmd.Flags(), mainFlag, "", names)
	cmd.Flags().BoolFunc(helpAll, "help with every flag", func(is string) error { // asks for help as --help does
		cmd.InitDefaultHelpFlag()
		return cmd.Flags().Set("help", is)
	})
	section(cmd.Flags(), "Help", helpAll)
}

func annotate(f *pflag.FlagSet, key, value string, names []string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, key, []string{value}); err != nil {
			panic(err) // there is no such flag: no input can cause it, and every test of a command finds it
		}
	}
}

// showHelp is cobra's help with sections of flags, in as many columns as the terminal has.
func showHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	if cmd.CommandPath() == "saot run" {
		showSettings(cmd.Flags())
	}
	_, _ = io.WriteString(out, helpText(cmd, columns(out), paintFor(out), cmd.Flags().Changed(helpAll)))
}

func helpText(cmd *cobra.Command, width int, p paint, all bool) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	title := func(text string) { say("\n%s\n", p.bold(text)) }
	say("%s\n", reflow(cmp.Or(cmd.Long, cmd.Short), width))
	title("Usage:")
	if cmd.HasAvailableSubCommands() {
		say("  %s COMMAND\n", cmd.CommandPath())
	} else {
		say("  %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		title("Examples:")
		say("%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	for _, g := range commandGroups(cmd) {
		title(g.title)
		for _, c := range g.commands {
			say("%s\n", hang(fmt.Sprintf("  %-*s ", max(11, c.NamePadding()), c.Name()), c.Short, width))
		}
	}
	sections, hidden := flagSections(cmd, all)
	for _, s := range sections {
		title(s.title + ":")
		say("%s", s.flags.FlagUsagesWrapped(width))
	}
	if len(hidden) > 0 {
		say("\n%s\n", reflow(fmt.Sprintf("%s lists more flags: %s.", p.bold(cmd.CommandPath()+" --"+helpAll),
			strings.ToLower(strings.Join(hidden, ", "))), width))
	}
	if cmd.HasAvailableSubCommands() {
		say("\n%s\n", "What a command takes: "+cmd.CommandPath()+" COMMAND --help")
	}
	return b.String()
}

type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups returns the commands below cmd by their groups; those of none come last.
func commandGroups(cmd *cobra.Command) (all []commandGroup) {
	byID := map[string][]*cobra.Command{}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			byID[c.GroupID] = append(byID[c.GroupID], c)
		}
	}
	for _, g := range cmd.Groups() {
		if len(byID[g.ID]) > 0 {
			all = append(all, commandGroup{g.Title, byID[g.ID]})
		}
	}
	if len(byID[""]) > 0 {
		all = append(all, commandGroup{"Commands:", byID[""]})
	}
	return all
}

type flagSection struct {
	title string
	flags *pflag.FlagSet
}

// sectionOrder is the order of the sections of flags.
var sectionOrder = []string{"Flags", "Data", "Split", "Method and training", "Encoder", "Views", "Transport", "Loss",
	"Memory", "Probes", "Output", "Runs", "Cluster", "Help"}

// flagSections returns the flags of a command that help lists, by sections. hidden
// are the titles of sections with flags that --help-all would add.
func flagSections(cmd *cobra.Command, all bool) (sections []flagSection, hidden []string) {
	short := cmd.Flags().Lookup(helpAll) != nil && !all
	add := func(f *pflag.Flag) {
		title := "Flags"
		if a := f.Annotations[sectionOf]; a != nil {
			title = a[0]
		}
		switch _, isMain := f.Annotations[mainFlag]; {
		case f.Hidden:
			return
		case short && (f.Name == "help" || f.Name == helpAll):
			title = "Flags"
		case short && !isMain:
			if !slices.Contains(hidden, title) {
				hidden = append(hidden, title)
			}
			return
		case short:
			title = "Flags"
		case f.Name == "help" && all:
			title = "Help"
		}
		i := slices.IndexFunc(sections, func(s flagSection) bool { return s.title == title })
		if i < 0 {
			i = len(sections)
			sections = append(sections, flagSection{title, pflag.NewFlagSet("", pflag.ContinueOnError)})
			sections[i].flags.SortFlags = false
		}
		sections[i].flags.AddFlag(f)
	}
	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	place := func(title string) int { return slices.Index(sectionOrder, title) }
	slices.SortStableFunc(sections, func(a, b flagSection) int { return place(a.title) - place(b.title) })
	slices.SortStableFunc(hidden, func(a, b string) int { return place(a) - place(b) })
	return sections, hidden
}

// reflow joins the lines of each paragraph and breaks them at a width. Lines that begin with a space stay lines of
// their own and hang from their second column.
func reflow(text string, width int) string {
	var out []string
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			out = append(out, hang("", paragraph, width))
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
			out = append(out, "")
		case strings.HasPrefix(line, " "):
			flush()
			head, rest := firstColumn(line)
			out = append(out, hang(head, rest, width))
		default:
			paragraph = strings.TrimSpace(paragraph + " " + line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// firstColumn cuts a line before its second column, which begins after two spaces or more.
func firstColumn(line string) (head, rest string) {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	if i := strings.Index(body, "  "); i >= 0 {
		rest = strings.TrimLeft(body[i:], " ")
		return line[:len(line)-len(rest)], rest
	}
	return line[:indent], body
}

// hang breaks text after a head into lines of a width, all but the first indented by the head's length.
func hang(head, text string, width int) string {
	indent := len([]rune(head))
	var b strings.Builder
	b.WriteString(head)
	at := indent
	for i, word := range strings.FieldsFunc(text, unicode.IsSpace) {
		n := len([]rune(plain(word)))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// columns is the width of a terminal, within bounds, and widest for what is none.
func columns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return min(max(width, 60), widest)
		}
	}
	return widest
}

// markUsage makes wrong arguments of a command and of all below it usage errors.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := cmp.Or(refuseEmpty(cmd, args), check(cmd, args))
			if err != nil && strings.Contains(err.Error(), " arg(s)") { // cobra's words, which name no argument
				err = fmt.Errorf("want %s %s, got %d arguments", cmd.Parent().CommandPath(), cmd.Use, len(args))
			}
			return asUsage(err)
		}
	}
	for _, child := range cmd.Commands() {
		markUsage(child)
	}
}
