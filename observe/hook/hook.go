// Package hook is for authors of locks outside of this module: package observe then knows their
// locks as it knows those of this module. Package fleet is one.
//
// [Register] makes a type of locks known. A lock that is observed has a bit, which [Type].Observe
// sets and clears. While it is set the lock's fast paths fail, so that everybody comes to the slow
// paths. Those ask [Kind.Join] for the lock's [Record], and call its hooks:
//
//   - [Record.Tried], or [Record.AtOnce], after a request that did not wait has taken its permits,
//     or has failed;
//   - [Record.Await] around a wait, which begins before the request is queued, and ends after it
//     has left the queue;
//   - [Record.Released] before permits are given back.
//
// In this order what is recorded as held is held. [Kind.Bind] does the same for futures.
//
// A hook calls functions of the lock's [Type]. So it is called without the lock's inner mutexes. In
// a program without package observe nothing is observed, and Join costs IsObserved and one load.
//
// A hook allocates nothing in the steady state.
package hook

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Type says what package observe has to know of the locks of type *T. Any goroutine calls its
// functions, at any time. They must not wait for the lock, and call nothing of package observe.
type Type[T any] struct {
	Name  string // such as "fleet.Semaphore"
	Owned bool   // who acquires also releases: a lock that is released by another was handed on

	Observe    func(lock *T, on bool) // sets or clears the bit
	IsObserved func(lock *T) bool     // reports whether it is set
	Numbers    func(lock *T) Numbers

	// These may be nil. Inside returns the lock that x, which is no *T, has inside, and reports
	// false if there is none. So one *T may have several types, which differ by what it is in.
	// NameOf returns the name of a lock that Watch gave none. Fleet returns what is known of the
	// processes that share a lock, made anew each time.
	Inside func(x any) (lock *T, ok bool)
	NameOf func(lock *T) string
	Fleet  func(lock *T) *Fleet
}

// Numbers are the state of a lock, each a value that it had at about the same time.
type Numbers struct {
	Size, Free int64 // permits; less than none may be free
	Waiting    int   // requests
	Elsewhere  int64 // permits that other processes may have
}

// A Kind is a type of locks that package observe knows.
type Kind[T any] struct {
	kind       *observed.Kind[T]
	isObserved func(lock *T) bool
}

// Register makes a type of locks known. It is called while packages are initialized.
func Register[T any](t Type[T]) Kind[T] {
	about := observed.About{Name: t.Name, Owned: t.Owned}
	if t.Inside != nil {
		about.Inside = func(x any) any {
			if l, ok := t.Inside(x); ok {
				return l
			}
			return nil
		}
	}
	if t.NameOf != nil {
		about.NameOf = func(lock any) string { return t.NameOf(lock.(*T)) }
	}
	if t.Fleet != nil {
		about.Fleet = func(lock any) any { return t.Fleet(lock.(*T)) }
	}
	numbers := func(lock *T) observed.Numbers {
		n := t.Numbers(lock)
		return observed.Numbers{Size: n.Size, Free: n.Free, Waiting: n.Waiting, Elsewhere: n.Elsewhere}
	}
	return Kind[T]{observed.Register(about, t.Observe, numbers), t.IsObserved}
}

// Of returns the record of a lock, and reports false if the lock is not observed. Tries call it,
// and releases.
func (k Kind[T]) Of(lock *T) (r Record, ok bool) {
	if !k.isObserved(lock) {
		return r, false
	}
	return Record{observed.Of(lock)}, true
}

// Join is Of, but the lock joins those that are observed if observe.All says so. Constructors call
// it, and slow paths.
func (k Kind[T]) Join(lock *T) (r Record, ok bool) {
	on := k.isObserved(lock)
	if !observed.MayBe(on) {
		return r, false
	}
	return Record{k.kind.Record(lock, on)}, true
}

// Bind makes f the request q by way of r, as [waiter.Bind] does, and has the record of a lock
// follow it. The first Bind of a future by this function allocates, and each that follows a Bind of
// another one.
func (k Kind[T]) Bind(f *waiter.Future, lock *T, q Request, r waiter.Request) {
	inner := (*waiting.Future)(f)
	b := waiting.Reuse[bound[T]](inner)
	b.kind, b.lock, b.q, b.r = k, lock, q, r
	waiting.Bind(inner, b, q.N)
}

// A bound is the request of a future.
type bound[T any] struct {
	kind Kind[T]
	lock *T
	q    Request
	r    waiter.Request
}

// Start implements [waiting.Request].
func (b *bound[T]) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if r, ok := b.kind.Join(b.lock); ok {
		return observed.StartFuture(r.r, b.q.observed(), starter{b.r}, w, waker)
	}
	return starter{b.r}.Start(w, waker)
}

// Unlink implements [waiting.Line].
func (b *bound[T]) Unlink(w *waiting.Waiter) bool { return b.r.Unlink((*waiter.Waiter)(w)) }

// GiveBack implements [waiting.Line].
func (b *bound[T]) GiveBack(n int64) bool { return b.r.GiveBack(n) }

// Recorder implements [waiting.Recorded].
func (b *bound[T]) Recorder() waiting.Recorder {
	return observed.Recorder(b.lock, b.kind.isObserved(b.lock))
}

// Behind returns what a future names.
func (b *bound[T]) Behind() any { return b.r }

// A starter is what [observed.StartFuture] starts.
type starter struct{ r waiter.Request }

// Start makes the request.
func (s starter) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	return waiting.Outcome(s.r.Start((*waiter.Waiter)(w), waker))
}

// A Request is for N permits of a lock. Shared is that of a read-write lock's reader.
type Request struct {
	N      int64
	Shared bool
}

func (q Request) observed() observed.Request { return observed.Request{N: q.N, Shared: q.Shared} }

// A Record is what a lock calls while it is observed. It stays valid when the lock is no longer
// observed: it then drops everything.
type Record struct{ r observed.Record }

// Tried records a try: ok says that it has taken q.
func (r Record) Tried(q Request, ok bool) { r.r.Tried(q.observed(), ok) }

// AtOnce records a request that has ended without a wait: with the permits if err is nil.
func (r Record) AtOnce(q Request, err error) { _ = r.r.AtOnce(q.observed(), err) }

// Await records a wait for q: that of acquire, which returns nil if the caller has the permits. It
// gives up when the limit that it is passed ends the wait. The record of the wait ends even if
// acquire panics.
func (r Record) Await(q Request, l waiter.Limit, acquire func(waiter.Limit) error) error {
	return observed.Await(r.r, q.observed(), waiting.Limit(l), func(l waiting.Limit) error {
		return acquire(waiter.Limit(l))
	})
}

// Released records that the caller is about to give back what it has requested as q.
func (r Record) Released(q Request) { r.r.Released(q.observed()) }

// A Handle is the counter of a handle: how many permits it has. A record knows it by its address.
type Handle = xsync.Int64

// HandleTook records that the handle h has the n permits that the caller has just taken. Then they
// are not the caller's, and any goroutine may release them.
func (r Record) HandleTook(h *Handle, n int64) { r.r.HandleTook(h, n) }

// HandleReleasing records that the handle h is about to give back all that it has. It reports false
// if no record says that it has something: the caller then calls Released.
func (r Record) HandleReleasing(h *Handle) bool { return r.r.HandleReleasing(h) }
