package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/internal/parallel"
)

// EdgeList is a list of directed entries (i, j), to be read more than once and in parts by several goroutines.
type EdgeList interface {
	Size() int                                 // entries as stored, those that Visit passes over included
	Visit(part, parts int, f func(i, j int32)) // the entries of one part, in order
}

// Coordinates are entries (Src[k], Dst[k]); a negative Src[k] stands for an entry to pass over.
type Coordinates struct{ Src, Dst []int32 }

func (e Coordinates) Size() int { return len(e.Src) }

func (e Coordinates) Visit(part, parts int, f func(i, j int32)) {
	for k := parallel.Share(len(e.Src), part, parts); k < parallel.Share(len(e.Src), part+1, parts); k++ {
		if e.Src[k] >= 0 {
			f(e.Src[k], e.Dst[k])
		}
	}
}

// PairList is entries one after another: src, dst, src, dst, ….
type PairList []int32

func (e PairList) Size() int { return len(e) / 2 }

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
	OneWay     int // edges that stood in one direction only, mirrored; 0 where directions are kept
}

// Notes says what was repaired, a line each.
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

// count enters how many entries and, among them, self-loops each part of a list turned out to have.
func (r *Repairs) count(seen, loops []int) {
	r.Zeros = r.Stored
	for p := range seen {
		r.SelfLoops += loops[p]
		r.Zeros -= seen[p]
	}
}

// Build makes entries (i, j), all within [0, n), into an adjacency without duplicates and self-loops. Undirected, it is
// symmetric; directed, i stands in the row of j.
func Build(n int, list EdgeList, directed bool) (Adjacency, Repairs) {
	if directed {
		return cleanDirected(n, list)
	}
	return cleanUndirected(n, list)
}

// cleanDirected groups the entries by the node that they point at, sorts each group and drops its repeats. Beside the list it
// holds 4 bytes an entry, which the result keeps.
func cleanDirected(n int, list EdgeList) (Adjacency, Repairs) {
	fixed := Repairs{Stored: list.Size()}
	start, sources := inward(n, sortParts(n, list.Size()), list, &fixed)
	kept := distinctRows(start, sources)
	a := Adjacency{Offsets: make([]int64, n+1), Directed: true}
	for i := range n {
		a.Offsets[i+1] = a.Offsets[i] + int64(kept[i])
		copy(sources[a.Offsets[i]:], sources[start[i]:start[i]+int64(kept[i])]) // a row only ever moves towards the front
	}
	a.Neighbors = slices.Clip(sources[:a.Offsets[n]])
	fixed.Duplicates = fixed.Stored - fixed.Zeros - fixed.SelfLoops - a.NumEdges()
	return a, fixed
}

// inward groups the sources of the entries by their destination.
func inward(n, parts int, list EdgeList, fixed *Repairs) (start []int64, sources []int32) {
	loops, seen := make([]int, parts), make([]int, parts)
	start, sources = group(n, parts, nil, func(part int, f func(key, value int32)) {
		loop, all := 0, 0
		list.Visit(part, parts, func(i, j int32) {
			all++
			if i == j {
				loop++
				return
			}
			f(j, i)
		})
		loops[part], seen[part] = loop, all
	})
	fixed.count(seen, loops)
	return start, sources
}

// distinctRows sorts each group and leaves at its front its different members, ascending; kept says how many.
func distinctRows(start []int64, members []int32) (kept []int32) {
	kept = make([]int32, len(start)-1)
	parallel.Rows(len(kept), len(members), func(first, end int) {
		for i := first; i < end; i++ {
			row := members[start[i]:start[i+1]]
			slices.Sort(row)
			kept[i] = int32(len(slices.Compact(row)))
		}
	})
	return kept
}

// cleanUndirected mirrors what stands in one direction only.
//
// It works on the upper half alone, so that a list that stores both directions needs no more memory than one that stores
// one: entries are grouped by their lower end in linear time, each group is sorted and its repeats dropped, and a second
// grouping, by the upper end, mirrors what is left. Groups come out ascending because the second pass is stable. Beside
// the list it holds 4 bytes an entry, then, when the caller has let go of the list, 4 bytes an entry and the result.
func cleanUndirected(n int, list EdgeList) (Adjacency, Repairs) {
	fixed := Repairs{Stored: list.Size()}
	parts := sortParts(n, list.Size())
	start, half := upperHalf(n, parts, list, &fixed)
	list = nil // the next phase needs its memory
	memory.Release(8 * fixed.Stored)
	kept, directed := dropRepeats(start, half)
	a := mirror(n, start, half, kept)
	fixed.Duplicates = fixed.Stored - fixed.Zeros - fixed.SelfLoops - directed
	fixed.OneWay = 2*a.NumEdges() - directed
	return a, fixed
}

