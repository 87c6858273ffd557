package metrics

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// point is a scalar at a global step; NaN is written 1e30, so that points compare.
type point struct {
	Step  int64
	Value float32
}

// The check value of CRC-32C (CRC catalog, CRC-32/ISCSI), and the length of a record of 24 bytes with its masked sum,
// as TensorFlow writes them at the head of an event file: 18 00 00 00 00 00 00 00 a3 7f 4b 22.
func TestMaskedCRC(t *testing.T) {
	require.Equal(t, uint32(0xe3069283), bitwiseCRC([]byte("123456789")))
	length := []byte{0x18, 0, 0, 0, 0, 0, 0, 0}
	require.Equal(t, uint32(0x224b7fa3), maskedCRC(length))
	for _, text := range []string{"", "a", "123456789", strings.Repeat("saot", 100)} {
		crc := bitwiseCRC([]byte(text))
		require.Equal(t, uint32(uint64(crc)>>15|uint64(crc)<<17)+0xa282ead8, maskedCRC([]byte(text)))
	}
}

func TestEventFileNames(t *testing.T) {
	dir := t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	var names []string
	for i := range 12 { // the clock goes back
		f, err := newEventFile(dir, now.Add(-time.Duration(i)*time.Hour), 1)
		require.NoError(t, err)
		names = append(names, f.file.Name())
		require.NoError(t, f.close())
	}
	require.Equal(t, names, eventFilesIn(t, dir))
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, "events.out.tfevents.1700000011."+host+".11", filepath.Base(names[11]))
}

func TestEventFileBegins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, script(0)...)
	data, err := os.ReadFile(eventFilesIn(t, dir)[0])
	require.NoError(t, err)
	records := recordsIn(t, data)
	first, second := messageOf(t, records[0]), messageOf(t, records[1])
	require.Equal(t, "brain.Event:2", string(first[3][0]))
	require.Equal(t, []byte{0x08, 0x01}, second[7][0]) // SessionLog{status: START}
	require.Equal(t, uint64(1), number(second[2][0]))
	require.InDelta(t, 1_700_000_001, math.Float64frombits(number(first[1][0])), 1e-6)
}

// TensorBoard's own readers must see the scalars of the lines, in a run that went through and in one that was killed in
// the middle of a record and resumed. SAOT_TENSORBOARD_PYTHON names a Python that has tensorboard; else python3 is
// tried.
func TestTensorBoardReads(t *testing.T) {
	python := os.Getenv("SAOT_TENSORBOARD_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import tensorboard").CombinedOutput(); err != nil {
		t.Skipf("needs a Python with tensorboard: set SAOT_TENSORBOARD_PYTHON: %s: %v %s", python, err, out)
	}
	root := tensorBoardRuns(t)
	for _, reader := range []string{"event_accumulator", "plugin_event_accumulator"} {
		command := exec.Command(python, "testdata/scalars.py", reader, filepath.Join(root, "whole"),
			filepath.Join(root, "killed"))
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		require.NoError(t, err, stderr.String())
		var got map[string]map[string][]point
		require.NoError(t, json.Unmarshal(out, &got))
		for _, run := range []string{"whole", "killed"} {
			require.Equal(t, scalarsOfLines(t, filepath.Join(root, run)), got[run], "%s: %s", reader, run)
		}
	}
}

// tensorBoardRuns writes a run that went through, and one that was killed twice and resumed.
func tensorBoardRuns(t *testing.T) string {
	root := os.Getenv("SAOT_TENSORBOARD_LOGDIR") // where the runs are to stay, to be looked at
	if root == "" {
		root = t.TempDir()
	}
	whole, killed := filepath.Join(root, "whole"), filepath.Join(root, "killed")
	write(t, whole, wholeRun()...)
	all := wholeRun()
	perTask := len(all) / tasks
	write(t, killed, all[:perTask+3]...)
	cutTail(t, eventFilesIn(t, killed)[0], 5)
	cutTail(t, filepath.Join(killed, LinesFile), 5)
	write(t, killed, resumed(1, all[perTask:2*perTask]...)...) // killed before its checkpoint
	cutTail(t, eventFilesIn(t, killed)[1], 1)
	write(t, killed, resumed(1, all[perTask:]...)...)
	require.Equal(t, linesIn(t, whole), linesIn(t, killed))
	return root
}

func cutTail(t *testing.T, path string, n int64) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()-n))
}

