package explorer

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/notebooks/kit"
	"github.com/saot-go/saot/plotting/nb"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/transport/plain"
)

// Places of the knobs.
const (
	taskKnob    = 1
	methodKnob  = 2
	otherKnob   = 3
	seedKnob    = 4
	epsilonKnob = 5
	alphaKnob   = 7
)

// reader turns an explorer's knobs and presses its buttons.
type reader struct {
	*Explorer
	t  *testing.T
	in nb.Input
}

func read(t *testing.T) *reader {
	t.Helper()
	e, err := engine.Open("go")
	require.NoError(t, err)
	x, err := New(e, "")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	t.Cleanup(x.Close)
	return &reader{x, t, x.First(None)}
}

// press returns the parts by name.
func (r *reader) press(actions ...Action) map[string]nb.Part {
	r.t.Helper()
	var parts []nb.Part
	for _, a := range actions {
		r.in.Pressed = int(a)
		var err error
		parts, err = r.Turn(r.in)
		require.NoError(r.t, err)
		require.Len(r.t, parts, 14, "always as many")
	}
	byName := map[string]nb.Part{}
	for _, p := range parts {
		if p.Draw != nil {
			byName[p.Name] = p
		}
	}
	return byName
}

func (r *reader) set(knob int, value string) map[string]nb.Part {
	r.t.Helper()
	r.in.At[knob] = slices.Index(r.Knobs()[knob].Values, value)
	return r.press(None)
}

func pngOf(t *testing.T, p nb.Part) []byte {
	t.Helper()
	figure, err := p.Draw()
	require.NoError(t, err)
	png, err := figure.PNG()
	require.NoError(t, err)
	return png
}

