package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/saot-go/saot/saot"
)

// addConfigFlags binds a flag to every field of a configuration; its present values are the defaults shown. A flag is
// named like the field's JSON name, encoder.hidden as --encoder-hidden.
func addConfigFlags(f *pflag.FlagSet, c *saot.Config) {
	f.IntVar(&c.Encoder.Hidden, "encoder-hidden", c.Encoder.Hidden, "width of the encoder's hidden layer")
	f.IntVar(&c.Encoder.Out, "encoder-out", c.Encoder.Out, "width of the embeddings, of reduced controls too")
	f.Float64Var(&c.Encoder.Momentum, "encoder-momentum", c.Encoder.Momentum, "weight of a new batch in BatchNorm's running averages")

	f.Float64Var(&c.LearningRate, "learning-rate", c.LearningRate, "of Adam")
	f.IntVar(&c.Epochs, "epochs", c.Epochs, "full-batch training steps a task")
	f.Float64Var(&c.EdgeDrop, "edge-drop", c.EdgeDrop, "share of edges dropped in a view")
	f.Float64Var(&c.FeatureMask, "feature-mask", c.FeatureMask, "share of feature columns masked in a view")

	f.IntVar(&c.Points, "points", c.Points, "M, nodes aligned in a step")
	f.Float64Var(&c.Epsilon, "epsilon", c.Epsilon, "ε, weight of the entropy of both plans, in units of the cosine cost")
	f.IntVar(&c.Sweeps, "sweeps", c.Sweeps, "K, Sinkhorn sweeps for the plan between embeddings")
	f.Float64Var(&c.Sigma, "sigma", c.Sigma, "σ in [0, 1], weight of features against edges in the graph plan")
	f.IntVar(&c.GromovOuter, "gromov-outer", c.GromovOuter, "outer steps for the graph plan")
	f.IntVar(&c.GromovSweeps, "gromov-sweeps", c.GromovSweeps, "Sinkhorn sweeps per outer step")
	f.Var(text{&c.StructureUnit}, "structure-unit", "scale of the structure cost: max or paper")

	f.Var(text{&c.Objective}, "objective", "within a task: transport or barlow-twins")
	f.Var(text{&c.Divergence}, "divergence", "Θ between plans: kl or frobenius")
	f.Var(text{&c.Scaling}, "scaling", "units of the loss terms: balanced or literal")
	f.Float64Var(&c.Alpha, "alpha", c.Alpha, "α, weight of the structure loss")
	f.Var(text{&c.Distillation}, "distillation", "what the teacher hands on: plan, none, cosine or mse")
	f.Float64Var(&c.Beta, "beta", c.Beta, "β, weight of the distillation")

	f.IntVar(&c.Buffer, "buffer", c.Buffer, "nodes kept of each past task")
	f.Var((*list)(&c.FanOut), "fan-out", "neighbours drawn per hop when the buffer is filled, with commas between")
}

// overlay sets the fields of c whose flags were given.
func overlay(given *pflag.FlagSet, c *saot.Config) error {
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
