package datasets

import (
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
)

// parallel calls work(0) … work(parts-1), each in a goroutine of its own, and waits for them.
func parallel(parts int, work func(part int)) {
	if parts == 1 {
		work(0)
		return
	}
	var group sync.WaitGroup
	for p := range parts {
		group.Go(func() { work(p) })
	}
	group.Wait()
}

// shareOf returns where part p of parts begins when n items are dealt out evenly; part p ends where p+1 begins.
func shareOf(n, p, parts int) int { return int(int64(n) * int64(p) / int64(parts)) }

// parallelRows calls work for consecutive ranges of n rows that together cost about cells; small matrices stay on one core.
func parallelRows(n, cells int, work func(first, end int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), cells>>16, n))
	parallel(parts, func(p int) { work(shareOf(n, p, parts), shareOf(n, p+1, parts)) })
}

// rowShare is shareOf for compressed rows: it cuts between rows, about evenly in entries.
func rowShare(offsets []int64, p, parts int) int {
	rows := len(offsets) - 1
	switch p {
	case 0:
		return 0
	case parts:
		return rows
	}
	target := offsets[rows] / int64(parts) * int64(p)
	return sort.Search(rows, func(i int) bool { return offsets[i] >= target })
}

// largeBytes is where an array is worth the tens of milliseconds of returning its memory at once.
const largeBytes = 64 << 20

// release hands memory that is no longer referred to back to the system, if bytes are many. Between the phases of reading a large
// graph the garbage of one phase would otherwise stand beside the arrays of the next, and the peak would be their sum.
func release(bytes int) {
	if bytes >= largeBytes {
		debug.FreeOSMemory()
	}
}
