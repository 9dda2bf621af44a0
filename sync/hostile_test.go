//go:build !interleave

package sync

import (
	"context"
	"math/rand/v2"
	"runtime"
	std "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/waiter"
)

// Here legal programs do all that is allowed, at once and at random: they give up in every way,
// end in callbacks, and are observed and not. The oracle counts who is inside, and what was put and
// taken.

// switching has locks be observed at changing levels until the function that it returns is called.
// That one requires that nobody holds or waits any more.
func switching(t *testing.T, locks ...any) (end func()) {
	t.Helper()
	done := make(chan struct{})
	var toggler std.WaitGroup
	toggler.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			records.Watch(locks[rand.IntN(len(locks))], "", observed.Level(rand.IntN(3)))
			runtime.Gosched()
		}
	})
	stop := std.OnceFunc(func() {
		close(done)
		toggler.Wait()
	})
	t.Cleanup(stop) // also if the test fails before its end
	return func() {
		stop()
		for _, l := range locks {
			s := observedtest.Watch(t, l, observed.Holders)()
			require.Empty(t, s.Holders)
			require.Empty(t, s.Waiters)
			require.Zero(t, s.Unknown)
			records.Watch(l, "", observed.Off)
		}
	}
}

type thrown struct{}

// ends panics, or ends the goroutine.
func ends() {
	if rand.IntN(2) == 0 {
		panic(thrown{})
	}
	runtime.Goexit()
}

// guarded calls f, and then after: also if f throws, or ends the goroutine.
func guarded(f, after func()) {
	defer func() {
		if e := recover(); e != nil && e != any(thrown{}) {
			panic(e)
		}
		after()
	}()
	f()
}

// A rudeLock ends some of the waits that unlock it.
type rudeLock struct{ Locker }

// Unlock implements [Locker].
func (l rudeLock) Unlock() {
	l.Locker.Unlock()
	if rand.IntN(8) == 0 {
		ends()
	}
}

// A store has items of one kind, and a condition that there are some. Its lock is held for reading
// by who looks, if it has readers.
type store struct {
	*Cond
	look, change Locker
	items, left  atomic.Int64  // left: of the round
	sold         chan struct{} // A value comes when none is left.
}

// take takes an item, if there is one, for who looks.
func (s *store) take() bool {
	for n := s.items.Load(); n > 0; n = s.items.Load() {
		if s.items.CompareAndSwap(n, n-1) {
			if s.left.Add(-1) == 0 {
				s.sold <- struct{}{}
			}
			return true
		}
	}
	return false
}

// closes ends the waits of a round in which no item is left. Who looks may have seen one before, if
// the lock has readers, and not wait yet: so it locks the change out.
func (s *store) closes() {
	<-s.sold
	s.change.Lock()
	s.Broadcast()
	s.change.Unlock()
}

// steady takes items until none is left. It comes back if its wait ends in the lock.
func (s *store) steady() {
	for s.left.Load() > 0 {
		var one std.WaitGroup
		one.Go(func() {
			guarded(func() {
				s.look.Lock()
				for s.left.Load() > 0 && !s.take() {
					s.Wait()
				}
				s.look.Unlock()
			}, func() {})
		})
		one.Wait()
	}
}

// hasty takes an item, or gives up.
func (s *store) hasty() {
	locked := false
	guarded(func() {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		wait := func() bool { return s.WaitTimeout(time.Duration(rand.IntN(20_000))) }
		switch rand.IntN(3) {
		case 0:
			go cancel()
			wait = func() bool { return s.WaitContext(ctx) == nil }
		case 1:
			method := []string{"Err", "Done"}[rand.IntN(2)]
			c := locktest.NewTrapContext(ctx, method, rand.Int64N(4), func() { locked = true; ends() })
			go cancel()
			wait = func() bool { return s.WaitContext(c) == nil }
		default:
		}
		s.look.Lock()
		for !s.take() && wait() {
			continue
		}
		s.look.Unlock()
	}, func() {
		if locked { // The context has ended the wait.
			s.look.Unlock()
		}
	})
}