// scalarsOfLines says what the event files should hold, from metrics.jsonl.
func scalarsOfLines(t *testing.T, dir string) map[string][]point {
	all := map[string][]point{}
	err := readLines(filepath.Join(dir, LinesFile), func(l *Line, _ int64) {
		add := func(tag string, value float64) { all[tag] = append(all[tag], point{l.Step, float32(value)}) }
		for name, value := range l.Terms {
			add("loss/"+name, value)
		}
		if l.MarginalError != 0 {
			add("sinkhorn/marginal_error", l.MarginalError)
		}
		if l.Report != nil {
			add("task/nodes", float64(l.Report.Nodes))
			add("task/seconds", l.Report.Seconds)
			for name, value := range l.Report.Diagnostics {
				add("diagnostics/"+name, value)
			}
		}
		for _, s := range l.Scores {
			name := s.Setting.String() + "/" + s.Probe.String()
			add(name+"/AP", s.AP)
			if s.AF != nil {
				add(name+"/AF", *s.AF)
			}
			for j, accuracy := range s.Accuracy {
				add(fmt.Sprintf("%s/accuracy/task-%02d", name, j+1), accuracy)
			}
		}
	})
	require.NoError(t, err)
	return all
}

// scalarsIn reads the event files of a folder as TensorBoard does: in the order of their names, a restart dropping what
// lies at its step and beyond.
func scalarsIn(t *testing.T, dir string) map[string][]point {
	t.Helper()
	all := map[string][]point{}
	for _, path := range eventFilesIn(t, dir) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, record := range recordsIn(t, data) {
			event := messageOf(t, record)
			var step int64
			if len(event[2]) > 0 {
				step = int64(number(event[2][0]))
			}
			if len(event[7]) > 0 {
				dropFrom(all, step)
			}
			for _, summary := range event[5] {
				for _, v := range messageOf(t, summary)[1] {
					value := messageOf(t, v)
					f := math.Float32frombits(uint32(number(value[2][0])))
					if f != f {
						f = 1e30
					}
					tag := string(value[1][0])
					all[tag] = append(all[tag], point{step, f})
				}
			}
		}
	}
	return all
}

func dropFrom(all map[string][]point, step int64) {
	for tag, points := range all {
		for len(points) > 0 && points[len(points)-1].Step >= step {
			points = points[:len(points)-1]
		}
		if all[tag] = points; len(points) == 0 {
			delete(all, tag)
		}
	}
}

func eventFilesIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*")) // sorted
	require.NoError(t, err)
	return paths
}

// recordsIn undoes the framing of TFRecords, checking both sums; a record that is not whole ends the file.
func recordsIn(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var records [][]byte
	for len(data) >= 12 {
		n := binary.LittleEndian.Uint64(data)
		requireMasked(t, data[:8], data[8:12])
		if uint64(len(data)) < n+16 {
			break
		}
		requireMasked(t, data[12:12+n], data[12+n:16+n])
		records = append(records, data[12:12+n])
		data = data[16+n:]
	}
	return records
}

func lastRecordLength(t *testing.T, data []byte) int {
	records := recordsIn(t, data)
	return len(records[len(records)-1]) + 16
}

// requireMasked undoes the mask of a stored sum and compares.
func requireMasked(t *testing.T, data, stored []byte) {
	t.Helper()
	sum := binary.LittleEndian.Uint32(stored) - 0xa282ead8
	require.Equal(t, bitwiseCRC(data), sum<<15|sum>>17)
}

// bitwiseCRC is CRC-32C by its definition: the reversed polynomial 0x82f63b78, a bit at a time.
func bitwiseCRC(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0x82f63b78*(crc&1)
		}
	}
	return ^crc
}

// messageOf splits a protobuf message into its fields by number. Numbers are left as their eight little-endian bytes.
func messageOf(t *testing.T, data []byte) map[int][][]byte {
	t.Helper()
	fields := map[int][][]byte{}
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		require.Positive(t, n)
		data = data[n:]
		value := make([]byte, 8)
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(data)
			require.Positive(t, n)
			binary.LittleEndian.PutUint64(value, v)
			data = data[n:]
		case 1:
			copy(value, data[:8])
			data = data[8:]
		case 2:
			size, n := binary.Uvarint(data)
			require.Positive(t, n)
			value, data = data[n:n+int(size)], data[n+int(size):]
		case 5:
			copy(value, data[:4])
			data = data[4:]
		default:
			require.Fail(t, "wire type", "%d", key&7)
		}
		fields[int(key>>3)] = append(fields[int(key>>3)], value)
	}
	return fields
}

func number(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
