package fetch

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errSlow marks an attempt that brought bytes, but too few for its time.
var errSlow = errors.New("too slow")

// watchdog cancels a request that brings nothing for a while, or too little.
type watchdog struct {
	patience time.Duration
	least    int64 // bytes that are to come in each stretch of patience
	cancel   func()
	now      func() time.Time
	timer    *time.Timer
	barked   atomic.Pointer[error] // why the request was canceled

	began time.Time // of the current stretch
	bytes int64     // in it
}

func newWatchdog(r *Request, cancel func()) *watchdog {
	w := &watchdog{patience: r.Stall, least: leastBytes, cancel: cancel, now: r.now, began: r.now()}
	w.timer = time.AfterFunc(w.patience, func() {
		w.bark(fmt.Errorf("the connection brought nothing for %v", w.patience))
	})
	return w
}

func (w *watchdog) bark(reason error) {
	w.barked.CompareAndSwap(nil, &reason)
	w.cancel()
}

// feed counts bytes that have come.
func (w *watchdog) feed(bytes int) {
	if !w.timer.Stop() { // one that went off stays off: the request is being canceled
		return
	}
	w.timer.Reset(w.patience)
	if got, slow := w.count(bytes, w.now()); slow {
		w.bark(marked{fmt.Errorf("the connection brought %d bytes in %v, less than %d", got, w.patience, w.least),
			errSlow})
	}
}

// count adds bytes to the current stretch. At its end it returns how many came, and whether these are too few.
func (w *watchdog) count(bytes int, now time.Time) (got int64, slow bool) {
	w.bytes += int64(bytes)
	if now.Sub(w.began) < w.patience {
		return w.bytes, false
	}
	got, w.began, w.bytes = w.bytes, now, 0
	return got, got < w.least
}

func (w *watchdog) stop() { w.timer.Stop() }

// explain replaces the cancellation by what caused it.
func (w *watchdog) explain(err error) error {
	if reason := w.barked.Load(); reason != nil && err != nil {
		return *reason
	}
	return err
}
