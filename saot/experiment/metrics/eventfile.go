package metrics

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

const eventFilePrefix = "events.out.tfevents."

// eventFile is a file of tensorflow.Event messages, framed as TFRecords. The first names the version of the format,
// from which on readers heed SessionLog.
type eventFile struct {
	file *os.File
	out  *bufio.Writer
}

// newEventFile opens the event file of a start of the run whose first step will be step.
func newEventFile(dir string, now time.Time, step int64) (*eventFile, error) {
	name, err := eventFileName(dir, now)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	f := &eventFile{file: file, out: bufio.NewWriter(file)}
	err = f.record(appendBytes(event(now, 0), eventFileVersion, []byte("brain.Event:2")))
	return f, errors.Join(err, f.record(appendBytes(event(now, step), eventSessionLog, sessionStart())))
}

// eventFileName returns a name that sorts after those of the event files in dir, whatever the clock does and wherever
// they were written: readers take files in the order of their names.
func eventFileName(dir string, now time.Time) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	unix, n := now.Unix(), 0
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), eventFilePrefix); ok {
			stamp, _, _ := strings.Cut(rest, ".")
			if t, err := strconv.ParseInt(stamp, 10, 64); err == nil {
				unix = max(unix, t+1)
			}
			n++
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s%010d.%s.%d", eventFilePrefix, unix, host, n), nil
}

type scalar struct {
	tag   string
	value float64
}

// scalars writes figures of one step as one event.
func (f *eventFile) scalars(now time.Time, step int64, scalars []scalar) error {
	if len(scalars) == 0 {
		return nil
	}
	var summary []byte
	for _, s := range scalars {
		value := appendBytes(nil, valueTag, []byte(s.tag))
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.value)))
		summary = appendBytes(summary, summaryValue, value)
	}
	return f.record(appendBytes(event(now, step), eventSummary, summary))
}

// record writes a TFRecord (tensorflow/core/lib/io/record_writer.h):
//
//	length of data, uint64 | masked CRC of length, uint32 | data | masked CRC of data, uint32        little endian
func (f *eventFile) record(data []byte) error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, len(data)+16), uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b))
	b = append(b, data...)
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(data))
	_, err := f.out.Write(b)
	return err
}

func (f *eventFile) close() error { return errors.Join(f.out.Flush(), f.file.Close()) }

// maskedCRC is CRC-32C, turned right by 15 bits, plus a constant: so stored, it is safe to take the CRC of data that
// holds CRCs (tensorflow/core/lib/hash/crc32c.h).
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// Field numbers of tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto.
const (
	eventWallTime    protowire.Number = 1 // double, seconds since 1970
	eventStep        protowire.Number = 2 // int64
	eventFileVersion protowire.Number = 3 // string
	eventSummary     protowire.Number = 5 // Summary
	eventSessionLog  protowire.Number = 7 // SessionLog
	sessionStatus    protowire.Number = 1 // enum, START is 1
	summaryValue     protowire.Number = 1 // repeated Summary.Value
	valueTag         protowire.Number = 1 // string
	valueSimple      protowire.Number = 2 // float
)

func event(now time.Time, step int64) []byte {
	b := protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(now.UnixMicro())/1e6))
	b = protowire.AppendTag(b, eventStep, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(step))
}

func sessionStart() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, sessionStatus, protowire.VarintType), 1)
}

func appendBytes(b []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}
