package check

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

type shared struct {
	Epochs int `json:"epochs" range:"[1,)"`
}

type config struct {
	shared
	Rate  float64   `json:"rate" range:"(0,1)"`
	Mask  float64   `json:"mask" range:"[0,1)"`
	Share float64   `json:"share" range:"[0,1]"`
	Width float64   `json:"width" range:"(0,)"`
	Hops  []int     `json:"hops" range:"[0,)"`
	Free  []float64 `json:"free"`
}

func TestRanges(t *testing.T) {
	good := config{shared{1}, 0.5, 0, 1, 1e9, []int{0, 3}, []float64{math.NaN()}}
	require.NoError(t, In("toy").Ranges(&good).Err())
	bad := config{shared{0}, 0, 1, math.NaN(), math.Inf(1), []int{0, -1}, nil}
	require.EqualError(t, In("toy").Ranges(&bad).Err(), `toy: epochs is 0, want 1 or more
toy: rate is 0, want a value in (0, 1)
toy: mask is 1, want a value in [0, 1)
toy: share is NaN, want a value in [0, 1]
toy: width is +Inf, want more than 0
toy: hops[1] is -1, want 0 or more`)
	require.Panics(t, func() {
		In("toy").Ranges(&struct {
			X int `range:"1"`
		}{})
	})
}

func TestList(t *testing.T) {
	l := In("toy")
	l.That(true, "a", 1, "2")
	l.Add(nil)
	require.NoError(t, l.Err())
	l.That(false, "a", 1, "2")
	l.Add(errors.New("words"))
	require.EqualError(t, l.Err(), "toy: a is 1, want 2\nwords")
}

func TestFault(t *testing.T) {
	l := In("toy")
	l.AtMost("warm_up", 3, "epochs", 3)
	require.NoError(t, l.Err())
	l.AtMost("warm_up", 20, "epochs", 1)
	l.That(false, "rate", 0, "more")
	inner := In("inner")
	inner.That(false, "width", 0, "more")
	l.Add(inner.Err())
	l.Add(errors.New("words"))
	all := Each(l.Err())
	require.Len(t, all, 4)
	require.EqualError(t, all[0], "toy: warm_up is 20, epochs is 1: lower warm_up too")
	for i, want := range [][]string{{"warm_up", "epochs"}, {"rate"}, {"width"}} {
		var f *Fault
		require.ErrorAs(t, all[i], &f)
		require.Equal(t, want, f.Fields)
	}
	require.Empty(t, Each(nil))
}
