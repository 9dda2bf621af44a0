package keyed

import (
	"slices"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/text"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A lock of this package is observed as a whole: it has one record, whose holds and waits say the
// key. All paths look at one bool, which is in the cache line of the table's constants. No hook
// runs with a shard locked.
//
// A call for several keys waits for one after the other, as far as the record says. What it was
// granted meanwhile shows when it gets to that key. Hooks of an unlock run before it is known
// whether the key is locked: after a call that panics the record may have forgotten a holder.
//
// A hub is what the registry knows of such a lock, whatever the type of its keys. The type of the
// hub says the kind of the lock.
type hub struct {
	observed xsync.Bool
	waiting  xsync.Int64             // those that wait, and that the record knows
	kind     *hubKind                // constant
	numbers  func() observed.Numbers // constant, and so is ofKey

	ofKey func(hash uint64) (observed.Numbers, bool)
}

type (
	mutexHub     hub
	rwMutexHub   hub
	semaphoreHub hub
)

// A hubKind has a hub as the registry knows it.
type hubKind struct {
	known func(h *hub) any
	join  func(h *hub) observed.Record
}

var (
	mutexes = observed.Register(observed.About{Name: "keyed.Mutex", Owned: true, Inside: inside},
		func(h *mutexHub, on bool) { h.observed.Store(on) },
		func(h *mutexHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *mutexHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })
	rwMutexes = observed.Register(observed.About{Name: "keyed.RWMutex", Owned: true, Inside: inside},
		func(h *rwMutexHub, on bool) { h.observed.Store(on) },
		func(h *rwMutexHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *rwMutexHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })
	semaphores = observed.Register(observed.About{Name: "keyed.Semaphore", Inside: inside},
		func(h *semaphoreHub, on bool) { h.observed.Store(on) },
		func(h *semaphoreHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *semaphoreHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })

	mutexKind = &hubKind{
		func(h *hub) any { return (*mutexHub)(h) },
		func(h *hub) observed.Record { return mutexes.Join((*mutexHub)(h)) },
	}
	rwMutexKind = &hubKind{
		func(h *hub) any { return (*rwMutexHub)(h) },
		func(h *hub) observed.Record { return rwMutexes.Join((*rwMutexHub)(h)) },
	}
	semaphoreKind = &hubKind{
		func(h *hub) any { return (*semaphoreHub)(h) },
		func(h *hub) observed.Record { return semaphores.Join((*semaphoreHub)(h)) },
	}
)

// kindOf returns the kind of a lock with so many permits for each key.
func kindOf(size int64, ofSemaphore bool) *hubKind {
	switch {
	case ofSemaphore || size == 0:
		return semaphoreKind
	case size == everyone:
		return rwMutexKind
	default:
		return mutexKind
	}
}

// inside returns the hub of a table of locks, as one of its kind.
func inside(x any) any {
	if l, ok := x.(interface{ observable() *hub }); ok {
		h := l.observable()
		return h.kind.known(h)
	}
	return nil
}

func (m *Mutex[K]) observable() *hub {
	requireLock(m == nil)
	return &m.table().hub
}

func (m *RWMutex[K]) observable() *hub {
	requireLock(m == nil)
	return &m.table().hub
}

func (s *Semaphore[K]) observable() *hub {
	requireLock(s == nil)
	return &s.table().hub
}

func requireLock(isNil bool) {
	if isNil {
		panic("observe: a nil lock of package keyed")
	}
}

func (h *hub) mayBeObserved() bool { return observed.MayBe(h.observed.Load()) }

// record returns the record of h, which joins if need be.
func (h *hub) record() observed.Record {
	if h.observed.Load() {
		return observed.Of(h)
	}
	return h.kind.join(h)
}

// await records a wait, and counts it.
func (h *hub) await(
	r observed.Record, q observed.Request, l waiting.Limit, acquire func(waiting.Limit) error,
) error {
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	return observed.Await(r, q, l, acquire)
}

// describe makes q, which is zero, a request as the record to has it. Only a record of holders
// needs the key. Neither the request nor the result is passed as a value: to copy them would cost
// as much as the rest of a hook.
func (t *table[K]) describe(q *observed.Request, to observed.Record, hash uint64, k K, n, most int64) {
	q.N, q.Shared, q.Hash = n, most != t.size, hash
	if to.Level() == observed.Holders {
		q.Key = text.Key(k, hash)
	}
}

func (r *request[K]) describe(q *observed.Request, to observed.Record) {
	r.t.describe(q, to, r.hash, r.key, r.n, r.most)
}

// recordTried records a try.
//
//go:noinline
func (t *table[K]) recordTried(hash uint64, k K, n, most int64, ok bool) {
	var q observed.Request
	to := t.hub.record()
	t.describe(&q, to, hash, k, n, most)
	to.Tried(q, ok)
}

// recordReleased records that permits are about to be given back.
//
//go:noinline
func (t *table[K]) recordReleased(hash uint64, k K, n, most int64) {
	var q observed.Request
	to := t.hub.record()
	t.describe(&q, to, hash, k, n, most)
	to.Released(q)
}

// describe is that of m, with the number of the call.
func (b *batch[K]) describe(q *observed.Request, to observed.Record, m *member[K]) {
	m.describe(q, to)
	if q.Key != "" && b.call == 0 {
		b.call = observed.NewID()
	}
	q.Call = b.call
}

// recordTook records those requests that need not wait.
func (b *batch[K]) recordTook() { b.record(false) }

// recordTried records a try: for each key if it got them all, else for one that it did not get.
func (b *batch[K]) recordTried(ok bool) {
	if ok {
		b.recordTook()
		return
	}
	m := &b.requests[slices.IndexFunc(b.requests, func(m member[K]) bool { return m.busy })]
	m.t.recordTried(m.hash, m.key, m.n, m.most, false)
}

// recordReleased records that what has been granted is about to be given back: to those whose wait
// has ended, and those that need not wait.
func (b *batch[K]) recordReleased() { b.record(true) }

func (b *batch[K]) record(released bool) {
	for i := range len(b.requests) {
		m := &b.requests[i]
		if m.p != nil || !m.t.hub.observed.Load() {
			continue
		}
		var q observed.Request
		to := m.t.hub.record()
		if b.describe(&q, to, m); released {
			to.Released(q)
		} else {
			to.Tried(q, true)
		}
	}
}

// numbers counts the keys in use as what is held, and those waits that the record knows.
func (t *table[K]) numbers() observed.Numbers {
	return observed.Numbers{
		Size: t.size, Free: t.size - int64(t.len()), Waiting: int(t.hub.waiting.Load()),
	}
}

// ofKey returns the numbers of the key with a hash. A key that is not in use is free.
func (t *table[K]) ofKey(hash uint64) (n observed.Numbers, ok bool) {
	s, found := t.shard(hash), 0
	n.Size, n.Free = t.size, t.size
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != 0 && s.hash == hash {
		found++
		n.Free -= s.held
	}
	if s.more != nil {
		for e := *s.more.bucket(hash); e != nil; e = e.next {
			if e.hash == hash {
				found++
				n.Free -= e.held
				n.Waiting += e.line.Len()
			}
		}
	}
	return n, found <= 1
}
