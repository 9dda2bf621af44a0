package engine

import "github.com/farad-go/farad/internal/waiting"

// An elastic engine has permits that come and go: its size is what it has at the moment, and Bound
// says how large a request may be. No lock of this module is one.

// largestLocked returns how many permits a request may be for.
func (e Permits) largestLocked() int64 {
	if e.Opts != nil && e.Opts.Elastic {
		return e.Opts.largest
	}
	return e.Size()
}

// Bound sets how many permits a request to an elastic engine may be for; at first none. Queued
// requests for more end with [waiting.TooLarge].
func (e Permits) Bound(n int64) {
	var wake waiting.WakeList
	e.mu.Lock()
	fell := n < e.Opts.largest
	e.Opts.largest = n
	if fell && e.Look()&flagWaiters != 0 {
		e.shrinkQueueLocked(n, &wake)
		e.serveLocked(&wake)
	}
	e.mu.Unlock()
	deliver(e, &wake)
}

// Demand returns how many permits the oldest queued request is for, and all queued ones together.
// It stops adding where the sum reaches enough.
func (e *Engine) Demand(enough int64) (oldest, all int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slot.Load() != nil { // a release may take it now: its waiter must not be touched
		oldest, all = 1, 1
	}
	for w := e.list.Front(); w != nil && all < enough; w = e.list.Next(w) {
		if all == 0 {
			oldest = w.N
		}
		all += w.N
	}
	return oldest, all
}
