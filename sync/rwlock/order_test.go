package rwlock_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

func TestQueuedWriterBarsLaterReaders(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.RLock()
		w := queued(t, l, l.Lock)
		require.False(t, l.TryRLock(), "overtakes the writer")
		require.False(t, l.TryULock(), "overtakes the writer")
		require.False(t, l.TryLock())
		r := queued(t, l, l.RLock)
		u := queued(t, l, l.ULock)
		locktest.RequireBlocked(t, r)
		locktest.RequireBlocked(t, u)
		l.RUnlock()
		locktest.Receive(t, w)
		locktest.RequireBlocked(t, r)
		locktest.RequireBlocked(t, u)
		require.False(t, l.TryRLock())
		l.Unlock()
		locktest.Receive(t, r)
		locktest.Receive(t, u)
		require.True(t, l.TryRLock(), "with nobody waiting, readers come in again")
		l.RUnlock()
		l.RUnlock()
		l.UUnlock()
	})
}

// An upgradable reader who waits behind another bars those behind it, as the order wants.
func TestQueuedUpgradableReaderBarsLaterReaders(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.ULock()
		u := queued(t, l, l.ULock)
		require.False(t, l.TryRLock())
		r := queued(t, l, l.RLock)
		l.UUnlock()
		locktest.Receive(t, u)
		locktest.Receive(t, r)
		l.UUnlock()
		l.RUnlock()
	})
}

// The writer gives up in every way but by time, which TestTimeoutsReadmitReaders has; the readers
// of all ways go in although others still read.
func TestCancelledWriterReadmitsTheReadersBehindIt(t *testing.T) {
	// Each queues a request, and returns how it gives up.
	for name, request := range map[string]func(t *testing.T, l *rwlock.RWLock) (giveUp func()){
		"context": func(t *testing.T, l *rwlock.RWLock) func() {
			ctx, cancel := context.WithCancel(bg)
			err := rwtest.Queued(t, l, func() error { return l.LockContext(ctx) })
			return func() { cancel(); require.ErrorIs(t, locktest.Receive(t, err), context.Canceled) }
		},
		"polled future": func(t *testing.T, l *rwlock.RWLock) func() {
			f := new(rwlock.LockFuture)
			f.Init(l)
			require.False(t, f.Poll(nil))
			return f.Cancel
		},
		"selected future": func(t *testing.T, l *rwlock.RWLock) func() {
			f := new(rwlock.LockFuture)
			f.Init(l)
			require.Empty(t, f.Done())
			return f.Cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
				l.RLock()
				giveUp := request(t, l)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				var f, g rwlock.LockFuture
				f.InitRead(l)
				g.InitU(l)
				a := queued(t, l, l.RLock)
				require.False(t, f.Poll(nil))
				b := rwtest.Queued(t, l, func() error { return l.RLockContext(ctx) })
				done := g.Done()
				c := rwtest.Queued(t, l, func() bool { return l.RLockTimeout(time.Hour) })
				w := queued(t, l, l.Lock)
				locktest.RequireBlocked(t, a)
				giveUp()
				locktest.Receive(t, a)
				require.NoError(t, locktest.Receive(t, b))
				require.True(t, locktest.Receive(t, c))
				locktest.Receive(t, done)
				require.NoError(t, g.Err())
				require.True(t, f.Poll(nil))
				require.NoError(t, f.Err())
				locktest.RequireBlocked(t, w)
				for range 5 { // with whom it began, and those of three goroutines and a future
					l.RUnlock()
				}
				locktest.RequireBlocked(t, w)
				l.UUnlock()
				locktest.Receive(t, w)
				l.Unlock()
			})
		})
	}
}

