package keyed

import (
	"context"
	"hash/maphash"
	"reflect"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A lines has a semaphore for each key, all of the same size: permits that are held, and a line of
// those that wait for some. It is the one mechanism under the locks of this package. The zero lines
// is ready.
type lines[K comparable] struct {
	made xsync.Pointer[table[K]] // nil until the first use

	ofSemaphore bool // constant
}

// table returns the table, which it makes at the first use, for semaphores of the given size.
func (l *lines[K]) table(size int64) *table[K] {
	t := l.made.Load()
	if t == nil {
		t = l.makeTable(size)
	}
	return t
}

//go:noinline
func (l *lines[K]) makeTable(size int64) *table[K] {
	bits := shardBits()
	t := &table[K]{
		size:   size,
		seed:   maphash.MakeSeed(),
		picky:  mayBeRefused(reflect.TypeFor[K]()),
		shift:  64 - bits,
		shards: make([]*shard[K], 1<<bits),
	}
	t.hub = hub{kind: kindOf(size, l.ofSemaphore), numbers: t.numbers, ofKey: t.ofKey}
	for i := range len(t.shards) {
		t.shards[i] = new(shard[K])
	}
	t.batches.New = func() any { return new(batch[K]) }
	l.made.CompareAndSwap(nil, t)
	return l.made.Load()
}

// A table is what a lines is made of: shards by the upper bits of the hash. All but the shards and
// the pool is constant.
//
// Invariants:
//
//  1. No more than size permits of a key are held. (TestModelMutex, TestModelHistories)
//  2. Whenever a shard is unlocked, the oldest waiter of each of its keys needs more permits than
//     are free. So no permit lies beside a waiter. (TestModelMutex, TestContract)
//  3. A request that has to wait stands in the line of its key from the critical section in which
//     it saw too few permits, until it is granted or gives up: each of them unlinks it, and
//     unlinking decides. So no release is missed. (TestModelMutex/context)
//  4. Several keys are entered and left with all their shards locked, in the order of the shards.
//     (TestModelAll)
//  5. No function of a user runs, and no goroutine is woken, with a shard locked: a key has been
//     compared to itself before, so comparing it does not panic. (TestBadKeysAreRefused)
//
// A shard is proved for any number of keys, entries and waits, but for 5, and for the order of the
// shards in 4 (internal/proof/table/keyed.go, TestModelKeyedConforms).
type table[K comparable] struct {
	size    int64
	seed    maphash.Seed
	picky   bool // not every value of type K can be a key
	shift   int
	shards  []*shard[K] // each by itself, so that the allocator aligns them
	hub     hub
	batches xsync.Pool
}

// shard returns the shard of the keys with this hash.
func (t *table[K]) shard(hash uint64) *shard[K] { return t.shards[hash>>(t.shift&63)] }

// acquire acquires n permits of each key, of which with others no more than most may be held. It
// waits without a limit, and panics if one of the keys cannot be one. Calls for a single key, which
// are most, need no batch: this and the next ones take it from there.
func (l *lines[K]) acquire(size, n, most int64, keys ...K) {
	t := l.made.Load()
	if t == nil {
		t = l.makeTable(size)
	}
	if len(keys) != 1 {
		_ = t.acquireAll(context.Background(), 0, n, most, keys)
		return
	}
	k := keys[0]
	hash := t.hash(k)
	s := t.shard(hash)
	s.mu.Lock() // From here to the return this is try, written out for speed.
	if s.held == 0 && (s.keys == 0 || *s.find(hash, k) == nil) {
		s.held, s.hash, s.key = n, hash, k
		s.mu.Unlock()
	} else if !s.trySlow(hash, k, n, most) {
		_ = t.request(hash, k, n, most).wait(waiting.Limit{})
		return
	}
	if t.hub.observed.Load() {
		t.recordTried(hash, k, n, most, true)
	}
}

// acquireContext is acquire until ctx is done.
func (t *table[K]) acquireContext(ctx context.Context, n, most int64, keys ...K) error {
	if len(keys) != 1 {
		return t.acquireAll(ctx, 0, n, most, keys)
	}
	k := keys[0]
	hash := t.hash(k)
	if err := usable(ctx); err != nil {
		return err
	}
	if !t.try(hash, k, n, most) {
		return t.request(hash, k, n, most).wait(waiting.UntilDone(ctx))
	}
	var err error
	if xsync.MayPanic(ctx) || ctx.Err() != nil {
		err = waiting.Keep(ctx, t.request(hash, k, n, most), n)
	}
	switch {
	case !t.hub.observed.Load():
	case err == nil:
		t.recordTried(hash, k, n, most, true)
	default:
		_ = t.hub.record().AtOnce(observed.Request{N: n}, err)
	}
	return err
}

// acquireTimeout is acquire until d has passed.
func (t *table[K]) acquireTimeout(d time.Duration, n, most int64, keys ...K) bool {
	if len(keys) != 1 {
		return t.acquireAllTimeout(d, n, most, keys)
	}
	k := keys[0]
	hash := t.hash(k)
	if d <= 0 {
		return false
	}
	if !t.try(hash, k, n, most) {
		return t.request(hash, k, n, most).wait(waiting.After(d)) == nil
	}
	if t.hub.observed.Load() {
		t.recordTried(hash, k, n, most, true)
	}
	return true
}

// tryAcquire is acquire without waiting.
func (t *table[K]) tryAcquire(n, most int64, keys ...K) bool {
	if len(keys) != 1 {
		return t.tryAcquireAll(n, most, keys)
	}
	k := keys[0]
	hash := t.hash(k)
	ok := t.try(hash, k, n, most)
	if t.hub.observed.Load() {
		t.recordTried(hash, k, n, most, ok)
	}
	return ok
}

// try takes the permits if they are free and no request waits for the key.
func (t *table[K]) try(hash uint64, k K, n, most int64) bool {
	s := t.shard(hash)
	s.mu.Lock()
	if s.held != 0 || s.keys != 0 && *s.find(hash, k) != nil {
		return s.trySlow(hash, k, n, most)
	}
	s.held, s.hash, s.key = n, hash, k
	s.mu.Unlock()
	return true
}

// trySlow is try with the shard locked, which it unlocks.
//
//go:noinline
func (s *shard[K]) trySlow(hash uint64, k K, n, most int64) bool {
	s.open()
	ok := s.take(hash, k, n, most)
	s.mu.Unlock()
	return ok
}

// release gives back n permits of each key. It does nothing, and returns the key and false, if
// those of a key are not held, or if with others more than most are: they are of another kind then.
func (l *lines[K]) release(size, n, most int64, keys ...K) (notHeld K, ok bool) {
	t := l.made.Load()
	if t == nil {
		t = l.makeTable(size)
	}
	if len(keys) != 1 {
		return t.releaseAll(n, most, keys)
	}
	k := keys[0]
	hash := t.hash(k)
	if t.hub.observed.Load() {
		t.recordReleased(hash, k, n, most)
	}
	s := t.shard(hash)
	s.mu.Lock()
	if s.held != n || s.key != k {
		return k, s.giveSlow(hash, k, n, most, t.size)
	}
	s.held, s.key = 0, notHeld // no key
	s.mu.Unlock()
	return notHeld, true
}

// giveSlow is release with the shard locked, which it unlocks.
//
//go:noinline
func (s *shard[K]) giveSlow(hash uint64, k K, n, most, size int64) bool {
	var wake waiting.WakeList
	s.open()
	at := s.find(hash, k)
	ok := (*at).holds(n, most)
	if ok {
		s.give(at, n, size, &wake)
	}
	s.mu.Unlock()
	_ = wake.HandOff()
	return ok
}

// A request is for n permits of a key. It is the [waiting.Line] of its waiter. It is
// passed by its value, because what is called by way of an interface would escape to the heap.
type request[K comparable] struct {
	t       *table[K]
	hash    uint64
	n, most int64
	key     K
}

func (t *table[K]) request(hash uint64, k K, n, most int64) request[K] {
	return request[K]{t: t, hash: hash, n: n, most: most, key: k}
}

// wait is the second half of an acquire, after a try has failed.
//
//go:noinline
func (r request[K]) wait(l waiting.Limit) error {
	if h := &r.t.hub; h.mayBeObserved() {
		var q observed.Request
		to := h.record()
		r.describe(&q, to)
		return h.await(to, q, l, r.sleep)
	}
	return r.sleep(l)
}

// sleep is wait, whether or not the lock is observed.
func (r request[K]) sleep(l waiting.Limit) error {
	if r.spin() {
		return waiting.KeepUntil(l, r, r.n)
	}
	if l = l.Fixed(); r.behindReaders() {
		xsync.StepBack()
	}
	p := waiting.GetParker(l)
	if r.enter(p) {
		p.Put()
		return waiting.KeepUntil(l, r, r.n)
	}
	_, err := waiting.Wait(p, l, r)
	if err == nil {
		p.Put()
	}
	return err
}

// spin takes the permits within a moment, if it makes sense to wait so. It is in no line, so it
// ends when another request is.
func (r request[K]) spin() (ok bool) {
	s, alone := r.shard(), true
	for i := 0; alone && !ok && xsync.Spin(i); i++ {
		s.mu.Lock()
		s.open()
		ok = s.take(r.hash, r.key, r.n, r.most)
		alone = ok || (*s.find(r.hash, r.key)).line.Front() == nil
		s.mu.Unlock()
	}
	return ok
}

// behindReaders reports whether readers hold the key. Then the request lets others run once before
// it queues: some of the readers may be ready and not run, as in the other read-write locks.
func (r request[K]) behindReaders() bool {
	if r.t.size != everyone {
		return false
	}
	s := r.shard()
	s.mu.Lock()
	s.open()
	e := *s.find(r.hash, r.key)
	yes := e != nil && e.held < everyone
	s.mu.Unlock()
	return yes
}

// enter takes the permits, or queues p and returns false.
func (r request[K]) enter(p *waiting.Parker) bool {
	s := r.shard()
	s.mu.Lock()
	s.open()
	ok := s.take(r.hash, r.key, r.n, r.most)
	if !ok {
		(*s.find(r.hash, r.key)).queue(p, r.n)
	}
	s.mu.Unlock()
	return ok
}

func (r request[K]) shard() *shard[K] { return r.t.shard(r.hash) }

// Unlink implements [waiting.Line].
func (r request[K]) Unlink(w *waiting.Waiter) bool {
	var wake waiting.WakeList
	s := r.shard()
	s.mu.Lock()
	e := *s.find(r.hash, r.key) // The table is there: w has been in it.
	// There is none if w was granted, and others have released what it holds.
	ok := e != nil && e.line.Remove(w)
	if ok {
		e.serve(r.t.size, &wake)
	}
	s.mu.Unlock()
	_ = wake.HandOff()
	return ok
}

// GiveBack implements [waiting.Line].
func (r request[K]) GiveBack(n int64) bool {
	s := r.shard()
	s.mu.Lock()
	return s.giveSlow(r.hash, r.key, n, r.most, r.t.size)
}

// What follows is called with the shard locked and open. When it has unlocked the shard, the caller
// wakes those that were served. They are all goroutines, so none refuses what it was granted.

// fits reports whether n permits can be taken at once, so that no more than most are held.
func (e *entry[K]) fits(n, most int64) bool { return e.line.Front() == nil && n <= most-e.held }

// take takes n permits of k if they fit, and reports whether they did.
func (s *shard[K]) take(hash uint64, k K, n, most int64) bool {
	at := s.find(hash, k)
	switch e := *at; {
	case e == nil:
		s.insert(at, hash, k, n)
	case e.fits(n, most):
		e.held += n
	default:
		return false
	}
	return true
}

// queue has p wait for n permits, which do not fit.
func (e *entry[K]) queue(p *waiting.Parker, n int64) {
	p.N = n
	e.line.PushBack(&p.Waiter)
}

// holds reports whether n permits are held, and with others no more than most.
func (e *entry[K]) holds(n, most int64) bool { return e != nil && n <= e.held && e.held <= most }

// give gives back n permits, which are held. find has returned at.
func (s *shard[K]) give(at **entry[K], n, size int64, wake *waiting.WakeList) {
	e := *at
	e.held -= n
	e.serve(size, wake)
	if e.held == 0 { // so none waits: a request is for no more than all permits
		s.remove(at)
	}
}

// serve grants the oldest requests, as far as the permits suffice.
func (e *entry[K]) serve(size int64, wake *waiting.WakeList) {
	for w := e.line.Front(); w != nil && w.N <= size-e.held; w = e.line.Front() {
		e.line.PopFront()
		e.held += w.N
		wake.Add(w, waiting.Granted)
	}
}

// len returns how many keys are in use.
func (l *lines[K]) len() (n int) {
	t := l.made.Load()
	if t == nil {
		return 0
	}
	return t.len()
}

func (t *table[K]) len() (n int) {
	for i := range len(t.shards) {
		s := t.shards[i]
		s.mu.Lock()
		n += s.len()
		s.mu.Unlock()
	}
	return n
}

// look returns how many permits of k are held, and how many requests for k wait.
func (l *lines[K]) look(size int64, k K) (held int64, waiting int) {
	t := l.table(size)
	hash := t.hash(k)
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	if e := *s.find(hash, k); e != nil {
		held, waiting = e.held, e.line.Len()
	}
	return held, waiting
}

// usable returns why a request with ctx is none.
func usable(ctx context.Context) error {
	if ctx == nil {
		panic("keyed: nil context")
	}
	return ctx.Err()
}