func names(parts map[string]nb.Part) (all []string) {
	for name := range parts {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Buttons move the position, and a step back undoes each of them without training again.
func TestStepsAndBack(t *testing.T) {
	r := read(t)
	require.Equal(t, []string{"saot: embeddings", "saot: π_Z", "π_G of task 1"}, names(r.press(None)))
	first := r.press(StepEpoch)
	require.Equal(t, Position{Epoch: 1}, r.now)
	picture := pngOf(t, first["saot: embeddings"])
	later := r.press(StepSweep, StepSweep, StepEpoch)
	require.Equal(t, Position{Epoch: 2}, r.now)
	require.NotEqual(t, picture, pngOf(t, later["saot: embeddings"]))
	r.press(StepTask)
	require.Equal(t, Position{Epoch: Epochs}, r.now)

	for _, want := range []Position{{Epoch: 2}, {1, 2}, {1, 1}, {Epoch: 1}} {
		r.press(Back)
		require.Equal(t, want, r.now)
	}
	again := r.press(None)
	require.Equal(t, first["saot: embeddings"].Key, again["saot: embeddings"].Key)
	require.Equal(t, picture, pngOf(t, again["saot: embeddings"]))
	require.Equal(t, float64(Epochs), r.sides[0].clock, "what was seen is kept")
	// Epoch 3 was passed without a look: the run starts again.
	r.press(StepEpoch, StepEpoch)
	require.InDelta(t, 3, r.sides[0].clock, 0)
	r.press(StartOver, Back)
	require.Equal(t, Position{Epoch: 3}, r.now)
	r.press(Back, Back, Back, Back, Back)
	require.Equal(t, Position{}, r.now, "there is nothing before the start")
}

// The plan after k sweeps is that of the definition, and only the plan is drawn again.
func TestSweeps(t *testing.T) {
	r := read(t)
	before := r.press(StepEpoch)
	for k := 1; k <= 3; k++ {
		now := r.press(StepSweep)
		for name, part := range now {
			require.Equal(t, name != "saot: π_Z", part.Key == before[name].Key, name)
		}
		task := r.stream.Tasks[0]
		nodes, views := nodesOf(task, r.choice), r.sides[0].looks[place{1, 0}].views
		got, err := embeddingPlan(views, nodes, r.choice.Epsilon, r.now.Sweep)
		require.NoError(t, err)
		require.True(t, mat.EqualApprox(sweeps(views, nodes, r.choice.Epsilon, k), got.Plan, 1e-12))
		before = now
	}
	for range 60 {
		r.press(StepSweep)
	}
	require.Equal(t, mostSweeps(), r.now.Sweep, "there is a last sweep")
}

// sweeps is the plan after k sweeps.
func sweeps(views [2]*continual.Embedding, nodes []int32, epsilon float64, k int) *mat.Dense {
	rows := func(z *continual.Embedding) (out [][]float64) {
		all := kit.RowsOf(z.Data, z.Cols, nodes)
		for i := range nodes {
			out = append(out, all.RawRowView(i))
		}
		return out
	}
	n := len(nodes)
	mass := slices.Repeat([]float64{1 / float64(n)}, n)
	cost := plain.CosineCost(rows(views[0]), rows(views[1]))
	return mat.NewDense(n, n, slices.Concat(plain.Sinkhorn(cost, mass, mass, epsilon, k)...))
}

// A knob replays the run up to where the reader stands; a seed brings its run back.
func TestKnobsReplay(t *testing.T) {
	r := read(t)
	seed1 := pngOf(t, r.press(StepEpoch, StepEpoch)["saot: embeddings"])
	seed2 := pngOf(t, r.set(seedKnob, "2")["saot: embeddings"])
	require.Equal(t, Position{Epoch: 2}, r.now)
	require.NotEqual(t, seed1, seed2)
	require.NotEqual(t, seed2, pngOf(t, r.set(alphaKnob, "5")["saot: embeddings"]))
	r.set(alphaKnob, "1")
	require.Equal(t, seed1, pngOf(t, r.set(seedKnob, "1")["saot: embeddings"]))
}

// The menu offers the tasks of the longest stream. A stream with fewer shows its last one, and says so.
func TestTaskKnob(t *testing.T) {
	r := read(t)
	require.Len(t, r.Knobs()[taskKnob].Values, 9)
	require.Contains(t, r.set(taskKnob, "9"), "π_G of task 3")
}

// A knob without effect on a method replays no run of it.
func TestKnobsWithoutEffect(t *testing.T) {
	one := Choice{Seed: 1, Epsilon: 0.2, Sigma: 0.5, Alpha: 1, Beta: 0.5, Points: 40}
	other := one
	other.Epsilon, other.Sigma, other.Alpha, other.Beta = 1, 0, 5, 0
	require.Equal(t, one.settings("saot-barlow"), other.settings("saot-barlow"))
	require.NotEqual(t, one.settings("saot"), other.settings("saot"))
	other = one
	other.Beta = 2
	require.Equal(t, one.settings("saot-no-distill"), other.settings("saot-no-distill"))
	other.Points = 20
	for _, name := range []string{"saot-barlow", "saot-no-distill"} {
		require.NotEqual(t, one.settings(name), other.settings(name))
	}
}

// Two methods stand on one clock, each on lines of its own kind. The first stays as it is, and so does a method without
// the knobs of SAOT when they move.
func TestSideBySide(t *testing.T) {
	r := read(t)
	alone := r.press(StepTask)
	both := r.set(otherKnob, "gbt")
	require.Equal(t, []string{"gbt: embeddings", "gbt: losses", "gbt: performance matrix", "gbt: π_Z", "saot: buffer",
		"saot: embeddings", "saot: losses", "saot: performance matrix", "saot: teacher's plan", "saot: π_Z",
		"π_G of task 1", "π_Z: saot − gbt"}, normal(names(both)))
	for name, part := range alone {
		require.Equal(t, part.Key, both[name].Key, name)
	}
	require.True(t, both["saot: embeddings"].Break)
	require.False(t, both["gbt: embeddings"].Break)
	for name, part := range both {
		figure, err := part.Draw()
		require.NoError(t, err)
		width, _ := figure.Size()
		require.LessOrEqual(t, width*96/72, 465.0, "%s: two stand side by side on a page", name)
	}
	require.Equal(t, r.sides[0].clock, r.sides[1].clock)

	other := r.sides[1]
	moved := r.set(epsilonKnob, "0.5")
	require.Same(t, other, r.sides[1], "gbt has no ε")
	require.Equal(t, both["gbt: embeddings"].Key, moved["gbt: embeddings"].Key)
	require.NotEqual(t, both["gbt: π_Z"].Key, moved["gbt: π_Z"].Key, "its plan has")
	require.NotEqual(t, both["saot: embeddings"].Key, moved["saot: embeddings"].Key)
	require.NotContains(t, names(r.set(otherKnob, Alone)), "gbt: π_Z")
}

// Parts of a kind stand side by side. Where one of two methods has none, its place is as large and says so.
func TestPairs(t *testing.T) {
	r := read(t)
	r.press(StepTask, StepEpoch)
	for _, c := range []struct {
		method, other string
		want          [][2]string // the lines from the third on
	}{
		{"saot", "saot-no-distill", [][2]string{
			{"saot: the teacher's plan", "saot-no-distill: no teacher"},
			{"saot: buffer", "saot-no-distill: buffer"},
			{"saot: embeddings", "saot-no-distill: embeddings"},
			{"saot: losses", "saot-no-distill: losses"},
			{"saot: performance matrix", "saot-no-distill: performance matrix"},
		}},
		{"saot", "random", [][2]string{
			{"saot: the teacher's plan", "saot: buffer"}, // random has neither
			{},
			{"saot: embeddings", "random: embeddings"},
			{"saot: losses", "random: no losses"},
			{"saot: performance matrix", "random: performance matrix"},
		}},
		{"random", "saot-barlow", [][2]string{
			{},
			{"", "saot-barlow: buffer"},
			{"random: embeddings", "saot-barlow: embeddings"},
			{"random: no losses", "saot-barlow: losses"},
			{"random: performance matrix", "saot-barlow: performance matrix"},
		}},
	} {
		r.in.At[methodKnob] = slices.Index(r.Knobs()[methodKnob].Values, c.method)
		r.set(otherKnob, c.other)
		parts, err := r.Turn(r.in)
		require.NoError(t, err)
		var got [][2]string
		for line := 4; line < len(parts); line += 2 {
			left, right := parts[line], parts[line+1]
			got = append(got, [2]string{left.Name, right.Name})
			if strings.Contains(left.Name+right.Name, ": no ") {
				require.True(t, left.Break)
				one, err := left.Draw()
				require.NoError(t, err)
				other, err := right.Draw()
				require.NoError(t, err)
				width, height := one.Size()
				otherWidth, otherHeight := other.Size()
				require.Equal(t, []float64{width, height}, []float64{otherWidth, otherHeight})
			}
		}
		require.Equal(t, c.want, got)
	}
}

func normal(names []string) []string {
	for i, name := range names {
		names[i] = strings.Replace(name, ": the teacher's", ": teacher's", 1)
	}
	slices.Sort(names)
	return names
}

// The teacher's plan is that of a learner that has learned the tasks before, and the buffer holds nodes of these.
func TestTeacherAndBuffer(t *testing.T) {
	r := read(t)
	require.NotContains(t, names(r.press(StepEpoch)), "saot: the teacher's plan")
	r.in.At[taskKnob] = 1
	r.press(StepTask, StepEpoch, StepEpoch)
	s, err := r.sides[0].scene(context.Background(), r.now.Epoch, r.choice)
	require.NoError(t, err)

	l, err := r.sides[0].settings.learner(r.engine, r.stream)
	require.NoError(t, err)
	_, err = l.Learn(context.Background(), 0, r.stream.Tasks[0].Graph, nil)
	require.NoError(t, err)
	for i, view := range viewsOf(r.stream.Tasks[1]) {
		want, err := l.Embed(context.Background(), view)
		require.NoError(t, err)
		require.Equal(t, want, s.teacher.views[i])
		require.NotEqual(t, want, s.now.views[i], "the student has moved")
	}
	require.Equal(t, [][]int32{l.(keeper).Kept(0, r.stream.Tasks[0].Graph)}, s.now.kept)
	require.Len(t, s.keptOf(0), 20)
	require.Empty(t, s.keptOf(1))

	learner := r.sides[0].learner
	r.in.At[taskKnob] = 0
	require.Contains(t, names(r.press(None)), "saot: the teacher's plan")
	require.Same(t, learner, r.sides[0].learner, "another task, and its teacher, are looked at without training again")
}

// A control learns a task in one step. The steps of the reader do not start it again.
func TestControlStandsStill(t *testing.T) {
	r := read(t)
	parts := r.set(methodKnob, "random")
	require.Equal(t, []string{"random: embeddings", "random: π_Z", "π_G of task 1"}, names(parts))
	r.press(StepEpoch)
	learner := r.sides[0].learner
	r.press(StepEpoch, StepEpoch)
	require.Same(t, learner, r.sides[0].learner)
	require.Equal(t, float64(Epochs), r.sides[0].clock)
	last := r.press(StepTask, StepTask, StepTask, StepTask)
	require.Equal(t, Position{Epoch: Epochs * 3}, r.now, "there is a last epoch")
	require.Contains(t, names(last), "random: performance matrix")
}

func TestExample(t *testing.T) {
	r := read(t)
	parts, err := r.Example()
	require.NoError(t, err)
	require.Equal(t, Position{Epoch: Epochs + 5}, r.now)
	for _, p := range parts {
		require.NotEmpty(t, pngOf(t, p), p.Name)
	}
}

// A run that fails shows why, next to the other one. Another choice starts again.
func TestFailedRun(t *testing.T) {
	r := read(t)
	good := r.knobs[otherKnob].Values
	r.knobs[otherKnob].Values = slices.Concat(good, []string{"joint"})
	r.in.At[otherKnob] = len(good)
	parts := r.press(None)
	failed, ok := parts["joint: joint makes no embeddings"]
	require.True(t, ok, "%v", slices.Collect(maps.Keys(parts)))
	_, err := failed.Draw()
	require.NoError(t, err)
	require.Contains(t, parts, "saot: π_Z")
	require.NotContains(t, parts, "π_Z: saot − joint")
	r.in.At[otherKnob] = slices.Index(good, "gbt")
	require.Contains(t, r.press(None), "π_Z: saot − gbt")
}

func TestErrors(t *testing.T) {
	_, err := settings{method: "none such"}.learner(nil, nil)
	require.Error(t, err)
	x := &Explorer{knobs: knobs([]string{Small, "none such"}), names: []string{Small, "none such"}}
	in := x.First(None)
	in.At[0] = 1
	_, err = x.Turn(in)
	require.ErrorContains(t, err, "none such")
}

// Two matrices stand side by side however many tasks a stream has.
func TestMatrixFitsHalfAPage(t *testing.T) {
	for _, tasks := range []int{2, 9, 35} {
		now := &look{matrix: make(continual.Matrix, tasks)}
		for i := range now.matrix {
			now.matrix[i] = make([]float64, i+1)
		}
		f, err := (&painter{}).matrix(&scene{run: &run{settings: settings{method: "saot"}}, now: now}).Draw()
		require.NoError(t, err)
		width, _ := f.Size()
		require.LessOrEqual(t, width*96/72, 465.0, "%d tasks", tasks)
	}
}
