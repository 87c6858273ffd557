package fields

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/enum"
)

type kind int

var kinds = enum.Of[kind]("kind", "small", "large")

func (k kind) String() string                   { return kinds.Name(k) }
func (k *kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(k, text) }

type inner struct {
	Kind   kind  `json:"kind"`
	Hidden int   `json:"hidden" help:"width"`
	FanOut []int `json:"fan_out"`
}

// Changed gives a large one its own width.
func (i *inner) Changed(name string) {
	if name == "kind" && i.Kind == 1 {
		i.Hidden = 100
	}
}

type Shared struct {
	Steps uint64 `json:"steps"`
}

type config struct {
	Rate    float64 `json:"rate" help:"of learning"`
	Encoder inner   `json:"encoder"`
	Shared
	On   bool   `json:"on"`
	Name string `json:"name"`
}

func change(path, text string) Change { return Change{Path: path, Value: Value{Text: text}} }

func TestApply(t *testing.T) {
	c := config{Rate: 1, Encoder: inner{Hidden: 2, FanOut: []int{3}}}
	list := Value{List: []Value{{Text: "10"}, {Text: "20"}}}
	require.NoError(t, Apply(&c, []Change{change("rate", "1e-4"), change("encoder.hidden", "7"),
		{Path: "encoder.fan_out", Value: list},
		change("on", "true"), change("steps", "4"), change("name", "one two")}))
	require.Equal(t, config{Rate: 1e-4, Encoder: inner{Hidden: 7, FanOut: []int{10, 20}}, On: true, Shared: Shared{4},
		Name: "one two"}, c)
	require.NoError(t, Apply(&c, []Change{change("encoder.hidden", "010"), change("steps", "010")}))
	require.Equal(t, []any{10, uint64(10)}, []any{c.Encoder.Hidden, c.Steps}, "numbers are decimal")
	require.Error(t, Apply(&c, []Change{change("steps", "0x10")}))
	for text, want := range map[string][]int{"1,2": {1, 2}, "[3, 4]": {3, 4}, "": {}, "[]": {}} {
		require.NoError(t, Apply(&c, []Change{change("encoder.fan_out", text)}))
		require.Len(t, c.Encoder.FanOut, len(want))
		require.ElementsMatch(t, want, c.Encoder.FanOut)
	}
}

// A field that others depend on is changed before them, wherever it stands among the changes; of equal ones the last
// holds.
func TestApplyInOrder(t *testing.T) {
	c := config{}
	require.NoError(t, Apply(&c, []Change{change("encoder.hidden", "5"), change("encoder.kind", "small"),
		change("encoder.kind", "large")}))
	require.Equal(t, inner{Kind: 1, Hidden: 5}, c.Encoder)
	require.NoError(t, Apply(&c, []Change{change("encoder.kind", "large")}))
	require.Equal(t, 100, c.Encoder.Hidden)
}

func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"speed", "1", `there is no setting "speed": choose one of rate, encoder.kind, encoder.hidden, encoder.fan_out, steps`},
		{"encoder.width", "1", `there is no setting "encoder.width": choose one of rate, encoder.kind`},
		{"rate.hidden", "1", `there is no setting "rate.hidden"`},
		{"", "1", `there is no setting ""`},
		{"encoder", "1", `setting "encoder" holds others: choose one of encoder.kind, encoder.hidden, encoder.fan_out`},
		{"hidden", "1", `there is no setting "hidden" (did you mean "encoder.hidden"?)`},
		{"encoder-hidden", "1", `(did you mean "encoder.hidden"?)`},
		{"encoder.hidden", "wide", `setting encoder.hidden cannot be "wide": want a whole number`},
		{"encoder.hidden", "2.5", "want a whole number"},
		{"encoder.fan_out", "1,x", `"x": want a whole number`},
		{"encoder.kind", "huge", "choose one of small, large"},
		{"rate", "nan", "want a number"},
		{"rate", "", "want a number"},
		{"steps", "-1", "0 or more"},
		{"on", "yes", "true or false"},
	} {
		bad := change(c.path, c.text)
		bad.Line = 3
		err := Apply(new(config), []Change{bad})
		require.ErrorContains(t, err, c.want)
		var fault *Fault
		require.ErrorAs(t, err, &fault)
		require.Equal(t, 3, fault.Change.Line)
	}
	require.ErrorContains(t, Apply(new(config), []Change{{Path: "rate", Value: Value{List: []Value{}}}}), "not a list")
}

// Every change that is not possible is told, and the others are made.
func TestApplyTellsAll(t *testing.T) {
	c := config{}
	err := Apply(&c, []Change{change("speed", "1"), change("on", "yes"), change("rate", "2"), change("steps", "x")})
	for _, want := range []string{`there is no setting "speed"`, "setting on", "setting steps"} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, config{Rate: 2}, c)
}

func TestNames(t *testing.T) {
	require.Equal(t, []string{"rate", "encoder", "steps", "on", "name"}, Names(config{}))
	type order struct {
		Order     int `json:"class_order"`
		OrderSeed int `json:"order_seed"`
	}
	require.Equal(t, "order_seed of class_order", InFiles(order{}).Replace("OrderSeed of Order"))
	n := uint64(1)
	require.NoError(t, Set(&n, Value{Text: "3"}))
	require.Equal(t, uint64(3), n)
	require.ErrorContains(t, Set(&n, Value{Text: "-1"}), "0 or more")
}

func TestAll(t *testing.T) {
	var texts []string
	for _, f := range All(&config{Rate: 3e-4, Encoder: inner{FanOut: []int{10, 5}}}) {
		texts = append(texts, f.Path+"="+f.Text()+" "+f.Help)
	}
	require.Equal(t, []string{"rate=0.0003 of learning", "encoder.kind=small ", "encoder.hidden=0 width",
		"encoder.fan_out=10,5 ",
		"steps=0 ", "on=false ", "name= "}, texts)
}
