package record

import (
	"encoding/json"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

func TestQuantizedIsWithinItsError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 500)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 1e-3)
	}
	q, err := Quantize(x)
	require.NoError(t, err)
	got, err := q.Values(len(x))
	require.NoError(t, err)
	for i, v := range x {
		require.InDelta(t, v, got[i], q.Scale/65534*1.0001)
	}
	zero, err := Quantize(make([]float32, 3))
	require.NoError(t, err)
	got, err = zero.Values(3)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 0}, got)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		_, err = Quantize([]float32{1, float32(bad)})
		require.ErrorContains(t, err, "entry 1 is")
	}
}

func TestNumberHasTheDigitsOfFloat32(t *testing.T) {
	in := []Number{0.1, 1.0 / 3, -2e-20, 0, Number(math.NaN()), Number(math.Inf(-1))}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	require.Equal(t, `[0.1,0.33333334,-2e-20,0,null,null]`, string(text))
	var out []Number
	require.NoError(t, json.Unmarshal(text, &out))
	for i := range 4 {
		require.Equal(t, float32(in[i]), float32(out[i]))
	}
	require.True(t, math.IsNaN(float64(out[4])))
}

// cloud draws n points in d dimensions of which two have most of the variance.
func cloud(n, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(3, 4))
	x := mat.NewDense(n, d, nil)
	x.Apply(func(_, j int, _ float64) float64 { return rng.NormFloat64() * math.Pow(0.3, float64(j)) }, x)
	return x
}

func flat(x *mat.Dense) []float32 {
	out := make([]float32, len(x.RawMatrix().Data))
	for i, v := range x.RawMatrix().Data {
		out[i] = float32(v)
	}
	return out
}

// On a plane the components are the points, turned. Another turn of the embedding, and a reflection, change nothing:
// the frame is turned back to the one before.
func TestPlaneKeepsAPictureStill(t *testing.T) {
	const n, d = 12, 5
	x := cloud(n, d)
	var p Plane
	first, shares, err := p.Place(flat(x), n, d)
	require.NoError(t, err)
	require.InDelta(t, 1, shares[0]+shares[1], 0.05)
	require.Greater(t, shares[0], shares[1])

	var qr mat.QR
	qr.Factorize(cloud(d, d))
	var turn, turned mat.Dense
	qr.QTo(&turn)
	turned.Mul(x, &turn)
	turned.Apply(func(_, j int, v float64) float64 { return v + float64(3*j) }, &turned) // moved, too
	second, _, err := p.Place(flat(&turned), n, d)
	require.NoError(t, err)
	for i := range first {
		require.InDelta(t, first[i], second[i], 1e-4)
	}

	// Without the frame before, a picture may be reflected; its distances are the same.
	third, _, err := new(Plane).Place(flat(&turned), n, d)
	require.NoError(t, err)
	for _, alone := range [][]float32{first, third} {
		for c := range 2 {
			low, high := alone[c], alone[c]
			for i := c; i < 2*n; i += 2 {
				low, high = min(low, alone[i]), max(high, alone[i])
			}
			require.Greater(t, high, -low, "the largest coordinate of component %d is positive", c)
		}
	}
	distance := func(y []float32, i, j int) float64 {
		return math.Hypot(float64(y[2*i]-y[2*j]), float64(y[2*i+1]-y[2*j+1]))
	}
	for i := range n {
		for j := range i {
			require.InDelta(t, distance(first, i, j), distance(third, i, j), 1e-4)
		}
	}
}

func TestPlaneRefuses(t *testing.T) {
	var p Plane
	for _, n := range []int{-1, 2} {
		_, _, err := p.Place(make([]float32, 6), n, 2)
		require.ErrorContains(t, err, "there are 6 entries")
	}
	_, _, err := p.Place(make([]float32, 6), 3, 2)
	require.NoError(t, err)
	_, _, err = p.Place(make([]float32, 6), 2, 3)
	require.ErrorContains(t, err, "there are 2 embeddings, and 3 in the frame before")
}

