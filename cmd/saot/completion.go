package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// addCompletions tells the shell what the flags and arguments of a command, and of all below it, can be. File names are
// what a shell offers by itself.
func addCompletions(cmd *cobra.Command) {
	byName := map[string]cobra.CompletionFunc{
		"dataset": datasetNames(cobra.ShellCompDirectiveDefault), // or a path
		"method":  methodNames, "engine": engineNames, "set": settingNames,
		"probe": cobra.FixedCompletions([]string{"paper", "converged", "paper,converged"}, noFiles),
		"out":   folders, "resume": folders, "data": folders,
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := byName[f.Name]
		switch v := f.Value.(type) {
		case text:
			complete = enumerated(func() error { return v.Set("\x00") })
		case classOrder:
			complete = cobra.FixedCompletions([]string{"label", "random"}, noFiles)
		case *setting:
			complete = settingValues(f.Name)
		}
		if complete != nil && f.Name != helpAll {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // one that a command has registered itself stays
		}
	})
	switch cmd.CommandPath() {
	case "saot methods":
		cmd.ValidArgsFunction = methodNames
	case "saot score":
		cmd.ValidArgsFunction = folders
	case "saot sweep":
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return experiment.Specs(), cobra.ShellCompDirectiveDefault // or a file
		}
	case "saot data get", "saot data info", "saot data verify", "saot data import":
		cmd.ValidArgsFunction = datasetNames(noFiles)
	}
	for _, child := range cmd.Commands() {
		addCompletions(child)
	}
}

const noFiles = cobra.ShellCompDirectiveNoFileComp

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func datasetNames(files cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if cmd.Name() == "import" && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault // its second argument is a path
		}
		for _, e := range datasets.Catalog() {
			names = append(names, cobra.CompletionWithDesc(e.Name, e.Title))
		}
		return names, files
	}
}

func methodNames(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, d := range method.All() {
		names = append(names, cobra.CompletionWithDesc(d.Name, d.Summary))
	}
	return names, noFiles
}

func engineNames(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, c := range engine.Survey() {
		if c.Missing == "" {
			names = append(names, c.Spec, c.Spec+",float64")
		}
	}
	return names, noFiles
}

// enumerated completes what an enumeration's parser lists in its error.
func enumerated(parse func() error) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return enum.Choices(parse()), noFiles
	}
}

// settingsOf returns the settings of the method and dataset that the command line names so far.
func settingsOf(cmd *cobra.Command) []fields.Field {
	given := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	d, err := method.Lookup(given("method"))
	if err != nil {
		return nil
	}
	return d.Fields(d.Defaults(datasets.RecipeOf(given("dataset")), method.Default))
}

// settingNames completes name=value of --set, with the values where they are enumerated.
func settingNames(cmd *cobra.Command, _ []string, typed string) (all []string, _ cobra.ShellCompDirective) {
	name, _, valued := strings.Cut(typed, "=")
	for _, f := range settingsOf(cmd) {
		switch {
		case !valued:
			all = append(all, cobra.CompletionWithDesc(f.Path+"=", fmt.Sprintf("%s (%s)", f.Help, f.Text())))
		case f.Path == name:
			for _, choice := range choicesOf(f) {
				all = append(all, name+"="+choice)
			}
		}
	}
	if valued {
		return all, noFiles
	}
	return all, noFiles | cobra.ShellCompDirectiveNoSpace
}

// settingValues completes a flag of a setting.
func settingValues(flag string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (all []string, _ cobra.ShellCompDirective) {
		for _, f := range settingsOf(cmd) {
			if settingFlag(cmd.Flags(), f.Path) == flag {
				all = append(all, choicesOf(f)...)
			}
		}
		return all, noFiles
	}
}

func choicesOf(f fields.Field) []string {
	if v, ok := f.Value.Addr().Interface().(interface{ UnmarshalText([]byte) error }); ok {
		return enum.Choices(v.UnmarshalText([]byte{0}))
	}
	return nil
}