func TestReadersBehindAWriterAreLetInTogether(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 10
		var inside atomic.Int64
		gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		var wg sync.WaitGroup
		queueReaders := func(gate chan struct{}) {
			for i := range n {
				before := l.Waiting()
				wg.Go(func() {
					switch i % 3 {
					case 0:
						l.RLock()
					case 1:
						assert.NoError(t, l.RLockContext(bg))
					default:
						var f rwlock.LockFuture
						f.InitRead(l)
						<-f.Done()
						assert.NoError(t, f.Err())
					}
					inside.Add(1)
					<-gate
					inside.Add(-1)
					l.RUnlock()
				})
				locktest.AwaitWaiting(t, l, before+1)
			}
		}
		allIn := func() bool { return inside.Load() == n }
		l.Lock()
		queueReaders(gates[0])
		w := queued(t, l, l.Lock)
		queueReaders(gates[1])
		l.Unlock()
		locktest.Eventually(t, "all readers up to the next writer are in", allIn)
		locktest.RequireBlocked(t, w)
		require.Equal(t, n+1, l.Waiting())
		require.True(t, allIn(), "and none of those behind it")
		close(gates[0])
		locktest.Receive(t, w)
		require.Zero(t, inside.Load())
		l.Unlock()
		locktest.Eventually(t, "all readers behind it are in", allIn)
		close(gates[1])
		wg.Wait()
	})
}

// Of two requests that cannot both be held the older one comes first: goroutines, goroutines with a
// context or a timeout, selects and polled futures stand in one line, be they readers, writers or
// upgradable readers.
func TestLocksAreFIFOWhoeverWaits(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 60
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		var mu sync.Mutex
		var order [n]int // when each got in
		now := 0
		var wg sync.WaitGroup
		futures := make([]rwlock.LockFuture, n)
		as := func(i int) state { // all pairs of neighbours, by all ways
			return [...]state{asReader, asReader, asWriter, asUpgradable, asUpgradable, asWriter, asReader, asUpgradable}[i%8]
		}
		l.Lock()
		for i := range n {
			f, s := &futures[i], as(i)
			turn := func() {
				mu.Lock()
				order[i] = now
				now++
				mu.Unlock()
				runtime.Gosched()
				unlockAs(l, s)
				wg.Done()
			}
			wg.Add(1)
			switch i % 5 {
			case 0:
				go func() { lockAs(l, s); turn() }()
			case 1:
				go func() { assert.NoError(t, contextLock(l, s)(ctx)); turn() }()
			case 2:
				go func() { assert.True(t, timeoutLock(l, s)(time.Hour)); turn() }()
			case 3:
				initAs(f, l, s)
				done := f.Done()
				go func() { <-done; assert.NoError(t, f.Err()); turn() }()
			default:
				initAs(f, l, s)
				var poll waiter.WakerFunc
				poll = func() {
					go func() {
						if f.Poll(poll) {
							assert.NoError(t, f.Err())
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
				if as(i) == asWriter || as(j) == asWriter || as(i) == asUpgradable && as(j) == asUpgradable {
					require.Less(t, order[i], order[j], "%v %d against %v %d", as(i), i, as(j), j)
				}
			}
		}
	})
}

func contextLock(l *rwlock.RWLock, s state) func(context.Context) error {
	return map[state]func(context.Context) error{
		asReader: l.RLockContext, asUpgradable: l.ULockContext, asWriter: l.LockContext,
	}[s]
}

func timeoutLock(l *rwlock.RWLock, s state) func(time.Duration) bool {
	return map[state]func(time.Duration) bool{
		asReader: l.RLockTimeout, asUpgradable: l.ULockTimeout, asWriter: l.LockTimeout,
	}[s]
}

func initAs(f *rwlock.LockFuture, l *rwlock.RWLock, s state) {
	map[state]func(*rwlock.RWLock){asReader: f.InitRead, asUpgradable: f.InitU, asWriter: f.Init}[s](l)
}

// Beside an upgradable reader, too, TryRLock succeeds if nobody waits, however many do it at once.
func TestTryRLockNeverFailsBesideAnUpgradableReader(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		l.ULock()
		defer l.UUnlock()
		rwtest.RequireTryRLock(t, l)
	})
}
