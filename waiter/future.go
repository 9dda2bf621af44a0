package waiter

import "github.com/farad-go/farad/internal/waiting"

// A Future is a request to a lock that does not block its owner. It waits in the same line as the
// goroutines that block. The owner is a goroutine that selects on it, or a task that polls it. One
// type serves all locks of a process: their Bind methods make a future a request.
//
//	var f waiter.Future
//	sem.Bind(&f, 1)
//	defer f.Release() // right on every path
//	select {
//	case <-f.Done():
//		if err := f.Err(); err != nil { // the semaphore is closed, or too small
//			return err
//		}
//		... // the permit is ours
//	case <-other:
//	}
//
// A round lasts from Bind to Release or Take:
//
//	Bind          of a lock: what the request is for. Nothing has happened yet.
//	Poll, Done    make the request, the first time. It waits, or is complete.
//	Complete, Err look whether it is complete, and how it ended.
//	Release       ends the round in every state: it gives up the place in line, or gives back what
//	              was granted.
//	Take          ends the round, too, and leaves the grant to the caller. The lock's own Unlock
//	              or Release gives it back.
//
// Until Take the future holds what it was granted, and the lock's own methods must not give it
// back. A future that waits and is dropped without Release blocks all requests behind it. Between
// rounds there is nothing to release: Release does nothing, Err returns [ErrPending], and Poll and
// Done panic.
//
// A future is meant to be embedded and used again. In the steady state a round allocates nothing,
// except for the channel of a request that waits: its first Done makes that. The first Bind to
// some locks allocates what they need beside the future. Only one goroutine at a time may call the
// methods, except Complete. A Future must not be copied after Bind, and not be overwritten: what
// grants a request that was given up may touch it for a moment longer. Bind waits for that moment;
// Release never does, and the later of the two passes the grant on, once.
//
// Memory model: a true from Poll or Complete, a closed Done, or the outcome from Err or Take takes
// the place of the return of the lock's own Lock or Acquire. Release takes the place of its Unlock
// or Release.
type Future waiting.Future

// Poll reports whether the request is complete, and makes it if need be. If it is not complete,
// waker, which may be nil, will be woken when it is worth polling again. It replaces the waker of
// the last Poll. Wakers may be woken spuriously.
func (f *Future) Poll(waker Waker) bool { return (*waiting.Future)(f).Poll(waker) }

// Done makes the request if need be, and returns a channel that is closed when the request is
// complete. The channel belongs to this round: the next one has another. A request that is complete
// needs no channel of its own. One that waits allocates it, at the first Done of the round.
func (f *Future) Done() <-chan struct{} { return (*waiting.Future)(f).Done() }

// Complete reports whether the request is complete, by a grant or by an error. Between rounds it is
// not. Complete makes no request, and any goroutine may call it, at any time.
func (f *Future) Complete() bool { return (*waiting.Future)(f).Complete() }

// Err returns nil if the request is granted, [ErrPending] if it is not complete, and otherwise the
// error that the lock's own method would return. It only looks: the future keeps the grant.
func (f *Future) Err() error { return (*waiting.Future)(f).Err() }

// Take is Err, and hands the grant to the caller if it returns nil: the lock's own method gives it
// back from then on. The round is over, so a deferred Release does nothing.
func (f *Future) Take() error { return (*waiting.Future)(f).Take() }

// Release ends the round: it gives up the place in line, or gives back what was granted. Between
// rounds, and after an error, it gives back nothing. It allocates nothing.
//
// Release panics if the lock's own method has given back the grant meanwhile, without Take. If
// others hold as much, Release cannot know that, and gives back theirs.
func (f *Future) Release() { (*waiting.Future)(f).Release() }

// String names the package of the lock. Only the owner may call it.
func (f *Future) String() string { return (*waiting.Future)(f).String() }