func TestPlaneOfLittle(t *testing.T) {
	for _, c := range []struct {
		name string
		z    []float32
		n, d int
	}{
		{"no columns", nil, 4, 0},
		{"one node", []float32{1, 2, 3}, 1, 3},
		{"all alike", []float32{1, 2, 1, 2, 1, 2}, 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Plane
			for range 2 {
				points, shares, err := p.Place(c.z, c.n, c.d)
				require.NoError(t, err)
				require.Equal(t, make([]float32, 2*c.n), points)
				require.Equal(t, [2]float64{}, shares)
			}
		})
	}
}

func testHead() Head { return Head{Method: "toy", Dataset: "made", Seed: 3, Every: 5, Tasks: 3} }

func testTask(t *testing.T, task int) Task {
	plan, err := Quantize([]float32{0.25, 0.125, 0.125, 0.5})
	require.NoError(t, err)
	return Task{Task: task, Nodes: []int32{4, 9}, Classes: []int32{1, 0}, Edges: []Edge{{0, 1}},
		Views: [][]Edge{{{0, 1}}, {}}, Graph: &Plan{Values: *plan, MarginalError: 1e-9}, Terms: []string{"total"},
		Figures: []string{"entropy"}}
}

func testFrame(t *testing.T, step int) Frame {
	points, err := Quantize([]float32{1, 2, -3, float32(step)})
	require.NoError(t, err)
	return Frame{Step: step, Terms: []Number{1.5}, Figures: []Number{0.5}, MarginalError: 1e-7, Points: points,
		Shares: []Number{0.5, 0.25}}
}

// written writes a recording of three tasks, the last of which is still learned.
func written(t *testing.T) string {
	dir := t.TempDir()
	w, err := Create(dir, testHead())
	require.NoError(t, err)
	for task := range 3 {
		require.NoError(t, w.Begin(testTask(t, task)))
		for step := range 4 {
			require.NoError(t, w.Add(testFrame(t, 5*step)))
		}
		if task < 2 {
			require.NoError(t, w.End([]Score{{Setting: "class-il", Probe: "paper",
				Accuracy: make([]Number, task+1)}}))
		}
	}
	require.NoError(t, w.Flush())
	return dir
}

func TestWriteAndRead(t *testing.T) {
	dir := written(t)
	r, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, Head{Format: Format, Version: Version, Method: "toy", Dataset: "made", Seed: 3, Every: 5,
		Tasks: 3}, r.Head)
	require.Len(t, r.Tasks, 3)
	want := testTask(t, 1)
	want.Format, want.Version = Format, Version
	want.Scores = []Score{{Setting: "class-il", Probe: "paper", Accuracy: []Number{0, 0}}}
	for step := range 4 {
		want.Frames = append(want.Frames, testFrame(t, 5*step))
	}
	for i := range want.Frames { // numbers have the precision of float32
		want.Frames[i].MarginalError = Number(float32(1e-7))
		r.Tasks[1].Frames[i].MarginalError = Number(float32(r.Tasks[1].Frames[i].MarginalError))
	}
	require.Equal(t, want, r.Tasks[1])
	require.Empty(t, r.Tasks[2].Scores)
	require.Len(t, r.Tasks[2].Frames, 4)

	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	require.NoError(t, err)
	require.Len(t, entries, 4, "no temporary file stays")
	_, err = Create(dir, testHead())
	require.ErrorContains(t, err, "already holds a recording")
	_, err = Read(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A killed process leaves what was written last.
func TestFramesReachTheDiskWhileATaskIsLearned(t *testing.T) {
	for _, tasks := range []int{3, 1000} { // the share of one of 1000 is soon full
		dir, head := t.TempDir(), testHead()
		head.Tasks = tasks
		w, err := Create(dir, head)
		require.NoError(t, err)
		require.NoError(t, w.Begin(testTask(t, 0)))
		for step := range 400 {
			require.NoError(t, w.Add(testFrame(t, step)))
			if step+1 < flushFrames {
				continue
			}
			r, err := Read(dir)
			require.NoError(t, err)
			written := r.Tasks[0].Frames
			lost := 0
			for _, f := range w.task.Frames {
				if f.Step > written[len(written)-1].Step {
					lost++
				}
			}
			require.LessOrEqual(t, lost, max(flushFrames, len(w.task.Frames)/5), "after %d frames", step+1)
		}
		require.Equal(t, tasks == 1000, w.each > 1, "every other frame was dropped")
	}
}

func TestAddReplacesAFrameOfTheSameStep(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, testHead())
	require.NoError(t, err)
	require.NoError(t, w.Begin(testTask(t, 0)))
	require.NoError(t, w.Add(testFrame(t, 5)))
	again := testFrame(t, 5)
	again.Terms = []Number{7}
	require.NoError(t, w.Add(again))
	require.ErrorContains(t, w.Add(testFrame(t, 4)), "step 4 does not follow step 5")
	require.ErrorContains(t, w.Add(Frame{Step: 6, Terms: []Number{1, 2}}), "2 entries for 1 names")
	require.NoError(t, w.Flush())
	r, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, r.Tasks[0].Frames, 1)
	require.Equal(t, []Number{7}, r.Tasks[0].Frames[0].Terms)
}

func TestWriterRefusesWhatReadWould(t *testing.T) {
	w, err := Create(t.TempDir(), testHead())
	require.NoError(t, err)
	for _, err := range []error{w.Names([]string{"total"}, nil), w.Add(testFrame(t, 0)), w.End(nil)} {
		require.ErrorContains(t, err, "call Begin first")
	}
	require.NoError(t, w.Begin(testTask(t, 0)))
	many := make([]string, maxNames+1)
	for i := range many {
		many[i] = "x"
	}
	require.ErrorContains(t, w.Names(nil, many), "field figures has 65 entries, want 64 at most")
	require.ErrorContains(t, w.Names([]string{""}, nil), "a name of 0 bytes")
	require.ErrorContains(t, w.Names([]string{strings.Repeat("x", maxName+1)}, nil), "a name of 101 bytes")
	require.Equal(t, testTask(t, 0).Terms, w.task.Terms, "names that were refused are not taken")
	require.NoError(t, w.Names(many[1:], nil))
}

func TestResumeDropsWhatIsLearnedAgain(t *testing.T) {
	dir := written(t)
	half := filepath.Join(dir, Folder, "."+filepath.Base(taskPath(dir, 0))+"-123") // of a process that was killed
	require.NoError(t, os.WriteFile(half, []byte("{"), 0o600))
	_, err := Resume(dir, testHead(), 1)
	require.NoError(t, err)
	require.NoFileExists(t, half)
	r, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, r.Tasks, 1)
	require.Len(t, r.Tasks[0].Frames, 4)

	other := testHead()
	other.Every = 7
	_, err = Resume(dir, other, 1)
	require.ErrorContains(t, err, "a frame every 5 steps, not 7")
	other = testHead()
	other.Seed = 4
	_, err = Resume(dir, other, 1)
	require.ErrorContains(t, err, "of a different run")

	// A run that was not recorded from its start lacks its first tasks.
	dir = t.TempDir()
	w, err := Resume(dir, testHead(), 1)
	require.NoError(t, err)
	require.NoError(t, w.Begin(testTask(t, 1)))
	require.NoError(t, w.End(nil))
	r, err = Read(dir)
	require.NoError(t, err)
	require.Len(t, r.Tasks, 1)
	require.Equal(t, 1, r.Tasks[0].Task)
}

// A run on UAI has nine tasks of 30 steps. With a frame for each step, three plans of 36 nodes and what SAOT records of
// a step, its recording stays below 2 MB.
func TestARecordingIsCompact(t *testing.T) {
	const n = 36
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func(count int) *Quantized {
		x := make([]float32, count)
		for i := range x {
			x[i] = rng.Float32()
		}
		q, err := Quantize(x)
		require.NoError(t, err)
		return q
	}
	plan := func() *Plan { return &Plan{Values: *noise(n * n), MarginalError: 1.234567e-7} }
	numbers := func(count int) []Number {
		x := make([]Number, count)
		for i := range x {
			x[i] = Number(rng.Float64())
		}
		return x
	}
	dir := t.TempDir()
	w, err := Create(dir, Head{Method: "saot", Dataset: "uai", Every: 1, Tasks: 9})
	require.NoError(t, err)
	for task := range 9 {
		names := make([]string, 14)
		for i := range names {
			names[i] = "a name of some length"
		}
		require.NoError(t, w.Begin(Task{Task: task, Nodes: make([]int32, n), Classes: make([]int32, n),
			Edges: make([]Edge, 4*n), Views: [][]Edge{make([]Edge, 4*n), make([]Edge, 4*n)}, Graph: plan(),
			Teacher: plan(), Terms: names[:4], Figures: names[4:]}))
		for step := range 31 {
			require.NoError(t, w.Add(Frame{Step: step, Terms: numbers(4), Figures: numbers(10), MarginalError: 1e-7,
				Points: noise(2 * n), Shares: numbers(2), Plan: plan()}))
		}
		require.NoError(t, w.End(nil))
	}
	size := int64(0)
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		size += info.Size()
	}
	t.Logf("%d bytes", size)
	require.Less(t, size, int64(2e6))
}

// A run of many steps stays readable: frames are dropped, evenly, and the first and the last stay.
func TestALongTaskIsThinned(t *testing.T) {
	dir := t.TempDir()
	const n, steps = maxNodes, 700
	w, err := Create(dir, Head{Method: "saot", Dataset: "large", Every: 1, Tasks: 100})
	require.NoError(t, err)
	task := Task{Task: 0, Nodes: make([]int32, n), Classes: make([]int32, n), Terms: []string{}, Figures: []string{}}
	require.NoError(t, w.Begin(task))
	points, err := Quantize(make([]float32, 2*n))
	require.NoError(t, err)
	for step := range steps {
		require.NoError(t, w.Add(Frame{Step: step, Points: points}))
	}
	require.NoError(t, w.Add(Frame{Step: steps - 1, Points: points, MarginalError: 0.5}))
	require.NoError(t, w.End(nil))
	info, err := os.Stat(taskPath(dir, 0))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(maxBytes/100))
	r, err := Read(dir)
	require.NoError(t, err)
	frames := r.Tasks[0].Frames
	require.Greater(t, len(frames), 100)
	require.Zero(t, frames[0].Step)
	each := frames[1].Step
	require.Greater(t, each, 1)
	for i, f := range frames[:len(frames)-1] {
		require.Equal(t, each*i, f.Step)
	}
	require.Equal(t, steps-1, frames[len(frames)-1].Step)
	require.EqualValues(t, 0.5, frames[len(frames)-1].MarginalError, "the last frame was replaced")
}

// Whatever a file says, Read returns an error that names the file, or something that can be drawn.
func TestReadRefusesHostileFiles(t *testing.T) {
	for _, c := range []struct{ name, file, from, to, want string }{
		{"no JSON", "task-0002.json", `{"format"`, `{format`, "not a file of a recording"},
		{"another format", "head.json", `"saot-recording"`, `"saot"`, `field format is "saot"`},
		{"a later version", "task-0002.json", `"version":1`, `"version":2`, "version is 2: this program reads version 1"},
		{"a command", "head.json", `"made"`, `"\u001b[31m"`, "holds a control character"},
		{"no distance", "head.json", `"every":5`, `"every":0`, "field every is 0"},
		{"many tasks", "head.json", `"tasks":3`, `"tasks":1000000000`, "field tasks is 1000000000"},
		{"another task", "task-0002.json", `"task":1`, `"task":2`, "field task is 2, want 1"},
		{"no nodes", "task-0002.json", `"nodes":[4,9]`, `"nodes":[]`, "field nodes has 0 entries"},
		{"a class less", "task-0002.json", `"classes":[1,0]`, `"classes":[1]`, "field classes has 1 entries for 2"},
		{"an edge out", "task-0002.json", `"edges":[[0,1]]`, `"edges":[[0,2]]`, "leads out of 2 nodes"},
		{"an edge before", "task-0002.json", `"edges":[[0,1]]`, `"edges":[[-1,0]]`, "leads out of 2 nodes"},
		{"many edges", "task-0002.json", `"edges":[[0,1]]`, `"edges":[[0,1],[0,1],[0,1],[0,1],[0,1]]`, "5 edges among"},
		{"three views", "task-0002.json", `"views":[[[0,1]],[]]`, `"views":[[],[],[]]`, "field views has 3 entries"},
		{"a short plan", "task-0002.json", `"graph":{"values":{"scale":0.5,"base64":"`,
			`"graph":{"values":{"scale":0.5,"base64":"AAAA`, "field graph: base64 has 16 characters, want 12"},
		{"no base64", "task-0002.json", `"base64":"`, `"base64":"**`, "base64"},
		{"a negative scale", "task-0002.json", `"scale":0.5`, `"scale":-0.5`, "the scale is -0.5"},
		{"an infinite scale", "task-0002.json", `"scale":0.5`, `"scale":1e999`, "not a file of a recording"},
		{"a negative error", "task-0002.json", `"marginal_error":1e-9`, `"marginal_error":-1`, "marginal error is -1"},
		{"a negative step", "task-0002.json", `"step":0`, `"step":-1`, "step is -1"},
		{"a step twice", "task-0002.json", `"step":5`, `"step":10`, "step 10 does not follow step 10"},
		{"terms without names", "task-0002.json", `"terms":["total"]`, `"terms":[]`, "terms has 1 entries for 0 names"},
		{"figures without names", "task-0002.json", `"figures":["entropy"]`, `"figures":[]`, "for 0 names"},
		{"an empty name", "task-0002.json", `"terms":["total"]`, `"terms":[""]`, "a name of 0 bytes"},
		{"one share", "task-0002.json", `"shares":[0.5,0.25]`, `"shares":[0.5]`, "shares has 1 entries"},
		{"a long row", "task-0002.json", `"accuracy":[0,0]`, `"accuracy":[0,0,0]`, "has 3 entries after task 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t)
			path := filepath.Join(dir, Folder, c.file)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := strings.Replace(string(text), c.from, c.to, 1)
			require.NotEqual(t, string(text), changed, "the case changes nothing: %s", text)
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
			_, err = Read(dir)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
		})
	}
	t.Run("too large", func(t *testing.T) {
		dir := written(t)
		path := filepath.Join(dir, Folder, "task-0001.json")
		require.NoError(t, os.Truncate(path, maxBytes+1)) // a hole, which takes no room
		_, err := Read(dir)
		require.ErrorContains(t, err, "larger than")
	})
	t.Run("endless", func(t *testing.T) {
		dir := written(t)
		path := filepath.Join(dir, Folder, head)
		require.NoError(t, os.Remove(path))
		if err := os.Symlink(os.DevNull, path); err != nil {
			t.Skip("no links on this system: ", err)
		}
		_, err := Read(dir)
		require.ErrorContains(t, err, path+" is not a regular file")
	})
}

// A plan has no negative entries, whatever the sign of q.
func TestReadRefusesANegativePlan(t *testing.T) {
	q, err := Quantize([]float32{0.5, -0.25, 0.5, 0.25})
	require.NoError(t, err)
	require.ErrorContains(t, (&Plan{Values: *q}).check("plan", 2), "has the entry -0.2")
}

func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"format":"saot-recording","version":1,"task":0,"nodes":[1],"classes":[0],"frames":[{"step":0}]}`))
	f.Add([]byte(`{"format":"saot-recording","version":1,"nodes":[1],"classes":[0],"graph":{"values":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var task Task
		if json.Unmarshal(data, &task) != nil || task.check(0, 3) != nil {
			return
		}
		n := len(task.Nodes)
		require.Positive(t, n)
		for _, frame := range task.Frames {
			if frame.Plan != nil {
				_, err := frame.Plan.Values.Values(n * n)
				require.NoError(t, err)
			}
		}
	})
}
