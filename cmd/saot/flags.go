package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/near"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// setting makes a flag of a setting of methods. A flag --encoder-hidden 64 is --set encoder.hidden=64.
type setting struct{ text, kind string }

func (s *setting) String() string { return s.text }
func (s *setting) Type() string   { return s.kind }

func (s *setting) Set(text string) error {
	s.text = text
	return nil
}

func flagOf(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }

// settingFlag names the flag of a setting. A name that another flag of the command has gets a prefix: --method-out.
func settingFlag(f *pflag.FlagSet, path string) string {
	name := flagOf(path)
	if taken := f.Lookup(name); taken != nil {
		if _, ok := taken.Value.(*setting); !ok {
			return "method-" + name
		}
	}
	return name
}

// addSettingFlags adds a flag for every setting of every method, with the defaults and the help of SAOT's own. Those
// that SAOT does not have are hidden until showSettings.
func addSettingFlags(f *pflag.FlagSet) {
	for i, d := range method.All() {
		small := fields.All(d.Defaults(datasets.RecipeSynthetic, method.Default))
		for k, field := range fields.All(d.Defaults(datasets.NoRecipe, method.Default)) {
			name := settingFlag(f, field.Path)
			if f.Lookup(name) != nil {
				continue
			}
			usage := field.Help
			if own := small[k].Text(); own != field.Text() {
				usage += fmt.Sprintf("; %s for the dataset synthetic", own)
			}
			f.Var(&setting{field.Text(), kindOf(field)}, name, usage)
			if f.Lookup(name).Value.Type() == "bool" {
				f.Lookup(name).NoOptDefVal = "true"
			}
			f.Lookup(name).Hidden = i > 0
		}
	}
}

// showSettings makes help list the flags of the method, with their defaults, where the command line names a method, a
// dataset or a preset.
func showSettings(f *pflag.FlagSet) {
	if !f.Changed("method") && !f.Changed("dataset") && !f.Changed("preset") {
		return
	}
	var preset method.Preset
	d, err := method.Lookup(f.Lookup("method").Value.String())
	if err != nil || preset.UnmarshalText([]byte(f.Lookup("preset").Value.String())) != nil {
		return
	}
	byFlag := map[string]fields.Field{}
	for _, field := range d.Fields(d.Defaults(datasets.RecipeOf(f.Lookup("dataset").Value.String()), preset)) {
		byFlag[settingFlag(f, field.Path)] = field
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if _, ok := flag.Value.(*setting); ok {
			field, has := byFlag[flag.Name]
			if flag.Hidden = !has; has {
				flag.Usage, flag.DefValue = field.Help, field.Text()
			}
		}
	})
}

func kindOf(f fields.Field) string {
	switch f.Value.Interface().(type) {
	case int, uint64:
		return "int"
	case float64:
		return "float"
	case bool:
		return "bool"
	case []int:
		return "ints"
	}
	return "name"
}

// changesOf returns the changes that flags and pairs name=value make to the settings that the method reads.
func changesOf(given *pflag.FlagSet, set []string, s *experiment.Settings) (all []fields.Change, err error) {
	d, err := s.Definition()
	if err != nil {
		return nil, usageError{err}
	}
	paths := map[string]string{}
	for _, field := range d.Fields(s.Of) {
		paths[settingFlag(given, field.Path)] = field.Path
	}
	given.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*setting); ok {
			path := paths[f.Name]
			if path == "" && err == nil {
				err = notOf(s.Method, "--"+f.Name)
			}
			all = append(all, fields.Change{Path: path, Value: fields.Value{Text: v.text}})
		}
	})
	flags := len(all)
	for _, pair := range set {
		path, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usagef("--set %s: write it as name=value", pair)
		}
		other := slices.IndexFunc(all, func(c fields.Change) bool { return c.Path == path && c.Value.Text != value })
		switch {
		case hasField(fields.All(s.Of), path) && !hasField(d.Fields(s.Of), path):
			return nil, notOf(s.Method, path)
		case other >= flags:
			return nil, usagef("%s is set twice: drop --set %s, or the other", path, pair)
		case other >= 0:
			return nil, usagef("%s is set twice, by a flag and by --set %s: drop one", path, pair)
		}
		all = append(all, fields.Change{Path: path, Value: fields.Value{Text: value}})
	}
	return all, err
}

