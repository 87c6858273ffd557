package datasets

import (
	"fmt"

	"github.com/saot-go/saot/internal/memory"
)

// budget bounds what is kept of the files of a dataset, all arrays together: by what the files take on the disk, and by
// the memory that is free when the first array is read.
type budget struct {
	packed  int64 // bytes of the files that were opened
	kept    int64 // bytes of the arrays
	free    int64 // 0: unknown
	counted map[string]bool
}

// opened adds a file, once.
func (b *budget) opened(name string, packed int64) {
	if b.counted == nil {
		b.counted = map[string]bool{}
	}
	if !b.counted[name] {
		b.counted[name] = true
		b.packed += packed
	}
}

// shortage is an error about the memory of this machine.
type shortage struct{ error }

// keep is called before bytes of arrays are allocated.
func (b *budget) keep(bytes int64) error {
	if b.free == 0 {
		b.free = memory.Available()
	}
	b.kept += bytes
	if b.free > 0 && b.kept > b.free && !memory.Unbounded() {
		return lack("its arrays take", float64(b.kept), b.free)
	}
	return memory.Unpacked(b.kept, b.packed)
}

func lack(what string, bytes float64, free int64) error {
	return shortage{fmt.Errorf("%s %.1f GB and more, and %.1f GB of memory are free: free some, take a larger "+
		"machine, or set the environment variable %s=1 to try anyway", what, bytes/1e9, float64(free)/1e9,
		memory.UnboundedVariable)}
}

// room returns an error if a graph that is to be generated needs more bytes than are free; what names its settings.
func room(what string, bytes float64) error {
	free := memory.Available()
	if free == 0 || bytes <= float64(free) || memory.Unbounded() {
		return nil
	}
	return fmt.Errorf("datasets: generated graph: %w", lack(what+" take", bytes, free))
}

// roomy returns out with room for more elements; all is their final count. It makes the capacity four times the length,
// but not above all, so that few copies are made.
func roomy[T any](out []T, more, all int) []T {
	if len(out)+more <= cap(out) {
		return out
	}
	return append(make([]T, 0, min(max(4*len(out), len(out)+more), all)), out...)
}
