package keyed

import (
	"context"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
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
	join  func(h *hub) *observed.Record
}

var (
	mutexes = observed.Register(observed.About{Name: "keyed.Mutex", Owned: true},
		func(h *mutexHub, on bool) { h.observed.Store(on) },
		func(h *mutexHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *mutexHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })
	rwMutexes = observed.Register(observed.About{Name: "keyed.RWMutex", Owned: true},
		func(h *rwMutexHub, on bool) { h.observed.Store(on) },
		func(h *rwMutexHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *rwMutexHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })
	semaphores = observed.Register(observed.About{Name: "keyed.Semaphore"},
		func(h *semaphoreHub, on bool) { h.observed.Store(on) },
		func(h *semaphoreHub) observed.Numbers { return h.numbers() }).
		Keyed(func(h *semaphoreHub, hash uint64) (observed.Numbers, bool) { return h.ofKey(hash) })

	mutexKind = &hubKind{
		func(h *hub) any { return (*mutexHub)(h) },
		func(h *hub) *observed.Record { return mutexes.Join((*mutexHub)(h)) },
	}
	rwMutexKind = &hubKind{
		func(h *hub) any { return (*rwMutexHub)(h) },
		func(h *hub) *observed.Record { return rwMutexes.Join((*rwMutexHub)(h)) },
	}
	semaphoreKind = &hubKind{
		func(h *hub) any { return (*semaphoreHub)(h) },
		func(h *hub) *observed.Record { return semaphores.Join((*semaphoreHub)(h)) },
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

func init() {
	observed.Within(func(lock any) any {
		if l, ok := lock.(interface{ observable() *hub }); ok {
			h := l.observable()
			return h.kind.known(h)
		}
		return nil
	})
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

// mayBeObserved reports whether h is observed, or has to join.
func (h *hub) mayBeObserved() bool { return h.observed.Load() || observed.Everything() != observed.Off }

// record returns the record of h. A lock that is not observed joins, if all should.
func (h *hub) record() *observed.Record {
	if h.observed.Load() {
		return observed.Of(h)
	}
	return h.kind.join(h)
}

// A told is what the record gets about a request.
type told struct {
	r      *observed.Record
	h      *hub
	n      int64
	shared bool
	key    string
	hash   uint64
	call   uint64 // of a batch
}

// told returns what the record gets about r. Only a record of holders needs the key.
func (r *request[K]) told() told {
	to := told{r: r.t.hub.record(), h: &r.t.hub, n: r.n, shared: r.most != r.t.size, hash: r.hash}
	if to.r.Level() == observed.Holders {
		to.key = observed.KeyText(r.key, r.hash)
	}
	return to
}

func (t told) took()     { t.r.TookKey(t.n, t.shared, t.key, t.call) }
func (t told) released() { t.r.ReleasedKey(t.n, t.shared, t.key) }

// begin records that a wait begins.
func (t told) begin(l waiter.Limit) observed.Wait {
	t.h.waiting.Add(1)
	return t.r.BeginKey(t.n, t.shared, l.MayEnd(), t.key, t.hash, t.call)
}

// end records that it has ended.
func (h *hub) end(w observed.Wait, err error) {
	w.End(err)
	h.waiting.Add(-1)
}

// recordTook records that n permits of k have been taken at once.
//
//go:noinline
func (t *table[K]) recordTook(hash uint64, k K, n, most int64) {
	r := t.hub.record()
	if r.Level() == observed.Holders {
		r.TookKey(n, most != t.size, observed.KeyText(k, hash), 0)
	} else {
		r.Took(n, most != t.size)
	}
}

// recordReleased records that they are about to be given back.
//
//go:noinline
func (t *table[K]) recordReleased(hash uint64, k K, n, most int64) {
	r := t.hub.record()
	if r.Level() == observed.Holders {
		r.ReleasedKey(n, most != t.size, observed.KeyText(k, hash))
	} else {
		r.Released(n, most != t.size)
	}
}

// waitTelling is wait, of an observed lock.
func (r request[K]) waitTelling(l waiter.Limit) (err error) {
	w := r.told().begin(l)
	err = context.Canceled // should the context panic
	defer func() { r.t.hub.end(w, err) }()
	return r.sleep(w.Limit(l))
}

// told returns what the record gets about m, with the number of the call.
func (b *batch[K]) told(m *member[K]) told {
	to := m.told()
	if to.key != "" && b.call == 0 {
		b.call = observed.NewID()
	}
	to.call = b.call
	return to
}

// recordTook records those requests that need not wait.
func (b *batch[K]) recordTook() { b.recordAll(told.took) }

// recordReleased records that what has been granted is about to be given back: to those whose wait
// has ended, and those that need not wait.
func (b *batch[K]) recordReleased() { b.recordAll(told.released) }

func (b *batch[K]) recordAll(hook func(told)) {
	for i := range len(b.requests) {
		if m := &b.requests[i]; m.p == nil && m.t.hub.observed.Load() {
			hook(b.told(m))
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