func notOf(method, name string) error {
	return usagef("%s is not a setting of %s: saot methods %s lists its settings", name, method, method)
}

func hasField(all []fields.Field, path string) bool {
	return slices.ContainsFunc(all, func(f fields.Field) bool { return f.Path == path })
}

// addStreamFlags binds flags to how a dataset is cut into tasks; the present values are the defaults shown.
func addStreamFlags(f *pflag.FlagSet, o *datasets.StreamOptions) {
	f.IntVar(&o.ClassesPerTask, "classes-per-task", o.ClassesPerTask,
		"classes per task; leftover classes at the end are dropped")
	f.Var(classOrder{o}, "class-order", "label, random, or a comma-separated list of classes")
	f.Uint64Var(&o.OrderSeed, "order-seed", o.OrderSeed, "seed of --class-order random")
	f.Var(text{&o.SplitBy}, "split-by", "class or task: apply the ratios to each class, or to the task as a whole")
	f.Uint64Var(&o.SplitSeed, "split-seed", o.SplitSeed, "seed of the split into train, validation and test nodes")
	f.Float64Var(&o.TrainRatio, "train-ratio", o.TrainRatio, "share of train nodes")
	f.Float64Var(&o.TestRatio, "test-ratio", o.TestRatio, "share of test nodes; the rest are validation nodes")
	f.BoolVar(&o.FoldValid, "fold-valid", o.FoldValid,
		"count validation nodes as test nodes; the converged probe then has none to choose on, and refuses")
	f.Float64Var(&o.First, "first-tasks", o.First, "share of the tasks that are kept, two at least; 0 keeps all")
	f.Var(text{&o.InterTask}, "inter-task-edges", "cut, or keep: a task's graph then has the nodes of all tasks so far")
}

// checkStream finds options of a stream that are wrong, and those that the package would take for a default that is not
// meant.
func checkStream(given *pflag.FlagSet, o datasets.StreamOptions) error {
	for _, name := range []string{"classes-per-task", "train-ratio", "test-ratio"} {
		if f := given.Lookup(name); f.Changed && f.Value.String() == "0" {
			return usagef("--%s is 0, want more", name)
		}
	}
	if o.OrderSeed != 0 && o.Order != datasets.OrderRandom {
		return usagef("--order-seed is %d: want --class-order random with it", o.OrderSeed)
	}
	if err := o.Validate(); err != nil {
		return usageError{errors.New(streamFlags.Replace(err.Error()))}
	}
	return nil
}

// streamFlags writes the flags of addStreamFlags for the names of the fields.
var streamFlags = strings.NewReplacer("ClassesPerTask", "--classes-per-task", "TrainRatio", "--train-ratio",
	"TestRatio", "--test-ratio", "FoldValid", "--fold-valid", "Classes", "--class-order", "First", "--first-tasks",
	"OrderSeed", "--order-seed", "Order", "--class-order", "SplitBy", "--split-by", "InterTask", "--inter-task-edges")

// refuseStreamFlags returns an error if a flag of addStreamFlags was given, where something else says how the stream is
// cut.
func refuseStreamFlags(given *pflag.FlagSet, instead string) (err error) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	addStreamFlags(all, new(datasets.StreamOptions))
	given.Visit(func(f *pflag.Flag) {
		if all.Lookup(f.Name) != nil && err == nil {
			err = usagef("%s says how the stream is cut: drop --%s", instead, f.Name)
		}
	})
	return err
}

type classOrder struct{ o *datasets.StreamOptions }

