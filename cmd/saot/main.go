// Command saot runs self-supervised continual graph learning with optimal transport: "saot run" takes a method through
// a stream of graph tasks, "saot sweep" does the many runs of a spec, "saot table", "saot figures" and "saot report"
// show what came of them, "saot data" knows the graphs, and "saot engines" shows what computes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	_ "github.com/saot-go/saot/saot/method/all" // every method
)

// Exit statuses.
const (
	exitFailure     = 1
	exitUsage       = 2   // a flag or an argument is wrong
	exitInterrupted = 130 // as shells report a process ended by Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command and returns the exit status. An error is one line on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "saot: "+oneLine(err))
	}
	return exitStatus(ctx, err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "saot",
		Short:         "self-supervised continual graph learning with optimal transport",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newRunCommand(), newSweepCommand(), newStatusCommand(), newTuneCommand(), newTableCommand(),
		newFiguresCommand(), newReportCommand(), newPackCommand(), newUnpackCommand(), newAuditCommand(),
		newMethodsCommand(), newDataCommand(),
		newNotebooksCommand(), newEnginesCommand(), newVersionCommand())
	markUsage(root)
	return root
}

// usageError is an error in what was typed rather than in what it led to.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// markUsage makes wrong arguments of a command and of all below it usage errors.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		markUsage(child)
	}
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

// oneLine joins the lines of an error, such as one that lists several bad fields.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
