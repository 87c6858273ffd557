package continual

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual/record"
)

// Names of the files of a run folder.
const (
	ResultFile     = "result.json" // of a finished run
	CheckpointFile = "checkpoint"  // of an unfinished one; removed or renamed once the result is written
	ModelFile      = "model"       // the last checkpoint of a finished run that keeps its learner
)

// checkpoint is a run after some of its tasks. The file that holds it is
//
//	magic | length of header, uint64 little endian | header, JSON | sketches, gob | state of the learner | SHA-256
//
// with the SHA-256 of all before it. The state may take gigabytes, so it goes to the file and comes from there as a
// stream.
type checkpoint struct {
	header   header
	state    func(w io.Writer) error // writes the state of the learner; nil stands for none
	sketches section                 // where those of a checkpoint that was read stand
	stored   section                 // where its state stands
}

// section is a part of a file.
type section struct {
	path        string
	first, size int64
}

func (s section) read(use func(r io.Reader) error) error {
	f, err := file.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	return use(bufio.NewReader(io.NewSectionReader(f, s.first, s.size)))
}

func (s section) copyTo(w io.Writer) error {
	return s.read(func(r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	})
}

type header struct {
	Identity Identity  `json:"identity"`
	Done     int       `json:"done"` // tasks learned and evaluated
	Started  time.Time `json:"started"`
	Keep     bool      `json:"keep,omitempty"` // Options.Keep of any stretch: what was asked for once stays asked for
	Partial  partial   `json:"partial"`
	Sketches int64     `json:"sketches,omitempty"` // bytes of Partial.Sketches
}

// partial is the part of a Result that grows from task to task.
type partial struct {
	Seconds     float64      `json:"seconds"`
	Resumed     int          `json:"resumed"`
	Programs    []Versions   `json:"programs,omitempty"` // that made the tasks
	PeakBytes   int64        `json:"peak_bytes,omitempty"`
	Scores      []Score      `json:"scores"`
	Tasks       []TaskReport `json:"tasks"`
	Evaluations []Evaluation `json:"evaluations"`
	Sketches    []sketch     `json:"-"` // of each task, when it was learned
}

// maxHeader is the largest header of a checkpoint, in bytes, and its sketches may have as many. The file's size is no
// bound: a sparse file may claim any.
const maxHeader = 256 << 20

const checkpointWord = "saot-checkpoint " // a checkpoint begins with it, and the number of its format

const checkpointMagic = checkpointWord + "4\n"

// ReadIdentity tells which run a folder's checkpoint belongs to, so that it can be set up again and resumed, and how
// many of its tasks are done. It does not read the state of the learner. If that is damaged, a resumed run may start a
// task earlier. A model counts as a checkpoint if there is no other. It fails with fs.ErrNotExist where there is
// none.
func ReadIdentity(dir string) (*Identity, int, error) {
	c, _, err := readLast(dir, readHeader)
	if err != nil {
		return nil, 0, fmt.Errorf("continual: %w", err)
	}
	return &c.header.Identity, c.header.Done, nil
}

func (c *checkpoint) encode(w io.Writer) error {
	var sketches bytes.Buffer
	if err := gob.NewEncoder(&sketches).Encode(c.header.Partial.Sketches); err != nil {
		return err
	}
	c.header.Sketches = int64(sketches.Len())
	head, err := json.Marshal(&c.header)
	if err != nil {
		return err
	}
	if most := max(len(head), sketches.Len()); most > maxHeader {
		return fmt.Errorf("the header or the sketches have %d bytes: no more than %d can be read back", most, maxHeader)
	}
	out, sum := bufio.NewWriter(w), sha256.New()
	both := io.MultiWriter(out, sum)
	before := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), uint64(len(head)))
	for _, part := range [][]byte{before, head, sketches.Bytes()} {
		if _, err := both.Write(part); err != nil {
			return err
		}
	}
	if c.state != nil {
		if err := c.state(both); err != nil {
			return err
		}
	}
	if _, err := out.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return out.Flush()
}

// readCheckpoint reads the header and the sketches, and checks the whole file against its SHA-256.
func readCheckpoint(path string) (*checkpoint, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	c, err := headerIn(f, path)
	if err != nil {
		return nil, err
	}
	whole, err := checkSum(f, c.stored.first+c.stored.size)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if !whole {
		return nil, damaged{fmt.Errorf("%s is damaged (its SHA-256 does not match)", path)}
	}
	if err := c.readSketches(); err != nil {
		return nil, damaged{fmt.Errorf("%s is damaged (%w)", path, err)}
	}
	return c, nil
}

// readHeader reads the header alone, of kilobytes where the file may have gigabytes.
func readHeader(path string) (*checkpoint, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return headerIn(f, path)
}