func (c classOrder) String() string {
	switch {
	case c.o == nil:
		return "" // pflag asks a zero value
	case c.o.Order == datasets.OrderGiven:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(c.o.Classes), " ", ","), "[]")
	}
	return c.o.Order.String()
}

func (c classOrder) Set(s string) error {
	c.o.Classes = nil
	if s == datasets.OrderLabel.String() || s == datasets.OrderRandom.String() {
		return c.o.Order.UnmarshalText([]byte(s))
	}
	c.o.Order = datasets.OrderGiven
	for word := range strings.SplitSeq(s, ",") {
		class, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a class: write label, random, or, for example, 4,0,2,1", word)
		}
		c.o.Classes = append(c.o.Classes, int32(class))
	}
	return nil
}

func (c classOrder) Type() string { return "order" }

type text struct {
	value interface {
		fmt.Stringer
		UnmarshalText([]byte) error
	}
}

func (t text) String() string {
	if t.value == nil {
		return "" // pflag asks a zero value
	}
	return t.value.String()
}
func (t text) Set(s string) error { return t.value.UnmarshalText([]byte(s)) }
func (t text) Type() string       { return "name" }

// parsing is what Go's parsers of numbers say before the reason.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing ".*": `)

// wanted says what flags of a type take.
var wanted = map[string]string{"uint64": "a whole number, 0 or more", "uintSlice": "whole numbers, 0 or more",
	"int": "a whole number", "intSlice": "whole numbers", "float64": "a number", "bool": "true or false",
	"boolfunc": "true or false"}

// needs returns an error if a flag is given without the one that it is of.
func needs(cmd *cobra.Command, flag, of string) error {
	if cmd.Flags().Changed(flag) && !cmd.Flags().Changed(of) {
		return usagef("--%s is for --%s: give that too", flag, of)
	}
	return nil
}

// refuseEmpty is an error where an argument, or a flag of text, is empty, as an unset variable of a shell leaves it: a
// command would take it for its default, or for the folder that it was called in.
func refuseEmpty(cmd *cobra.Command, args []string) (err error) {
	if slices.Contains(args, "") {
		return fmt.Errorf("an argument of %s is empty: give it a value, or drop it", cmd.CommandPath())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		} else if f.Value.Type() != "string" { // others say themselves what they take
			return
		}
		if slices.Contains(values, "") {
			err = fmt.Errorf("--%s is empty: give it a value, or drop it", f.Name)
		}
	})
	return err
}

// noArguments is an error if there are arguments. Where one is a value that a flag takes, it says how.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word, advice := args[0], ""
	_, err := datasets.Lookup(word)
	switch {
	case word == "true" || word == "false":
		advice = ": write --flag=" + word
	case cmd.Flags().Lookup("dataset") != nil && (err == nil || datasets.IsPath(word)):
		advice = ": write --dataset " + word
	}
	return fmt.Errorf("%s takes no arguments, and %q is one%s", cmd.CommandPath(), word, advice)
}

// flagError turns an error about flags into a usage error. It names the flag that was probably meant, or what a flag
// accepts.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		if unknown.GetSpecifiedShortnames() != "" { // a hint would name any flag
			return usageError{err}
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return usageError{fmt.Errorf("%w%s", err, near.Hint("--"+unknown.GetSpecifiedName(), names))}
	case errors.As(err, &invalid) && errors.Is(err, strconv.ErrSyntax):
		if want := wanted[invalid.GetFlag().Value.Type()]; want != "" {
			return usagef("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return usageError{errors.New(parsing.ReplaceAllString(err.Error(), ""))}
}

// inFlags writes the error of a stream that the options do not allow in the words of flags.
func inFlags(err error) error {
	if at, ok := errors.AsType[*check.Fault](err); ok && streamFlags.Replace(at.Fields[0]) != at.Fields[0] {
		return errors.New(streamFlags.Replace(err.Error()))
	}
	return err
}
