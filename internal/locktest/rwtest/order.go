package rwtest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var order = []test{
	{"QueuedWriterBarsLaterReaders", once(queuedWriterBarsLaterReaders)},
	{"LocksAreFIFO", atEveryProcs(locksAreFIFO)},
	{"TheNextRunsAtOnce", once(theNextRunsAtOnce)},
	{"ReadersBehindAWriterRunAtOnce", once(readersBehindAWriterRunAtOnce)},
}

// Whom an unlock lets in runs before the unlock returns: a lock does not lie idle until the
// goroutine that has unlocked it blocks.
func theNextRunsAtOnce(t *testing.T, _ Kind, l Lock) {
	for _, holder := range []State{Read, Write} {
		for _, next := range []State{Read, Write} {
			if holder == Write || next == Write {
				hold, letGo := func() { holder.Lock(l) }, func() { holder.Unlock(l) }
				locktest.RequireHandOff(t, l, 1, hold, letGo, func(got func()) {
					next.Lock(l)
					got()
					next.Unlock(l)
				})
			}
		}
	}
}

// All the readers at the front of the line run before the unlock returns that has let them in.
func readersBehindAWriterRunAtOnce(t *testing.T, _ Kind, l Lock) {
	locktest.RequireHandOff(t, l, 4, l.Lock, l.Unlock, func(got func()) {
		l.RLock()
		got()
		l.RUnlock()
	})
}

func queuedWriterBarsLaterReaders(t *testing.T, _ Kind, l Lock) {
	l.RLock()
	w := Queued(t, l, l.Lock)
	var later []State
	for _, s := range Holds(l) {
		require.False(t, s.TryLock(l), "overtakes the writer as %v", s)
		if !s.excludes(Read) {
			later = append(later, s)
		}
	}
	blocked := make([]<-chan struct{}, len(later))
	for i, s := range later {
		blocked[i] = Queued(t, l, func() { s.Lock(l) })
		locktest.RequireBlocked(t, blocked[i])
	}
	l.RUnlock()
	locktest.Receive(t, w)
	for _, c := range blocked {
		locktest.RequireBlocked(t, c)
	}
	require.False(t, l.TryRLock())
	l.Unlock()
	for _, c := range blocked {
		locktest.Receive(t, c)
	}
	require.True(t, l.TryRLock(), "without waiters, readers come in again")
	l.RUnlock()
	for _, s := range later {
		s.Unlock(l)
	}
}

// Of two requests that exclude each other the older one is served first. Goroutines, goroutines
// with a context or a timeout, selects and polled futures stand in one queue, be they readers,
// writers or upgradable readers.
func locksAreFIFO(t *testing.T, k Kind, l Lock) {
	const n = 60
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	var mu sync.Mutex
	var order [n]int // when each got in
	now := 0
	var wg sync.WaitGroup
	_, upgradable := l.(UpgradableLock)
	as := func(i int) State { // all pairs of neighbours, by all ways
		s := [...]State{Read, Read, Write, Upgradable, Upgradable, Write, Read, Upgradable}[i%8]
		if s == Upgradable && !upgradable {
			return Read
		}
		return s
	}
	ways := 3
	if k.Bind != nil {
		ways = 5
	}
	l.Lock()
	for i := range n {
		s := as(i)
		turn := func() {
			mu.Lock()
			order[i] = now
			now++
			mu.Unlock()
			runtime.Gosched()
			s.Unlock(l)
			wg.Done()
		}
		wg.Add(1)
		switch i % ways {
		case 0:
			go func() { s.Lock(l); turn() }()
		case 1:
			go func() { require.NoError(require.GoOn(t), s.LockContext(ctx, l)); turn() }()
		case 2:
			go func() { require.True(require.GoOn(t), s.LockTimeout(l, time.Hour)); turn() }()
		case 3:
			f := k.future(l, s)
			done := f.Done()
			go func() { <-done; require.NoError(require.GoOn(t), f.Take()); turn() }()
		default:
			f := k.future(l, s)
			var poll waiter.WakerFunc
			poll = func() {
				go func() {
					if f.Poll(poll) {
						require.NoError(require.GoOn(t), f.Take())
						turn()
					}
				}()
			}
			require.False(t, f.Poll(poll))
		}
		locktest.AwaitWaiting(t, l, i+1)
	}
	require.False(t, l.TryLock())
	l.Unlock()
	wg.Wait()
	for j := range n {
		for i := range j {
			if as(i).excludes(as(j)) {
				require.Less(t, order[i], order[j], "%v %d against %v %d", as(i), i, as(j), j)
			}
		}
	}
}

// The tests that need futures, upgradable readers and a FIFO order at once.
var allTogether = []test{{"CancelledWriterReadmitsTheReadersBehindIt", cancelledWriterReadmitsTheReadersBehindIt}}

// The writer gives up in every way but by time, which TimeoutsReadmitReaders has. The readers of
// all ways go in although others still read.
func cancelledWriterReadmitsTheReadersBehindIt(t *testing.T, k Kind) {
	// Each queues a request, and returns how it gives up.
	for name, request := range map[string]func(t *testing.T, l Lock) (giveUp func()){
		"context": func(t *testing.T, l Lock) func() {
			ctx, cancel := context.WithCancel(bg)
			err := QueuedFor(t, l, func() error { return l.LockContext(ctx) })
			return func() { cancel(); require.ErrorIs(t, locktest.Receive(t, err), context.Canceled) }
		},
		"polled future": func(t *testing.T, l Lock) func() {
			f := k.future(l, Write)
			require.False(t, f.Poll(nil))
			return f.Release
		},
		"selected future": func(t *testing.T, l Lock) func() {
			f := k.future(l, Write)
			require.False(t, locktest.IsClosed(f.Done()))
			return f.Release
		},
	} {
		t.Run(name, func(t *testing.T) {
			once(func(t *testing.T, k Kind, l Lock) {
				l.RLock()
				giveUp := request(t, l)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				f, g := k.future(l, Read), k.future(l, Upgradable)
				a := Queued(t, l, l.RLock)
				require.False(t, f.Poll(nil))
				b := QueuedFor(t, l, func() error { return l.RLockContext(ctx) })
				done := g.Done()
				c := QueuedFor(t, l, func() bool { return l.RLockTimeout(time.Hour) })
				w := Queued(t, l, l.Lock)
				locktest.RequireBlocked(t, a)
				giveUp()
				locktest.Receive(t, a)
				require.NoError(t, locktest.Receive(t, b))
				require.True(t, locktest.Receive(t, c))
				locktest.Receive(t, done)
				require.NoError(t, g.Err())
				require.True(t, f.Poll(nil))
				require.NoError(t, f.Take())
				locktest.RequireBlocked(t, w)
				for range 5 { // the first reader, those of three goroutines, and the future's
					l.RUnlock()
				}
				locktest.RequireBlocked(t, w)
				Upgradable.Unlock(l)
				locktest.Receive(t, w)
				l.Unlock()
			})(t, k)
		})
	}
}