func headerIn(f *os.File, path string) (*checkpoint, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	fixed := int64(len(checkpointMagic) + 8)
	start := make([]byte, fixed)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	magic := string(start[:min(n, len(checkpointMagic))])
	body := info.Size() - sha256.Size
	if magic != checkpointMagic || body < fixed {
		return nil, notCheckpoint(path, magic)
	}
	length := binary.LittleEndian.Uint64(start[len(checkpointMagic):])
	if length > uint64(min(maxHeader, body-fixed)) {
		return nil, damaged{fmt.Errorf("%s is damaged (header of %d bytes of %d)", path, length, info.Size())}
	}
	head := make([]byte, length)
	if _, err := f.ReadAt(head, fixed); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var c checkpoint
	if err := json.Unmarshal(head, &c.header); err != nil {
		return nil, damaged{fmt.Errorf("%s is damaged (header: %w)", path, err)}
	}
	if err := errors.Join(untrusted.CheckJSON(head), c.header.check()); err != nil {
		return nil, damaged{fmt.Errorf("%s is damaged (%w)", path, err)}
	}
	first := fixed + int64(length)
	if c.header.Sketches < 0 || c.header.Sketches > min(maxHeader, body-first) {
		return nil, damaged{fmt.Errorf("%s is damaged (sketches of %d bytes of %d)", path, c.header.Sketches,
			info.Size())}
	}
	c.sketches = section{path, first, c.header.Sketches}
	first += c.header.Sketches
	c.stored = section{path, first, body - first}
	c.state = c.stored.copyTo
	return &c, nil
}

// checkSum reports whether the first bytes of a file, body of them, have the SHA-256 that follows them. Its error is
// one of reading.
func checkSum(f io.ReaderAt, body int64) (bool, error) {
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, body)); err != nil {
		return false, err
	}
	if _, err := f.ReadAt(want, body); err != nil && !errors.Is(err, io.EOF) { // one that ends early is not whole
		return false, err
	}
	return bytes.Equal(sum.Sum(nil), want), nil
}

// RunFiles are the names in a run folder that Run writes: a folder that has one of them holds a run.
func RunFiles() []string {
	return []string{CheckpointFile, EarlierFile, DamagedFile, ResultFile, ModelFile, record.Folder}
}

func prepareDir(dir string, resume bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if resume {
		return tidy(dir)
	}
	for _, name := range RunFiles() {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("run folder %s already holds the file %s of an earlier run: resume that run or name "+
				"another folder", dir, name)
		}
	}
	return nil
}

func (r *run) checkpoint() error {
	now := time.Now()
	r.partial.Seconds += now.Sub(r.clock).Seconds()
	r.clock = now
	r.partial.PeakBytes = max(r.partial.PeakBytes, r.peak())
	if now := versions(); r.done > 0 && !slices.Contains(r.partial.Programs, now) {
		r.partial.Programs = append(r.partial.Programs, now)
	}
	if r.opt.Dir == "" {
		return nil
	}
	c := checkpoint{header: header{Identity: r.identity, Done: r.done, Started: r.started, Keep: r.opt.Keep,
		Partial: r.partial}}
	if r.done > 0 {
		c.state = func(w io.Writer) error {
			if err := r.subject.Save(w); err != nil {
				return fmt.Errorf("save the learner: %w", err)
			}
			return nil
		}
	}
	return c.replace(r.opt.Dir)
}

// restore takes up the checkpoint in the run folder, or writes the first one, which shows at once whether the folder
// can be written and lets a run that is killed in its first task be identified.
func (r *run) restore() error {
	if !r.opt.Resume {
		return r.checkpoint()
	}
	c, passed, err := readLast(r.opt.Dir, readCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		r.opt.Log.Info("nothing to resume: starting at the first task", "dir", r.opt.Dir)
		return r.checkpoint()
	}
	if err != nil {
		return err
	}
	if err := c.header.Identity.matches(&r.identity); err != nil {
		return err
	}
	if c.header.Done > 0 {
		if err := c.stored.read(r.subject.Load); err != nil {
			return fmt.Errorf("resume: load the learner: %w", err)
		}
	}
	if passed != nil {
		r.opt.Log.Warn("continuing from the earlier checkpoint", "file", EarlierFile, "reason", passed)
		if err := setAside(r.opt.Dir); err != nil {
			return err
		}
	}
	if r.opt.Keep && !c.header.Keep {
		c.header.Keep = true
		if err := c.write(c.stored.path); err != nil {
			return err
		}
	}
	r.done, r.started, r.partial, r.opt.Keep = c.header.Done, c.header.Started, c.header.Partial, c.header.Keep
	r.partial.Resumed++
	r.opt.Log.Info("resumed", "done", r.done, "tasks", len(r.stream.Tasks))
	r.opt.Observe(Resumed{Done: r.done, Tasks: len(r.stream.Tasks)})
	return nil
}
