package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/encoder"
)

// addConfigFlags binds a flag to every field of a configuration; its present values are the defaults shown. A flag is
// named like the field's JSON name, encoder.hidden as --encoder-hidden.
func addConfigFlags(f *pflag.FlagSet, c *saot.Config) {
	f.Var(text{&c.Encoder.Kind}, "encoder-kind", "gcn, gat or linear; a gat has defaults of its own for the other --encoder flags")
	f.IntVar(&c.Encoder.Hidden, "encoder-hidden", c.Encoder.Hidden, "width of the encoder's hidden layer; of each head of a gat")
	f.IntVar(&c.Encoder.Out, "encoder-out", c.Encoder.Out, "width of the embeddings, of reduced controls too")
	f.IntVar(&c.Encoder.Layers, "encoder-layers", c.Encoder.Layers, "of a gat; a gcn has two")
	f.IntVar(&c.Encoder.Heads, "encoder-heads", c.Encoder.Heads, "of a gat")
	f.Float64Var(&c.Encoder.Momentum, "encoder-momentum", c.Encoder.Momentum, "weight of a new batch in BatchNorm's running averages")
	f.IntVar(&c.Encoder.WholeGraph, "encoder-whole-graph", c.Encoder.WholeGraph, "largest graph, in nodes, that a step takes whole; of a larger one it takes samples; 0 is no limit")
	f.Var((*list)(&c.Encoder.SampleFanOut), "encoder-sample-fan-out", "neighbours drawn per layer in a sample, output layer first; 0 is all")

	f.Float64Var(&c.LearningRate, "learning-rate", c.LearningRate, "of Adam")
	f.IntVar(&c.Epochs, "epochs", c.Epochs, "training epochs a task: a step each on a whole graph, many on a sampled one")
	f.Float64Var(&c.EdgeDrop, "edge-drop", c.EdgeDrop, "share of edges dropped in a view")
	f.Float64Var(&c.FeatureMask, "feature-mask", c.FeatureMask, "share of feature columns masked in a view")

	f.IntVar(&c.Points, "points", c.Points, "M, nodes aligned in a step")
	f.Float64Var(&c.Epsilon, "epsilon", c.Epsilon, "ε, weight of the entropy of both plans, in units of the cosine cost")
	f.IntVar(&c.Sweeps, "sweeps", c.Sweeps, "K, Sinkhorn sweeps for the plan between embeddings")
	f.Float64Var(&c.Sigma, "sigma", c.Sigma, "σ in [0, 1], weight of features against edges in the graph plan")
	f.IntVar(&c.GromovOuter, "gromov-outer", c.GromovOuter, "outer steps for the graph plan")
	f.IntVar(&c.GromovSweeps, "gromov-sweeps", c.GromovSweeps, "Sinkhorn sweeps per outer step")
	f.Var(text{&c.StructureUnit}, "structure-unit", "scale of the structure cost: max or paper")

	f.Var(text{&c.FeatureCost}, "feature-cost", "features compared in the graph plan: views, or propagated (clean, two hops)")

	f.Var(text{&c.Objective}, "objective", "within a task: transport or barlow-twins")
	f.Var(text{&c.Divergence}, "divergence", "Θ between plans: kl or frobenius")
	f.Var(text{&c.Scaling}, "scaling", "units of the loss terms: balanced or literal")
	f.Float64Var(&c.Alpha, "alpha", c.Alpha, "α, weight of the structure loss")
	f.BoolVar(&c.Centred, "centred", c.Centred, "the structure loss compares double-centred costs")
	f.Var(text{&c.Distillation}, "distillation", "what the teacher hands on: plan, none, cosine or mse")
	f.Float64Var(&c.Beta, "beta", c.Beta, "β, weight of the distillation")

	f.IntVar(&c.Buffer, "buffer", c.Buffer, "nodes kept of each past task")
	f.Var((*list)(&c.FanOut), "fan-out", "neighbours drawn per hop when the buffer is filled, with commas between")
}

// addStreamFlags binds flags to how a dataset is cut into tasks; the present values are the defaults shown.
func addStreamFlags(f *pflag.FlagSet, o *datasets.StreamOptions) {
	f.IntVar(&o.ClassesPerTask, "classes-per-task", o.ClassesPerTask, "classes of a task; what is left over at the end is dropped")
	f.Var(classOrder{o}, "class-order", "label, random, or the classes themselves with commas between")
	f.Uint64Var(&o.OrderSeed, "order-seed", o.OrderSeed, "of --class-order random")
	f.Var(text{&o.SplitBy}, "split-by", "what the ratios are taken of: each class, or the task as a whole")
	f.Uint64Var(&o.SplitSeed, "split-seed", o.SplitSeed, "of the division into train, valid and test nodes")
	f.Float64Var(&o.TrainRatio, "train-ratio", o.TrainRatio, "share of train nodes")
	f.Float64Var(&o.TestRatio, "test-ratio", o.TestRatio, "share of test nodes; the rest is valid")
	f.BoolVar(&o.FoldValid, "fold-valid", o.FoldValid, "count the valid nodes to the test nodes; only the paper probe does without them")
	f.Var(text{&o.InterTask}, "inter-task-edges", "cut, or keep: then a task's graph holds the nodes of all tasks so far")
}

// checkStream finds options of a stream that are wrong, and those that the package would take for a default that is not meant.
func checkStream(given *pflag.FlagSet, o datasets.StreamOptions) error {
	for _, name := range []string{"classes-per-task", "train-ratio", "test-ratio"} {
		if f := given.Lookup(name); f.Changed && f.Value.String() == "0" {
			return usagef("--%s is 0, want more", name)
		}
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// refuseStreamFlags returns an error if a flag of addStreamFlags was given, where something else says how the stream is cut.
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

// classOrder makes a flag of the order of classes.
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
			return fmt.Errorf("%q is no class: write label, random, or, for example, 4,0,2,1", word)
		}
		c.o.Classes = append(c.o.Classes, int32(class))
	}
	return nil
}

func (c classOrder) Type() string { return "order" }

// overlay sets the fields of c whose flags were given.
func overlay(given *pflag.FlagSet, c *saot.Config) error {
	if kind := given.Lookup("encoder-kind"); kind.Changed && kind.Value.String() == encoder.GAT.String() {
		c.Encoder = encoder.DefaultGAT()
	}
	target := pflag.NewFlagSet("", pflag.ContinueOnError)
	addConfigFlags(target, c)
	var failed error
	given.Visit(func(f *pflag.Flag) {
		if to := target.Lookup(f.Name); to != nil && failed == nil {
			failed = to.Value.Set(f.Value.String())
		}
	})
	return failed
}

// text makes a flag of an enumeration.
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

// list makes a flag of numbers with commas between.
type list []int

func (l *list) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func (l *list) Set(s string) error {
	numbers := []int{}
	for word := range strings.SplitSeq(s, ",") {
		if s == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not a whole number: write, for example, 10,10", word)
		}
		numbers = append(numbers, n)
	}
	*l = numbers
	return nil
}

func (l *list) Type() string { return "ints" }
