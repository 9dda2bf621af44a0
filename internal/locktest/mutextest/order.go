package mutextest

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

var order = []test{
	{"LocksAreFIFO", locksAreFIFO},
	{"TryNeverOvertakesAWaiter", tryNeverOvertakesAWaiter},
	{"TheNextRunsAtOnce", theNextRunsAtOnce},
}

// Whom an unlock hands the mutex to runs before the unlock returns: a mutex does not lie idle until
// the goroutine that has unlocked it blocks.
func theNextRunsAtOnce(t *testing.T, k kind) {
	m := k.mutex()
	locktest.RequireHandOff(t, m, 1, m.Lock, m.Unlock, func(got func()) {
		m.Lock()
		got()
		m.Unlock()
	})
	RequireFree(t, m)
}

// Goroutines, goroutines with a context or a timeout, selects and polled futures stand in one line,
// and a waiter that gives up in the middle changes nothing for the others.
func locksAreFIFO(t *testing.T, k kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const n = 60
		m := k.mutex()
		gone, goAway := context.WithCancel(bg)
		var order, want []int // order is guarded by m
		var served, left sync.WaitGroup
		ways, cancellable := k.ways(), k.cancellable()
		m.Lock()
		for i := range n {
			switch i % 6 {
			case 2, 4, 5: // one alone, and two that stand next to each other
				w := cancellable[i/6%len(cancellable)]
				left.Go(func() { require.ErrorIs(require.GoOn(t), w.lock(gone, m), context.Canceled) })
			default:
				want = append(want, i)
				w := ways[len(want)%len(ways)]
				served.Go(func() {
					if require.NoError(require.GoOn(t), w.lock(bg, m)) {
						order = append(order, i)
						m.Unlock()
					}
				})
			}
			locktest.AwaitWaiting(t, m, i+1)
		}
		goAway()
		left.Wait()
		require.Equal(t, len(want), m.Waiting())
		require.False(t, m.TryLock())
		m.Unlock()
		served.Wait()
		require.Equal(t, want, order)
		RequireFree(t, m)
	})
}

// However often TryLock is called while the lock passes from one to the other, it does not get in
// between.
func tryNeverOvertakesAWaiter(t *testing.T, k kind) {
	for _, w := range k.ways() {
		t.Run(w.name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				m := k.mutex()
				for range locktest.Scaled(2000) {
					served := false // guarded by m
					m.Lock()
					waiter := make(chan error, 1)
					go func() {
						err := w.lock(bg, m)
						served = true
						m.Unlock()
						waiter <- err
					}()
					locktest.AwaitWaiting(t, m, 1)
					trier := make(chan bool, 1)
					go func() {
						for !m.TryLock() {
							runtime.Gosched()
						}
						after := served
						m.Unlock()
						trier <- after
					}()
					m.Unlock()
					require.True(t, locktest.Receive(t, trier), "overtaken")
					require.NoError(t, locktest.Receive(t, waiter))
				}
				RequireFree(t, m)
			})
		})
	}
}

var timeouts = []test{
	{"LockTimeout", lockTimeout},
	{"TimeoutAgainstUnlock", timeoutAgainstUnlock},
}

func lockTimeout(t *testing.T, k kind) {
	m := k.mutex().(Mutex)
	require.False(t, m.LockTimeout(0), "to lock without waiting there is TryLock")
	require.False(t, m.LockTimeout(-1))
	RequireFree(t, m)
	require.True(t, m.LockTimeout(time.Hour))
	start := time.Now()
	require.False(t, m.LockTimeout(20*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	require.Zero(t, m.Waiting(), "a waiter that gives up leaves the queue")
	require.False(t, m.LockTimeout(0))
	for _, d := range []time.Duration{time.Hour, math.MaxInt64} {
		got := make(chan bool, 1)
		go func() { got <- m.LockTimeout(d) }()
		locktest.AwaitWaiting(t, m, 1)
		locktest.RequireBlocked(t, got)
		m.Unlock()
		require.True(t, locktest.Receive(t, got))
	}
	m.Unlock()
	RequireFree(t, m)
}

// Times that end at any point of a wait, with another behind.
func timeoutAgainstUnlock(t *testing.T, k kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m := k.mutex().(Mutex)
		timedOut := 0
		for i := range locktest.Scaled(4000) {
			m.Lock()
			hasty, behind := make(chan bool, 1), make(chan struct{})
			go func() {
				locked := m.LockTimeout(time.Duration(i%30+1) * time.Microsecond)
				if locked {
					m.Unlock()
				}
				hasty <- locked
			}()
			go func() {
				defer close(behind)
				m.Lock()
				m.Unlock() //nolint:staticcheck // nothing in between, on purpose
			}()
			for range i % 4 {
				runtime.Gosched()
			}
			m.Unlock()
			if !locktest.Receive(t, hasty) {
				timedOut++
			}
			locktest.Receive(t, behind)
			RequireFree(t, m)
		}
		t.Logf("%d timed out", timedOut)
	})
}