// No signal is lost to waits that end in any way, with any lock: who is steady takes what is left.
func TestCondUnderAttack(t *testing.T) {
	for name, create := range map[string]func() (look, change Locker){
		"Mutex":          func() (look, change Locker) { m := new(Mutex); return m, m },
		"sync.Mutex":     func() (look, change Locker) { m := new(std.Mutex); return m, m },
		"RWMutex":        func() (look, change Locker) { l := new(RWMutex); return l, l },
		"RLocker":        func() (look, change Locker) { l := new(RWMutex); return l.RLocker(), l },
		"sync's RLocker": func() (look, change Locker) { l := new(std.RWMutex); return l.RLocker(), l },
	} {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				look, change := create()
				var stores [2]*store
				for i := range stores {
					stores[i] = &store{
						Cond: NewCond(rudeLock{look}),
						look: look, change: change,
						sold: make(chan struct{}, 1),
					}
				}
				end := switching(t, stores[0].Cond, stores[1].Cond)
				for range locktest.Scaled(2000) {
					for _, s := range stores {
						s.left.Store(2)
					}
					var all std.WaitGroup
					for _, s := range stores {
						all.Go(s.steady)
						all.Go(s.closes)
						all.Go(s.hasty)
						all.Go(s.hasty)
						all.Go(func() {
							for range 2 {
								s.change.Lock()
								s.items.Add(1)
								s.change.Unlock()
								s.Signal()
							}
						})
					}
					ended := make(chan struct{})
					go func() { all.Wait(); close(ended) }()
					locktest.Receive(t, ended)
				}
				end()
				for _, s := range stores {
					require.Zero(t, s.Waiting())
					require.False(t, s.isOccupied())
				}
			})
		})
	}
}

// A field is a lock under attack, and who is inside.
type field struct {
	*testing.T
	lock  any
	calls [2]struct { // for writing, for reading
		try     func() bool
		context func(ctx context.Context) error
		timeout func(d time.Duration) bool
		unlock  func()
	}
	bind    func(f *waiter.Future, read int)
	pool    chan *waiter.Future // A taker may find it abandoned, and not yet left by its claimer.
	futures []*waiter.Future

	readers, writers atomic.Int32
}

func (a *field) use(read int, unlock func()) {
	if _, ok := a.lock.(*Mutex); ok || read == 0 {
		require.EqualValues(require.GoOn(a), 1, a.writers.Add(1))
		require.Zero(require.GoOn(a), a.readers.Load())
		a.writers.Add(-1)
	} else {
		a.readers.Add(1)
		require.Zero(require.GoOn(a), a.writers.Load())
		a.readers.Add(-1)
	}
	unlock()
}

// goroutine locks in one of the ways of goroutines.
func (a *field) goroutine(ways int) {
	read := rand.IntN(2)
	c := &a.calls[read]
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	ok := false
	switch rand.IntN(ways) {
	case 0:
		ok = c.context(bg) == nil
	case 1:
		ok = c.try()
	case 2:
		ok = c.timeout(time.Duration(rand.IntN(20_000)))
	case 3:
		go cancel()
		ok = c.context(ctx) == nil
	default:
		go cancel()
		var one std.WaitGroup
		one.Go(func() {
			guarded(func() {
				method := []string{"Err", "Done"}[rand.IntN(2)]
				ok = c.context(locktest.NewTrapContext(ctx, method, rand.Int64N(4), ends)) == nil
			}, func() {})
		})
		one.Wait()
	}
	if ok {
		a.use(read, c.unlock)
	}
}

