package keyed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
)

// Several keys are entered at one instant: with the shards of all of them locked. So of two calls
// one is older in every line that they share, and waits for no younger one. The shards are locked
// in the order of their numbers, which keeps the calls from a deadlock before they wait.

// A batch is what one call asks for: each key once, in the order of the hashes, which is that of
// the shards.
type batch[K comparable] struct {
	requests []member[K]
	call     uint64 // its number, if a record has it
}

// A member is the request for one of the keys.
type member[K comparable] struct {
	request[K]

	busy bool            // the permits were not free when the call looked last
	left bool            // the wait has ended without the permits
	p    *waiting.Parker // waits, or is to wait, for this key; nil: there is no need
}

// largeBatch is how many keys a batch may have that is kept for reuse.
const largeBatch = 1024

// batchOf returns the batch of requests for n permits of each key. It panics if one of the keys
// cannot be one.
func (t *table[K]) batchOf(keys []K, n, most int64) *batch[K] {
	b := t.batches.Get().(*batch[K])
	for _, k := range keys {
		b.requests = append(b.requests, member[K]{request: t.request(t.hash(k), k, n, most)})
	}
	slices.SortFunc(b.requests, func(x, y member[K]) int { return cmp.Compare(x.hash, y.hash) })
	b.dropRepeats()
	return b
}

// dropRepeats leaves one request for each key. Those of one key have the same hash, but between
// them may be another key that has it, too.
func (b *batch[K]) dropRepeats() {
	once := b.requests[:0]
	for _, m := range b.requests {
		first := len(once)
		for first > 0 && once[first-1].hash == m.hash {
			first--
		}
		if !slices.ContainsFunc(once[first:], func(o member[K]) bool { return o.key == m.key }) {
			once = append(once, m)
		}
	}
	clear(b.requests[len(once):])
	b.requests = once
}

// endBatch ends the use of b.
func (t *table[K]) endBatch(b *batch[K]) {
	b.call = 0
	if clear(b.requests); cap(b.requests) <= largeBatch {
		b.requests = b.requests[:0]
		t.batches.Put(b)
	}
}

// lock locks and opens the shards of all keys, each once.
func (b *batch[K]) lock() {
	b.eachShard(func(s *shard[K]) { s.mu.Lock(); s.open() })
}

func (b *batch[K]) unlock() {
	b.eachShard(func(s *shard[K]) { s.mu.Unlock() })
}

// eachShard calls f for each shard that has a key of b, in the order of the shards.
func (b *batch[K]) eachShard(f func(*shard[K])) {
	var last *shard[K]
	for i := range len(b.requests) {
		if s := b.requests[i].shard(); s != last {
			f(s)
			last = s
		}
	}
}

// acquireAll acquires n permits of each key. It acquires none if ctx is done before it has them
// all, or d has passed if d > 0.
//
//go:noinline
func (t *table[K]) acquireAll(ctx context.Context, d time.Duration, n, most int64, keys []K) error {
	b := t.batchOf(keys, n, most)
	err := usable(ctx)
	if err == nil {
		err = b.acquire(ctx, d)
	}
	t.endBatch(b)
	return err
}

// acquireAllTimeout is acquireAll until d has passed, which it has if d <= 0.
//
//go:noinline
func (t *table[K]) acquireAllTimeout(d time.Duration, n, most int64, keys []K) bool {
	if d <= 0 {
		t.endBatch(t.batchOf(keys, n, most)) // panics if one of the keys cannot be one
		return false
	}
	return t.acquireAll(context.Background(), d, n, most, keys) == nil
}

// tryAcquireAll is acquireAll without waiting.
//
//go:noinline
func (t *table[K]) tryAcquireAll(n, most int64, keys []K) bool {
	b := t.batchOf(keys, n, most)
	ok := b.enter()
	if t.hub.observed.Load() {
		b.recordTried(ok)
	}
	t.endBatch(b)
	return ok
}

// acquire is acquireAll for what b asks for. It has all of it or nothing, even if ctx panics.
func (b *batch[K]) acquire(ctx context.Context, d time.Duration) (err error) {
	atOnce := b.enter()
	var l waiting.Limit
	if !atOnce {
		l = waiting.Until(ctx, d).Fixed()
		for ok := false; !ok; ok = b.enter() { // Each turn is for a key that was found busy the first time.
			b.prepare(l)
		}
		b.dropIdle()
		b.recordTook()
	}
	kept := false
	defer func() {
		if !kept {
			if !atOnce {
				b.recordReleased()
			}
			b.giveUp()
		}
	}()
	if err = b.wait(l); err == nil {
		err = ctx.Err()
	}
	kept = err == nil
	if kept && atOnce {
		b.recordTook()
	}
	return err
}

