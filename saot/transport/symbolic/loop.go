package symbolic

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/saot-go/saot/internal/loop"
)

// With over-relaxation, every plainEvery-th sweep is plain. Only after a plain sweep are the rows exact, so only then
// can the error end the loop.
const plainEvery = 10

// repetition says how often sweeps are repeated, and counts them.
type repetition struct {
	limit     int     // sweeps, those done before included
	tolerance float64 // marginal error at which the loop ends
	omega     float64 // over-relaxation
	unrolled  bool    // do all sweeps, without a loop

	done *graph.Node // sweeps done so far, an int32 scalar
}

// repeat returns the states after the sweeps of one ε. Unrolled, it does the given number; a loop ends at the
// tolerance, or when r.limit sweeps are done in all.
func (s *sweeper) repeat(u *graph.Node, r *repetition, sweeps int) (nextU, v *graph.Node) {
	u, v = s.sweep(u, nil, plainSweep)
	if s.relaxed() {
		u, v = s.translate(u, v, highest)
	}
	g := u.Graph()
	if r.unrolled {
		for done := 1; done < sweeps; done++ {
			omega := overshooting(plainSweep)
			if r.omega > 1 && (done+1)%plainEvery != 0 && done+1 < sweeps {
				omega = func(*graph.Node) *graph.Node { return graph.Scalar(g, u.DType(), r.omega) }
			}
			u, v = s.sweep(u, v, omega)
		}
		r.done = graph.Scalar(g, dtypes.Int32, r.limit)
		return u, v
	}
	if r.done == nil {
		r.done = graph.ScalarZero(g, dtypes.Int32)
	}
	r.done = graph.OnePlus(r.done)
	const anyError = 1e30 // the first pass of the loop does not see an error yet
	missed := graph.BroadcastToDims(graph.Scalar(g, u.DType(), anyError), u.Shape().Dimensions[:u.Rank()-2]...)
	out := loop.While([]*graph.Node{r.done, missed, u, v}, s.nodes(), r.more, s.inLoop(*r))
	r.done = out[0]
	return out[2], out[3]
}

// more is the condition of the loop, whose state is the number of sweeps, the marginal error of the states before the
// last sweep, a scalar or [B], and the states. The error of one sweep costs nothing in the next, which needs the
// marginal anyway. So the loop ends one sweep late, and that sweep is plain.
func (r *repetition) more(state, _ []*graph.Node) *graph.Node {
	left := graph.LessThan(state[0], loop.Scalar(state[0].Graph(), dtypes.Int32, float64(r.limit)))
	return graph.LogicalAnd(left, r.above(state[1]))
}

// above returns whether a marginal error is above the tolerance.
func (r *repetition) above(missed *graph.Node) *graph.Node {
	return loop.Any(graph.GreaterThan(missed, loop.Scalar(missed.Graph(), missed.DType(), r.tolerance)))
}

// inLoop is the body of the loop.
func (s *sweeper) inLoop(r repetition) func(state, fixed []*graph.Node) []*graph.Node {
	return func(state, fixed []*graph.Node) []*graph.Node {
		inner, done, u, v := s.with(fixed), state[0], state[2], state[3]
		integer := func(x int) *graph.Node { return loop.Scalar(u.Graph(), dtypes.Int32, float64(x)) }
		every := func(done *graph.Node) *graph.Node {
			return graph.Equal(graph.Rem(done, integer(plainEvery)), integer(0))
		}
		next := graph.Add(done, integer(1))
		var missed *graph.Node
		nextU, nextV := inner.sweep(u, v, func(columns *graph.Node) *graph.Node {
			missed = inner.missed(columns, v)
			if r.omega == 1 {
				return nil
			}
			missed = graph.Where(loop.Broadcast(every(done), missed.Shape()), missed, state[1])
			last := graph.LogicalOr(graph.Equal(next, integer(r.limit)), graph.LogicalNot(r.above(missed)))
			number := func(x float64) *graph.Node { return loop.Scalar(u.Graph(), u.DType(), x) }
			return graph.Where(graph.LogicalOr(every(next), last), number(1), number(r.omega))
		})
		return []*graph.Node{next, missed, nextU, nextV}
	}
}

// parts lists the nodes that the sweeps use.
func (s *sweeper) parts() []**graph.Node {
	all := []**graph.Node{&s.matrix, &s.mu, &s.nu, &s.epsilon, &s.lambdaMu, &s.lambdaNu}
	return slices.DeleteFunc(all, func(x **graph.Node) bool { return *x == nil })
}

func (s *sweeper) nodes() (all []*graph.Node) {
	for _, x := range s.parts() {
		all = append(all, *x)
	}
	return all
}

// with returns the same sweeps on other nodes, those of a loop.
func (s *sweeper) with(nodes []*graph.Node) *sweeper {
	inner := *s
	for i, x := range inner.parts() {
		*x = nodes[i]
	}
	return &inner
}