// future makes a request by a future, in one of the ways of owners, and ends it in any state.
func (a *field) future() {
	f, read := <-a.pool, rand.IntN(2)
	a.bind(f, read)
	switch rand.IntN(7) {
	case 0: // It never begins.
	case 1:
		f.Poll(nil)
	case 2:
		for w := locktest.NewChannelWaker(); !f.Poll(w); w = locktest.NewChannelWaker() {
			if rand.IntN(2) == 0 {
				f.Poll(nil)
				continue
			}
			locktest.Receive(a, w)
		}
		a.use(read, func() {})
	case 3:
		select {
		case <-f.Done():
			a.use(read, func() {})
		case <-time.After(time.Duration(rand.IntN(20_000))):
			f.Poll(locktest.NewChannelWaker())
		}
	case 4: // The owner unlocks past the future.
		locktest.Receive(a, f.Done())
		require.NoError(require.GoOn(a), f.Take())
		a.use(read, a.calls[read].unlock)
	case 5: // A second Bind while it waits changes nothing.
		f.Poll(nil)
		require.True(require.GoOn(a), require.PanicOf(func() { a.bind(f, 1-read) }) != nil)
	default: // The waker uses it, and another way into the lock.
		used := make(chan struct{})
		k := func() {
			if a.calls[1].try() { // beside a reader
				a.calls[1].unlock()
			}
			a.use(read, f.Release)
			close(used)
		}
		if f.Poll(waiter.WakerFunc(k)) {
			a.use(read, f.Release)
		} else {
			locktest.Receive(a, used)
		}
	}
	f.Release()
	if rand.IntN(2) == 0 {
		f.Release()
	}
	a.pool <- f
}

func fieldOfMutex(t *testing.T) *field {
	t.Helper()
	m := new(Mutex)
	a := &field{T: t, lock: m, bind: func(f *waiter.Future, _ int) { m.Bind(f) }}
	for i := range a.calls {
		c := &a.calls[i]
		c.try, c.context, c.timeout, c.unlock = m.TryLock, m.LockContext, m.LockTimeout, m.Unlock
	}
	for range 6 {
		a.futures = append(a.futures, new(waiter.Future))
	}
	return a
}

func fieldOfRWMutex(t *testing.T) *field {
	t.Helper()
	l := new(RWMutex)
	a := &field{T: t, lock: l, bind: func(f *waiter.Future, read int) {
		if read == 0 {
			l.Bind(f)
		} else {
			l.BindRead(f)
		}
	}}
	w, r := &a.calls[0], &a.calls[1]
	w.try, w.context, w.timeout, w.unlock = l.TryLock, l.LockContext, l.LockTimeout, l.Unlock
	r.try, r.context, r.timeout, r.unlock = l.TryRLock, l.RLockContext, l.RLockTimeout, l.RUnlock
	for range 6 {
		a.futures = append(a.futures, new(waiter.Future))
	}
	return a
}

// Whatever owners of futures and goroutines do, also in bubbles, and whether the lock is observed:
// a writer is alone, nothing is lost, and nobody is left.
func TestFuturesUnderAttack(t *testing.T) {
	for name, create := range map[string]func(t *testing.T) *field{"Mutex": fieldOfMutex, "RWMutex": fieldOfRWMutex} {
		for _, bubbles := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "/bubbles"}[bubbles], func(t *testing.T) {
				if bubbles {
					withBubbles(t)
				}
				locktest.AtEveryProcs(t, func(t *testing.T) { attack(create(t), bubbles) })
			})
		}
	}
}

func attack(a *field, bubbles bool) {
	a.pool = make(chan *waiter.Future, len(a.futures))
	for _, f := range a.futures {
		a.pool <- f
	}
	end := switching(a.T, a.lock)
	var over atomic.Bool
	var workers, askers std.WaitGroup
	n := locktest.Scaled(4000)
	for range 3 {
		workers.Go(func() {
			for range n {
				a.goroutine(5)
			}
		})
		workers.Go(func() {
			for range n {
				a.future()
			}
		})
	}
	askers.Go(func() {
		for !over.Load() {
			for _, f := range a.futures {
				f.Complete()
			}
			runtime.Gosched()
		}
	})
	if bubbles {
		for range n / 20 {
			synctest.Test(a.T, func(*testing.T) {
				var inside std.WaitGroup
				for range 2 {
					inside.Go(func() { a.goroutine(3) })
				}
				inside.Wait()
			})
		}
	}
	workers.Wait()
	over.Store(true)
	askers.Wait()
	end()
	require.Empty(a, rows.of)
	switch l := a.lock.(type) {
	case *Mutex:
		requireFree(a.T, l)
	case *RWMutex:
		l.Lock() // After a bubble the first one comes through the gate, and ends the lane's counting.
		l.Unlock()
		requireRWFree(a.T, l)
		require.Zero(a, l.opening.Load())
	}
}
