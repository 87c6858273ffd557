package graph

import (
	"fmt"

	"github.com/saot-go/saot/internal/parallel"
)

// EdgeList is a list of directed entries (i, j). Several goroutines read it in parts, more than once.
type EdgeList interface {
	Size() int                                 // entries as stored, including those that Visit passes over
	Visit(part, parts int, f func(i, j int32)) // calls f for the entries of one part, in order
}

// Coordinates are entries (Src[k], Dst[k]); an entry with a negative Src[k] is passed over.
type Coordinates struct{ Src, Dst []int32 }

// Size returns the number of entries.
func (e Coordinates) Size() int { return len(e.Src) }

// Visit calls f for the entries of one part.
func (e Coordinates) Visit(part, parts int, f func(i, j int32)) {
	for k := parallel.Share(len(e.Src), part, parts); k < parallel.Share(len(e.Src), part+1, parts); k++ {
		if e.Src[k] >= 0 {
			f(e.Src[k], e.Dst[k])
		}
	}
}

// PairList holds entries one after another: src, dst, src, dst, ….
type PairList []int32

// Size returns the number of entries.
func (e PairList) Size() int { return len(e) / 2 }

// Visit calls f for the entries of one part.
func (e PairList) Visit(part, parts int, f func(i, j int32)) {
	for k := 2 * parallel.Share(len(e)/2, part, parts); k < 2*parallel.Share(len(e)/2, part+1, parts); k += 2 {
		f(e[k], e[k+1])
	}
}

// Repairs counts what Build changed.
type Repairs struct {
	Stored     int // entries in the list
	Zeros      int // entries passed over
	SelfLoops  int // entries (i, i), dropped
	Duplicates int // entries that repeat another in the same direction, dropped
	OneWay     int // edges stored in one direction only, mirrored; 0 where directions are kept
}

// Notes describes the repairs, a line each.
func (r Repairs) Notes() []string {
	var out []string
	for _, repair := range []struct {
		count int
		what  string
	}{
		{r.OneWay, "edges stored in one direction only were mirrored"},
		{r.Duplicates, "duplicate edge entries were dropped"},
		{r.SelfLoops, "self-loops were dropped"},
		{r.Zeros, "edge entries of value zero were dropped"},
	} {
		if repair.count > 0 {
			out = append(out, fmt.Sprintf("%d of %d stored adjacency entries: %s", repair.count, r.Stored, repair.what))
		}
	}
	return out
}
