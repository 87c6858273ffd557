package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// printed is how a command prints what it found: as a table, or with --json as JSON. Field names of the JSON stay as
// they are; new ones may come.
type printed struct{ json bool }

// flag gives a command --json.
func (p *printed) flag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON instead of text")
	return cmd
}

// print writes a value as JSON, or what text writes.
func (p *printed) print(out io.Writer, value any, text func(io.Writer) error) error {
	if !p.json {
		return text(out)
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", data)
	return err
}

// table aligns columns. Its cells end in tabs; the first error of writing is that of Flush.
type table struct{ *tabwriter.Writer }

func newTable(out io.Writer, flags uint) table {
	return table{tabwriter.NewWriter(out, 0, 0, 2, ' ', flags)}
}

func (t table) say(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }
