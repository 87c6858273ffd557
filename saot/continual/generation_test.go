package continual

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine/enginetest"
)

// stopped leaves a run folder with two of three tasks done.
func stopped(t *testing.T) string { return stoppedOf(t, &toyLearner{}, Options{}) }

func stoppedOf(t *testing.T, l *toyLearner, opt Options) string {
	opt.Dir, opt.Manifest, l.failAt = t.TempDir(), named, 2
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	_, err := Run(ctx, smallStream(), l, opt)
	require.ErrorIs(t, err, context.Canceled)
	var task *TaskError
	require.ErrorAs(t, err, &task)
	require.Equal(t, 2, task.Task)
	return opt.Dir
}

func resume(dir string, events ...*[]Event) (*Result, error) {
	return Run(context.Background(), smallStream(), &toyLearner{}, Options{Manifest: named, Dir: dir, Resume: true,
		Observe: func(ev Event) {
			for _, list := range events {
				*list = append(*list, ev)
			}
		}})
}

// damages of a checkpoint, by what they are.
func damages(good []byte) map[string][]byte {
	all := map[string][]byte{"empty": {}, "cut in the magic": good[:1], "cut after it": good[:len(checkpointMagic)],
		"half": good[:len(good)/2], "a byte short": good[:len(good)-1]}
	for name, i := range map[string]int{"length": len(checkpointMagic), "body": len(good) / 2, "sum": len(good) - 1} {
		bad := slices.Clone(good)
		bad[i] ^= 1
		all["a bit of the "+name] = bad
	}
	return all
}

// A damaged checkpoint costs one task: the run continues from the earlier one and ends as if nothing had happened.
func TestDamagedCheckpointCostsOneTask(t *testing.T) {
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Manifest: named}
	whole, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	dir := stoppedOf(t, &toyLearner{width: 3}, opt)
	files := map[string][]byte{}
	for _, name := range []string{CheckpointFile, EarlierFile} {
		files[name], err = os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	cases := damages(files[CheckpointFile])
	cases["missing"] = nil
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, EarlierFile), files[EarlierFile], 0o600))
			if bad != nil {
				require.NoError(t, os.WriteFile(filepath.Join(dir, CheckpointFile), bad, 0o600))
			}
			_, done, err := ReadIdentity(dir)
			require.NoError(t, err)
			switch name {
			case "a bit of the length", "a bit of the body": // a header may be readable with it
			case "a bit of the sum", "a byte short":
				require.Equal(t, 2, done, "the header is whole, and nothing else is read")
			default:
				require.Equal(t, 1, done)
			}
			var events []Event
			opt := opt
			opt.Dir, opt.Resume, opt.Observe = dir, true, func(ev Event) { events = append(events, ev) }
			got, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
			require.NoError(t, err)
			require.Equal(t, Resumed{Done: 1, Tasks: 3}, events[0])
			require.Equal(t, figuresOf(whole), figuresOf(got))
			require.Equal(t, []string{ResultFile}, filesIn(t, dir))
		})
	}
}

// A damaged checkpoint that was passed over never takes the place of the earlier one, and is not lost while the run
// lasts.
func TestDamagedCheckpointIsSetAside(t *testing.T) {
	dir := stopped(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, CheckpointFile), []byte("half"), 0o600))
	for range 2 { // stopped in its second task again
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Run(ctx, smallStream(), &toyLearner{cancel: cancel, failAt: 1},
			Options{Manifest: named, Dir: dir, Resume: true})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []string{DamagedFile, EarlierFile}, filesIn(t, dir))
		_, done, err := ReadIdentity(dir)
		require.NoError(t, err)
		require.Equal(t, 1, done)
	}
}

// A checkpoint that cannot be read for another reason than damage stays where it is: the run does not step back a task.
func TestUnreadableCheckpointIsKept(t *testing.T) {
	dir := stopped(t)
	path := filepath.Join(dir, CheckpointFile)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o755)) // opened, but not read
	_, err = resume(dir)
	require.ErrorContains(t, err, path)
	require.DirExists(t, path)
	require.NoError(t, os.Remove(path))

	// So is the earlier one where there is no last: the run does not start again over it.
	earlier := filepath.Join(dir, EarlierFile)
	before, err := os.ReadFile(earlier)
	require.NoError(t, err)
	require.NoError(t, os.Remove(earlier))
	require.NoError(t, os.Mkdir(earlier, 0o755))
	_, err = resume(dir)
	require.ErrorContains(t, err, earlier)
	require.DirExists(t, earlier)
	require.NoError(t, os.Remove(earlier))
	require.NoError(t, os.WriteFile(earlier, before, 0o600))

	require.NoError(t, os.WriteFile(path, good, 0o600))
	var events []Event
	_, err = resume(dir, &events)
	require.NoError(t, err)
	require.Equal(t, Resumed{Done: 2, Tasks: 3}, events[0])
}

// A read that fails says nothing of the file.
func TestCheckSum(t *testing.T) {
	body := []byte("a checkpoint")
	sum := sha256.Sum256(body)
	whole := append(slices.Clone(body), sum[:]...)
	for at := range whole {
		ok, err := checkSum(bytes.NewReader(whole[:at]), int64(len(body)))
		require.NoError(t, err)
		require.False(t, ok)
	}
	ok, err := checkSum(bytes.NewReader(whole), int64(len(body)))
	require.NoError(t, err)
	require.True(t, ok)
	_, err = checkSum(broken{}, int64(len(body)))
	require.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("input/output error")

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

// Where both are damaged the error says the one thing that helps, and it does.
func TestAllCheckpointsDamaged(t *testing.T) {
	for _, earlier := range []bool{true, false} {
		dir := stopped(t)
		path, other := filepath.Join(dir, CheckpointFile), filepath.Join(dir, EarlierFile)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(other))
		want := "move it away, and the run starts again at its first task"
		if earlier {
			require.NoError(t, os.WriteFile(other, []byte("half"), 0o600))
			want = "move both away, and the run starts again at its first task"
		}
		for name, bad := range damages(good) {
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			_, err := resume(dir)
			require.ErrorContains(t, err, path, name)
			require.ErrorContains(t, err, want, name)
			require.NotErrorAs(t, err, new(*TaskError))
			now, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, bad, now)
		}
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.RemoveAll(other))
		_, err = resume(dir)
		require.NoError(t, err)
	}
}

// The start and the largest memory of a run are those of all its processes.
func TestResumeKeepsStartAndPeak(t *testing.T) {
	dir := stopped(t)
	path := filepath.Join(dir, CheckpointFile)
	c, err := readCheckpoint(path)
	require.NoError(t, err)
	c.header.Partial.PeakBytes = 1 << 60 // more than this process takes
	require.NoError(t, c.write(path))
	r, err := resume(dir)
	require.NoError(t, err)
	require.True(t, c.header.Started.Equal(r.Started))
	require.Equal(t, int64(1<<60), r.PeakBytes)
}

// unsaved is a learner that cannot be saved.
type unsaved struct{ toyLearner }

func (*unsaved) Save(io.Writer) error { return errBroken }

// A run whose learner cannot be saved stops, and keeps the checkpoint before.
func TestFailedSaveStopsTheRun(t *testing.T) {
	dir := t.TempDir()
	_, err := Run(context.Background(), smallStream(), &unsaved{}, Options{Manifest: named, Dir: dir})
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "save the learner")
	_, done, err := ReadIdentity(dir)
	require.NoError(t, err)
	require.Zero(t, done)
}

// What killed processes leave next to a checkpoint is not looked at, and goes.
func TestLeftoversGo(t *testing.T) {
	dir := interrupted(t, Options{Manifest: named})
	for _, name := range []string{"." + CheckpointFile + "-123", "." + EarlierFile + "-9",
		"." + ResultFile + "-7"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600))
	}
	_, err := resume(dir)
	require.NoError(t, err)
	require.Equal(t, []string{ResultFile}, filesIn(t, dir))
}

// A damaged result next to a whole checkpoint loses nothing, and the error says so.
func TestDamagedResult(t *testing.T) {
	dir := stopped(t)
	path := filepath.Join(dir, ResultFile)
	require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	_, err := resume(dir)
	require.ErrorContains(t, err, "result.json: ")
	require.ErrorContains(t, err, "move it away, and the run continues from its checkpoint, which holds 2 of 3 tasks")
	require.NoError(t, os.Remove(path))
	_, err = resume(dir)
	require.NoError(t, err)
}

// Of a run that kept its learner, a lost result costs nothing: the model has all but the end.
func TestLostResult(t *testing.T) {
	opt := Options{Manifest: named, Dir: t.TempDir(), Keep: true}
	want, err := Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(opt.Dir, ResultFile)))
	var events []Event
	opt.Keep, opt.Resume, opt.Observe = false, true, func(e Event) { events = append(events, e) }
	got, err := Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.NoError(t, err)
	require.Equal(t, []Event{Resumed{Done: 3, Tasks: 3}}, events)
	require.Equal(t, want.Scores, got.Scores)
	require.Equal(t, []string{ModelFile, ResultFile}, filesIn(t, opt.Dir))

	require.NoError(t, os.Remove(filepath.Join(opt.Dir, ResultFile)))
	require.NoError(t, os.WriteFile(filepath.Join(opt.Dir, ModelFile), []byte("half"), 0o600))
	_, err = Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.ErrorContains(t, err, "move it away, and the run starts again at its first task")
}

// Two writers of one checkpoint at once do not take each other's unfinished file.
func TestCheckpointWritersTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), CheckpointFile)
	write := func(content string, meanwhile func()) {
		c := &checkpoint{state: func(w io.Writer) error {
			meanwhile()
			_, err := io.WriteString(w, content)
			return err
		}}
		require.NoError(t, c.write(path))
		c, err := readCheckpoint(path)
		require.NoError(t, err)
		require.NoError(t, c.stored.read(func(r io.Reader) error {
			got, err := io.ReadAll(r)
			require.Equal(t, content, string(got))
			return err
		}))
	}
	write("slow", func() { write("quick", func() {}) })
	require.Equal(t, []string{CheckpointFile}, filesIn(t, filepath.Dir(path)))
}

// A checkpoint with a right SHA-256 that no run writes is refused before it is used.
func TestResealedCheckpoint(t *testing.T) {
	for want, change := range map[string]func(h *header){
		"99 of 3 tasks are done":       func(h *header) { h.Done = 99 },
		"-1 of 3 tasks are done":       func(h *header) { h.Done = -1 },
		"says that 0 are done":         func(h *header) { h.Done = 0 },
		"it holds 0 scores, want 4":    func(h *header) { h.Partial.Scores = nil },
		"score 1 is of class-il":       func(h *header) { h.Partial.Scores[1] = h.Partial.Scores[0] },
		"has 0 rows and fits of 2":     func(h *header) { h.Partial.Scores[2].Matrix = nil },
		"has 5 entries, not 2":         func(h *header) { h.Partial.Scores[3].Matrix[1] = make([]float64, 5) },
		"on 2 learned and 1 evaluated": func(h *header) { h.Partial.Evaluations = h.Partial.Evaluations[:1] },
		"sketch 0 has 0 numbers in 3":  func(h *header) { h.Partial.Sketches = []sketch{{Cols: 3}} },
		"sketch 0 has 7 numbers in 3":  func(h *header) { h.Partial.Sketches = []sketch{{3, make([]float32, 7)}} },
		"4 sketches of 2 learned":      func(h *header) { h.Partial.Sketches = make([]sketch, 4) },
	} {
		dir := stopped(t)
		require.NoError(t, os.Remove(filepath.Join(dir, EarlierFile)))
		path := filepath.Join(dir, CheckpointFile)
		c, err := readCheckpoint(path)
		require.NoError(t, err)
		change(&c.header)
		require.NoError(t, c.write(path))
		_, err = resume(dir)
		require.ErrorContains(t, err, want)
		require.NoFileExists(t, filepath.Join(dir, ResultFile))
	}
}

// A run is at its end when what is to be done with its result is done, wherever it is stopped.
func TestFinishIsCalledUntilItSucceeds(t *testing.T) {
	dir, broken, calls := stopped(t), errors.New("no room for a picture"), 0
	opt := Options{Manifest: named, Dir: dir, Resume: true, Finish: func(r *Result) error {
		require.Len(t, r.Tasks, 3)
		require.FileExists(t, filepath.Join(dir, ResultFile))
		if calls++; calls < 3 {
			return broken
		}
		return nil
	}}
	for range 2 {
		_, err := Run(context.Background(), smallStream(), &toyLearner{}, opt)
		require.ErrorIs(t, err, broken)
		require.FileExists(t, filepath.Join(dir, CheckpointFile))
	}
	_, err := Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.NoError(t, err)
	require.Equal(t, []string{ResultFile}, filesIn(t, dir))
}

// A header of any size costs no memory: the file may be a hole.
func TestLongHeader(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, CheckpointFile)
	start := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), maxHeader+1)
	require.NoError(t, os.WriteFile(path, start, 0o600))
	require.NoError(t, os.Truncate(path, 2*maxHeader))
	_, _, err := ReadIdentity(dir)
	require.ErrorIs(t, err, errDamaged)
	require.ErrorContains(t, err, "header of 268435457 bytes")
}

// A checkpoint that cannot be read now may be sound: the run does not start again at its first task, nor continue from
// an older state.
func TestUnreadableCheckpointIsAnError(t *testing.T) {
	unreadable, broken := errors.New("input/output error"), damaged{errors.New("broken")}
	for name, last := range map[string]error{"damaged": broken, "missing": fs.ErrNotExist} {
		_, _, err := readLast("run", func(path string) (*checkpoint, error) {
			switch path {
			case filepath.Join("run", CheckpointFile):
				return nil, last
			case filepath.Join("run", EarlierFile):
				return nil, unreadable
			}
			return nil, fs.ErrNotExist
		})
		require.ErrorIs(t, err, unreadable, name)
	}
}