// prepare gets parkers for the keys that were busy.
func (b *batch[K]) prepare(l waiting.Limit) {
	for i := range len(b.requests) {
		if m := &b.requests[i]; m.busy && m.p == nil {
			m.p = waiting.GetParker(l)
		}
	}
}

// entry returns the entry of the key, nil if it is not in use.
func (m *member[K]) entry() *entry[K] { return *m.shard().find(m.hash, m.key) }

// enter takes what fits and queues the parkers for the rest, all at one instant. If a parker is
// missing, enter does nothing, and returns false.
func (b *batch[K]) enter() bool {
	b.lock()
	defer b.unlock()
	ready := true
	for i := range len(b.requests) {
		m := &b.requests[i]
		e := m.entry()
		m.busy = e != nil && !e.fits(m.n, m.most)
		ready = ready && (!m.busy || m.p != nil)
	}
	if !ready {
		return false
	}
	for i := range len(b.requests) {
		m := &b.requests[i]
		if m.busy {
			m.entry().queue(m.p, m.n)
		} else {
			m.shard().take(m.hash, m.key, m.n, m.most)
		}
	}
	return true
}

// dropIdle puts back the parkers of the keys that were free in the end.
func (b *batch[K]) dropIdle() {
	for i := range len(b.requests) {
		if m := &b.requests[i]; !m.busy && m.p != nil {
			m.p.Put()
			m.p = nil
		}
	}
}

// wait waits for all of b, which has entered its lines. They are granted in any order, so it does
// not matter for which key the goroutine sleeps first.
func (b *batch[K]) wait(l waiting.Limit) error {
	for i := range len(b.requests) {
		m := &b.requests[i]
		if m.p == nil {
			continue
		}
		if err := b.sleep(m, l); err != nil {
			return err
		}
		m.p.Put()
		m.p = nil
	}
	return nil
}

// sleep waits for one of the keys.
func (b *batch[K]) sleep(m *member[K], l waiting.Limit) error {
	if h := &m.t.hub; h.mayBeObserved() {
		var q observed.Request
		to := h.record()
		b.describe(&q, to, m)
		return h.await(to, q, l, func(waiting.Limit) error { return m.sleep(l) })
	}
	return m.sleep(l)
}

// sleep waits for m, whether or not the lock is observed. Its parker was got for l.
func (m *member[K]) sleep(l waiting.Limit) error {
	m.left = true // if Wait panics, it has left the line all the same
	_, err := waiting.Wait(m.p, l, m.request)
	m.left = err != nil
	return err
}

// giveUp leaves the lines and gives back what has been granted.
func (b *batch[K]) giveUp() {
	for i := range len(b.requests) {
		switch m := &b.requests[i]; {
		case m.left:
		case m.p != nil:
			waiting.Leave(m.p, m.request)
		default:
			waiting.GiveBack(m.request, m.n)
		}
	}
}

// releaseAll is release for several keys, at one instant.
//
//go:noinline
func (t *table[K]) releaseAll(n, most int64, keys []K) (notHeld K, ok bool) {
	b := t.batchOf(keys, n, most)
	var wake waiting.WakeList
	if t.hub.observed.Load() {
		if notHeld, ok = b.check(); !ok { // What changes nothing is not recorded.
			t.endBatch(b)
			return notHeld, false
		}
		b.recordReleased()
	}
	notHeld, ok = b.leave(&wake)
	_ = wake.HandOff()
	t.endBatch(b)
	return notHeld, ok
}

// check returns a key that is not held as the release needs, and false; or true.
func (b *batch[K]) check() (notHeld K, ok bool) {
	b.lock()
	defer b.unlock()
	return b.checkLocked()
}

func (b *batch[K]) checkLocked() (notHeld K, ok bool) {
	for i := range len(b.requests) {
		m := &b.requests[i]
		if !m.entry().holds(m.n, m.most) {
			return m.key, false
		}
	}
	return notHeld, true
}

// leave is releaseAll; the caller wakes those that get the permits.
func (b *batch[K]) leave(wake *waiting.WakeList) (notHeld K, ok bool) {
	b.lock()
	defer b.unlock()
	if notHeld, ok = b.checkLocked(); !ok {
		return notHeld, false
	}
	for i := range len(b.requests) {
		m := &b.requests[i]
		s := m.shard()
		s.give(s.find(m.hash, m.key), m.n, m.t.size, wake)
	}
	return notHeld, true
}
