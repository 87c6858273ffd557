package graph

import (
	"runtime"
	"slices"

	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/internal/parallel"
)

// Build makes an adjacency without duplicates and self-loops from entries (i, j), all within [0, n), which it does not
// check: NewAdjacency and NewDirected do. Undirected, it is symmetric; directed, i is in the row of j. O(n + E log d)
// time for E entries and largest degree d, on all cores.
//
// Next to the list it holds 4 bytes per entry. A directed result keeps those; an undirected one takes memory of its own
// after the last use of the list.
func Build(n int, list EdgeList, directed bool) (Adjacency, Repairs) {
	if directed {
		return buildDirected(n, list)
	}
	return buildUndirected(n, list)
}

// buildDirected groups the entries by the node that they point at, sorts each group and drops its repeats.
func buildDirected(n int, list EdgeList) (Adjacency, Repairs) {
	fixed := Repairs{Stored: list.Size()}
	start, sources := grouped[int32](n, list, true, &fixed)
	kept, entries := dropRepeats(start, sources, true)
	a := Adjacency{Offsets: make([]int64, n+1), Directed: true}
	for i := range n {
		a.Offsets[i+1] = a.Offsets[i] + int64(kept[i])
		copy(sources[a.Offsets[i]:], sources[start[i]:start[i]+int64(kept[i])]) // a row only moves to the front
	}
	a.Neighbors = slices.Clip(sources[:a.Offsets[n]])
	fixed.Duplicates = fixed.Stored - fixed.Zeros - fixed.SelfLoops - entries
	return a, fixed
}

// buildUndirected mirrors edges that are stored in one direction only.
//
// It works on the upper half alone, so that a list of both directions needs no more memory than a list of one: it
// groups the entries by their lower end in linear time, sorts each group and drops its repeats. A second grouping, by
// the upper end, mirrors the rest; it is stable, so its groups ascend.
func buildUndirected(n int, list EdgeList) (Adjacency, Repairs) {
	fixed := Repairs{Stored: list.Size()}
	start, half := grouped[uint32](n, list, false, &fixed)
	memory.Release(8 * fixed.Stored) // the list, which is not used from here on
	kept, entries := dropRepeats(start, half, false)
	a := mirror(n, start, half, kept)
	fixed.Duplicates = fixed.Stored - fixed.Zeros - fixed.SelfLoops - entries
	fixed.OneWay = 2*a.NumEdges() - entries
	return a, fixed
}

// sortParts chooses the number of goroutines of a counting sort. Each needs a counter for every key; together the
// counters may not outweigh the entries.
func sortParts(keys, entries int) int {
	return max(1, min(runtime.GOMAXPROCS(0), entries/(4*(keys+1)), entries>>14))
}

// grouped groups the entries and counts passed-over entries and self-loops. Directed, the source i is a member of the
// group of j. Undirected, the group is that of the lower end, and the member is 2j for the entry (i, j) with i < j and
// 2j+1 for (j, i), so that one sort shows both which edges repeat and in which directions they are stored.
func grouped[T int32 | uint32](n int, list EdgeList, directed bool, fixed *Repairs) (start []int64, members []T) {
	parts := sortParts(n, fixed.Stored)
	loops, seen := make([]int, parts), make([]int, parts)
	start, members = group(n, parts, nil, func(part int, f func(key int32, value T)) {
		loop, all := 0, 0
		list.Visit(part, parts, func(i, j int32) {
			all++
			switch {
			case i == j:
				loop++
			case directed:
				f(j, T(i))
			case i < j:
				f(i, T(j)<<1)
			default:
				f(j, T(i)<<1|1)
			}
		})
		loops[part], seen[part] = loop, all
	})
	fixed.Zeros = fixed.Stored
	for p := range parts {
		fixed.SelfLoops += loops[p]
		fixed.Zeros -= seen[p]
	}
	return start, members
}

// dropRepeats sorts each group and leaves its different nodes at its front, ascending, as plain ids; kept says how
// many. It also returns the number of different directed entries.
func dropRepeats[T int32 | uint32](start []int64, members []T, directed bool) (kept []int32, entries int) {
	kept = make([]int32, len(start)-1)
	parts := max(1, min(runtime.GOMAXPROCS(0), len(members)>>14))
	count := make([]int, parts)
	parallel.Do(parts, func(p int) {
		for i := parallel.RowShare(start, p, parts); i < parallel.RowShare(start, p+1, parts); i++ {
			row := members[start[i]:start[i+1]]
			slices.Sort(row)
			row = slices.Compact(row)
			count[p] += len(row)
			kept[i] = int32(len(row))
			if !directed {
				kept[i] = joinDirections(row)
			}
		}
	})
	for _, c := range count {
		entries += c
	}
	return kept, entries
}

// joinDirections turns ascending members 2j and 2j+1 into ids j at the front of the row, and returns how many there
// are.
func joinDirections[T int32 | uint32](row []T) (kept int32) {
	for _, member := range row { // both directions of an edge are adjacent
		if j := member >> 1; kept == 0 || row[kept-1] != j {
			row[kept] = j
			kept++
		}
	}
	return kept
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

// group is a stable counting sort in parallel. It calls visit twice for each part; visit hands the items of the part to
// f, in order. The values of key i end up at values[start[i]:], followed by room[i] free slots if room is given.
func group[T int32 | uint32](n, parts int, room []int32, visit func(part int, f func(key int32, value T))) (
	start []int64, values []T,
) {
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