// sortParts chooses the goroutines of a counting sort, each of which needs a counter for every key: those together may
// not outweigh the entries.
func sortParts(keys, entries int) int {
	return max(1, min(runtime.GOMAXPROCS(0), entries/(4*(keys+1)), entries>>14))
}

// upperHalf groups the entries by their lower end. A member is 2j for the entry (i, j) with i < j and 2j+1 for (j, i), so
// that one sort shows both which edges repeat and in which directions they stood.
func upperHalf(n, parts int, list EdgeList, fixed *Repairs) (start []int64, half []uint32) {
	loops, seen := make([]int, parts), make([]int, parts)
	start, half = group(n, parts, nil, func(part int, f func(key int32, value uint32)) {
		loop, all := 0, 0
		list.Visit(part, parts, func(i, j int32) {
			all++
			switch {
			case i < j:
				f(i, uint32(j)<<1)
			case i > j:
				f(j, uint32(i)<<1|1)
			default:
				loop++
			}
		})
		loops[part], seen[part] = loop, all
	})
	fixed.count(seen, loops)
	return start, half
}

// dropRepeats sorts each group and leaves at its front its different neighbours, ascending, as plain ids; kept says how
// many. It returns also how many different directed entries there were.
func dropRepeats(start []int64, half []uint32) (kept []int32, directed int) {
	kept = make([]int32, len(start)-1)
	parts := max(1, min(runtime.GOMAXPROCS(0), len(half)>>14))
	count := make([]int, parts)
	parallel.Do(parts, func(p int) {
		for i := parallel.RowShare(start, p, parts); i < parallel.RowShare(start, p+1, parts); i++ {
			row := half[start[i]:start[i+1]]
			slices.Sort(row)
			row = slices.Compact(row)
			count[p] += len(row)
			k := int32(0)
			for _, e := range row { // both directions of an edge stand side by side
				if j := e >> 1; k == 0 || row[k-1] != j {
					row[k] = j
					k++
				}
			}
			kept[i] = k
		}
	})
	for _, c := range count {
		directed += c
	}
	return kept, directed
}

// mirror returns the adjacency whose upper half is the first kept[i] members of each group.
func mirror(n int, start []int64, half []uint32, kept []int32) Adjacency {
	parts := sortParts(n, len(half))
	offsets, neighbors := group(n, parts, kept, func(part int, f func(key int32, value int32)) {
		for i := parallel.RowShare(start, part, parts); i < parallel.RowShare(start, part+1, parts); i++ {
			for _, j := range half[start[i] : start[i]+int64(kept[i])] {
				f(int32(j), int32(i))
			}
		}
	})
	parallel.Rows(n, len(half), func(first, end int) {
		for i := first; i < end; i++ {
			to := neighbors[offsets[i+1]-int64(kept[i]) : offsets[i+1]]
			for k, j := range half[start[i] : start[i]+int64(kept[i])] {
				to[k] = int32(j)
			}
		}
	})
	return Adjacency{Offsets: offsets, Neighbors: neighbors}
}

// group is a stable counting sort in parallel: visit hands f the items of one part in order, and is called twice a part.
// The values of key i come to stand at values[start[i]:], followed by room[i] free slots if room is given.
func group[T int32 | uint32](n, parts int, room []int32, visit func(part int, f func(key int32, value T))) (start []int64, values []T) {
	next := make([][]int64, parts) // first counts, then where the next value of a key goes
	parallel.Do(parts, func(p int) {
		count := make([]int64, n)
		visit(p, func(key int32, _ T) { count[key]++ })
		next[p] = count
	})
	start = make([]int64, n+1)
	at := int64(0)
	for i := range n {
		start[i] = at
		for p := range next {
			count := next[p][i]
			next[p][i] = at
			at += count
		}
		if room != nil {
			at += int64(room[i])
		}
	}
	start[n] = at
	values = make([]T, at)
	parallel.Do(parts, func(p int) {
		to := next[p]
		visit(p, func(key int32, value T) {
			values[to[key]] = value
			to[key]++
		})
	})
	return start, values
}
